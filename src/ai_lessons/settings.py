"""Settings: the one place that reads the environment and the user's configuration file.

The order for every setting: the command line, the environment, `config.toml`, the default. Creates
nothing.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ai_lessons.errors import AiLessonsError, NotFound, StorageFailed, UsageError
from ai_lessons.model import ENTERPRISE, PROJECT, USER, Places, TierPlace, Where

PROGRAM = "ai-lessons"
PROJECT_REPOSITORY = Path(".ai") / "reference"
TRUE, FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off", ""})
# Keys of `config.toml`.
# All but `enterprise` (a table of NAME = "path", or of tables), `warm`, `agents` and `hooks` are
# plain values.
KEYS = (
    *("repo", "index_dir", "model_dir", "agent", "offline", "enterprise", "warm", "agents"),
    "hooks",
)

# of the administrators of this machine: below the user's file, and read where it is there
ADMINISTRATORS = Path("/etc/ai-lessons/config.toml")
# in the top folder of a code project: which enterprise it belongs to
CODE_FILE = ".ai-lessons.toml"
AGENT_NAMES = ("AI_LESSONS_AGENT", "AI_AGENT", "AGENT")
# Variables that hosts of agents set for the commands of their agents, each with the host's name.
# Some of them give their agents a terminal of their own, so that without the variable they would
# pass for a person.
AGENT_HOSTS = {
    "CLAUDECODE": "claude-code", "CLAUDE_CODE": "claude-code", "CURSOR_AGENT": "cursor", "CURSOR_TRACE_ID": "cursor",
    "GEMINI_CLI": "gemini-cli", "CODEX_SANDBOX": "codex", "CODEX_CI": "codex", "CODEX_THREAD_ID": "codex",
    "CLINE_ACTIVE": "cline", "OPENCODE": "opencode", "ANTIGRAVITY_AGENT": "antigravity", "AUGMENT_AGENT": "augment",
    "QWEN_CODE": "qwen-code", "COPILOT_CLI": "copilot", "GOOSE_TERMINAL": "goose", "CRUSH": "crush",
    "PI_CODING_AGENT": "pi", "TRAE_AI_SHELL_ID": "trae",
}  # fmt: skip

_OF_ENTERPRISE = ("path", "sync_url", "owners")
# tables in which each key stands for itself, so that the user's and the administrators' add up
_TABLES = ("warm", "agents", "hooks")
MOST_BYTES = 64 * 1024


class Folders(NamedTuple):
    """Where this user's files lie.

    `config` is edited by people, `state` is ours, `cache` may be deleted.
    """

    config: Path
    state: Path
    cache: Path


class Agents(NamedTuple):
    """Hooks: most characters at any moment but the start; `outcomes`: whether they record outcomes.

    `measure`: whether a lesson is left out now and then, on purpose, to see whether it makes a
    difference.
    """

    max_chars: int = 900
    outcomes: bool = True
    measure: bool = False


class Hooks(NamedTuple):
    """`start_characters`: the budget of the start of a session, about 1,500 tokens (design 17)."""

    start_characters: int = 6000


class AdministratorsFile(Protocol):
    """What the file of the administrators states: `table`, all of it."""

    table: Mapping[str, Any]

    def tiers(
        self, of_user: Mapping[str, Any], environ: Mapping[str, str], user_file: Path
    ) -> Iterator[TierPlace]:
        """Its companies; `of_user` is what the user's own file states of companies."""
        ...


class Settings(NamedTuple):
    """Everything that is needed to open a library. Paths are absolute; none need exist.

    `repo` is written to and has the name `tier`. `agent` is the calling agent, by the variable or
    file `agent_by`; None for a person. `author`: the person for whom a server works, see
    `app.options.Options`. `warm` is the folder of the helper process; None: it is off.
    `folders_of_features`: what a person states for keys that features add; `tables_of_features`: as
    it stands there, for features with a `door`.
    """

    repo: Path
    tier: str
    folders: Folders
    cwd: Path
    index_dir: str | None = None
    model_dir: Path | None = None
    agent: str | None = None
    agent_by: str = ""
    author: str | None = None
    session: str | None = None
    offline: bool = False
    virtual_env: Path | None = None
    places: Places = Places()
    warm: Path | None = None
    agents: Agents = Agents()
    hooks: Hooks = Hooks()
    folders_of_features: Mapping[str, Path] = MappingProxyType({})
    tables_of_features: Mapping[str, Any] = MappingProxyType({})

    @property
    def whereabouts(self) -> str:
        """The folders of the repositories that are read, for the heads of answers to agents."""
        tiers = self.places.reads
        if len(tiers) > 1:
            return ", ".join(f"{tier.root} ({tier.name})" for tier in tiers)
        return str(self.repo)


