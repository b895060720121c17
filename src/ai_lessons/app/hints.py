"""What hooks of an agent host tell and remember: the right entry at a start, a prompt, a command, a failure."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.app import secrets
from ai_lessons.app.answers import Context
from ai_lessons.app.contexts import SYMBOL, Injecting, fit, usages_of
from ai_lessons.errors import AiLessonsError, NotFound, StorageFailed
from ai_lessons.git import files
from ai_lessons.git import worktree as git_worktree
from ai_lessons.git.files import read_file, translated, write_all
from ai_lessons.git.worktree import proposal_refs, signature
from ai_lessons.learning.selection import FEW, Candidate, NotShown, ShownEntry, carried_out, corrects, judged, same_job
from ai_lessons.learning.statistics import HELD, NEEDED, PASSED, RECURRED, UNHEEDED, Event
from ai_lessons.model import command_patterns as commands
from ai_lessons.model import transcripts
from ai_lessons.model.anchors import anchors_of, brings
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, Kind, Moment
from ai_lessons.model.layout import ANYTHING, BELOW, BY_KIND, BY_NAME, EXACT
from ai_lessons.model.lessons import is_pasted, stated, weight
from ai_lessons.model.rule_checks import ASK, ASK_OR_DENY, DENY
from ai_lessons.search.terms import BAR, EDIT_BAR

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.contexts import Edit
    from ai_lessons.app.daemon_client import DaemonClient
    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.learning.statistics import Tallies

    Fitting = Callable[[Context, int], Mapping[str, int]]
    """Which of the entries can be told whole in so many characters, and how many each takes."""

FOLDER = "agent-sessions"
MOST = 3_000  # bench.decisions: characters that a session is told after its start
KEPT_SECONDS = 7 * 24 * 3600  # Time without an event after which a session is forgotten
_LIMIT = 1 << 20
_KEPT, _KEPT_CHARACTERS = 20, 2_000  # Failures of a session that are kept, and of each as much of command and output


class Failure(NamedTuple):
    """A command that failed (or a tool, without `output`), without secrets, and the one that did its job later.

    `settled`: a stored entry has the answer, or a lesson was added since. `missing`: what no entry helped with.
    """

    command: str
    output: str
    folder: str
    solved: str = ""
    settled: bool = False
    missing: str = ""


class Session:
    """The memory of a session that began in `folder`. `shown`: ids of entries by agent.

    `told`: the entries shown, from `turn` on since the last prompt; `spent`: characters of them after the start.
    `failed`: the last of all `failures`. `asked`: whether the agent was reminded of one at the end. `stated`: what a
    person stated that nothing stored says, and `edited` the files since; empty once the agent was asked for it.
    """

    # a dataclass would cost every hook the import of `inspect`
    def __init__(self, kept: Mapping[str, Any] = MappingProxyType({})) -> None:
        """As `vars` was kept. Raises TypeError, ValueError, AttributeError: that is no session."""
        self.name: str = kept.get("name", "")
        self.host: str = kept.get("host", "")
        self.folder: str = kept.get("folder", "")
        self.shown: dict[str, list[str]] = dict(kept.get("shown", {}))
        self.told = [ShownEntry._make(row) for row in kept.get("told", ())]
        self.failed = [Failure._make(row) for row in kept.get("failed", ())]
        self.turn: int = kept.get("turn", 0)
        self.failures: int = kept.get("failures", 0)
        self.spent: int = kept.get("spent", 0)
        self.asked: bool = kept.get("asked", False)
        self.asked_for_statement: bool = kept.get("asked_for_statement", False)
        self.stated: str = kept.get("stated", "")
        self.edited: list[str] = list(kept.get("edited", ()))

    def ids(self, agent: str) -> tuple[str, ...]:
        """The entries that this agent was shown."""
        return tuple(self.shown.get(agent, ()))

    def only_at(self, *moments: Moment) -> set[str]:
        """The entries shown at these moments and at no other one."""
        return {x.id for x in self.told if x.moment in moments} - {x.id for x in self.told if x.moment not in moments}

    def fresh(self, agent: str, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names that this agent was not shown; from now on they count as shown."""
        shown = self.shown.setdefault(agent, [])
        new = [name for name in dict.fromkeys(names) if name not in shown]
        shown += new
        return tuple(new)

    def note_failure(self, command: str, output: str, folder: Path) -> None:
        """A command failed."""
        line, text = (secrets.without_suspects(text)[:_KEPT_CHARACTERS] for text in (command, output))
        self.failures += 1
        self.failed = [*self.failed, Failure(line, text, str(folder))][-_KEPT:]

    def note_success(self, command: str, earlier: Iterable[ShownEntry]) -> None:
        """A command succeeded: it solves the failures that it did the job of, perhaps as a shown entry says."""
        answered = any(carried_out(entry.does, command, entry.command) for entry in earlier)
        for n, failure in enumerate(self.failed):
            if not failure.solved and same_job(failure.command, command):
                self.failed[n] = failure._replace(solved=command[:_DOES], settled=answered or failure.settled)


