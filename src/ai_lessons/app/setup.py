"""Makes a repository ready: template, hooks, migration, agent hosts; the index and the model."""

from __future__ import annotations

import os
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ai_lessons import app
from ai_lessons.app import write_checks
from ai_lessons.app.workspace import RepositorySession
from ai_lessons.approval.decisions import propose_starters
from ai_lessons.connectors import agent_hosts
from ai_lessons.connectors.agent_hosts import Host, HostChange, Target
from ai_lessons.errors import (
    AiLessonsError,
    Conflict,
    NoRepository,
    NotFound,
    Refused,
    StorageFailed,
    Unreachable,
    UnsavedEdits,
    UsageError,
)
from ai_lessons.git import external_files, network, plumbing
from ai_lessons.git import hooks as git_hooks
from ai_lessons.git.approval_branch import DEFAULT
from ai_lessons.git.files import read_file, translated, write_file
from ai_lessons.git.store import AUTOCOMMIT, Change, Job, Store
from ai_lessons.git.worktree import (
    GIT_FOLDER,
    Worktree,
    locate,
    read_head,
    read_ref,
    refuse_linked,
    shared_files,
    walk,
)
from ai_lessons.model import USER, Where, config, layout
from ai_lessons.model.approval import is_rule
from ai_lessons.model.config import GROUP, set_value
from ai_lessons.model.entries import Filter
from ai_lessons.model.layout import CONFIG_PATH, blob_id
from ai_lessons.model.texts import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.options import Options
    from ai_lessons.app.workspace import Library
    from ai_lessons.model.config import Migration
    from ai_lessons.model.entries import Kind
    from ai_lessons.search.index_tables import SharedIndex
    from ai_lessons.search.rows import IndexRefresh, IndexStatus


class Initialised(NamedTuple):
    """What `init` did. `created` False means the repository was already there and complete.

    `entries` are in it now; `cloned` is the address that it was cloned from. `hosts`: agent hosts
    of this machine that are not connected; `connected`: what was changed for that. `question`: one
    that an entry here is known to answer.
    """

    path: str
    created: bool
    adopted: int
    hooks: tuple[str, ...]
    commit: str | None
    notes: tuple[str, ...] = ()
    entries: int = 0
    cloned: str = ""
    hosts: tuple[str, ...] = ()
    connected: tuple[Any, ...] = ()
    question: str = ""


# of connectors, for the interfaces
__all__ = ["Host", "HostChange", "Target"]

SUBJECT = "Start the knowledge repository"
BRANCH = "main"
_AGAIN = "ai-lessons admin init"
# What an entry of the starter set answers, by its words and by its meaning
_STARTERS_ANSWER = "a merge lost a file"

_AS_THEY_ARE = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")


def _left_out(root: Path, names: Iterable[str]) -> dict[str, str]:
    """The text files that must not come into git, and why.

    Links and files too large for an entry are not read.
    """
    reasons = {}
    for name in names:
        with suppress(AiLessonsError):
            data = read_file(root, name)[0]
            # Git takes a file for binary if a NUL is among so many first bytes
            if b"\0" not in data[:8000] and (reason := write_checks.why_not(root, name, data)):
                reasons[name] = reason
    return reasons


def _demand(done: plumbing.Done, failure: str) -> None:
    if done.code:
        raise StorageFailed(f"git {failure}: {last_line(done.err)}")


