"""A folder becomes a knowledge repository: from the template, around files that are there, or as a clone.

Begin with `init` and `clone`.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app import write_checks
from ai_lessons.approval.decisions import propose_starters
from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    NoRepository,
    Refused,
    StorageFailed,
    Unreachable,
)
from ai_lessons.git import network, plumbing
from ai_lessons.git.approval_branch import DEFAULT
from ai_lessons.git.files import read_file, translated, write_file
from ai_lessons.git.store import Store
from ai_lessons.git.worktree import (
    GIT_FOLDER,
    locate,
    read_head,
    read_ref,
    refuse_linked,
    shared_files,
)
from ai_lessons.model import layout
from ai_lessons.model.approval import is_rule
from ai_lessons.model.config import set_value
from ai_lessons.model.layout import CONFIG_PATH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.git.worktree import Worktree

SUBJECT = "Start the knowledge repository"
BRANCH = "main"
_AGAIN = "ai-lessons admin init"

_AS_THEY_ARE = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")


def _left_out(root: Path, names: Iterable[str]) -> dict[str, str]:
    """The text files that must not come into git, and why.

    Links and files too large for an entry are not read.
    """
    reasons: dict[str, str] = {}
    for name in names:
        with suppress(AiLessonsError):
            data, _ = read_file(root, name)
            # git takes a file for binary if a NUL is among so many first bytes
            if b"\0" in data[:8000]:
                continue
            reason = write_checks.why_not(root, name, data)
            if reason:
                reasons[name] = reason
    return reasons


def _demand(done: plumbing.Done, failure: str) -> None:
    if done.code:
        raise StorageFailed(f"git {failure}: {last_line(done.err)}")


def _commit(root: Path, only: Sequence[str] | None) -> tuple[str | None, tuple[str, ...]]:
    """Commit what is staged, or of it only these paths.

    (commit, nothing) or (None, the reason and what to do).
    """
    command = f'git -C {root} commit -m "{SUBJECT}"'
    flags = [*_AS_THEY_ARE, "commit", "-q", "-m", SUBJECT]
    if only:
        command += f" -- {' '.join(only)}"
        flags += ["--pathspec-from-file=-", "--pathspec-file-nul"]
    worktree = locate(root)
    if read_head(worktree).ref is None:
        note = f"not committed, because no branch is checked out; switch to one, then: {command}"
        return None, (note,)
    if plumbing.identity(worktree) is None:
        remedy = 'git config --global user.name "…" and git config --global user.email "…"'
        reason = "not committed yet, because git does not know who you are"
        return None, (f"{reason}: {remedy}, then: {command}",)
    stdin = plumbing.listed(only or ())

    def fault(*options: str, timeout: float = plumbing.TIMEOUT) -> str:
        try:
            done = plumbing.run(worktree, *flags, *options, stdin=stdin, timeout=timeout)
        except StorageFailed as error:
            return error.message
        if done.code:
            return last_line(done.err or done.text)
        return ""

    notes: tuple[str, ...] = ()
    if plumbing.setting(worktree, "commit.gpgsign", kind="bool") == "true":
        # whoever signs may have to type a passphrase
        why = fault(timeout=plumbing.SIGN_TIMEOUT)
        if why:
            notes = (f"the first commit is unsigned, because it could not be signed: {why}",)
            why = fault("--no-gpg-sign")
    else:
        why = fault()
    if why:
        reason = f"not committed yet, because git refused: {why}"
        return None, (f"{reason}; when that is mended: {command}",)
    return read_head(worktree).commit, notes


def last_line(text: str) -> str:
    """The last line of a program's output, which says why it failed."""
    return (text.strip().splitlines() or ["no reason given"])[-1]


_HEADS = "refs/heads/"

# With the config, all that a folder with files gets
_BASICS = (".gitattributes", ".gitignore")
_NORMALISE = b"* text=auto eol=lf\n"
_STARTERS_HINT = "put it into a repository of its own: ai-lessons --tier user admin init --starters"
_KEEP_BYTES = b"# This folder had files when it became a knowledge repository: line endings are kept as they are.\n* -text\n"


class Scaffolded(NamedTuple):
    """What was made at `root`; without a `commit`, `notes` say why nothing was committed."""

    root: Path
    # False: nothing was missing, and nothing changed
    created: bool
    added: tuple[str, ...] = ()
    # files that existed before and came into git now
    adopted: int = 0
    commit: str | None = None
    notes: tuple[str, ...] = ()


def template_dir() -> Path:
    """The template: inside an installed package, beside `src/` in a checkout of the project."""
    return _data("_template", "template-repo")


def hooks_dir() -> Path:
    """The hook scripts: inside an installed package, beside `src/` in a checkout of the project."""
    return _data("_hooks", "hooks")