@contextmanager
def opened(state_dir: Path, name: str) -> Iterator[Session]:
    """A session, locked for this process; changes are saved at the end. Raises StorageFailed."""
    file = _file(state_dir, name)
    with translated(str(file), writing=True):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with translated(str(file), writing=True):
            fcntl.flock(fd, fcntl.LOCK_EX)
            before = os.read(fd, _LIMIT)
        session = _parsed(before)
        session.name = name
        yield session
        after = json.dumps(vars(session)).encode()
        if after != before:
            with translated(str(file), writing=True):
                os.lseek(fd, 0, os.SEEK_SET)
                os.truncate(fd, 0)
                write_all(fd, after)
    finally:
        os.close(fd)


def is_remembered(state_dir: Path, name: str) -> bool:
    """Whether anything is remembered of this session."""
    return _file(state_dir, name).exists()


def recent(state_dir: Path) -> list[tuple[float, Session]]:
    """Every session with the time of its last event in seconds since 1970, the latest first."""
    sessions = []
    for file in (state_dir / FOLDER).glob("*.json"):
        with suppress(OSError):
            sessions.append((file.lstat().st_mtime, _read(file)))
    return sorted(sessions, key=lambda row: -row[0])


def failures_of(state_dir: Path, name: str) -> list[Failure]:
    """The failures with an output that a session keeps."""
    return [failure for failure in _read(_file(state_dir, name)).failed if failure.output]


def failures_in(state_dir: Path, folder: Path) -> list[Failure]:
    """As `failures_of`, of the session that last worked in this folder or below it, within the last hour."""
    for at, session in recent(state_dir):
        failed = [x for x in session.failed if x.output and Path(x.folder).is_relative_to(folder)]
        if failed and at > time.time() - 3600.0:  # a session without an event for an hour has ended
            return failed
    return []


def clean_up(state_dir: Path) -> None:
    """Remove old sessions; never fails, because the next session tries again."""
    old = time.time() - KEPT_SECONDS
    with suppress(OSError), os.scandir(state_dir / FOLDER) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.endswith(".json") and entry.stat(follow_symlinks=False).st_mtime < old:
                    os.unlink(entry.path)


def _file(state_dir: Path, name: str) -> Path:
    # a session's name comes from outside and becomes no part of a path
    return state_dir / FOLDER / f"{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _read(file: Path) -> Session:
    """A session to be read, changes to which are not saved; a new one where there is none."""
    with suppress(AiLessonsError):
        return _parsed(read_file(file.parent, file.name, _LIMIT)[0])
    return Session()


def _parsed(data: bytes) -> Session:
    """The session of a file; a new one where a process was killed while it wrote it."""
    with suppress(ValueError, RecursionError, TypeError, AttributeError):
        return Session(json.loads(data))
    return Session()


PROMPT, WORDS = "about the prompt", "its words are in this"
FIRM, WAITING = 10_000.0, 1_000_000.0  # What comes first has so much more, and what comes last so much less
_NAMES = {
    SYMBOL: "is about this code", EXACT: "names this file", BELOW: "names its folder",
    BY_NAME: "names files called like it", BY_KIND: "about files of its kind, and about this edit",
    ANYTHING: "about this edit",
}  # fmt: skip


