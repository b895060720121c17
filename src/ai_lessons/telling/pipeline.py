"""One event of an agent host from end to end: what happened is noted, then what fits is told.

Begin here.

1 The memory of the session takes in the event: a failure, a success, an edit; outcomes of earlier
tellings follow. 2 Offers: what is about this moment, and why (`offers`, `start`); the filter has
passed them. 3 What the session was told before goes; what the start told comes once more where
something is sure. 4 Budget: characters of the moment and of the session; what has no room may come
later. 5 Words (`words`), of which the memory keeps what was told.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import extensions
from ai_lessons.app import agent_sessions
from ai_lessons.app.agent_sessions import REMEMBERED, Session, clean_up, is_remembered
from ai_lessons.app.told import Context
from ai_lessons.errors import NotFound
from ai_lessons.model import command_forms, failures, simple_commands
from ai_lessons.model.decisions import strongest
from ai_lessons.model.entries import EntrySummary, Moment
from ai_lessons.model.events import BROKEN, HELD, NEEDED, PASSED, RECURRED, STOPPED, TOLD, Event
from ai_lessons.model.lessons import is_pasted, weight
from ai_lessons.model.outcomes import NotShown, ShownEntry, after_command, corrects
from ai_lessons.model.plain import AgentText, behind, line
from ai_lessons.telling import words
from ai_lessons.telling.enforcing import NOTHING as NOTHING_ENFORCED
from ai_lessons.telling.words import PROMPT, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    # pydantic reads it while it runs
    from pathlib import Path

    from ai_lessons.app.daemon_client import DaemonClient
    from ai_lessons.app.workspace import Library
    from ai_lessons.model.edits import Edit
    from ai_lessons.telling.enforcing import Enforced

# bench.decisions: that a session is told after its start, checks apart
SESSION_CHARACTERS = 3_000
_SHELLS = frozenset(
    {
        "Bash",
        "Shell",
        "PowerShell",
        "shell",
        "bash",
        "local_shell",
        "exec_command",
        "run_shell_command",
    }
)


class AgentEvent(NamedTuple):
    """One event, which the `host` calls `name`.

    `agent` is empty for the main agent of a session, else names the subagent, which sees its own
    context. `forgotten`: the agent does not have in mind what it was told. `again`: it goes on
    because of an earlier answer at a stop. `unfinished`: background work will wake it. `paths`:
    files that the tool is about to read or write. `text`: the prompt, or what a tool that failed,
    or seems to have, said. `edits`: how it changes files. `trial`: the memory to use, of which
    nothing is kept. `only`: the host takes these decisions here, and no text without one.
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
    name: str = ""
    host: str = ""
    trial: Session | None = None
    edits: tuple[Edit, ...] = ()
    only: tuple[str, ...] = ()


class Budget(NamedTuple):
    """Most characters at a start and at any other moment.

    `root` is where the knowledge base lies, for the start.
    """

    start: int
    moment: int
    root: str


class Told(NamedTuple):
    """What is told at a moment, `entries` of the `offered`.

    `decision`: what the host shall do about an edit or a call.

    `sentences` are told beside entries: what transcripts say, a reminder at the end.
    """

    moment: Moment | None = None
    text: AgentText = behind("")
    decision: str = ""
    entries: tuple[EntrySummary, ...] = ()
    offered: Context = Context()
    sentences: tuple[str, ...] = ()

    def explained(self, checks: Sequence[str] = ()) -> str:
        """What is told and what is not, a line for each with the reason, below what `checks` say."""
        return words.explained(self.entries, self.offered, self.sentences, checks)


NOTHING = Told()


def handle_event(
    asking: DaemonClient,
    event: AgentEvent,
    budget: Budget,
    settle: Callable[[], None] = lambda: None,
    *,
    explain: bool = False,
) -> Told:
    """What to tell the agent at this event of its session.

    `settle` is called before the memory notes what is told: from then on nothing may cut the work
    short. `explain`: nothing is remembered or written down. Raises NoRepository and its like: see
    `Library`. StorageFailed: the state folder cannot be written.
    """
    state = asking.options.state_dir
    if explain:
        event = event._replace(trial=agent_sessions.read(state, event.session))
    telling = _Telling(asking, event, budget, settle)
    match event.moment:
        case Moment.STOP:
            if asking.root.is_dir():
                return _stop(state, event)
            return NOTHING
        case Moment.PROMPT:
            return _prompt(telling)
        case Moment.BEGIN:
            return _begin(telling)
        case Moment.BEFORE_TOOL:
            return _before_tool(telling)
    return _after_tool(telling)