def folders(environ: Mapping[str, str]) -> Folders:
    """The user's folders: by XDG on Linux, by the platform's habits on macOS and Windows."""
    if sys.platform in {"darwin", "win32"}:
        import platformdirs  # noqa: PLC0415  # 8 ms; on Linux it would answer the lines below

        return Folders(
            *(
                Path(getattr(platformdirs, f"user_{w}_dir")(PROGRAM))
                for w in ("config", "state", "cache")
            )
        )
    home = _home(environ)
    places = {
        "XDG_CONFIG_HOME": ".config",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CACHE_HOME": ".cache",
    }
    # a relative value is to be ignored, as the base directory specification says
    stated = {}
    for name in places:
        stated[name] = Path(environ.get(name, ""))
    return Folders(
        *((p if p.is_absolute() else home / places[name]) / PROGRAM for name, p in stated.items())
    )


def load(
    environ: Mapping[str, str],
    cwd: Path | None = None,
    *,
    repo: str | None = None,
    tier: str | None = None,
) -> Settings:
    """Settings from the environment, `config.toml` and the two global options `--repo` and `--tier`.

    Raises UsageError: a value makes no sense. NotFound: no such tier. StorageFailed: the configuration cannot be read.
    """
    here = cwd or current_folder()
    places = folders(environ)
    if environ.get("AI_LESSONS_CONFIG"):
        file = Path(environ["AI_LESSONS_CONFIG"])
    else:
        file = places.config / "config.toml"
    of_user = read_table(file)
    administrators, refused = _administrators()
    table = _below(of_user, administrators, environ)
    tiers = _tiers(of_user, file, environ, here, administrators)
    belongs_to, because, note = _company_here(here, tiers)
    notes = [note, *unknown_keys(of_user, file), refused]
    chosen = absolute(repo, here, environ) or (
        None if tier else absolute(environ.get("AI_LESSONS_REPO"), here, environ)
    )
    reads = _reads(chosen, tier, tiers, belongs_to)
    folder = partial(_folder, environ, here, table, file)
    names_agent = file if "agent" in of_user else ADMINISTRATORS
    agent, agent_by = _agent(environ, text_at(table, "agent", file), names_agent)
    stated = {key: folder(key) for key in _keys_of_features()}
    return Settings(
        repo=reads[0].root,
        tier=reads[0].name,
        folders=places,
        cwd=here,
        index_dir=environ.get("AI_LESSONS_INDEX_DIR") or text_at(table, "index_dir", file),
        model_dir=folder("model_dir"),
        agent=agent,
        agent_by=agent_by,
        session=environ.get("AI_LESSONS_SESSION") or None,
        virtual_env=absolute(environ.get("VIRTUAL_ENV"), here, environ),
        offline=_flag(environ, "AI_LESSONS_OFFLINE", table, "offline", file),
        places=Places(
            reads,
            tiers,
            belongs_to,
            because,
            named=bool(chosen or tier),
            file=str(file),
            note="; ".join(filter(None, notes)),
            refused=refused,
        ),
        warm=_warm(environ, table, file, places.state),
        agents=_agents(table, file),
        hooks=_hooks(table, file),
        folders_of_features={key: path for key, path in stated.items() if path is not None},
        tables_of_features={key: table[key] for key in _tables_of_features() if key in table},
    )


