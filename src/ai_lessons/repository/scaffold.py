"""Makes a knowledge repository from the template; never overwrites, moves or deletes a file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, Conflict, NoRepository, Refused, StorageFailed, Unreachable
from ai_lessons.knowledge import layout
from ai_lessons.knowledge.config import set_value
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.repository import git
from ai_lessons.repository.approval.rule_edits import propose_starters
from ai_lessons.repository.approval.rule_files import is_rule
from ai_lessons.repository.files import read_file, translated, write_file
from ai_lessons.repository.worktree import GIT_FOLDER, Worktree, locate, read_head, read_ref, refuse_linked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Unwanted = Callable[[Path, str, bytes], str]
    """Why a file (folder, path in it, content) must not come into git; empty if it may."""

SUBJECT = "Start the knowledge repository"
BRANCH = "main"
_AGAIN = "ai-lessons admin init"

_AS_THEY_ARE = ("--literal-pathspecs", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false")
TEXT_SAMPLE = 8000  # Git takes a file for binary if a NUL is among so many first bytes


def _left_out(root: Path, names: Iterable[str], unwanted: Unwanted) -> dict[str, str]:
    """The text files that must not come into git, and why; links and files too large for an entry are not read."""
    reasons = {}
    for name in names:
        with suppress(AiLessonsError):
            data = read_file(root, name)[0]
            if b"\0" not in data[:TEXT_SAMPLE] and (reason := unwanted(root, name, data)):
                reasons[name] = reason
    return reasons


def _demand(done: git.Done, failure: str) -> None:
    if done.code:
        raise StorageFailed(f"git {failure}: {last_line(done.err)}")


def _commit(root: Path, only: Sequence[str] | None) -> tuple[str | None, tuple[str, ...]]:
    """Commit what is staged, or of it only these paths; (commit, nothing) or (None, the reason and what to do)."""
    command = f'git -C {root} commit -m "{SUBJECT}"' + (f" -- {' '.join(only)}" if only else "")
    worktree = locate(root)
    if read_head(worktree).ref is None:
        return None, (f"not committed, because no branch is checked out; switch to one, then: {command}",)
    if git.identity(worktree) is None:
        remedy = 'git config --global user.name "…" and git config --global user.email "…"'
        return None, (f"not committed yet, because git does not know who you are: {remedy}, then: {command}",)
    paths = ("--pathspec-from-file=-", "--pathspec-file-nul") if only else ()
    done = git.run(worktree, *_AS_THEY_ARE, "commit", "-q", "-m", SUBJECT, *paths, stdin=git.listed(only or ()))
    if done.code:
        why = last_line(done.err or done.text)
        return None, (f"not committed yet, because git refused: {why}; when that is mended: {command}",)
    return read_head(worktree).commit, ()


def last_line(text: str) -> str:
    """The last line of a program's output, which says why it failed."""
    return (text.strip().splitlines() or ["no reason given"])[-1]


CLONE_SECONDS = 900.0
_HEADS = "refs/heads/"

_BASICS = (".gitattributes", ".gitignore")  # With the config, all that a folder with files gets
_NORMALISE = b"* text=auto eol=lf\n"
_STARTERS_HINT = "put it into a repository of its own: ai-lessons --tier user admin init --starters"
_KEEP_BYTES = (
    b"# This folder had files when it became a knowledge repository: line endings are kept as they are.\n* -text\n"
)


class Scaffolded(NamedTuple):
    """What was made at `root`; without a `commit`, `notes` say why nothing was committed."""

    root: Path
    created: bool  # False: nothing was missing, and nothing changed
    added: tuple[str, ...] = ()
    adopted: int = 0  # files that existed before and came into git now
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
    raise StorageFailed(f"the installation is incomplete: {packaged} is missing", hint="install ai-lessons again")