def _commit(root: Path, only: Sequence[str] | None) -> tuple[str | None, tuple[str, ...]]:
    """Commit what is staged, or of it only these paths.

    (commit, nothing) or (None, the reason and what to do).
    """
    command = f'git -C {root} commit -m "{SUBJECT}"' + (f" -- {' '.join(only)}" if only else "")
    worktree = locate(root)
    if read_head(worktree).ref is None:
        return None, (
            f"not committed, because no branch is checked out; switch to one, then: {command}",
        )
    if plumbing.identity(worktree) is None:
        remedy = 'git config --global user.name "…" and git config --global user.email "…"'
        return None, (
            f"not committed yet, because git does not know who you are: {remedy}, then: {command}",
        )
    paths = ("--pathspec-from-file=-", "--pathspec-file-nul") if only else ()
    flags = (*_AS_THEY_ARE, "commit", "-q", "-m", SUBJECT, *paths)
    stdin, notes = plumbing.listed(only or ()), tuple[str, ...]()

    def fault(*options: str, timeout: float = plumbing.TIMEOUT) -> str:
        try:
            done = plumbing.run(worktree, *flags, *options, stdin=stdin, timeout=timeout)
        except StorageFailed as error:
            return error.message
        if done.code:
            return last_line(done.err or done.text)
        return ""

    signs = plumbing.setting(worktree, "commit.gpgsign", kind="bool") == "true"
    why = fault(timeout=plumbing.SIGN_TIMEOUT) if signs else fault()
    if why and signs:
        notes = (f"the first commit is unsigned, because it could not be signed: {why}",)
        why = fault("--no-gpg-sign")
    if why:
        return None, (
            f"not committed yet, because git refused: {why}; when that is mended: {command}",
        )
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
    return all(
        n in template and (root / n).is_file() and (root / n).read_bytes() == template[n]
        for n in names
    )


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
    everything = read_template(template_dir())
    entries = {name: original for name, original in everything.items() if layout.place(name)}
    settings = {name: original for name, original in everything.items() if name not in entries}
    fresh = not bigger and _is_of(everything, root, present - {CONFIG_PATH})
    files = {
        name: original for name, original in entries.items() if with_starters and not is_rule(name)
    }
    if CONFIG_PATH not in present:
        files |= _settings_files(settings, around, fresh=fresh, team=team)
    elif team:
        notes = (
            (
                "this repository exists: for a team set approval.distinct to true with "
                "`ai-lessons admin config set`"
            ),
        )
    added = tuple(name for name in files if name not in present)
    with shared_files(around) if around else nullcontext():
        for name in added:
            runs = os.access(template_dir() / name, os.X_OK)
            write_file(root, name, files[name], executable=runs, durable=False)
    starters = [name for name in added if name in entries]
    if starters:
        count = len(starters)
        notes += (
            (
                f"{count} files of the starter set are there: keep what is useful to you, and "
                "delete the rest"
            ),
        )
    if len(added) > len(starters) and not fresh:
        notes += (f"added {', '.join(name for name in added if name not in entries)}",)
    scaffolded = _finish(root, around, added, notes)
    rules = {
        name: original
        for name, original in entries.items()
        if is_rule(name) and name not in present
    }
    return _with_rules(scaffolded, rules) if with_starters else scaffolded


def _settings_files(
    settings: Mapping[str, bytes], around: Worktree | None, *, fresh: bool, team: bool
) -> dict[str, bytes]:
    """The template's files that are no entries.

    For a folder that has files already only those that it needs.
    """
    files = {}
    for name in settings if fresh else _BASICS:
        if name != CONFIG_PATH:
            files[name] = settings[name]
    if not fresh:
        # the user's files keep their line ends
        files[".gitattributes"] = files[".gitattributes"].replace(_NORMALISE, _KEEP_BYTES)
    # the config is written last: where it exists, no file is missing
    return files | {CONFIG_PATH: _config(settings[CONFIG_PATH].decode(), around, team=team)}


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
    with translated(str(folder)):
        by_key: dict[str, bytes] = {}
        for name in sorted(_files_below(folder)):
            if "__pycache__/" not in name:
                by_key[name] = (folder / name).read_bytes()
        return by_key