def _data(packaged: str, beside: str) -> Path:
    # an editable install has no copy of the files that the build forces into a wheel
    package = Path(__file__).resolve().parents[1]
    for folder in (package / packaged, package.parents[1] / beside):
        if folder.is_dir():
            return folder
    raise StorageFailed(
        f"the installation is incomplete: {packaged} is missing", hint="install ai-lessons again"
    )


def _surrounding(root: Path, *, separate: bool) -> tuple[Worktree | None, tuple[str, ...]]:
    """The worktree that a folder lies in, unless it is to be a repository of its own, which a note says."""
    try:
        around = locate(root)
    except NoRepository:
        return None, ()
    if not separate or not around.prefix or (root / CONFIG_PATH).exists():
        return around, ()
    note = f"a repository of its own: what you learn everywhere does not belong into the one at {around.top}"
    return None, (note,)


def _is_of(template: Mapping[str, bytes], root: Path, names: Iterable[str]) -> bool:
    """Whether there is no file, or only those that an interrupted call has written."""
    for name in names:
        file = root / name
        if name not in template or not file.is_file() or file.read_bytes() != template[name]:
            return False
    return True


def init(
    path: Path, *, team: bool = False, with_starters: bool = False, separate: bool = False
) -> Scaffolded:
    """Make `path` a knowledge repository, whatever is there; doing it twice changes nothing.

    An empty folder gets the template without its entries, any other only the settings that it
    lacks. `separate`: a new one is a repository of its own, also within another one.

    Raises Conflict, StorageFailed, UnsupportedRepository. Refused: git's own folder, another
    user's, starters in a bigger repository.
    """
    root = _make_folder(path)
    around, notes = _surrounding(root, separate=separate)
    bigger = around is not None and bool(around.prefix)
    if bigger and with_starters:
        raise Refused(
            f"{root} is a folder of a bigger repository, which gets no starter set",
            hint=_STARTERS_HINT,
        )
    present = frozenset(_files_below(root))
    template = _Template.read()
    fresh = not bigger and _is_of(template.every, root, present - {CONFIG_PATH})
    files: dict[str, bytes] = {}
    if with_starters:
        files |= template.entries
    if CONFIG_PATH not in present:
        files |= _settings_files(template.settings, around, fresh=fresh, team=team)
    elif team:
        command = "`ai-lessons admin config set`"
        notes = (
            f"this repository exists: for a team set approval.distinct to true with {command}",
        )
    added = tuple(name for name in files if name not in present)
    with shared_files(around) if around else nullcontext():
        for name in added:
            runs = os.access(template_dir() / name, os.X_OK)
            write_file(root, name, files[name], executable=runs, durable=False)
    notes += _notes_on(added, template, fresh=fresh)
    scaffolded = _finish(root, around, added, notes)
    if not with_starters:
        return scaffolded
    rules = {name: text for name, text in template.rules.items() if name not in present}
    return _with_rules(scaffolded, rules)


class _Template(NamedTuple):
    """The files of the template: entries of the starter set, its rules, and all that is no entry."""

    every: Mapping[str, bytes]
    entries: Mapping[str, bytes]
    rules: Mapping[str, bytes]
    settings: Mapping[str, bytes]

    @classmethod
    def read(cls) -> _Template:
        """Sort the files by what they are."""
        every = read_template(template_dir())
        entries: dict[str, bytes] = {}
        rules: dict[str, bytes] = {}
        settings: dict[str, bytes] = {}
        for name, original in every.items():
            if not layout.place(name):
                settings[name] = original
            elif is_rule(name):
                # these wait for a person who approves them
                rules[name] = original
            else:
                entries[name] = original
        return cls(every, entries, rules, settings)


def _notes_on(added: Sequence[str], template: _Template, *, fresh: bool) -> tuple[str, ...]:
    """What a person should know of the files that were added."""
    starters = [name for name in added if name in template.entries]
    settings = [name for name in added if name not in template.entries]
    notes: list[str] = []
    if starters:
        advice = "keep what is useful to you, and delete the rest"
        notes.append(f"{len(starters)} files of the starter set are there: {advice}")
    if settings and not fresh:
        notes.append(f"added {', '.join(settings)}")
    return tuple(notes)


def _settings_files(
    settings: Mapping[str, bytes], around: Worktree | None, *, fresh: bool, team: bool
) -> dict[str, bytes]:
    """The template's files that are no entries.

    For a folder that has files already only those that it needs.
    """
    if fresh:
        files = dict(settings)
    else:
        files = {name: settings[name] for name in _BASICS}
        # the user's files keep their line ends
        files[".gitattributes"] = files[".gitattributes"].replace(_NORMALISE, _KEEP_BYTES)
    # the config is written last: where it exists, no file is missing
    files.pop(CONFIG_PATH, None)
    files[CONFIG_PATH] = _config(settings[CONFIG_PATH].decode(), around, team=team)
    return files