def init(
    path: Path,
    *,
    team: bool = False,
    with_starters: bool = False,
    unwanted: Unwanted | None = None,
) -> Scaffolded:
    """Make `path` a knowledge repository, whatever is there; doing it twice changes nothing.

    An empty folder gets the template without its entries, any other only the settings that it lacks. Raises Conflict,
    StorageFailed, UnsupportedRepository, Refused: git's own folder, another user's, starters in a bigger repository.
    """
    root = _make_folder(path)
    around = None
    with suppress(NoRepository):
        around = locate(root)
    bigger = around is not None and bool(around.prefix)
    if bigger and with_starters:
        raise Refused(f"{root} is a folder of a bigger repository, which gets no starter set", hint=_STARTERS_HINT)
    present = frozenset(_files_below(root))
    everything = read_template(template_dir())
    entries = {name: original for name, original in everything.items() if layout.place(name)}
    originals = {name: original for name, original in everything.items() if name not in entries}
    from_template = (
        name in everything and (root / name).is_file() and (root / name).read_bytes() == everything[name]
        for name in present - {CONFIG_PATH}
    )
    fresh = not bigger and all(from_template)  # the folder is empty, or holds what an interrupted call has written
    files = {name: original for name, original in entries.items() if with_starters and not is_rule(name)}
    notes: tuple[str, ...] = ()
    if CONFIG_PATH not in present:
        basic = {name: originals[name] for name in (originals if fresh else _BASICS) if name != CONFIG_PATH}
        basic[CONFIG_PATH] = _config(originals[CONFIG_PATH].decode(), around, team=team)
        if not fresh:
            basic[".gitattributes"] = basic[".gitattributes"].replace(_NORMALISE, _KEEP_BYTES)
        files |= basic  # the config is written last: where it exists, no file is missing
    elif team:
        notes = ("this repository exists: for a team set approval.distinct to true with `ai-lessons admin config set`",)
    added = tuple(name for name in files if name not in present)
    for name in added:
        runs = os.access(template_dir() / name, os.X_OK)
        write_file(root, name, files[name], executable=runs, durable=False)
    starters = [name for name in added if name in entries]
    if starters:
        count = len(starters)
        notes += (f"{count} files of the starter set are there: keep what is useful to you, and delete the rest",)
    if len(added) > len(starters) and not fresh:
        notes += (f"added {', '.join(name for name in added if name not in entries)}",)
    scaffolded = _finish(root, around, added, notes, unwanted)
    rules = {name: original for name, original in entries.items() if is_rule(name) and name not in present}
    return _with_rules(scaffolded, rules) if with_starters else scaffolded


def _config(text: str, around: Worktree | None, *, team: bool) -> bytes:
    """The template's config with the settings of this repository."""
    text = set_value(text, "approval.distinct", value=True) if team else text
    ref = read_head(around).ref if around is not None else None
    if around is not None and ref is not None and read_ref(around, f"{_HEADS}{BRANCH}") is None:
        text = set_value(text, "approval.branch", ref.removeprefix(_HEADS))
    return text.encode()


def _with_rules(scaffolded: Scaffolded, rules: Mapping[str, bytes]) -> Scaffolded:
    """Propose the template's rules on top of the checked-out commit; where there is none yet, a later call does."""
    worktree = locate(scaffolded.root)
    start = read_head(worktree).commit
    if start is None or not rules:
        return scaffolded
    note = f"{len(rules)} starter rules wait for a person who reads and approves them: ai-lessons admin review-rules"
    try:
        propose_starters(worktree, start, rules)
    except (Refused, StorageFailed) as error:  # the repository works without them
        note = error.message
    return scaffolded._replace(notes=(*scaffolded.notes, note))


def read_template(folder: Path) -> dict[str, bytes]:
    """Every file of a template by its path."""
    with translated(str(folder)):
        return {
            name: (folder / name).read_bytes()
            for name in sorted(_files_below(folder))
            if "__pycache__/" not in name  # pip also compiles the template's scripts
        }