def at_the_start(opened: Library, cwd: Path) -> Context:
    """The core: titles of what holds in this folder; rules and firm lessons first, in each what most sessions needed.

    What names files, code or a command waits for them, unless prompts were about it in several sessions.
    """
    repo = opened.reading
    repo.current()
    project = _project(repo, cwd)
    holding = app.contexts.holding(repo, project)
    usages, failures = usages_of(repo, holding), {entry for entry, _ in repo.catalog.failures()}
    fits = []
    for summary in holding:
        tally = usages[summary.id].tallies
        if summary.seen or summary.id in failures:
            continue
        waits = bool(summary.applies_to or summary.about or commands.forms_of(summary.pattern))
        needed = tally.needed + tally.unheeded
        # An entry that names files waits for them, unless two sessions needed it: then its title is told at the start.
        if not waits or needed >= 2:
            candidate = fit(summary, f"needed in {needed} sessions", project)
            fits.append(candidate._replace(level=needed + FIRM * candidate.firm - WAITING * waits))
    # a start tells twelve rules and lessons: the host keeps them in mind for the whole session
    offered = Injecting(repo, 12).tell(Moment.BEGIN, fits, (), project)
    try:
        pending, notes = sum(map(pending_count, repo.every)), offered.notes
    except AiLessonsError as error:
        pending, notes = 0, (*offered.notes, f"the proposals cannot be counted: {error.message}")
    return offered._replace(project=project, pending=pending, notes=notes)


def pending_count(repo: RepositorySession) -> int:
    """How many proposals wait; with nothing new since the last question it reads a few small files."""
    worktree = repo.store.worktree
    if repo.rules.ref() is None or not proposal_refs(worktree):
        return 0
    from ai_lessons.approval import state

    place = git_worktree.folder(repo.store.state_dir) / "pending.json"
    noted = state.kept(place, f"{repo.rules.state()} {signature(proposal_refs(worktree))}")
    if isinstance(noted, int):
        return noted
    try:
        with app.proposals.open_proposals(repo) as at:
            count = at.count()
    except NotFound:
        return 0
    with suppress(StorageFailed):  # a repository that cannot be written is counted anew every time
        state.keep(place, f"{repo.rules.state()} {signature(proposal_refs(worktree))}", count)
    return count


def at_a_prompt(opened: Library, text: str, shown_before: Collection[str], titles: Collection[str] = ()) -> Context:
    """Lessons and rules that are about what a person asks for. Of those in `titles` the title was told, no more."""
    repo = opened.reading
    repo.current()
    project = _project(repo, repo.options.cwd)
    here = app.contexts.by_words(repo, text, BAR, {project or "", GLOBAL_PROJECT})
    fits = [_fit(summary, PROMPT, project, titles, summary.score or 0.0) for summary in here.values()]
    offered = Injecting(repo, None, FEW).tell(Moment.PROMPT, fits, shown_before, project)
    return offered._replace(why=dict.fromkeys(here, PROMPT) | {**offered.why})


def _fit(summary: EntrySummary, why: str, project: str | None, titles: Collection[str], level: float) -> Candidate:
    """As `fit`; what was not told at all comes before what was told by its title."""
    return fit(summary, why, project, level=level - WAITING * (summary.id in titles))


def before_a_tool(
    opened: Library,
    paths: Sequence[str],
    command: str,
    folders: Sequence[str],
    shown_before: Collection[str],
    edits: Sequence[Edit] = (),
    titles: Collection[str] = (),
) -> Context:
    """Rules and lessons about a call that is to be made.

    They name the code that it edits, a file that it touches (`paths`) or the command, or their words are in what is
    written or called. What is known to fail comes only if it fails more often than not. `folders`: where it is called,
    and where the session began. What names every file, or every one of its kind, may come if it is about the text that
    is written. A rule with a check comes only where one of the `edits` (path, old text, new text) breaks it.
    """
    repo = opened.reading
    repo.current()
    project = _project(repo, repo.options.cwd)
    here = {project or "", GLOBAL_PROJECT}
    entries, breaks = dict[str, tuple[EntrySummary, float, str]](), dict[str, str]()
    if paths:
        entries, breaks = _about_an_edit(repo, paths, edits, folders, here)
    if command:
        entries |= _about_a_command(repo, command, folders, here, entries.keys() - set(shown_before))
    fits = [_fit(summary, why, project, titles, level) for summary, level, why in entries.values()]
    shown = set(shown_before) - breaks.keys()  # it is about this edit, whatever was told before
    offered = Injecting(repo, None, max(FEW, len(breaks))).tell(Moment.BEFORE_TOOL, fits, shown, project)
    if command:
        offered = offered._replace(texts={x: y for x, y in offered.texts.items() if not commands.destroys(y, "")})
        walls = () if offered.entries else _walls(repo.options.state_dir, command, folders[0])
        offered = offered._replace(ran_next=next((sentence for _, _, sentence in walls), ""))
    return offered._replace(breaks=breaks, why={id_: why for id_, (_, _, why) in entries.items()} | {**offered.why})