@plumbing.online()
def clone(url: str, path: Path) -> Scaffolded:
    """Clone `url` to `path` unless it is there, asking nothing.

    Raises Conflict (`path` is taken), Unreachable.
    """
    target = Path(os.path.abspath(path.expanduser()))
    if Path(url).exists():
        url = os.path.abspath(url)
    remotes = ("config", "--get-regexp", r"^remote\..*\.url$")
    if (
        target / GIT_FOLDER
    ).exists() and f" {url}\n" in f"{plumbing.run(locate(target), *remotes).text}\n":
        return Scaffolded(target.resolve(), created=False)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Conflict(
            f"{target} is there and is not a clone of {url}",
            hint="name a folder that does not exist yet",
        )
    with translated(str(target), writing=True):
        target.parent.mkdir(parents=True, exist_ok=True)
    hint = f"see whether this works: git clone -- {url} {target}   then: ai-lessons --repo {target} admin init"
    try:
        # a pulled tree is untrusted: git refuses names and objects that no honest client writes
        checked = ("-c", "transfer.fsckObjects=true", "clone", "--quiet", "--", url, str(target))
        # a clone of 1 GB takes minutes; a server that hangs must not hold us for ever
        done = plumbing.run(None, *checked, timeout=900.0)
    except StorageFailed as error:
        raise Unreachable(f"{url} was not cloned: {error.message}", hint=hint) from error
    if done.code:
        reason, advice = network.why(done.err)
        raise Unreachable(
            f"{url} was not cloned: {reason}", hint=f"{advice}; {hint}" if advice else hint
        )
    worktree = locate(target)
    if read_head(worktree).commit is None:
        # empty, or its HEAD names a branch that it does not have
        listed = plumbing.run(
            worktree, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes"
        ).text.split()
        for name in {*listed} & {DEFAULT} or listed[: len(listed) == 1]:
            plumbing.run(worktree, "checkout", "--quiet", name)
    head = read_head(worktree).commit
    return Scaffolded(
        target.resolve(), created=True, commit=head, notes=() if head else (f"{url} is empty",)
    )


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
        links = []
        for name in folders:
            if Path(place, name).is_symlink():
                links.append(name)
        folder = Path(place).relative_to(root)
        yield from ((folder / name).as_posix() for name in (*names, *links))


def _finish(
    root: Path, around: Worktree | None, added: tuple[str, ...], notes: tuple[str, ...]
) -> Scaffolded:
    """Bring the folder's files into git, but for a folder of a bigger repository."""
    if around is not None and around.prefix:
        if added:
            notes = (
                *notes,
                f"part of the repository at {around.top}: written, not committed; commit it there",
            )
        notes += Store(root).ignored([CONFIG_PATH])
        return Scaffolded(root, bool(added), added, notes=notes)
    made = around is None
    if made:
        _demand(
            plumbing.run(None, "init", "--quiet", "--", os.path.abspath(root)),
            f"made no repository at {root}",
        )
        _demand(
            plumbing.run(locate(root), "symbolic-ref", "HEAD", f"{_HEADS}{BRANCH}"),
            f"made no branch at {root}",
        )
    place = locate(root)
    unborn = read_head(place).commit is None
    if not unborn and not added:
        return Scaffolded(root, created=False, notes=notes)
    command = ("ls-files", "-t", "-z", "--cached", "--others", "--exclude-standard", "--")
    rows = plumbing.run(place, *command, *(() if unborn else added)).out.split(b"\0")[:-1]
    # a repository inside ends so
    names = []
    for row in rows:
        if not row.endswith(b"/"):
            names.append(os.fsdecode(row[2:]))
    if unborn:
        left_out = _left_out(root, names)
    else:
        left_out = {}
    notes += tuple(f"left out of git: {why}" for why in left_out.values())
    if staged := [name for name in left_out if b"H " + os.fsencode(name) in rows]:
        undo = f"git -C {root} rm --cached -- {' '.join(staged)}, then: {_AGAIN}"
        notes = (*notes, f"not committed, because you have staged it: {undo}")
        return Scaffolded(root, made or bool(added), added, notes=notes)
    taken = []
    for name in names:
        if name not in left_out:
            taken.append(name)
    if taken:
        flags = ("--pathspec-from-file=-", "--pathspec-file-nul")
        done = plumbing.run(place, *_AS_THEY_ARE, "add", *flags, stdin=plumbing.listed(taken))
        _demand(done, f"took not every file of {root}")
    commit, why = _commit(root, None if unborn else added)
    if left_out:
        notes = (*notes, f"when that is mended: git -C {root} add -A && git -C {root} commit")
    if unborn:
        adopted = len(set(taken) - set(added))
    else:
        adopted = 0
    return Scaffolded(
        root, made or bool(added) or commit is not None, added, adopted, commit, (*notes, *why)
    )


