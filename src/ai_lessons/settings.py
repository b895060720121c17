"""What the user chose: the one place that reads the environment and the user's configuration file.

Nothing here opens a repository or creates a folder. The order for every setting: the command line, the environment,
`config.toml`, the default. A wrong value is a `UsageError` that names the file (or variable) and the key.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import NotFound, StorageFailed, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = "ai-lessons"
PROJECT_REPOSITORY = Path(".ai") / "reference"
"""The project tier, below the top folder of the code repository that one stands in."""

TRUE, FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off", ""})
KEYS = ("repo", "index_dir", "model_dir", "reranker", "skills_dir", "tools_dir", "agent", "offline", "enterprise")
"""Keys of `config.toml`; all but `enterprise` (a table of NAME = "path") are plain values."""


class Folders(NamedTuple):
    """Where this user's files lie. `config` is edited by people, `state` is ours, `cache` may be deleted."""

    config: Path
    state: Path
    cache: Path


class Settings(NamedTuple):
    """Everything a door needs to open a library. Paths are absolute; none need exist.

    `skills_dir` and `tools_dir` are what lessons are promoted into; `lesson_log` is where another tool kept lessons.
    """

    repo: Path
    tier: str
    folders: Folders
    cwd: Path
    skills_dir: Path
    tools_dir: Path
    lesson_log: Path
    index_dir: str | None = None
    model_dir: Path | None = None
    reranker: str | None = None
    agent: str | None = None
    session: str | None = None
    offline: bool = False
    enterprise: Mapping[str, Path] = MappingProxyType({})


def folders(environ: Mapping[str, str]) -> Folders:
    """The user's folders: XDG on Linux and its kin, the platform's own places elsewhere."""
    if sys.platform in {"darwin", "win32"}:
        # Importing platformdirs costs 8 ms, more than `--help` can spare; on Linux it would answer the lines below.
        import platformdirs  # noqa: PLC0415  # only where it is needed, see above

        return Folders(*(Path(getattr(platformdirs, f"user_{w}_dir")(PROGRAM)) for w in ("config", "state", "cache")))
    home = _home(environ)
    return Folders(
        _xdg(environ, "XDG_CONFIG_HOME", home / ".config"),
        _xdg(environ, "XDG_STATE_HOME", home / ".local" / "state"),
        _xdg(environ, "XDG_CACHE_HOME", home / ".cache"),
    )


def load(
    environ: Mapping[str, str], cwd: Path | None = None, *, repo: str | None = None, tier: str | None = None
) -> Settings:
    """Settings from the environment, `config.toml` and the two global options `--repo` and `--tier`.

    Raises:
        UsageError: a value that makes no sense, with the file or variable and the key.
        NotFound: `tier` names an enterprise repository that the configuration does not know.
        StorageFailed: the configuration exists and cannot be read.
    """
    here = cwd or current_folder()
    places = folders(environ)
    file = Path(environ["AI_LESSONS_CONFIG"]) if environ.get("AI_LESSONS_CONFIG") else places.config / "config.toml"
    table = _read(file)
    enterprise = _enterprise(table, file, environ)
    user = _path(_text(table, "repo", file), file.parent, environ) or _home(environ) / ".ai" / "reference"
    chosen_tier = tier or "user"
    chosen = _path(repo, here, environ)
    if chosen is None and tier is None:
        chosen = _path(environ.get("AI_LESSONS_REPO"), here, environ)

    def folder(key: str) -> Path | None:
        named = _path(environ.get(f"AI_LESSONS_{key.upper()}"), here, environ)
        return named or _path(_text(table, key, file), file.parent, environ)

    claude = _path(environ.get("CLAUDE_CONFIG_DIR"), here, environ) or _home(environ) / ".claude"
    return Settings(
        repo=chosen or _repository_of(chosen_tier, here, user, enterprise),
        tier=chosen_tier,
        folders=places,
        cwd=here,
        skills_dir=folder("skills_dir") or claude / "skills",
        tools_dir=folder("tools_dir") or claude / "tools",
        lesson_log=claude / "lessons" / "lessons.jsonl",
        index_dir=environ.get("AI_LESSONS_INDEX_DIR") or _text(table, "index_dir", file),
        model_dir=folder("model_dir"),
        reranker=environ.get("AI_LESSONS_RERANKER") or _text(table, "reranker", file),
        agent=environ.get("AI_LESSONS_AGENT") or _text(table, "agent", file),
        session=environ.get("AI_LESSONS_SESSION") or None,
        offline=_flag(environ, "AI_LESSONS_OFFLINE", table, "offline", file),
        enterprise=enterprise,
    )


