"""Make a knowledge repository from the template: in an empty folder, in a full one, in a part of a bigger repository.

Never overwrites, rewrites, moves or deletes a file that is there. Knows nothing of entries: what lies in the folder is
committed as it is (`first_commit.py`). The rules of the template come by a commit of their own (`starters.py`), because
a rule counts only by a merge.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import Conflict, NoRepository, Refused, StorageFailed, Unreachable
from ai_lessons.knowledge.config import parse_config, set_value
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.repository import first_commit, git, starters
from ai_lessons.repository.approval.rule_files import is_rule
from ai_lessons.repository.files import translated, write_file
from ai_lessons.repository.first_commit import BRANCH, TEXT_SAMPLE, is_binary, last_line
from ai_lessons.repository.worktree import Worktree, locate, read_head, read_ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ai_lessons.repository.first_commit import Unwanted

CLONE_SECONDS = 900.0
GIT_FOLDER = ".git"
_HEADS = "refs/heads/"

_BASICS = (".gitattributes", ".gitignore")
"""What a folder that has content already gets besides the config."""

_NORMALISE = b"* text=auto eol=lf\n"
_KEEP_BYTES = (
    b"# This folder had files with CRLF when it became a knowledge repository: line endings are kept as they are.\n"
    b"* -text\n"
)


@dataclass(frozen=True, slots=True)
class Scaffolded:
    """What was made at `root`. `created` False: all was there already, and nothing changed.

    `added` are the files that we wrote, `adopted` counts those that were there before and came into git now.
    `commit` is None where nothing was committed; `notes` says why, and what else the user should know.
    """

    root: Path
    created: bool
    added: tuple[str, ...] = ()
    adopted: int = 0
    commit: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Original:
    """One file of the template."""

    data: bytes
    executable: bool = False


def template_dir() -> Path:
    """The template: inside an installed package, beside `src/` in a checkout of the project."""
    return _data("_template", "template-repo")


def hooks_dir() -> Path:
    """The hook scripts: inside an installed package, beside `src/` in a checkout of the project."""
    return _data("_hooks", "hooks")


def _data(packaged: str, beside: str) -> Path:
    # an editable install has no copy of the files that the build forces into a wheel
    package = Path(__file__).resolve().parents[1]
    for place in (package / packaged, package.parents[1] / beside):
        if place.is_dir():
            return place
    raise StorageFailed(f"the installation is incomplete: {packaged} is missing", hint="install ai-lessons again")


def init(
    path: Path,
    *,
    template: Path | None = None,
    team: bool = False,
    person: bool = True,
    unwanted: Unwanted | None = None,
) -> Scaffolded:
    """Make `path` a knowledge repository, whatever is there; doing it twice changes nothing.

    An empty folder gets the whole template with its starter set; a folder with content, and one of a bigger
    repository, gets only the settings that it lacks. What is in no git repository becomes one, with everything in it
    in one commit. A folder of a bigger repository gets files and no commit. `team` asks for an approver other than
    the proposer of a rule; then, and where an agent calls (`person` False), the starter rules are left as proposals.
    A file of which `unwanted` says why is left out of the commit, as it is, and told.

    Raises:
        Conflict: `path` is a file. StorageFailed: the place cannot be written.
        UnsupportedRepository: a bare repository, or an unknown format. Refused: git's own folder, or somebody else's.
    """
    root = _make_folder(path)
    around = _repository_around(root)
    present = frozenset(_files_below(root))
    everything = read_template(template or template_dir())
    rules = {name: original.data for name, original in everything.items() if is_rule(name)}
    originals = {name: original for name, original in everything.items() if name not in rules}
    bigger = around is not None and bool(around.prefix)
    known = (name in originals and _holds(root / name, originals[name].data) for name in present - {CONFIG_PATH})
    fresh = not bigger and all(known)  # nobody wants our starter set in the middle of their code
    if CONFIG_PATH in present:
        hint = "this repository exists: for a team set approval.distinct to true with `ai-lessons admin config set`"
        done = _finish(root, around, (), (hint,) if team else (), unwanted)
        return _with_rules(done, rules, person=person) if fresh else done
    settings = _settings(around, team=team)
    wanted = wanted_files(originals, fresh=fresh, settings=settings)
    if not fresh and _any_crlf(root, present):
        wanted[".gitattributes"] = Original(wanted[".gitattributes"].data.replace(_NORMALISE, _KEEP_BYTES))
    added = tuple(name for name in wanted if name not in present)
    for name in added:
        write_file(root, name, wanted[name].data, executable=wanted[name].executable, durable=False)
    here = "a folder of a bigger repository" if bigger else "a folder that has content"
    note = f"added {', '.join(added)}; the starter set is not mixed into {here}"
    done = _finish(root, around, added, () if fresh else (note,), unwanted)
    return _with_rules(done, rules, person=person) if fresh else done


def _settings(around: Worktree | None, *, team: bool) -> dict[str, object]:
    """What the settings of this repository say otherwise than the template's."""
    settings: dict[str, object] = {"approval.distinct": True} if team else {}
    if around is None:
        return settings
    if around.prefix:
        settings["git.autocommit"] = False
    ref = read_head(around).ref
    if ref is not None and read_ref(around, f"{_HEADS}{BRANCH}") is None:
        settings["approval.branch"] = ref.removeprefix(_HEADS)
    return settings