def enforced_at(asking: DaemonClient, event: AgentEvent) -> Enforced:
    """What features say of rules that are broken at an event. With a `trial` nothing is remembered.

    Most projects have nothing to enforce: what takes time is loaded where there are such rules.
    Raises as `handle_event`.
    """
    enforced = NOTHING_ENFORCED
    if not asking.root.is_dir():
        return enforced
    for _, place in extensions.added("enforce"):
        enforce: Callable[[DaemonClient, AgentEvent], Enforced] = place
        enforced = enforced.beside(enforce(asking, event))
    return enforced


class _Telling(NamedTuple):
    """The event at hand, and what it takes to answer it."""

    asking: DaemonClient
    event: AgentEvent
    budget: Budget
    settle: Callable[[], None]

    @property
    def state(self) -> Path:
        return self.asking.options.state_dir


@contextmanager
def _memory(state_dir: Path, event: AgentEvent) -> Iterator[Session]:
    """The memory of the session, for this process alone."""
    if event.trial is not None:
        yield event.trial
        return
    with agent_sessions.opened(state_dir, event.session) as session:
        session.host = session.host or event.host
        session.folder = session.folder or str(event.cwd)
        yield session


def _begin(telling: _Telling) -> Told:
    event = telling.event
    if not event.forgotten:
        return NOTHING
    if event.trial is None:
        clean_up(telling.state)
    offered = telling.asking("at_the_start", event.cwd, event.host)
    telling.settle()
    text, sizes = words.start(offered, telling.budget.root, telling.budget.start)
    with _memory(telling.state, event) as session:
        session.shown.pop(event.agent, None)
        entries = tuple(entry for entry in offered.entries if entry.id in sizes)
        _remember(session, event, entries, offered)
        in_files = []
        for refused in offered.left_out:
            if refused.reason == "instructions":
                in_files.append(refused.entry)
        # whether it is kept is judged by its check: of other entries the log need not grow at each
        # start
        checked = []
        for entry in (*entries, *in_files):
            if extensions.enforced(entry.facts or ()):
                checked.append(entry.id)
        new = []
        for name in checked:
            if session.fresh("", [f"{TOLD} {name}"]):
                new.append(name)
    _record(telling, [Event("", "", TOLD, name) for name in new])
    return Told(event.moment, text, entries=entries, offered=_with_cut(offered, entries))


def _prompt(telling: _Telling) -> Told:
    """What the prompt is about; a no to what was told since the last one speaks against that."""
    event = telling.event
    text = event.text
    with _memory(telling.state, event) as session:
        shown = set(session.ids(event.agent))
        at_start = session.told_at(Moment.BEGIN) - shown
    # what it is about stands in the first 2,000 characters
    offered = telling.asking("at_a_prompt", text[:2_000], shown, at_start)
    with _memory(telling.state, event) as session:
        earlier = [*session.told]
        for place, entry in enumerate(earlier[session.turn :], session.turn):
            if not entry.outcome and corrects(text, entry):
                earlier[place] = entry._replace(outcome=RECURRED)
        happened = _happened(session, earlier)
        session.turn = len(earlier)
        is_new = bool(text.strip()) and not _needed(offered) and not is_pasted(text)
        if is_new:
            from ai_lessons.app.quoting import quoted

            session.stated = quoted(text)
        else:
            session.stated = ""
        session.edited = []
    return _tell(telling, offered, happened=happened)


def _needed(offered: Context) -> list[EntrySummary]:
    """What a moment was about by its words, told or not."""
    left = []
    for refused in offered.left_out:
        if refused.reason in {"told", "budget", "unsure"}:
            left.append(refused.entry)
    results: list[EntrySummary] = []
    for entry in (*offered.entries, *left):
        if offered.why.get(entry.id) in {PROMPT, WORDS}:
            results.append(entry)
    return results