def current_folder() -> Path:
    """The folder we stand in; a `UsageError` where somebody has deleted it under our feet."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("the current folder does not exist any more", hint="cd to another one") from error


def _home(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    if not home.is_absolute():
        raise UsageError("there is no home folder to keep files in", hint="set HOME to an absolute path")
    return home


def _xdg(environ: Mapping[str, str], name: str, default: Path) -> Path:
    """The base directory specification says that relative values are to be ignored."""
    value = environ.get(name, "")
    return (Path(value) if Path(value).is_absolute() else default) / PROGRAM


def _path(value: str | None, base: Path, environ: Mapping[str, str]) -> Path | None:
    """`value` made absolute from `base`, with `~` resolved; None for nothing."""
    if not value:
        return None
    if value == "~" or value.startswith("~/"):
        return _home(environ) / value[2:]
    return Path(os.path.normpath(base / value))


def _read(file: Path) -> dict[str, Any]:
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise StorageFailed(f"{file}: {error.strerror}", hint="AI_LESSONS_CONFIG names another file") from error
    import tomllib  # noqa: PLC0415  # 8 ms that only those pay who have a configuration

    try:
        table = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}", hint=f"mend or remove {file}") from error
    for key in table:
        if key not in KEYS:
            from difflib import get_close_matches  # noqa: PLC0415  # only for those who have mistyped

            near = get_close_matches(key, KEYS, 1)
            raise UsageError(
                f"{file}: unknown key {key!r}",
                hint=f"did you mean {near[0]}?" if near else "known keys: " + ", ".join(KEYS),
            )
    return table


def _text(table: Mapping[str, Any], key: str, file: Path) -> str | None:
    value = table.get(key)
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise UsageError(f"{file}: {key} must be a text in quotes, not {value!r}")


def _flag(environ: Mapping[str, str], variable: str, table: Mapping[str, Any], key: str, file: Path) -> bool:
    if variable in environ:
        value = environ[variable].strip().lower()
        if value not in TRUE | FALSE:
            raise UsageError(f"{variable} must be 1 or 0, not {environ[variable]!r}")
        return value in TRUE
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{file}: {key} must be true or false, not {value!r}")
    return value


def _enterprise(table: Mapping[str, Any], file: Path, environ: Mapping[str, str]) -> dict[str, Path]:
    named = table.get("enterprise", {})
    if not isinstance(named, dict):
        raise UsageError(f"{file}: enterprise must be a table", hint='for example: [enterprise]\nacme = "~/acme"')
    found = {name: _path(_text(named, name, file), file.parent, environ) for name in named}
    return {name: path for name, path in found.items() if path is not None}


def _repository_of(tier: str, cwd: Path, user: Path, enterprise: Mapping[str, Path]) -> Path:
    if tier == "user":
        return user
    if tier == "project":
        return project_repository(cwd, user)
    word, _, name = tier.partition(":")
    if word != "enterprise" or not name:
        raise UsageError(f"{tier!r} is not a tier", hint="project, user or enterprise:NAME")
    if name not in enterprise:
        hint = "" if enterprise else "name it in config.toml below [enterprise]"
        raise NotFound("enterprise tier", name, suggestions=sorted(enterprise), hint=hint)
    return enterprise[name]


def project_repository(cwd: Path, user: Path) -> Path:
    """The nearest `.ai/reference` upward, or where it would be: below the top of the code repository, else `cwd`."""
    for folder in (cwd, *cwd.parents):
        candidate = folder / PROJECT_REPOSITORY
        if candidate != user and candidate.is_dir():
            return candidate
        if (folder / ".git").exists():
            return candidate
    return cwd / PROJECT_REPOSITORY