def _with_rules(done: Scaffolded, rules: Mapping[str, bytes], *, person: bool) -> Scaffolded:
    """The template's rules, on top of the first commit. Where there is none yet, they come when there is."""
    if done.commit is None or not rules:
        return done
    config = parse_config((done.root / CONFIG_PATH).read_text(encoding="utf-8"))
    try:
        if not person or config.approval_distinct:
            starters.leave_as_proposals(locate(done.root), done.commit, rules)
            note = f"{len(rules)} starter rules wait for somebody who approves them: ai-lessons admin review-rules"
            return replace(done, notes=(*done.notes, note))
        commit = starters.take(locate(done.root), done.commit, rules)
    except StorageFailed as error:  # the repository is there, and works without them
        return replace(done, notes=(*done.notes, error.message))
    note = f"{len(rules)} starter rules are in force, approved by you just now: read them, delete what you do not want"
    return replace(done, commit=commit, added=(*done.added, *rules), notes=(*done.notes, note))


def wanted_files(
    originals: Mapping[str, Original], *, fresh: bool, settings: Mapping[str, object]
) -> dict[str, Original]:
    """The template's files for such a folder. The config comes last: where it lies, nothing is missing any more.

    `fresh`: the folder is empty, or holds only what an interrupted call has written. `settings` go into the config.
    """
    wanted = {name: originals[name] for name in (originals if fresh else _BASICS) if name != CONFIG_PATH}
    text = originals[CONFIG_PATH].data.decode()
    for key, value in settings.items():
        text = set_value(text, key, value)
    return wanted | {CONFIG_PATH: Original(text.encode())}


def read_template(folder: Path) -> dict[str, Original]:
    """Every file of a template by its path."""
    with translated(str(folder)):
        return {
            name: Original((folder / name).read_bytes(), os.access(folder / name, os.X_OK))
            for name in sorted(_files_below(folder))
            if "__pycache__/" not in name  # pip compiles every .py of a package that it installs, ours to ship too
        }


