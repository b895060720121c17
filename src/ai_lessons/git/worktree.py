"""The worktree around a folder, its HEAD and refs, read from git's own files. Starts no program."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import (
    GitMissing,
    NoRepository,
    NotFound,
    Refused,
    StorageFailed,
    UnsupportedRepository,
)
from ai_lessons.git.files import reason, translated
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

STATE_FOLDER = "ai-lessons"
_FALSE = frozenset(("false", "no", "off", "0"))
# The usual ones of the values that git takes for true
TRUE = frozenset(("true", "yes", "on", "1"))
_EXTENSIONS = frozenset(
    ("noop", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees")
)
# What `git rev-parse --local-env-vars` lists, less GIT_CONFIG_PARAMETERS and GIT_CONFIG_COUNT:
# those two carry settings that the user gave on purpose (`git -c`), and git itself passes them on
GIT_VARIABLES = frozenset((
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DIR", "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
))  # fmt: skip
_COMMIT = expression("[0-9a-f]{40}")
# What Python makes of bytes of a name that are no UTF-8
_UNDECODED = expression("[\ud800-\udfff]")
_SECTION = expression(r'\[\s*+([\w.-]++)\s*+(?:"((?:[^"\\]|\\.)*+)")?\s*+\]')


class Worktree(NamedTuple):
    """One folder of one git worktree."""

    # the knowledge repository, the only folder that we touch
    root: Path
    # the worktree's top folder: `root` or above it
    top: Path
    git_dir: Path
    common_dir: Path
    # `root` relative to `top` with a trailing slash, or empty
    prefix: str

    @property
    def state_dir(self) -> Path:
        """Where projections and the journal live: never committed, gone with the clone."""
        return self._state_in(self.git_dir)

    @property
    def common_state_dir(self) -> Path:
        """The state folder of all worktrees of the clone, which outlives each linked one."""
        return self._state_in(self.common_dir)

    def _state_in(self, git_dir: Path) -> Path:
        base = git_dir / STATE_FOLDER
        if self.prefix:
            return base / sha256(os.fsencode(self.prefix)).hexdigest()[:12]
        return base


GIT_FOLDER = ".git"
_GIT_PARTS = ("HEAD", "objects", "refs")


def as_hub(git_dir: Path) -> Worktree:
    """A repository that people push to: only its git directory counts, it has no files."""
    return Worktree(root=git_dir, top=git_dir, git_dir=git_dir, common_dir=git_dir, prefix="")


class Head(NamedTuple):
    """`ref` is the checked-out branch in full, None when detached.

    `commit` None before the first commit.
    """

    ref: str | None
    commit: str | None


def locate(path: Path) -> Worktree:
    """The worktree around `path`, which need not be its top.

    Raises NoRepository. Refused: another user's, or one whose git folder or settings lie among
    pulled files.
    UnsupportedRepository: bare, SHA-256, reftable, a worktree setting, an unknown extension.
    StorageFailed: damaged.
    """
    with translated(str(path)):
        refuse_linked(path)
        try:
            root = path.expanduser().resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError, RuntimeError):
            raise NoRepository(str(path)) from None
        if not root.is_dir():
            raise NoRepository(str(path))
        if _is_git_dir(root):
            raise UnsupportedRepository(
                (
                    f"{root} is a git directory or a bare repository: there are no files in "
                    "it to read or edit"
                ),
                hint="clone it: ai-lessons admin init --from " + str(root),
            )
        for top in (root, *root.parents):
            refuse_layout(top)
            git_dir = _git_dir_of(top)
            if git_dir is not None:
                if root == top:
                    prefix = ""
                else:
                    prefix = root.relative_to(top).as_posix() + "/"
                worktree = Worktree(root, top, git_dir, _common_dir(git_dir), prefix)
                _refuse_pulled(worktree)
                _refuse_strangers(worktree)
                _refuse_formats(worktree)
                return worktree
        missing = []
        for name in _GIT_PARTS:
            if not (root / ".git" / name).exists():
                missing.append(name)
        if 0 < len(missing) < len(_GIT_PARTS):
            # a new repository would lack the knowledge in it
            raise StorageFailed(
                f"the git directory of {root} is damaged: it has no {' and no '.join(missing)}",
                hint=(
                    "keep the files, clone again and copy them in: docs/how-to/back-up.md, "
                    "git itself is damaged"
                ),
            )
        _refuse_left_behind(root)
    raise NoRepository(str(path))


def _refuse_left_behind(root: Path) -> None:
    """Raises NotFound: the folder is a worktree of a repository that is no more where it was."""
    file = root / ".git"
    if file.is_file() and not file.is_symlink():
        text = file.read_bytes()[:4096].decode(errors="replace")
    else:
        text = ""
    if text.startswith("gitdir: ") and not (root / text.removeprefix("gitdir: ").strip()).exists():
        hint = f"where the repository is now: git worktree repair {root}"
        raise NotFound("repository of the worktree", str(root), hint=hint)


def refuse_linked(path: Path) -> None:
    """Raises Refused if `.ai` or `.ai/reference` is a link, as a project may bring it.

    In the home folder it may.
    """
    place = Path(os.path.abspath(path.expanduser()))
    if place.parts[-2:] != (".ai", "reference") or place.parent.parent == Path.home():
        return
    for folder in (place.parent, place):
        if folder.is_symlink():
            target = os.readlink(folder)
            raise Refused(
                (
                    f"{folder} is a link to {target}: the knowledge folder of a project must "
                    "lie in the project"
                ),
                hint=(
                    "--tier user leaves the project out; to work on what the link leads to, "
                    "name that folder: --repo"
                ),
            )


def refuse_layout(folder: Path) -> None:
    """Raises Refused for a folder that git, started there, would take for a repository."""
    # git would read the settings in it, and those can run programs
    head, common, objects, refs = (
        os.path.lexists(folder / n) for n in ("HEAD", "commondir", "objects", "refs")
    )
    if head and (common or (objects and refs)):
        hint = f"if they are not meant to be there, remove them: {folder / 'HEAD'} is the first"
        raise Refused(
            f"{folder} holds the files of a git directory, whose settings could run programs here",
            hint=hint,
        )


def _refuse_pulled(worktree: Worktree) -> None:
    """Git's folder and settings must not lie among the files of a repository, which a pull may write."""
    folders = {worktree.git_dir, worktree.common_dir}
    for git_dir in {folder.resolve() for folder in folders}:
        for top in git_dir.parents:
            if GIT_FOLDER in git_dir.relative_to(top).parts:
                break
            if top == worktree.top or (
                os.path.lexists(top / GIT_FOLDER) and _git_dir_of(top) not in folders
            ):
                raise Refused(
                    (
                        f"{worktree.top / GIT_FOLDER} leads to {git_dir}, which lies among "
                        f"the files of {top}"
                    ),
                    hint=(
                        "a pull could write it: clone the repository anew, git keeps its "
                        "folder elsewhere"
                    ),
                )
    trees = (
        worktree.top,
        *([worktree.common_dir.parent] if worktree.common_dir.name == GIT_FOLDER else []),
    )
    for config in (worktree.common_dir / "config", worktree.git_dir / "config.worktree"):
        for key, value in every_setting(config):
            if key not in {"include.path", "includeif.path"}:
                continue
            file = (config.parent / os.path.expanduser(value)).resolve()
            if any(file.is_relative_to(tree) for tree in trees) and not file.is_relative_to(
                worktree.common_dir
            ):
                raise Refused(
                    (
                        f"the git settings of {worktree.top} include {value}, one of its "
                        "files, which a pull may write"
                    ),
                    hint=(
                        f"copy what you want of it into {config}, and take the include out of there"
                    ),
                )