def _company_here(here: Path, tiers: Sequence[TierPlace]) -> tuple[str, str, str]:
    """The tier of the enterprise that the code here belongs to, what says so, and a note."""
    belongs_to, note = _belongs_to(here)
    because = ""
    if belongs_to:
        because = f"the project's {CODE_FILE} names it"
    if any(tier.owners for tier in tiers):
        from ai_lessons import extensions  # noqa: PLC0415

        for _, enrolled in extensions.added("enrols"):
            belongs_to, because, remark = enrolled(here, tiers, (belongs_to, because))
            note = "; ".join(filter(None, (note, remark)))
    return belongs_to, because, note


def _administrators() -> tuple[AdministratorsFile | None, str]:
    """The file of the administrators (None where there is none), or why it does not count."""
    # on Windows any user may make a folder of this name
    if sys.platform == "win32" or not os.path.lexists(ADMINISTRATORS):
        return None, ""
    from ai_lessons import extensions  # noqa: PLC0415

    for _, of_file in extensions.added("administrators"):
        try:
            administrators: AdministratorsFile = of_file(ADMINISTRATORS)
            _refuse_nonsense(administrators.table)
        except AiLessonsError as error:
            return None, f"{ADMINISTRATORS} does not count here: {error.message}"
        return administrators, ""
    return None, ""


def _refuse_nonsense(table: Mapping[str, Any]) -> None:
    """Raises UsageError: a value of the administrators' file makes no sense."""
    for key in ("agent", "index_dir", *_keys_of_folders()):
        text_at(table, key, ADMINISTRATORS)
    _flag({}, "", table, "offline", ADMINISTRATORS)
    _warm({}, table, ADMINISTRATORS, Path("/"))
    _agents(table, ADMINISTRATORS)
    _hooks(table, ADMINISTRATORS)


def _keys_of_folders() -> tuple[str, ...]:
    """The keys that name a folder."""
    return ("repo", "model_dir", *_keys_of_features())


def _below(
    of_user: Mapping[str, Any],
    administrators: AdministratorsFile | None,
    environ: Mapping[str, str],
) -> Mapping[str, Any]:
    """The user's table, with what the administrators' file states and it does not."""
    if administrators is None:
        return of_user
    stated = administrators.table
    table = {**stated, **of_user}
    for key in _keys_of_folders():
        if key in stated and key not in of_user:
            table[key] = str(absolute(stated[key], ADMINISTRATORS.parent, environ))
    for key in _TABLES:
        if isinstance(of_user.get(key), dict):
            table[key] = {**stated.get(key, {}), **of_user[key]}
    return table


def owners_at(table: Mapping[str, Any], key: str, file: Path) -> tuple[str, ...]:
    """The owners of remotes in a table of a company. Raises UsageError: no list of texts."""
    owners = table.get("owners", [])
    if not isinstance(owners, list) or not all(isinstance(owner, str) for owner in owners):
        hint = 'for example: owners = ["forge.example/acme"]'
        raise UsageError(f"{file}: {key}.owners must be a list of texts", hint=hint)
    return tuple(owners)


def _keys_of_features() -> list[str]:
    """The keys that features add; each names a folder, as does the variable AI_LESSONS_KEY."""
    # a hook that the helper answers reads no file of settings, and loads no row
    from ai_lessons import extensions  # noqa: PLC0415

    features: list[str] = []
    for feature in extensions.rows():
        for key in feature.folders:
            features.append(key)
    return features


def _tables_of_features() -> list[str]:
    """The tables that features read themselves; each is called as its feature."""
    # as above
    from ai_lessons import extensions  # noqa: PLC0415

    names: list[str] = []
    for feature in extensions.rows():
        if feature.door:
            names.append(feature.name)
    return names


def _folder(
    environ: Mapping[str, str], here: Path, table: Mapping[str, Any], file: Path, key: str
) -> Path | None:
    """A folder that a variable names from `here`, or else the configuration from where its file is."""
    named = absolute(environ.get(f"AI_LESSONS_{key.upper()}"), here, environ)
    return named or absolute(text_at(table, key, file), file.parent, environ)