WALLS = Path("harvest/walls.json")  # What harvest knows to fail, and nobody got past: project, WHEN, sentence


def _walls(state_dir: Path, command: str, cwd: str) -> list[list[str]]:
    """What a command line runs into in the project of a folder."""
    rows = files.read_json(state_dir / WALLS)
    rows = [row for row in rows if isinstance(row, list) and len(row) == 3] if isinstance(rows, list) else []
    if not rows:
        return []
    names, calls = [*files.names_of(Path(cwd)), Path(cwd).name], commands.called(command, cwd)
    near = (row for row in rows if any(files.same_name(row[0], name) for name in names))
    return [row for row in near if commands.fits(commands.named_forms(row[1]), calls)]


def _lift(state_dir: Path, command: str, cwd: str) -> None:
    """A command worked: no wall is there any more."""
    if passed := _walls(state_dir, command, cwd):
        rows = files.read_json(state_dir / WALLS)
        files.write_json(state_dir / WALLS, [row for row in rows if row not in passed])


_Found = dict[str, "tuple[EntrySummary, float, str]"]
"""By id an entry, how surely it is about the moment, and why."""


def _about_an_edit(
    repo: Reading, paths: Sequence[str], edits: Sequence[Edit], folders: Sequence[str], here: Collection[str]
) -> tuple[_Found, dict[str, str]]:
    """What is about an edit, and what the host shall do about the rules that it breaks."""
    named = app.contexts.naming(repo, paths, edits, here)
    checks = [app.rule_checks.Edit(*edit) for edit in edits]
    broken, looked = app.rule_checks.broken_by(repo, checks, Path(folders[0]), [x for x, _ in named])
    texts = (f"{app.contexts.in_project(path, repo.options.cwd)}\n{old}\n{new}" for path, old, new in edits)
    likely = app.contexts.by_words(repo, "\n".join(texts), BAR, here)
    fitting = {x.id: (x, x.score or 0.0, WORDS) for x in likely.values() if (x.score or 0.0) >= EDIT_BAR}
    for summary, near in named:
        if near > BY_KIND or summary.id in likely:
            score = likely[summary.id].score if summary.id in likely else 0.0
            fitting[summary.id] = summary, EDIT_BAR * near + (score or 0.0), _NAMES[near]
    fitting = {name: row for name, row in fitting.items() if name not in looked}
    for rule in broken:
        fitting[rule.summary.id] = rule.summary, EDIT_BAR * (SYMBOL + 1), rule.why
    return fitting, {rule.summary.id: rule.enforce for rule in broken}


def _about_a_command(
    repo: Reading, command: str, folders: Sequence[str], here: Collection[str], fresh: Collection[str]
) -> _Found:
    """What is about a command line; what is known of the folder that it goes into only beside something `fresh`."""
    calls = commands.called(command, folders[0])
    if not calls:
        return {}
    words = " ".join(word for call, _ in calls for word in call)
    fitting = {x.id: (x, x.score or 0.0, WORDS) for x in app.contexts.by_words(repo, words, BAR, here).values()}
    for summary in repo.catalog.about_files(frozenset({Kind.RULE, Kind.LESSON})):
        packages = (anchor.package for anchor in anchors_of(summary.about) if anchor.package)
        if summary.project in here and any(brings(package, "", command) for package in packages):
            fitting[summary.id] = summary, EDIT_BAR * SYMBOL, "is about what this installs"
    near = app.contexts.commands_here(repo, folders)
    named = app.contexts.about_command(near, calls, folders)
    inside = [x for x in app.contexts.about_inside(near, calls, folders[0]) if x not in named] if named else []
    usages = usages_of(repo, [*named, *inside]) if named else {}
    for summary in (*named, *inside):
        why = _names_what_fails(summary, usages[summary.id].tallies)
        if not why or carried_out(summary.pattern, command):  # the line does already what it says
            fitting.pop(summary.id, None)
            continue
        if summary in inside and not fresh and not fitting:
            break  # about the folder that this line goes into: said along, so that it interrupts once less
        fitting[summary.id] = summary, EDIT_BAR * EXACT, why
    return {name: row for name, row in fitting.items() if not _destroys(row[0])}