def clone(url: str, path: Path) -> Scaffolded:
    """Clone `url` to `path` unless it is there, asking nothing. Raises Conflict (`path` is taken), Unreachable."""
    target = Path(os.path.abspath(path.expanduser()))
    if Path(url).exists():
        url = os.path.abspath(url)
    if (target / GIT_FOLDER).exists() and git.setting(locate(target), "remote.origin.url") == url:
        return Scaffolded(target.resolve(), created=False)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Conflict(f"{target} is there and is not a clone of {url}", hint="name a folder that does not exist yet")
    with translated(str(target), writing=True):
        target.parent.mkdir(parents=True, exist_ok=True)
    hint = f"see whether this works: git clone -- {url} {target}   then: ai-lessons --repo {target} admin init"
    try:
        # a pulled tree is untrusted: git refuses names and objects that no honest client writes
        checked = ("-c", "transfer.fsckObjects=true", "clone", "--quiet", "--", url, str(target))
        done = git.run(None, *checked, timeout=CLONE_SECONDS)
    except StorageFailed as error:
        raise Unreachable(f"{url} was not cloned: {error.message}", hint=hint) from error
    if done.code:
        raise Unreachable(f"{url} was not cloned: {last_line(done.err)}", hint=hint)
    head = read_head(locate(target)).commit
    return Scaffolded(target.resolve(), created=True, commit=head, notes=() if head else (f"{url} is empty",))


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
        links = [name for name in folders if Path(place, name).is_symlink()]
        folder = Path(place).relative_to(root)
        yield from ((folder / name).as_posix() for name in (*names, *links))


def _finish(
    root: Path, around: Worktree | None, added: tuple[str, ...], notes: tuple[str, ...], unwanted: Unwanted | None
) -> Scaffolded:
    """Bring the folder's files into git, but for a folder of a bigger repository."""
    if around is not None and around.prefix:
        if added:
            notes = (*notes, f"part of the repository at {around.top}: written, not committed; commit it there")
        return Scaffolded(root, bool(added), added, notes=notes)
    made = around is None
    if made:
        _demand(git.run(None, "init", "--quiet", "--", os.path.abspath(root)), f"made no repository at {root}")
        _demand(git.run(locate(root), "symbolic-ref", "HEAD", f"{_HEADS}{BRANCH}"), f"made no branch at {root}")
    place = locate(root)
    unborn = read_head(place).commit is None
    if not unborn and not added:
        return Scaffolded(root, created=False, notes=notes)
    command = ("--literal-pathspecs", "ls-files", "-t", "-z", "--cached", "--others", "--exclude-standard", "--")
    rows = git.run(place, *command, *(() if unborn else added)).out.split(b"\0")[:-1]
    names = [os.fsdecode(row[2:]) for row in rows if not row.endswith(b"/")]  # a repository inside ends so
    left_out = _left_out(root, names, unwanted) if unborn and unwanted else {}
    notes += tuple(f"left out of git: {why}" for why in left_out.values())
    if staged := [name for name in left_out if b"H " + os.fsencode(name) in rows]:
        undo = f"git -C {root} rm --cached -- {' '.join(staged)}, then: {_AGAIN}"
        notes = (*notes, f"not committed, because you have staged it: {undo}")
        return Scaffolded(root, made or bool(added), added, notes=notes)
    taken = [name for name in names if name not in left_out]
    if taken:
        flags = ("--pathspec-from-file=-", "--pathspec-file-nul")
        done = git.run(place, *_AS_THEY_ARE, "add", *flags, stdin=git.listed(taken))
        _demand(done, f"took not every file of {root}")
    commit, why = _commit(root, None if unborn else added)
    if left_out:
        notes = (*notes, f"when that is mended: git -C {root} add -A && git -C {root} commit")
    adopted = len(set(taken) - set(added)) if unborn else 0
    return Scaffolded(root, made or bool(added) or commit is not None, added, adopted, commit, (*notes, *why))