def reindex(
    library: Library,
    refs: Sequence[str] = (),
    *,
    full: bool = False,
    kinds: Collection[Kind] = (),
    seconds: float | None = None,
) -> IndexRefresh:
    """Bring the index up to date now.

    `refs`, `kinds`: write those entries anew, `full`: all (vectors are cached).
    """
    from ai_lessons.app.resource_refresh import refresh
    from ai_lessons.app.sources import source_of
    from ai_lessons.app.trust import known_sources, source_mark

    repo = library.primary
    catalog = repo.current()
    summaries = []
    for ref in refs:
        summaries.append(repo.resolve(ref))
    if kinds:
        summaries += catalog.select(Filter(kinds=frozenset(kinds), status=None))
    notes = []
    for summary in summaries:
        # scripts that are kept elsewhere are read again
        place = None
        if summary.elsewhere:
            place = source_of(repo, summary)
        if place and (
            refs or source_mark(summary.id, place) in known_sources(repo.store.state_dir)
        ):
            try:
                refresh(library, [summary.handle])
            except AiLessonsError as error:
                if refs:
                    raise
                notes.append(f"{summary.handle}: {error.message}")
    again = [summary.id for summary in summaries]
    repo.current()
    done = repo.indexing.refresh(seconds=seconds, full=full, again=again, shared=True)
    if seconds is None:
        done = repo.indexing.join(done, lambda: repo.indexing.refresh(seconds=None, shared=True))
    return done._replace(notes=(*done.notes, *notes))


class Pushed(NamedTuple):
    """What lies in the shared index after a push."""

    shared: IndexStatus
    notes: tuple[str, ...] = ()


class Pulled(NamedTuple):
    """Vectors that came, those that had to be computed here all the same, and passages still without one."""

    uri: str
    came: int
    embedded: int
    passages: int
    missing: int
    notes: tuple[str, ...] = ()


def index_status(library: Library, uri: str | None = None) -> IndexStatus:
    """The state of the index; with `uri`, that of a shared one.

    Raises Unreachable: the shared index does not answer.
    """
    repo = library.primary
    repo.current()
    status = repo.index.status()
    if uri is None:
        return status
    return status._replace(shared=_place(repo, uri).state())


def index_push(library: Library, uri: str) -> Pushed:
    """Complete the index and make the shared one at `uri` equal to it.

    Raises Unreachable: it cannot be written. Conflict: another process is pushing.
    """
    repo = library.primary
    place = _place(repo, uri)
    repo.current()
    done = repo.indexing.refresh(seconds=None)
    table = repo.index.query.newest()
    if table is None:
        raise NotFound("index of", str(repo.store.root), hint="add an entry first")
    place.push(table, repo.options.progress)
    return Pushed(place.state(), done.notes)


def index_pull(library: Library, uri: str) -> Pulled:
    """Take the vectors of the shared index at `uri`; what it lacks is computed here.

    Raises NotFound: nothing is there. UsageError: it is of another model. Unreachable: it does not
    answer.
    """
    repo = library.primary
    place = _place(repo, uri)
    state = place.state()
    if not state.model:
        raise NotFound(
            "shared index", place.uri, hint=f"make it: ai-lessons admin index push {place.uri}"
        )
    if state.model != repo.index.model:
        raise UsageError(
            (
                f"the shared index holds vectors of {state.model}, and this repository uses "
                f"{repo.index.model}"
            ),
            hint=f"ai-lessons admin config set search.model {state.model}",
        )
    vectors = place.pull(state.model, repo.indexing.vectors, repo.options.progress)
    repo.current()
    done = repo.indexing.refresh(seconds=None)
    return Pulled(
        place.uri, vectors, done.embedded, repo.indexing.passages(), done.missing, done.notes
    )