def unknown_keys(
    table: Mapping[str, Any], file: Path, of_enterprise: Sequence[str] = _OF_ENTERPRISE
) -> list[str]:
    """A line for each key of `config.toml` that means nothing, in the tables in it, too."""
    below: list[tuple[str, object, Sequence[str]]] = []
    for name, value in (table.get("enterprise") or {}).items():
        below.append((f"enterprise.{name}", value, of_enterprise))
    below += [
        ("warm", table.get("warm"), ("enabled",)),
        ("agents", table.get("agents"), Agents._fields),
    ]
    below += [("hooks", table.get("hooks"), Hooks._fields)]
    inside = (
        line for name, value, keys in below for line in _unknown(value, keys, file, f"{name}.")
    )
    keys = (*KEYS, *_keys_of_features(), *_tables_of_features())
    return [*_unknown(table, keys, file), *inside]


def _warm(
    environ: Mapping[str, str], table: Mapping[str, Any], file: Path, state: Path
) -> Path | None:
    """Where the helper listens; None: it is off."""
    chosen = table.get("warm", {})
    if not isinstance(chosen, dict):
        raise UsageError(
            f"{file}: warm must be a table", hint="for example: [warm]\nenabled = false"
        )
    values = {"warm.enabled": chosen.get("enabled", environ.get("CI", "").strip().lower() in FALSE)}
    if not _flag(environ, "AI_LESSONS_WARM", values, "warm.enabled", file):
        return None
    return warm_folder(environ, state)


def warm_folder(environ: Mapping[str, str], state: Path) -> Path | None:
    """Below the state folder, else where sockets of this session belong.

    None where no socket can be.
    """
    folders = [state / "warm"]
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        folders.append(Path(runtime) / PROGRAM)
    # macOS allows a socket's path 104 bytes: this leaves room for its name
    return next((folder for folder in folders if len(os.fsencode(folder)) <= 80), None)


def _agents(table: Mapping[str, Any], file: Path) -> Agents:
    values = table.get("agents", {})
    kinds = {}
    for name, value in Agents()._asdict().items():
        kinds[name] = type(value)
    if isinstance(values, dict):
        values = {name: value for name, value in values.items() if name in kinds}
    else:
        values = None
    if values is None or any(type(value) is not kinds[name] for name, value in values.items()):
        raise UsageError(
            f"{file}: agents has the keys {', '.join(kinds)}", hint="[agents]\nmax_chars = 900"
        )
    return Agents(**values)


def _hooks(table: Mapping[str, Any], file: Path) -> Hooks:
    values = table.get("hooks", {})
    most = None
    if isinstance(values, dict):
        most = values.get("start_characters", Hooks().start_characters)
    if type(most) is not int or most < 0:
        hint = "[hooks]\nstart_characters = 6000"
        raise UsageError(f"{file}: hooks has the key start_characters, a number", hint=hint)
    return Hooks(most)


def _agent(
    environ: Mapping[str, str], configured: str | None, file: Path
) -> tuple[str | None, str]:
    """The agent that calls, and the variable or file that says so; (None, "") for a person."""
    values = {name: environ.get(name, "").strip() for name in (*AGENT_NAMES, *AGENT_HOSTS)}
    values = {name: value for name, value in values.items() if value.lower() not in FALSE}
    for name in AGENT_NAMES:
        if name in values:
            return values[name], name
    if configured:
        return configured, str(file)
    return next(((host, name) for name, host in AGENT_HOSTS.items() if name in values), (None, ""))


def is_agent(environ: Mapping[str, str]) -> bool:
    """Whether an agent calls, by the variables of hosts or by settings that can be read."""
    try:
        return load(environ).agent is not None
    except AiLessonsError:
        return _agent(environ, None, Path())[0] is not None