def _names_what_fails(summary: EntrySummary, tallies: Tallies) -> str:
    """Why an entry is about a command that it names; empty where calls are counted and too few of them failed."""
    if not (seen := commands.seen_in(summary.seen)):
        return "names this command"
    unsure = seen.chance(tallies.held, tallies.passed) <= commands.BAR
    if unsure or max(seen.sessions, tallies.held) < commands.LEAST_SESSIONS:
        return ""
    return f"failed in {seen.failures + tallies.held} of {seen.calls + tallies.held + tallies.passed} calls"


def _destroys(summary: EntrySummary) -> bool:
    """Whether an entry must not be told before a command, whoever wrote it."""
    return commands.destroys(summary.title, summary.pattern, summary.rationale)


def at_a_failure(
    opened: Library, error: str, shown_before: Collection[str] = (), folders: Sequence[str] = (), *, words: bool = False
) -> Context:
    """Entries that keep a failure like this one, else what ran next in transcripts; `words`: without the index."""
    repo = opened.reading
    repo.current()
    offered = app.contexts.helping(repo, error, shown_ids=shown_before, folders=folders, words=words)
    answered = offered.entries or any(refused.reason == "told" for refused in offered.left_out)
    cwd = folders[0] if folders else ""
    ran_next = "" if answered else app.harvest.ran_next(repo.options.state_dir, error, cwd)
    return offered._replace(ran_next=ran_next)


def _project(repo: Reading, cwd: Path) -> str | None:
    """The known project that the folder is: as its remote, its package or itself is called, in this order."""
    projects = [tally.name for tally in repo.catalog.projects()]
    names = files.names_of(cwd)
    same = (project for name in names for project in projects if files.same_name(project, name))
    return next((name for name in names if name in projects), None) or next(same, None)


_DOES = 1_000  # characters of what an entry says to do, and of a command, as a session remembers them
_SHELLS = frozenset(
    {"Bash", "Shell", "PowerShell", "shell", "bash", "local_shell", "exec_command", "run_shell_command"}
)


class AgentEvent(NamedTuple):
    """One event, which the `host` calls `name`.

    `agent` is empty for the main agent of a session, else names the subagent, which sees its own context.
    `forgotten`: the agent does not have in mind what it was told. `again`: it goes on because of an earlier answer at
    a stop. `unfinished`: background work will wake it. `paths`: files that the tool is about to read or write. `text`:
    the prompt, what an edit writes, or what a tool that failed, or seems to have, said. `edits`: path, old and new text
    of each edit. `by_turn`: Codex, which names turns, and at a stop takes a reason to go on and nothing else. `trial`:
    the memory to use, of which nothing is kept. `only`: the host takes these decisions here, and no text without one.
    """

    moment: Moment
    session: str
    cwd: Path
    agent: str = ""
    tool: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    text: str = ""
    forgotten: bool = False
    again: bool = False
    unfinished: bool = False
    by_turn: bool = False
    name: str = ""
    host: str = ""
    trial: Session | None = None
    edits: tuple[tuple[str, str, str], ...] = ()
    only: tuple[str, ...] = ()


class Hints(NamedTuple):
    """What to tell the agent. At a stop `failed`, and `solved`, which did its job, and nothing stored says so.

    Or what a person `stated`, and the files that were `edited` then.
    """

    moment: Moment | None = None
    offered: Context = Context()
    failed: str = ""
    solved: str = ""
    stated: str = ""
    edited: tuple[str, ...] = ()

    @property
    def decision(self) -> str:
        """What the host shall do about the edit, by the rules that it breaks (empty: nothing)."""
        return next((word for word in (DENY, ASK_OR_DENY, ASK) if word in self.offered.breaks.values()), "")


NOTHING = Hints()


def handle_event(asking: DaemonClient, event: AgentEvent, fitting: Fitting, *, explain: bool = False) -> Hints:
    """What to tell the agent at this event of its session; `fitting` has the ids of what can be told whole.

    `explain`: nothing is remembered or written down.
    Raises NoRepository and its like: see `Library`. StorageFailed: the state folder cannot be written.
    """
    state = asking.options.state_dir
    if explain:
        event = event._replace(trial=_read(_file(state, event.session)))
    match event.moment:
        case Moment.STOP:
            return _stop(state, event) if asking.root.is_dir() else NOTHING
        case Moment.PROMPT:
            return _prompt(asking, event, fitting)
        case Moment.BEGIN:
            return _begin(asking, event, fitting)
        case Moment.BEFORE_TOOL:
            return _before_tool(asking, event, fitting)
    return _after_tool(asking, event, fitting)