def _place(repo: RepositorySession, uri: str) -> SharedIndex:
    # LanceDB takes half a second, and `init` needs none
    from ai_lessons.search.index_tables import SharedIndex

    if not uri.strip():
        raise UsageError(
            "no address is given", hint="a folder, or what LanceDB takes: s3://bucket/path"
        )
    if "://" not in uri:
        return SharedIndex(str(repo.options.cwd / uri))
    if repo.options.offline:
        raise Unreachable(
            f"{uri} is on the network, and offline was asked for", hint="unset AI_LESSONS_OFFLINE"
        )
    return SharedIndex(uri)


def init_repository(
    path: Path,
    options: Options,
    *,
    from_url: str | None = None,
    hooks: bool = True,
    team: bool = False,
    starters: bool = False,
) -> Initialised:
    """Make a repository at `path` from the template, or clone `from_url` there.

    Doing it twice changes nothing.

    `starters` brings the starter set, of which the rules wait as proposals.
    Raises UsageError: starters for a clone. Refused: starters for a folder of a bigger repository.
    StorageFailed: the place cannot be written; Unreachable: the URL does not answer.
    """
    if from_url and starters:
        raise UsageError(
            "a clone brings its own entries, and no starter set",
            hint="leave --from or --starters out",
        )
    if from_url:
        made = clone(from_url, path)
    else:
        is_user = any(
            place.name == USER and place.root.resolve() == path.resolve()
            for place in options.places.known
        )
        made = init(path, team=team, with_starters=starters, separate=is_user)
    with closing(RepositorySession(made.root, options)) as repo:
        bigger = repo.store.is_folder_of_bigger_repo
        if hooks and not bigger:
            lines = git_hooks.carry_out(made.root, hooks_dir(), "install")
        else:
            lines = ()
        repo.current()
        notes, entries = (*made.notes, *repo.notes()), repo.catalog.count(Filter(status=None))
        if from_url and made.created:
            cloned = from_url
        else:
            cloned = ""
        if cloned and entries:
            notes += _meaning_of_a_clone(repo, entries)
    if starters and made.created:
        question = _STARTERS_ANSWER
    else:
        question = ""
    return Initialised(
        str(made.root),
        made.created,
        made.adopted,
        lines,
        made.commit,
        notes,
        entries,
        cloned,
        question=question,
    )


def _meaning_of_a_clone(repo: RepositorySession, entries: int) -> tuple[str, ...]:
    """Take the vectors that the origin has, and begin to compute what they lack."""
    notes = (*app.vector_sharing.fetch(repo, "origin"), *app.vector_sharing.take_in(repo))
    if repo.has_index and not repo.indexing.missing:
        return notes
    return (*notes, *app.meaning.begin(repo, entries))


def config_get(library: Library, key: str | None = None) -> dict[str, object]:
    """The repository's settings in force, defaults included, by dotted key.

    Raises NotFound: no such key.
    """
    values = config.values_of(library.primary.config)
    if key is None:
        return values
    if key not in values:
        raise NotFound(
            "setting", key, suggestions=[k for k in values if key.rpartition(".")[2] in k][:3]
        )
    return {key: values[key]}


def config_set(library: Library, key: str, value: str) -> str | None:
    """Change one setting in `.ai-lessons/config.yaml`, keeping its comments.

    The commit, or None if it waits.

    Raises UsageError: no such key, or not a value for it. NotFound: no such embedding model.
    Refused: an agent would change a policy, or it would count for nothing here.
    """
    repo = library.primary
    if key.partition(".")[0] in _POLICIES:
        repo.options.refuse_agents(f"change {key}", f"ai-lessons admin config set {key} …")
    store = repo.store
    if key == "git.autocommit" and store.is_folder_of_bigger_repo:
        raise Refused(
            (
                f"{key} counts for nothing in a folder of a bigger repository, because it "
                "comes with a pull"
            ),
            hint=f"git -C {store.root} config {AUTOCOMMIT} true",
        )
    change = _setting(repo, key, value)
    if key == "search.model" and value != config.DEFAULT_MODEL:
        from ai_lessons.search.embedding import dimensions_of

        dimensions_of(value)
    if key == "search.index" and value:
        from ai_lessons.app.search_index import agree

        agree(repo, value)
    if change:
        return repo.write(f"Set {key}", [change]).commit
    return None