def current_folder() -> Path:
    """The current folder. Raises UsageError: it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError(
            "the current folder does not exist any more", hint="cd to another one"
        ) from error


def where(environ: Mapping[str, str], cwd: Path) -> Where:
    """Where the agent hosts of this user are looked for.

    Raises UsageError: there is no home folder.
    """
    return Where(_home(environ), cwd, environ)


def _home(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    if not home.is_absolute():
        raise UsageError(
            "there is no home folder to keep files in", hint="set HOME to an absolute path"
        )
    return home


def absolute(value: str | None, base: Path, environ: Mapping[str, str]) -> Path | None:
    """`value` made absolute from `base`, with `~` resolved; None for an empty one."""
    if not value:
        return None
    home = value == "~" or value.startswith("~/")
    if home:
        return _home(environ) / value[2:]
    return Path(os.path.normpath(base / value))


def read_table(file: Path, *, hint: str = "AI_LESSONS_CONFIG names another file") -> dict[str, Any]:
    """What a file of settings states; nothing where there is none.

    Raises UsageError: no TOML, or too long. StorageFailed: it cannot be read.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise StorageFailed(f"{file}: {error.strerror}", hint=hint) from error
    if len(data) > MOST_BYTES:
        raise UsageError(
            f"{file}: more than {MOST_BYTES // 1024} KiB of settings", hint=f"mend or remove {file}"
        )
    from ai_lessons.model import texts  # noqa: PLC0415  # 8 ms, only needed for a configuration file

    try:
        table = texts.toml(data.decode())
    except ValueError as error:
        raise UsageError(
            f"{file}: not valid TOML: {error}", hint=f"mend or remove {file}"
        ) from error
    return table


def _unknown(table: object, keys: Sequence[str], file: Path, above: str = "") -> Iterator[str]:
    """A note for each unknown key of a table.

    It may be of another version of the program, so it stops nothing.
    """
    for key in table if isinstance(table, dict) else ():
        if key not in keys:
            from difflib import get_close_matches  # noqa: PLC0415  # only needed for a mistyped key

            near = get_close_matches(key, keys, 1)
            if near:
                hint = f"did you mean {near[0]}?"
            else:
                hint = "known keys: " + ", ".join(keys)
            # the file may be cloned, and agents read the note: a key that is a sentence is not
            # repeated
            if _is_name(above + key):
                named = f"unknown key {(above + key)!r}"
            else:
                named = "a key that is no name"
            yield f"{file}: {named} is passed over ({hint})"


def _is_name(text: str) -> bool:
    """Whether this is a word as keys and tiers have it: letters, digits and a few signs."""
    # characters of a key or a tier that a note repeats
    return len(text) <= 60 and all(sign.isalnum() or sign in "._:-" for sign in text)


def text_at(table: Mapping[str, Any], key: str, file: Path) -> str | None:
    """The text that a key has; None for none. Raises UsageError: no text, or an empty one."""
    value = table.get(key)
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    if _is_name(str(value)):
        named = f"not {value!r}"
    else:
        named = "and is none"
    raise UsageError(f"{file}: {key} must be a text in quotes, {named}")


def _flag(
    environ: Mapping[str, str], variable: str, table: Mapping[str, Any], key: str, file: Path
) -> bool:
    if variable in environ:
        value = environ[variable].strip().lower()
        if value not in TRUE | FALSE:
            raise UsageError(f"{variable} must be 1 or 0, not {environ[variable]!r}")
        return value in TRUE
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{file}: {key} must be true or false, not {value!r}")
    return value


def _tiers(
    table: Mapping[str, Any],
    file: Path,
    environ: Mapping[str, str],
    cwd: Path,
    administrators: AdministratorsFile | None,
) -> tuple[TierPlace, ...]:
    """Every tier of this user and this folder, nearest first."""
    stated, why = absolute(text_at(table, "repo", file), file.parent, environ), "the default"
    if stated:
        why = f"{file} names it"
    elif administrators is not None and "repo" in administrators.table:
        stated = absolute(administrators.table["repo"], ADMINISTRATORS.parent, environ)
        why = f"{ADMINISTRATORS} names it"
    user = TierPlace(USER, stated or _home(environ) / ".ai" / "reference", why)
    place = project_repository(cwd, user.root)
    project = TierPlace(PROJECT, place, f"the nearest {PROJECT_REPOSITORY.as_posix()} upward")
    table = table.get("enterprise", {})
    if not isinstance(table, dict):
        raise UsageError(
            f"{file}: enterprise must be a table", hint='for example: [enterprise]\nacme = "~/acme"'
        )
    enterprises: list[TierPlace | None] = []
    managed: list[TierPlace] = []
    if administrators is not None:
        managed = list(administrators.tiers(table, environ, file))
    names = {tier.name for tier in managed}
    for name, value in table.items():
        if f"{ENTERPRISE}{name}" not in names:
            enterprises.append(_enterprise(name, value, file, environ))
    return (project, user, *filter(None, enterprises), *managed)