def _before_tool(telling: _Telling) -> Told:
    event = telling.event
    if event.only and not event.edits:
        return NOTHING
    names = command_forms.marks(event.command, str(event.cwd))
    with _memory(telling.state, event) as session:
        # looked for once a session, found or not: an agent calls `ls` a hundred times
        new = session.fresh(event.agent, names)
        shown = set(session.ids(event.agent))
        at_start = session.told_at(Moment.BEGIN) - shown
        folders = str(event.cwd), session.folder
        edited = []
        for edit in event.edits:
            if edit.path:
                edited.append(os.path.relpath(edit.path, event.cwd))
        # `weight` tells more than three edited files from fewer
        session.edited = list(dict.fromkeys([*session.edited, *edited]))[:4]
    if not new and not event.paths:
        return NOTHING
    if new:
        command = event.command
    else:
        command = ""
    offered = telling.asking(
        "before_a_tool", event.paths, command, folders, shown, event.edits, at_start
    )
    if event.only:
        if not set(event.only) & set(offered.breaks.values()):
            return NOTHING
        broken = tuple(entry for entry in offered.entries if entry.id in offered.breaks)
        offered = offered._replace(entries=broken)
    telling_now = _tell(telling, offered)
    _note_broken(telling, offered.breaks)
    return telling_now


def _note_broken(telling: _Telling, breaks: Mapping[str, str]) -> None:
    """An edit breaks these rules, by id, and the host is to do so about each: noted once a session."""
    events = []
    for rule, decision in breaks.items():
        events.append((BROKEN, rule))
        if decision:
            events.append((STOPPED, rule))
    if not events:
        return
    with _memory(telling.state, telling.event) as session:
        new = [event for event in events if session.fresh("", [" ".join(event)])]
    _record(telling, [Event("", "", word, rule) for word, rule in new])


def _after_tool(telling: _Telling) -> Told:
    """Note how it went, and what that says of earlier hints; tell what helps with a failure."""
    event, state = telling.event, telling.state
    failed = event.moment is Moment.TOOL_FAILED
    if event.tool in _SHELLS:
        attempts = simple_commands.attempts(event.command)
    else:
        attempts = (event.tool,)
    if not failed and event.trial is None and not is_remembered(state, event.session):
        return NOTHING
    wrote = event.tool.endswith("__add_lesson") or simple_commands.adds_a_lesson(event.command)
    message = None
    if failed and not wrote:
        message = failures.words_of(failures.shape(event.text))
    # a success that reads like a failure says nothing
    worked = not failed and not event.text
    with _memory(state, event) as session:
        if worked:
            earlier = [after_command(entry, event.command, None) for entry in session.told]
        else:
            earlier = [*session.told]
        happened = _happened(session, earlier)
        if failed and attempts and not wrote:
            if event.command and message:
                output = failures.telling(event.text)
            else:
                output = ""
            session.note_failure(event.command or event.tool, output, event.cwd)
        elif wrote and not failed:
            # the next lesson is about an earlier failure only if it names it
            session.failed = [failure._replace(settled=True) for failure in session.failed]
            session.stated = ""
        elif worked:
            session.note_success(event.command or event.tool, earlier)
        happened += _seen_again(session, event, failed=failed)
        told_before_call = session.only_at(Moment.BEFORE_TOOL)
        shown_ids = tuple(set(session.ids(event.agent)) - told_before_call)
        folders = str(event.cwd), session.folder
    if event.trial is None:
        for hear in extensions.at("hears", event.moment):
            hear(state, event)
    _record(telling, happened)
    if not message:
        return NOTHING
    asking = telling.asking
    asked = f"$ {event.command}\n{event.text}", shown_ids, folders, tuple(told_before_call)
    offered = asking.if_warm("at_a_failure", *asked) or asking.here(
        "at_a_failure", *asked, words=True
    )
    repeated = [refused.entry for refused in offered.left_out if refused.reason == "told"]
    kept = {entry.id for entry in (*repeated, *offered.entries)}
    with _memory(state, event) as session:
        earlier = []
        for entry in session.told:
            earlier.append(after_command(entry, event.command, message, kept=entry.id in kept))
        happened = _happened(session, earlier)
    _record(telling, happened)
    return _tell(telling, offered, attempts, sorted(message))