def _git_dir_of(top: Path) -> Path | None:
    dot_git = top / ".git"
    if dot_git.is_file():
        text = dot_git.read_text(errors="surrogateescape")
        if not text.startswith("gitdir: "):
            return None
        dot_git = (top / text.removeprefix("gitdir: ").rstrip("\n")).resolve()
    if _is_git_dir(dot_git):
        return dot_git
    return None


def _is_git_dir(folder: Path) -> bool:
    if not (folder / "HEAD").exists():
        return False
    common = _common_dir(folder)
    return (common / "objects").is_dir() and (common / "refs").is_dir()


def _common_dir(git_dir: Path) -> Path:
    try:
        text = (git_dir / "commondir").read_text(errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return git_dir
    return (git_dir / text.rstrip("\n")).resolve()


def _refuse_strangers(worktree: Worktree) -> None:
    """Git's own rule.

    The owner of the git directory decides which programs run on it (hooks, filters).
    """
    users = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        users.add(int(os.environ["SUDO_UID"]))
    places = {worktree.top, worktree.top / ".git", worktree.git_dir, worktree.common_dir}
    strangers = []
    for place in sorted(places):
        if place.lstat().st_uid not in users:
            strangers.append(place)
    if not strangers:
        return
    # it loads subprocess, which no reader needs
    from ai_lessons.git import processes

    env = {}
    for name, value in os.environ.items():
        if name not in GIT_VARIABLES:
            env[name] = value
    try:
        # git checks the owner, and honours `safe.directory`
        done = processes.run(
            ("git", "rev-parse", "--git-dir"), cwd=worktree.top, env=env, timeout=60.0
        )
    except FileNotFoundError:
        raise GitMissing from None
    if done.returncode:
        hint = f"if you trust it: git config --global --add safe.directory {worktree.top}"
        raise Refused(
            f"{strangers[0]} belongs to another user, so the repository is not opened", hint=hint
        )


def _refuse_formats(worktree: Worktree) -> None:
    settings = read_settings(worktree.common_dir / "config")
    linked = worktree.git_dir != worktree.common_dir
    fault = format_fault(settings, linked=linked)
    if linked:
        elsewhere = ""
    else:
        elsewhere = settings.get("core.worktree", "")
    if not fault and elsewhere and (worktree.git_dir / elsewhere).resolve() != worktree.top:
        fault = f"its files are elsewhere (core.worktree is {elsewhere})"
    if fault:
        raise UnsupportedRepository(
            f"the repository at {worktree.top} cannot be worked on: {fault}"
        )


@contextmanager
def shared_files(worktree: Worktree) -> Iterator[None]:
    """What is made meanwhile can be written by the group, where git has that set.

    See `core.sharedRepository` in git-config(1).
    """
    value = read_settings(worktree.common_dir / "config").get("core.sharedrepository", "")
    if value.lower() in {"", "umask", *_FALSE}:
        yield
        return
    before = os.umask(0o077)
    os.umask(before & ~0o070)
    try:
        yield
    finally:
        os.umask(before)


def format_fault(settings: Mapping[str, str], *, linked: bool = False) -> str:
    """The first setting of a repository that is not supported, or "".

    The linked worktree of a bare one is.
    """
    if settings.get("core.bare", "false").lower() in TRUE and not linked:
        return "it is bare"
    if settings.get("core.repositoryformatversion", "0") not in {"0", "1"}:
        return f"its format version {settings['core.repositoryformatversion']} is unknown"
    for key, value in settings.items():
        section, _, name = key.partition(".")
        if section != "extensions" or name in _EXTENSIONS:
            continue
        if (name, value.lower()) not in {("objectformat", "sha1"), ("refstorage", "files")}:
            return f"it uses the git extension {name} = {value}"
    return ""


def settings_around(folder: Path) -> Path | None:
    """The settings of the git repository around a folder, whosever it is; None where there is none."""
    for top in (folder, *folder.parents):
        with suppress(OSError):
            git_dir = _git_dir_of(top)
            if git_dir is not None:
                return _common_dir(git_dir) / "config"
    return None


def read_settings(config: Path) -> dict[str, str]:
    """The plain settings of one git config file, `section.key` in lower case.

    Subsections and includes are left out.
    """
    settings: dict[str, str] = {}
    for key, value in every_setting(config):
        if key.count(".") == 1 and not key.startswith("includeif."):
            settings[key] = value
    return settings


def is_partial(worktree: Worktree) -> bool:
    """Whether it is a clone with a filter, so that objects may be missing that its remote has."""
    return any(
        key.endswith(".promisor") or key == "extensions.partialclone"
        for key, _ in every_setting(worktree.common_dir / "config")
    )


def every_setting(config: Path) -> tuple[tuple[str, str], ...]:
    """All settings, as often as they are stated.

    `section.key`, `section.Subsection.key`, `includeif.key`.
    """
    try:
        status = config.stat()
        # git writes another file and renames it, so that one file is read once
        return _rows_of(
            config, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )
    except FileNotFoundError:
        return ()


@lru_cache(maxsize=8)
def _rows_of(config: Path, *_stamp: int) -> tuple[tuple[str, str], ...]:
    return tuple(_parsed(config.read_text(errors="surrogateescape").splitlines()))


def _parsed(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    section: str | None = None
    for line in lines:
        text = line.strip()
        if heading := _SECTION.match(text):
            name = heading[1].lower()
            if heading[2] is None or name == "includeif":
                section = name
            else:
                section = f"{name}.{heading[2]}"
            text = text[heading.end() :].strip()
        if section is None or not text or text[0] in "#;":
            continue
        key, equals, value = text.partition("=")
        yield f"{section}.{key.strip().lower()}", _plain(value) if equals else "true"


def _plain(value: str) -> str:
    """A config value without comment and quotes.

    The settings read here need no more of git's syntax.
    """
    value = value.strip()
    if value.startswith('"'):
        return value[1:].partition('"')[0]
    return re.split(r"[#;]", value, maxsplit=1)[0].rstrip()


def index_mark(worktree: Worktree) -> str:
    """A mark that changes with git's index; empty if there is none."""
    try:
        status = (worktree.git_dir / "index").stat()
    except FileNotFoundError:
        return ""
    return f"{status.st_ino} {status.st_mtime_ns} {status.st_size}"


def read_head(worktree: Worktree) -> Head:
    """Where HEAD stands now. Raises UnsupportedRepository: it or its branch is damaged.

    StorageFailed: unreadable.
    """
    with translated(str(worktree.git_dir)):
        text = (worktree.git_dir / "HEAD").read_text(errors="surrogateescape").strip()
        if text.startswith("ref:"):
            ref = text.removeprefix("ref:").strip()
            return Head(ref, read_ref(worktree, ref))
    if not _COMMIT.fullmatch(text):
        raise UnsupportedRepository(f"HEAD of {worktree.top} is damaged: {text[:60]!r}")
    return Head(None, text)


def read_ref(worktree: Worktree, ref: str) -> str | None:
    """The commit of a branch (full name); None if there is none.

    Raises UnsupportedRepository: damaged or alias.
    """
    for _ in range(2):
        # a ref may be packed, and its own file removed, between the two looks
        try:
            text = (worktree.common_dir / ref).read_text(errors="surrogateescape").strip()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            with suppress(FileNotFoundError, IsADirectoryError):
                rows = (
                    (worktree.common_dir / "packed-refs")
                    .read_text(errors="surrogateescape")
                    .splitlines()
                )
                if packed := [row[:40] for row in rows if row[41:] == ref and row[:1] not in "#^"]:
                    return packed[0]
            continue
        if not _COMMIT.fullmatch(text):
            raise UnsupportedRepository(f"{ref} of {worktree.top} is no commit: {text[:60]!r}")
        return text
    return None


def has_refs(worktree: Worktree, start: str) -> bool:
    """Whether there may be a ref below `start`, which ends with a slash."""
    packed = worktree.common_dir / "packed-refs"
    return (worktree.common_dir / start).exists() or (
        packed.exists() and os.fsencode(f" {start}") in packed.read_bytes()
    )


def checked_out_at(worktree: Worktree, ref: str) -> str:
    """The worktree in which a branch is checked out; empty if it is in none."""
    for folder in (worktree.common_dir, *sorted((worktree.common_dir / "worktrees").glob("*"))):
        try:
            head = (folder / "HEAD").read_text(errors="surrogateescape").strip()
        except (FileNotFoundError, NotADirectoryError):
            continue
        if head == f"ref: {ref}":
            if folder == worktree.git_dir:
                return str(worktree.top)
            gitdir = folder / "gitdir"
            if gitdir.exists():
                return gitdir.read_text().strip().removesuffix("/.git")
            return str(folder.parent)
    return ""


# One file of a folder: name, mtime_ns, ctime_ns, size in bytes, inode, mode
Row = tuple[str, int, int, int, int, int]


def walk(root: Path, skipped: list[str] | None = None) -> Iterator[tuple[str, list[Row]]]:
    """Folders below `root` ("" for it) with their plain files' rows.

    None that is hidden, a link or has a `.git`.
    """
    stack = [("", os.fspath(root))]
    while stack:
        folder, full = stack.pop()
        try:
            content = _folder_rows(full, nested=bool(folder))
        except FileNotFoundError:
            continue
        except OSError as error:
            if skipped is not None:
                skipped.append(f"{folder or '.'}: {reason(error)}")
            continue
        if content is None:
            continue
        rows, below, odd = content
        if skipped is not None:
            skipped.extend(f"{folder}/{name!r}: the name is not UTF-8" for name in odd)
        stack.extend((f"{folder}/{name}" if folder else name, f"{full}/{name}") for name in below)
        yield folder, rows


def _folder_rows(full: str, *, nested: bool) -> tuple[list[Row], list[str], list[str]] | None:
    """Files, folders and undecodable names of one folder.

    None for the top of another repository.
    """
    rows: list[Row] = []
    below: list[str] = []
    odd: list[str] = []
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (os.O_NOFOLLOW if nested else 0)
    # by descriptor, because the system then need not find its way from the top again for every
    # file's stat
    fd = os.open(full, flags)
    try:
        with os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    if nested and name == ".git":
                        return None
                elif not name.isascii() and _UNDECODED.search(name):
                    odd.append(name)
                elif entry.is_file(follow_symlinks=False):
                    try:
                        s = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        # not suppressed: that takes a third as long as the rest of this loop
                        continue
                    rows.append(
                        (name, s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino, s.st_mode)
                    )
                elif entry.is_dir(follow_symlinks=False):
                    below.append(name)
    finally:
        os.close(fd)
    return rows, below, odd