def clone(url: str, path: Path) -> Scaffolded:
    """Clone `url` to `path` with the git program; a clone of it that is there already is left alone.

    Asks nothing: for an address that needs a password to be typed, clone it by hand first.

    Raises:
        Conflict: something else is at `path`. Unreachable: git could not fetch it.
    """
    target = Path(os.path.abspath(path.expanduser()))
    if Path(url).exists():
        url = os.path.abspath(url)
    if (target / GIT_FOLDER).exists() and git.setting(target, "remote.origin.url") == url:
        return Scaffolded(target.resolve(), created=False)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Conflict(f"{target} is there and is not a clone of {url}", hint="name a folder that does not exist yet")
    with translated(str(target), writing=True):
        target.parent.mkdir(parents=True, exist_ok=True)
    hint = f"see whether this works: git clone -- {url} {target}   then: ai-lessons --repo {target} admin init"
    try:
        # a pulled tree is untrusted: git refuses names and objects that no honest client writes
        checked = ("-c", "transfer.fsckObjects=true", "clone", "--quiet", "--", url, str(target))
        done = git.run(target.parent, *checked, timeout=CLONE_SECONDS)
    except StorageFailed as error:
        raise Unreachable(f"{url} was not cloned: {error.message}", hint=hint) from error
    if done.code:
        raise Unreachable(f"{url} was not cloned: {last_line(done.err)}", hint=hint)
    head = read_head(locate(target)).commit
    return Scaffolded(target.resolve(), created=True, commit=head, notes=() if head else (f"{url} is empty",))


def _make_folder(path: Path) -> Path:
    full = Path(os.path.abspath(path.expanduser()))
    if GIT_FOLDER in full.parts:
        raise Refused(f"{full} is inside git's own folder")
    if full.exists() and not full.is_dir():
        raise Conflict(f"{full} is a file, and a knowledge repository is a folder")
    with translated(str(full), writing=True):
        full.mkdir(parents=True, exist_ok=True)
    if not os.access(full, os.W_OK | os.X_OK):
        raise StorageFailed(f"{full} cannot be written", hint="check who owns the folder, and its permissions")
    return full.resolve()


def _repository_around(root: Path) -> Worktree | None:
    try:
        return locate(root)
    except NoRepository:
        return None


def _files_below(root: Path) -> Iterator[str]:
    """Every file and link, hidden ones too; not what belongs to git or to a repository inside this one."""
    for place, folders, names in os.walk(root):
        if place != str(root) and (GIT_FOLDER in folders or GIT_FOLDER in names):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name != GIT_FOLDER)
        links = [name for name in folders if Path(place, name).is_symlink()]
        folder = Path(place).relative_to(root)
        yield from ((folder / name).as_posix() for name in (*names, *links))


def _holds(file: Path, data: bytes) -> bool:
    return file.is_file() and file.read_bytes() == data


def _any_crlf(root: Path, names: Iterable[str]) -> bool:
    return any(_is_crlf(root / name) for name in names if not (root / name).is_symlink())


def _is_crlf(file: Path) -> bool:
    """True for what git would call a text file, if a line of it ends in CRLF."""
    if not file.is_file():
        return False
    with translated(str(file)), file.open("rb") as opened:
        start = opened.read(TEXT_SAMPLE)
        return not is_binary(start) and b"\r\n" in start + opened.read()


def _finish(
    root: Path, around: Worktree | None, added: tuple[str, ...], notes: tuple[str, ...], unwanted: Unwanted | None
) -> Scaffolded:
    """Bring what is in the folder into git, as far as that is ours to do."""
    if around is not None and around.prefix:
        if added:
            notes = (*notes, f"part of the repository at {around.top}: written, not committed; commit it there")
        return Scaffolded(root, bool(added), added, notes=notes)
    made = around is None
    if made:
        first_commit.make_repository(root)
    unborn = read_head(locate(root)).commit is None
    if not unborn and not added:
        return Scaffolded(root, created=False, notes=notes)
    if unborn:
        taken = first_commit.take(root, _files_below(root), only=None, unwanted=unwanted)
    else:
        taken = first_commit.take(root, added, only=added, unwanted=None)
    adopted = len(taken.staged - set(added)) if unborn else 0
    created = made or bool(added) or taken.commit is not None
    return Scaffolded(root, created, added, adopted, taken.commit, (*notes, *taken.notes))