def _seen_again(session: Session, event: AgentEvent, *, failed: bool) -> list[Event]:
    """Once a session, whether the command that an entry was told before did fail, as the entry says."""
    cwd, events = str(event.cwd), list[Event]()
    line = event.command
    if failed:
        calls = command_forms.blamed_call(f"$ {line}\n{event.text}", cwd)
    else:
        calls = command_forms.runs(line, cwd)
    for entry in session.told if calls else ():
        warned = entry.moment == Moment.BEFORE_TOOL and command_forms.fits(
            command_forms.forms_of(entry.does), calls
        )
        if warned and session.fresh(event.agent, [f"seen {entry.id}"]):
            events.append(Event("", "", HELD if failed else PASSED, entry.id))
    return events


def _happened(session: Session, earlier: Sequence[ShownEntry]) -> list[Event]:
    """The outcomes that are new, once these are what the session remembers as told."""
    judged_before = set()
    for entry in session.told:
        if entry.outcome:
            judged_before.add(entry.id)
    session.told = [*earlier]
    # an entry that was told twice in a session is judged once
    new = {
        entry.id: entry.outcome
        for entry in earlier
        if entry.outcome and entry.id not in judged_before
    }
    results: list[Event] = []
    for entry_id, outcome in new.items():
        results.append(Event("", "", outcome, entry_id))
    return results


def _record(telling: _Telling, happened: Sequence[Event]) -> None:
    if happened and telling.asking.options.outcomes and telling.event.trial is None:
        telling.asking.record(happened)


def _tell(
    telling: _Telling,
    offered: Context,
    attempts: Sequence[str] = (),
    shape: Sequence[str] = (),
    happened: Iterable[Event] = (),
) -> Told:
    """What of the offered fits and no other process told meanwhile.

    It is remembered and written down.
    """
    event = telling.event
    telling.settle()
    with _memory(telling.state, event) as session:
        needed = []
        for entry in _needed(offered):
            if session.fresh("", [f"needed {entry.id}"]):
                needed.append(entry.id)
        new = _not_told(session, event, offered)
        left = telling.budget.moment
        if not offered.breaks:
            left = min(left, SESSION_CHARACTERS - session.spent)
        text, sizes = words.moment(offered._replace(entries=new), left)
        session.spent += sum(sizes.values())
        entries = tuple(entry for entry in new if entry.id in sizes)
        ran_next = "".join(
            session.fresh(event.agent, [offered.ran_next] if offered.ran_next else [])
        )
        at_stake = _note_shape(session, event, offered, shape)
        if attempts and session.failed and not at_stake and not entries:
            missing = f"{', '.join(attempts)}: {failures.headline(event.text)}"
            session.failed[-1] = session.failed[-1]._replace(missing=missing)
        _remember(session, event, entries, offered, shape)
    events = [*happened, *(Event("", "", NEEDED, name) for name in needed)]
    if not telling.asking.options.outcomes:
        events = []
    offered = _with_cut(offered._replace(ran_next=ran_next), entries, new)
    if entries:
        from ai_lessons.telling.filtering import injection_events

        events += injection_events(offered._replace(entries=entries))
    if events and event.trial is None:
        telling.asking.record(events)
    return _told(event, offered, entries, text)


def _told(
    event: AgentEvent, offered: Context, entries: tuple[EntrySummary, ...], text: AgentText
) -> Told:
    decision = strongest(offered.breaks.values())
    sentences: tuple[str, ...] = ()
    if offered.ran_next:
        text = words.ran_next(offered.ran_next)
        sentences = (f"{line(offered.ran_next)}: transcripts have it",)
    if decision and not text:
        # no rule fits into the text as a whole, but the host has to ask or refuse all the same
        text = words.broken(offered)
    return Told(event.moment, text, decision, entries, offered, sentences)