@contextmanager
def _memory(state_dir: Path, event: AgentEvent) -> Iterator[Session]:
    """The memory of the session, for this process alone."""
    if event.trial is not None:
        yield event.trial
        return
    with opened(state_dir, event.session) as session:
        session.host, session.folder = session.host or event.host, session.folder or str(event.cwd)
        yield session


_BEFORE = Moment.BEGIN, Moment.BEFORE_TOOL  # What was told at these comes again at a failure


def _begin(asking: DaemonClient, event: AgentEvent, fitting: Fitting) -> Hints:
    if not event.forgotten:
        return NOTHING
    state = asking.options.state_dir
    if event.trial is None:
        clean_up(state)
    offered = asking("at_the_start", event.cwd)
    with _memory(state, event) as session:
        session.shown.pop(event.agent, None)
    return _tell(asking, event, offered, fitting)


def _prompt(asking: DaemonClient, event: AgentEvent, fitting: Fitting) -> Hints:
    """What the prompt is about; a no to what was told since the last one speaks against that.

    A person who says again what the session was told shows that it was not followed.
    """
    text = event.text
    with _memory(asking.options.state_dir, event) as session:
        shown_ids, titles = session.ids(event.agent), session.only_at(Moment.BEGIN)
    # what it is about stands in the first 2,000 characters
    offered = asking("at_a_prompt", text[:2_000], set(shown_ids) - titles, titles)
    again = {x.id for x in _matched(offered) if x.id in shown_ids} if stated(text) else set()
    with _memory(asking.options.state_dir, event) as session:
        earlier = [*session.told]
        for n, entry in enumerate(earlier[session.turn :], session.turn):
            if not entry.outcome and entry.id not in again and corrects(text, entry):
                earlier[n] = entry._replace(outcome=RECURRED)
        happened = _happened(session, earlier)
        happened += [Event("", "", UNHEEDED, x) for x in again if session.fresh("", [f"again {x}"])]
        session.turn = len(earlier)
        new = bool(text.strip()) and not _matched(offered) and not is_pasted(text)
        session.stated = app.harvest.quoted(text) if new else ""
        session.edited = []
    return _tell(asking, event, offered, fitting, happened=happened)


def _matched(offered: Context) -> list[EntrySummary]:
    """What a moment was about: what is told of it, was told before, or was one too many."""
    return [*offered.entries, *(left.entry for left in offered.left_out if left.reason in {"told", "budget"})]


def _before_tool(asking: DaemonClient, event: AgentEvent, fitting: Fitting) -> Hints:
    if event.only and not event.edits:
        return NOTHING
    calls = commands.called(event.command, str(event.cwd))
    names = list[str]()
    for words, folder in calls:
        names += [f"{folder} {form}" for form in (*commands.forms(words), commands.inside(words, folder)) if form]
    with _memory(asking.options.state_dir, event) as session:
        # looked for once a session, found or not: an agent calls `ls` a hundred times
        new = session.fresh(event.agent, (f"call {name}" for name in names))
        titles, folders = session.only_at(Moment.BEGIN), (str(event.cwd), session.folder)
        shown_ids = set(session.ids(event.agent)) - titles
        edited = (os.path.relpath(path, event.cwd) for path, _, _ in event.edits)
        # `weight` tells more than three edited files from fewer, so four are kept
        session.edited = list(dict.fromkeys([*session.edited, *edited]))[:4]
    if not new and not event.paths:
        return NOTHING
    command = event.command if new else ""
    offered = asking("before_a_tool", event.paths, command, folders, shown_ids, event.edits, titles)
    if event.only:
        if not set(event.only) & set(offered.breaks.values()):
            return NOTHING
        offered = offered._replace(entries=tuple(entry for entry in offered.entries if entry.id in offered.breaks))
    return _tell(asking, event, offered, fitting)