def _enterprise(name: str, value: Any, file: Path, environ: Mapping[str, str]) -> TierPlace | None:
    """One enterprise of `config.toml`: a path, or a table of `path`, `sync_url` and `owners`.

    None for one without a path.
    """
    table, key = (
        (value, f"enterprise.{name}.path") if isinstance(value, dict) else ({"path": value}, name)
    )
    path = absolute(text_at({key: table.get("path")}, key, file), file.parent, environ)
    if path is None and isinstance(value, dict):
        raise UsageError(f"{file}: enterprise.{name} has no path", hint='path = "~/acme-knowledge"')
    url = text_at(table, "sync_url", file)
    owners = owners_at(table, f"enterprise.{name}", file)
    if path:
        return TierPlace(f"{ENTERPRISE}{name}", path, f"{file} names it", url, owners)
    return None


def _reads(
    chosen: Path | None, name: str | None, tiers: Sequence[TierPlace], belongs_to: str
) -> tuple[TierPlace, ...]:
    """The tiers that are read, nearest first.

    One that was named by its path or its name is the only one.
    """
    if chosen is not None:
        registered = next((tier.name for tier in tiers if tier.root == chosen), USER)
        return (TierPlace(name or registered, chosen, "--repo or AI_LESSONS_REPO names it"),)
    if name:
        return (_named(name, tiers)._replace(why="--tier names it"),)
    user = next(tier.root for tier in tiers if tier.name == USER)
    names = {USER, belongs_to}
    reads = []
    for tier in tiers:
        if tier.name in names or (
            tier.name == PROJECT and user != tier.root and tier.root.is_dir()
        ):
            reads.append(tier)
    return tuple(reads)


def _named(name: str, tiers: Sequence[TierPlace]) -> TierPlace:
    for tier in tiers:
        if tier.name == name:
            return tier
    enterprise = name.removeprefix(ENTERPRISE)
    if not enterprise or enterprise == name:
        raise UsageError(f"{name!r} is not a tier", hint="project, user or enterprise:NAME")
    names = sorted(
        tier.name.removeprefix(ENTERPRISE) for tier in tiers if tier.name.startswith(ENTERPRISE)
    )
    if names:
        hint = ""
    else:
        hint = "name it in config.toml below [enterprise]"
    raise NotFound("enterprise tier", enterprise, suggestions=names, hint=hint)


def _belongs_to(cwd: Path) -> tuple[str, str]:
    """The enterprise tier that the nearest `.ai-lessons.toml` upward names, up to the top of the code; and a note.

    The file may be cloned, so an error in it is only a note.
    """
    for folder in (cwd, *cwd.parents):
        file = folder / CODE_FILE
        if os.path.isfile(file) and not os.path.islink(file):
            # a clone may bring a link to any file
            try:
                table = read_table(file, hint="")
                name = text_at(table, "enterprise", file)
            except (UsageError, StorageFailed) as error:
                return (
                    "",
                    (
                        f"the project's enterprise is ignored: {error.message} "
                        f"({error.hint or 'mend it'})"
                    ),
                )
            if name and not _is_name(name):
                return (
                    "",
                    f"the project's enterprise is ignored: {file}: enterprise is no name of a tier",
                )
            return f"{ENTERPRISE}{name}" if name else "", "; ".join(
                _unknown(table, ("enterprise",), file)
            )
        if os.path.lexists(folder / ".git"):
            break
    return "", ""


def project_repository(cwd: Path, user: Path) -> Path:
    """The nearest `.ai/reference` upward, or where it would be.

    Below the top of the code repository, else `cwd`.
    """
    for folder in (cwd, *cwd.parents):
        candidate = folder / PROJECT_REPOSITORY
        if (candidate != user and candidate.is_dir()) or (folder / ".git").exists():
            return candidate
    return cwd / PROJECT_REPOSITORY