def _not_told(session: Session, event: AgentEvent, offered: Context) -> tuple[EntrySummary, ...]:
    """What is offered and was not told after the start.

    At a failure what was told before a tool may come again.
    """
    shown = set(session.ids(event.agent)) - offered.breaks.keys()
    if event.moment is Moment.TOOL_FAILED:
        shown -= session.only_at(Moment.BEFORE_TOOL)
    results = []
    for entry in offered.entries:
        if entry.id not in shown:
            results.append(entry)
    return tuple(results)


def _note_shape(
    session: Session, event: AgentEvent, offered: Context, shape: Sequence[str]
) -> set[str]:
    """At a failure the entries that were told before and keep it.

    The memory notes at which command it came.
    """
    if not shape:
        return set()
    at_stake = set()
    for refused in offered.left_out:
        if refused.reason == "told":
            at_stake.add(refused.entry.id)
    for place, earlier in enumerate(session.told):
        if earlier.id in at_stake and not earlier.shape:
            session.told[place] = earlier._replace(command=event.command, shape=[*shape])
    return at_stake


def _remember(
    session: Session,
    event: AgentEvent,
    entries: Sequence[EntrySummary],
    offered: Context,
    shape: Sequence[str] = (),
) -> None:
    """The session keeps what is told now.

    What a start tells may come once more, where something is sure.
    """
    if event.moment is not Moment.BEGIN:
        session.fresh(event.agent, (entry.id for entry in entries))
    for entry in entries:
        does = entry.stated.pattern or offered.texts.get(entry.id, "")
        shown = ShownEntry(
            entry.id,
            entry.handle,
            entry.title,
            event.moment,
            offered.why.get(entry.id, ""),
            event.command[:REMEMBERED],
            [*shape],
            does[:REMEMBERED],
        )
        session.told.append(shown)


def _with_cut(
    offered: Context, entries: Sequence[EntrySummary], new: Sequence[EntrySummary] | None = None
) -> Context:
    """With what had no room among the left out: it may be told later."""
    fit = {entry.id for entry in entries}
    cut = []
    for entry in offered.entries if new is None else new:
        if entry.id not in fit:
            cut.append(NotShown(entry, "room", "its text does not fit whole"))
    return offered._replace(left_out=(*offered.left_out, *cut))


def _stop(state_dir: Path, event: AgentEvent) -> Told:
    """Once a session each, where a failure was solved or a person stated something, and nothing stored says so."""
    if (
        event.again
        or event.unfinished
        or not (event.trial or is_remembered(state_dir, event.session))
    ):
        return NOTHING
    with _memory(state_dir, event) as session:
        stated, edited = session.stated, tuple(session.edited)
        if (
            stated
            and not session.asked_for_statement
            # Words of a person say enough to ask for an entry: asking costs the agent a turn, so
            # more than for a quote
            and weight(stated, len(edited)) >= 2.2
        ):
            session.asked_for_statement = True
            session.stated = ""
            sentences = (f'what the user stated: "{line(stated)}"',)
            return Told(Moment.STOP, words.statement(stated, edited), sentences=sentences)
        solved = []
        for failure in session.failed:
            if failure.solved and not failure.settled:
                solved.append(failure)
        if session.asked or not solved:
            return NOTHING
        session.asked = True
    first = solved[0]
    sentences = (f"`{line(first.command)}` failed, `{line(first.solved)}` worked",)
    return Told(Moment.STOP, words.reminder(first.command, first.solved), sentences=sentences)


def why_told(library: Library, session: str | None = None) -> tuple[ShownEntry, ...]:
    """What the hooks told in a session of the last days, why, and what came of it.

    None: in the last one, if there is any.

    Raises NotFound: no such session.
    """
    from ai_lessons.app.link_effects import silent

    sessions, _ = agent_sessions.lately(library.options.state_dir)
    shown = next((each.told for each in sessions if session in {None, each.session}), None)
    if shown is None:
        if session is None:
            return ()
        hint = "hooks remember a session for seven days: ai-lessons recall sessions"
        raise NotFound("session", session, hint=hint)
    summaries = library.reading.current().many(entry.id for entry in shown)
    reasons = silent(library.reading, summaries.values())
    results = []
    for entry in shown:
        results.append(entry._replace(silent=reasons.get(entry.id, "")))
    return tuple(results)