def _after_tool(asking: DaemonClient, event: AgentEvent, fitting: Fitting) -> Hints:
    """Note how it went, and what that says of earlier hints; tell what helps with a failure."""
    state, failed = asking.options.state_dir, event.moment is Moment.TOOL_FAILED
    attempts = transcripts.attempts(event.command) if event.tool in _SHELLS else (event.tool,)
    if not failed and event.trial is None and not is_remembered(state, event.session):
        return NOTHING
    wrote = event.tool.endswith("__add_lesson") or transcripts.adds_a_lesson(event.command)
    message = transcripts.words_of(transcripts.shape(event.text)) if failed and not wrote else None
    worked = not failed and not event.text  # a success that reads like a failure says nothing
    with _memory(state, event) as session:
        earlier = [judged(entry, event.command, None) if worked else entry for entry in session.told]
        happened = _happened(session, earlier)
        if failed and attempts and not wrote:
            output = transcripts.telling(event.text) if event.command and message else ""
            session.note_failure(event.command or event.tool, output, event.cwd)
        elif wrote and not failed:  # the next lesson is about an earlier failure only if it names it
            session.failed = [failure._replace(settled=True) for failure in session.failed]
            session.stated = ""
        elif worked:
            _lift(state, event.command, str(event.cwd))
            session.note_success(event.command or event.tool, earlier)
        happened += _seen_again(session, event, failed=failed)
        shown_ids = tuple(set(session.ids(event.agent)) - session.only_at(*_BEFORE))
        folders = str(event.cwd), session.folder
    _record(asking, event, happened)
    if not message:
        return NOTHING
    asked = f"$ {event.command}\n{event.text}", shown_ids, folders
    offered = asking.if_warm("at_a_failure", *asked) or asking.here("at_a_failure", *asked, words=True)
    repeated = (left.entry for left in offered.left_out if left.reason == "told")
    kept = {entry.id for entry in (*repeated, *offered.entries)}
    with _memory(state, event) as session:
        earlier = [judged(entry, event.command, message, kept=entry.id in kept) for entry in session.told]
        happened = _happened(session, earlier)
    _record(asking, event, happened)
    return _tell(asking, event, offered, fitting, attempts, sorted(message))


def _seen_again(session: Session, event: AgentEvent, *, failed: bool) -> list[Event]:
    """Once a session, whether the command that an entry was told before did fail, as the entry says."""
    cwd, events = str(event.cwd), list[Event]()
    line = event.command
    calls = commands.blamed_call(f"$ {line}\n{event.text}", cwd) if failed else commands.called(line, cwd)
    for entry in session.told if calls else ():
        warned = entry.moment == Moment.BEFORE_TOOL and commands.fits(commands.forms_of(entry.does), calls)
        if warned and session.fresh(event.agent, [f"seen {entry.id}"]):
            events.append(Event("", "", HELD if failed else PASSED, entry.id))
    return events


def _happened(session: Session, earlier: Sequence[ShownEntry]) -> list[Event]:
    """The outcomes that are new, once these are what the session remembers as told."""
    judged_before = {entry.id for entry in session.told if entry.outcome}
    session.told = [*earlier]
    # an entry that was told twice in a session is judged once
    new = {entry.id: entry.outcome for entry in earlier if entry.outcome and entry.id not in judged_before}
    return [Event("", "", outcome, entry_id) for entry_id, outcome in new.items()]


def _record(asking: DaemonClient, event: AgentEvent, happened: Sequence[Event]) -> None:
    if happened and asking.options.outcomes and event.trial is None:
        asking.record(happened)