def _setting(repo: RepositorySession, key: str, value: str | int) -> Change | None:
    """What sets one setting in the file, everything else as it was; None where it says so.

    Raises UsageError.
    """
    exists = repo.store.exists(CONFIG_PATH)
    if exists:
        data = repo.store.read(CONFIG_PATH)
    else:
        data = b""
    new = config.set_value(decode(data, CONFIG_PATH), key, value).encode()
    if new != data:
        return Change(CONFIG_PATH, new, expect=blob_id(data) if exists else None)
    return None


_POLICIES = frozenset(("approval", "git", "events", "format", GROUP))
"""Groups of settings that an agent does not change; the others say how a search works."""


def hooks(library: Library, job: HookJob) -> tuple[str, ...]:
    """Put our part into the client hooks, take it out byte for byte, or say which carry it.

    A line for each.

    The last line is about the merge driver, which comes and goes with them.
    """
    return git_hooks.carry_out(library.primary.store.root, hooks_dir(), job)


def check_push(hub: Path, lines: Iterable[str]) -> tuple[str, ...]:
    """Why the push inside the `pre-receive` hook of `hub` is refused, for those who pushed.

    Nothing: it is taken.

    `lines` is what git gives that hook to read. Raises Refused: not such lines. NoRepository,
    NotFound,
    UnsupportedRepository: it cannot be decided, so refuse it.
    """
    from ai_lessons.approval import push_check

    return push_check.check(hub, push_check.parse_updates(lines))


def server_hook(job: HookJob, hub: Path) -> tuple[str, ...]:
    """Put our part into the hub's `pre-receive` hook, take it out again, byte for byte, or say whether it is there.

    Raises NoRepository: no hub there. StorageFailed: it cannot be written.
    """
    from ai_lessons.approval import push_check

    return git_hooks.carry_out_on_server(push_check.git_dir_of(hub), hooks_dir(), job)


HookJob = Literal["install", "uninstall", "status"]

PLUGIN = "claude-code"
NO_HOST = "a host is found by its program on the path or its folder: start it once"
TEXT = "agents.md"


def hosts(at: Where, event: bytes = b"") -> tuple[Host, ...]:
    """The agent hosts of this machine as they are now.

    With an `event` what our programs there answer to it.
    """
    hosts_here = agent_hosts.find_hosts(at)
    if event:
        return agent_hosts.tried(hosts_here, at, event)
    return hosts_here


def connect(
    at: Where, names: Sequence[str], job: HookJob, agreed: Callable[[Sequence[HostChange]], bool]
) -> tuple[HostChange, ...]:
    """Put our hooks and our server into the user's settings of the hosts found here, or take them out (`uninstall`).

    `agreed` is asked once, with all that changes; a no raises Refused, and nothing is written. NotFound: such a host is
    not found here. Conflict: a file changed meanwhile. StorageFailed.
    """
    host_ids = [host.id for host in hosts(at)]
    for name in names or ("",):
        if name not in host_ids and (name or not host_ids):
            raise NotFound(
                "agent host", name or "here", suggestions=host_ids, hint="" if host_ids else NO_HOST
            )
    changes = agent_hosts.for_user(at, hooks_dir() / PLUGIN, names, job)
    if any(change.before != change.after for change in changes) and not agreed(changes):
        raise Refused(
            "nothing was changed", hint="every line of it: ai-lessons admin hosts --install -v"
        )
    agent_hosts.carry_out(changes)
    return changes