def _config(text: str, around: Worktree | None, *, team: bool) -> bytes:
    """The template's config with the settings of this repository."""
    if team:
        text = set_value(text, "approval.distinct", value=True)
    ref = None
    if around is not None:
        ref = read_head(around).ref
    if around is not None and ref is not None and read_ref(around, f"{_HEADS}{BRANCH}") is None:
        text = set_value(text, "approval.branch", ref.removeprefix(_HEADS))
    return text.encode()


def _with_rules(scaffolded: Scaffolded, rules: Mapping[str, bytes]) -> Scaffolded:
    """Propose the template's rules on top of the checked-out commit.

    Where there is none yet, a later call does.
    """
    worktree = locate(scaffolded.root)
    start = read_head(worktree).commit
    if start is None or not rules:
        return scaffolded
    note = f"{len(rules)} starter rules wait for a person who reads and approves them: ai-lessons admin review-rules"
    try:
        propose_starters(worktree, start, rules)
    except (Refused, StorageFailed) as error:
        # the repository works without them
        note = error.message
    return scaffolded._replace(notes=(*scaffolded.notes, note))


def read_template(folder: Path) -> dict[str, bytes]:
    """Every file of a template by its path."""
    files: dict[str, bytes] = {}
    with translated(str(folder)):
        for name in sorted(_files_below(folder)):
            # in a checkout of the project a script of the starter set may have been run
            if "__pycache__/" not in name:
                files[name] = (folder / name).read_bytes()
    return files


@plumbing.online()
def clone(url: str, path: Path, *, again: str = "") -> Scaffolded:
    """Clone `url` to `path` unless it is there, asking nothing; whole or not at all.

    `again`: what to do where it fails. Raises Conflict (`path` is taken), Unreachable.
    """
    target = Path(os.path.abspath(path.expanduser()))
    if Path(url).exists():
        url = os.path.abspath(url)
    if (target / GIT_FOLDER).exists():
        remotes = plumbing.run(locate(target), "config", "--get-regexp", r"^remote\..*\.url$")
        if f" {url}\n" in f"{remotes.text}\n":
            return Scaffolded(target.resolve(), created=False)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Conflict(
            f"{target} is there and is not a clone of {url}",
            hint="name a folder that does not exist yet",
        )
    with translated(str(target), writing=True):
        target.parent.mkdir(parents=True, exist_ok=True)
    hint = f"see whether this works: git clone -- {url} {target}   then: ai-lessons --repo {target} admin init"
    _clone_whole(url, target, again or hint)
    worktree = locate(target)
    if read_head(worktree).commit is None:
        _check_out_a_branch(worktree)
    head = read_head(worktree).commit
    notes: tuple[str, ...] = ()
    if not head:
        notes = (f"{url} is empty",)
    return Scaffolded(target.resolve(), created=True, commit=head, notes=notes)


# Seconds. A clone of 1 GB takes minutes; a server that hangs must not hold us for ever
_PATIENCE = 900.0
_UNFINISHED = ".ai-lessons-clone-"


def _clone_whole(url: str, target: Path, hint: str) -> None:
    """Clone beside the target and move it there, so that a clone that was cut off is none.

    Raises Conflict, Unreachable.
    """
    for left in target.parent.glob(f"{_UNFINISHED}*"):
        # a killed program could not take it away, and a running one has not had it for so long
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _PATIENCE:
                shutil.rmtree(left, ignore_errors=True)
    # a pulled tree is untrusted: git refuses names and objects that no honest client writes
    checked = ("-c", "transfer.fsckObjects=true", "clone", "--quiet", "--", url)
    with (
        translated(str(target), writing=True),
        TemporaryDirectory(prefix=_UNFINISHED, dir=target.parent) as folder,
    ):
        made = Path(folder, target.name)
        try:
            done = plumbing.run(None, *checked, str(made), timeout=_PATIENCE)
        except StorageFailed as error:
            raise Unreachable(f"{url} was not cloned: {error.message}", hint=hint) from error
        if done.code:
            reason, advice = network.why(done.err)
            if advice:
                hint = f"{advice}; {hint}"
            raise Unreachable(f"{url} was not cloned: {reason}", hint=hint)
        try:
            made.rename(target)
        except OSError:
            # another process was faster
            if not (target / GIT_FOLDER).exists():
                raise