def _tell(
    asking: DaemonClient, event: AgentEvent, offered: Context, fitting: Fitting,
    attempts: Sequence[str] = (), shape: Sequence[str] = (), happened: Iterable[Event] = (),
) -> Hints:  # fmt: skip
    """What of the offered fits and no other process told meanwhile; it is remembered and written down."""
    begins = event.moment is Moment.BEGIN
    with _memory(asking.options.state_dir, event) as session:
        needed = (x.id for x in _matched(offered) if offered.why.get(x.id) in {PROMPT, WORDS})
        events = [*happened, *(Event("", "", NEEDED, x) for x in needed if session.fresh("", [f"needed {x}"]))]
        events = events if asking.options.outcomes else []
        again = session.only_at(Moment.BEGIN)
        again |= session.only_at(*_BEFORE) if event.moment is Moment.TOOL_FAILED else set()
        shown = set(session.ids(event.agent)) - offered.breaks.keys() - again
        new = tuple(entry for entry in offered.entries if entry.id not in shown)
        left = MOST if begins or offered.breaks else MOST - session.spent
        fits = fitting(offered._replace(entries=new), left)
        session.spent += 0 if begins else sum(fits.values())
        # what has no room now may be told later
        cut = [NotShown(entry, "room", "its text does not fit whole") for entry in new if entry.id not in fits]
        entries = tuple(entry for entry in new if entry.id in fits)
        offered = offered._replace(entries=entries, left_out=(*offered.left_out, *cut))
        session.fresh(event.agent, (entry.id for entry in entries))
        offered = offered._replace(ran_next="".join(session.fresh(event.agent, filter(None, [offered.ran_next]))))
        at_stake = {left.entry.id for left in offered.left_out if left.reason == "told"} if shape else ()
        for n, earlier in enumerate(session.told):
            if earlier.id in at_stake and not earlier.shape:
                session.told[n] = earlier._replace(command=event.command, shape=[*shape])
        if attempts and session.failed and not at_stake and not entries:
            missing = f"{', '.join(attempts)}: {transcripts.headline(event.text)}"
            session.failed[-1] = session.failed[-1]._replace(missing=missing)
        session.told += [_as_told(entry, offered, event, shape) for entry in entries]
    # a title at the start is not the entry: that one was told and not used says nothing of it
    events += app.contexts.injection_events(offered) if entries and not begins else []
    if events and event.trial is None:
        asking.record(events)
    return Hints(event.moment, offered)


def _as_told(entry: EntrySummary, offered: Context, event: AgentEvent, shape: Sequence[str]) -> ShownEntry:
    """What a session remembers of an entry that is told now."""
    does, names = entry.pattern or offered.texts.get(entry.id, ""), (entry.id, entry.handle, entry.title)
    return ShownEntry(*names, event.moment, offered.why[entry.id], event.command[:_DOES], [*shape], does[:_DOES])


def _stop(state_dir: Path, event: AgentEvent) -> Hints:
    """Once a session each, where a failure was solved or a person stated something, and nothing stored says so."""
    if event.again or event.unfinished or not (event.trial or is_remembered(state_dir, event.session)):
        return NOTHING
    with _memory(state_dir, event) as session:
        words, edited = session.stated, tuple(session.edited)
        # asking costs the agent a turn, so the words must say more than those that harvest only quotes (SAID_BAR)
        if words and not session.asked_for_statement and weight(words, len(edited)) >= 2.2:
            session.asked_for_statement, session.stated = True, ""
            return Hints(Moment.STOP, stated=words, edited=edited)
        failure = next((failure for failure in session.failed if failure.solved and not failure.settled), None)
        if session.asked or not failure:
            return NOTHING
        session.asked = True
    return Hints(Moment.STOP, failed=failure.command, solved=failure.solved)


class SessionTold(NamedTuple):
    """What hooks told in one session of a host, which was last heard of at `at` (ISO 8601 in UTC)."""

    session: str
    host: str
    folder: str
    at: str
    failures: int
    told: tuple[ShownEntry, ...]


def lately(state_dir: Path) -> tuple[list[SessionTold], list[tuple[str, int]]]:
    """What agents were told in the last days, the latest session first, and the lessons that are missing.

    Those are what failed, with what it said, while nothing was known that helps, and how often it did: most first.
    """
    sessions, missing = [], Counter[str]()
    for at, session in recent(state_dir):
        missing.update(secrets.masked(failure.missing) for failure in session.failed if failure.missing)
        when = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        shown = tuple(entry._replace(command=secrets.masked(entry.command)) for entry in session.told)
        sessions.append(SessionTold(session.name, session.host, session.folder, when, session.failures, shown))
    return sessions, missing.most_common()


def why_told(opened: Library, session: str | None = None) -> tuple[ShownEntry, ...]:
    """What the hooks told in a session of the last days (None: the last one, if any), why, and what came of it.

    Raises NotFound: no such session.
    """
    shown = next((each.told for each in lately(opened.options.state_dir)[0] if session in {None, each.session}), None)
    if shown is None:
        if session is None:
            return ()
        hint = "hooks remember a session for seven days: ai-lessons recall sessions"
        raise NotFound("session", session, hint=hint)
    summaries = opened.reading.current().many(entry.id for entry in shown)
    silent = app.contexts.silent(opened.reading, summaries.values())
    return tuple(entry._replace(silent=silent.get(entry.id, "")) for entry in shown)