def instruct(job: HookJob, cwd: Path, files: Sequence[Path] = ()) -> tuple[str, ...]:
    """Our paragraph in the instruction files of the code repository around `cwd`, or in `files`.

    A line for each.

    Raises UsageError: no code repository there, and no file named. StorageFailed: a file cannot be
    written.
    """
    text = (hooks_dir() / TEXT).read_text(encoding="utf-8")
    if files:
        named = []
        for file in files:
            named.append(external_files.typed(file, cwd))
        return tuple(f"{file}: {git_hooks.change_marked_part(file, job, text)}" for file in named)
    top = external_files.top_of(cwd)
    if top is None:
        raise UsageError(
            f"{cwd} lies in no code repository", hint="--file FILE names one elsewhere"
        )
    chosen = git_hooks.files_in(top, every=job != "install")
    return tuple(f"{file.name}: {git_hooks.change_marked_part(file, job, text)}" for file in chosen)


def complete(file: Path, script: str) -> str:
    """A script in the start file of a shell, in place of an older one; what was done.

    Raises StorageFailed.
    """
    file = external_files.kept(file)
    marks = git_hooks.marks("ai-lessons completion", "# {}")
    return f"{file}: {git_hooks.change_marked_part(file, 'install', script, marks)}"


class Migrated(NamedTuple):
    """From which version of the format to which, by which steps.

    Nothing was done where they are the same.

    `snapshot` is the tag of what was before, `changed` are files.
    """

    old: int
    new: int
    steps: tuple[str, ...] = ()
    snapshot: str | None = None
    changed: tuple[str, ...] = ()
    commit: str | None = None
    notes: tuple[str, ...] = ()


def migrate(library: Library, *, steps: Mapping[int, Migration] = config.STEPS) -> Migrated:
    """Bring the repository's files, but for approved rules, to the format of this program in one commit.

    Raises UnsupportedRepository: it is of a newer program. UnsavedEdits: a file that changes has edits in no commit.
    Refused: an earlier write waits for its commit. StorageFailed: git makes no tag.
    """
    repo = library.primary
    old, new = repo.config.format, config.FORMAT
    if old == new:
        return Migrated(old, new)
    repo.save_first()
    now = _files(repo)
    changes = []
    for path, data in sorted(config.migrated_files(now, old, new, steps).items()):
        changes.append(Change(path, data, expect=blob_id(now[path]) if path in now else None))
    paths = (*(change.path for change in changes), CONFIG_PATH)
    edited = [path for path in paths if repo.store.exists(path) and repo.history.dirty(path)]
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit",
            hint="commit them first: git commit",
        )
    tag = f"before-format-{new}-{repo.options.now().astimezone():%Y-%m-%dT%H%M%S}"
    head, message = repo.store.head().commit or "", f"Before format {new}"
    # a signature would ask for a passphrase, and the tag proves nothing
    made = plumbing.run(
        repo.store.worktree, "tag", "--annotate", "--no-sign", "--message", message, "--", tag, head
    )
    if made.code:
        raise StorageFailed(f"git made no tag: {made.err}")
    changes += filter(None, [_setting(repo, "format", new)])
    repo.refuse_secrets(changes)
    repo.store.autocommit = repo.store.commits(repo.config.autocommit)
    job = Job(
        f"Migrate from format {old} to {new}",
        changes,
        [("Snapshot", tag)],
        write_checks.actor(repo),
    )
    applied = repo.store.apply(job)
    repo.current()
    says = tuple(steps[version].says for version in range(old, new))
    return Migrated(old, new, says, tag, paths, applied.commit, applied.messages)


def _files(repo: RepositorySession) -> dict[str, bytes]:
    """The files of entries but for rules."""
    contents: dict[str, bytes] = {}
    for folder, rows in walk(repo.store.root):
        for row in rows:
            if folder:
                path = f"{folder}/{row[0]}"
            else:
                path = row[0]
            if layout.place(path) is not None and not is_rule(path):
                with suppress(AiLessonsError):
                    # `validate` names it; what cannot be read cannot be changed
                    contents[path] = repo.store.read(path)
    return contents