def _check_out_a_branch(worktree: Worktree) -> None:
    """Check out the usual branch, or the only one, of a remote whose HEAD names one that it does not have."""
    flags = ("--format=%(refname:lstrip=3)", "refs/remotes")
    branches = plumbing.run(worktree, "for-each-ref", *flags).text.split()
    if DEFAULT in branches:
        branches = [DEFAULT]
    if len(branches) == 1:
        plumbing.run(worktree, "checkout", "--quiet", branches[0])


def _make_folder(path: Path) -> Path:
    full = Path(os.path.abspath(path.expanduser()))
    refuse_linked(full)
    if GIT_FOLDER in full.parts:
        raise Refused(f"{full} is inside git's own folder")
    if full.exists() and not full.is_dir():
        raise Conflict(f"{full} is a file, and a knowledge repository is a folder")
    with translated(str(full), writing=True):
        full.mkdir(parents=True, exist_ok=True)
    return full.resolve()


def _files_below(root: Path) -> Iterator[str]:
    """Every file and link, hidden ones too; none of git or of a repository inside this one."""
    for place, folders, names in os.walk(root):
        if place != str(root) and (GIT_FOLDER in folders or GIT_FOLDER in names):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name != GIT_FOLDER)
        # a link to a folder is one file to git
        links = [name for name in folders if Path(place, name).is_symlink()]
        folder = Path(place).relative_to(root)
        for name in (*names, *links):
            yield (folder / name).as_posix()


def _finish(
    root: Path, around: Worktree | None, added: tuple[str, ...], notes: tuple[str, ...]
) -> Scaffolded:
    """Bring the folder's files into git, but for a folder of a bigger repository."""
    if around is not None and around.prefix:
        if added:
            where = f"part of the repository at {around.top}"
            notes += (f"{where}: written, not committed; commit it there",)
        notes += Store(root).ignored([CONFIG_PATH])
        return Scaffolded(root, bool(added), added, notes=notes)
    made = around is None
    if made:
        _make_repository(root)
    if read_head(locate(root)).commit is None:
        return _first_commit(root, added, notes, made=made)
    if not added:
        return Scaffolded(root, created=False, notes=notes)
    # only what is ours: the user's other files are as they want them
    _, names = _names_for_git(root, added)
    _take_into_git(root, names)
    commit, why = _commit(root, added)
    return Scaffolded(root, created=True, added=added, commit=commit, notes=(*notes, *why))


def _first_commit(
    root: Path, added: tuple[str, ...], notes: tuple[str, ...], *, made: bool
) -> Scaffolded:
    """Commit all that is in the folder, but for files that no entry may be."""
    rows, names = _names_for_git(root)
    left_out = _left_out(root, names)
    notes += tuple(f"left out of git: {why}" for why in left_out.values())
    staged = [name for name in left_out if b"H " + os.fsencode(name) in rows]
    if staged:
        undo = f"git -C {root} rm --cached -- {' '.join(staged)}, then: {_AGAIN}"
        notes += (f"not committed, because you have staged it: {undo}",)
        return Scaffolded(root, made or bool(added), added, notes=notes)
    taken = [name for name in names if name not in left_out]
    _take_into_git(root, taken)
    commit, why = _commit(root, None)
    if left_out:
        notes += (f"when that is mended: git -C {root} add -A && git -C {root} commit",)
    created = made or bool(added) or commit is not None
    adopted = len(set(taken) - set(added))
    return Scaffolded(root, created, added, adopted, commit, (*notes, *why))


def _make_repository(root: Path) -> None:
    done = plumbing.run(None, "init", "--quiet", "--", os.path.abspath(root))
    _demand(done, f"made no repository at {root}")
    # the user's setting for new branches need not be the name that a team expects
    done = plumbing.run(locate(root), "symbolic-ref", "HEAD", f"{_HEADS}{BRANCH}")
    _demand(done, f"made no branch at {root}")


def _names_for_git(root: Path, only: Sequence[str] = ()) -> tuple[list[bytes], list[str]]:
    """The files that git has or would take, as it lists them (`H ` before what is staged), and their names."""
    command = ("ls-files", "-t", "-z", "--cached", "--others", "--exclude-standard", "--")
    rows = plumbing.run(locate(root), *command, *only).out.split(b"\0")[:-1]
    # a repository inside ends so
    return rows, [os.fsdecode(row[2:]) for row in rows if not row.endswith(b"/")]


def _take_into_git(root: Path, names: Sequence[str]) -> None:
    if not names:
        return
    flags = ("--pathspec-from-file=-", "--pathspec-file-nul")
    stdin = plumbing.listed(names)
    done = plumbing.run(locate(root), *_AS_THEY_ARE, "add", *flags, stdin=stdin)
    _demand(done, f"took not every file of {root}")
