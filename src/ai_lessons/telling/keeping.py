"""Whether rules are kept while an agent works.

Checks of commands before they run, and of what was done at the end.

`session_acts` remembers what the agent did; here the rules in force are held against it, and the
host is told what to do. A rule holds the end of a session once; then the person is told, and
nothing more happens.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app, telling
from ai_lessons.app import agent_sessions
from ai_lessons.app.agent_sessions import ACTS, is_remembered
from ai_lessons.git import external_files
from ai_lessons.learning.statistics import ALLOWED, BROKEN, IN_SCOPE, STOPPED, Event
from ai_lessons.model import command_forms
from ai_lessons.model.decisions import TELL, strongest
from ai_lessons.model.entries import EntrySummary, Moment
from ai_lessons.model.rule_checks import OF_COMMANDS, OF_WHAT_WAS_DONE, has_check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.app.daemon_client import DaemonClient
    from ai_lessons.app.session_acts import Acts
    from ai_lessons.app.workspace import Library
    from ai_lessons.telling.breaches import Breach
    from ai_lessons.telling.pipeline import AgentEvent


class Kept(NamedTuple):
    """What checks say at an event.

    `breaches`: for the agent, where the host shall ask or deny as `decision` says.

    `holds`: why the agent must not end yet. `for_person`: what the person is told of. `waiting`:
    sentences about a command that ran, on hosts that take no text before one.
    """

    breaches: tuple[Breach, ...] = ()
    decision: str = ""
    holds: tuple[Breach, ...] = ()
    for_person: tuple[Breach, ...] = ()
    waiting: tuple[str, ...] = ()

    @property
    def ids(self) -> set[str]:
        """The rules that the agent is told of."""
        results: set[str] = set()
        for breach in self.breaches:
            results.add(breach.rule.id)
        return results


NOTHING = Kept()


def checks_here(opened: Library, cwd: Path) -> tuple[EntrySummary, ...]:
    """The rules in force with a check that hold in a folder.

    What is told at the same event is asked for next.
    """
    repo = opened.up_to_date(for_two_jobs=True)
    if repo.catalog.with_checks():
        return tuple(app.rule_checks.checking(repo, cwd))
    return ()


def at_an_event(asking: DaemonClient, event: AgentEvent) -> Kept:
    """What checks say at an event of a session.

    What happened is remembered where there are rules with a check.

    Raises NoRepository and its like: see `Library`. StorageFailed: the state folder cannot be
    written.
    """
    if not asking.root.is_dir():
        return NOTHING
    # most projects have no such rule, and what runs checks takes a tenth of a hook's time to load
    watched = is_remembered(asking.options.state_dir, event.session, ACTS)
    match event.moment:
        case Moment.PROMPT if event.text.strip():
            _hear(asking, event)
        case Moment.BEFORE_TOOL:
            if event.edits:
                _before_an_edit(asking, event)
            if event.command and (watched or event.edits or _is_new(asking, event)):
                return _before_a_command(asking, event)
        case Moment.TOOL_DONE | Moment.TOOL_FAILED if event.command and watched:
            return _after_a_command(asking, event)
        case Moment.STOP if watched and not event.unfinished:
            return _at_the_end(asking, event)
    return NOTHING


def _is_new(asking: DaemonClient, event: AgentEvent) -> bool:
    """Whether a call of this line was not looked at in this session, which then had no rule with a check."""
    marks = command_forms.marks(event.command, str(event.cwd))
    shown = agent_sessions.read(asking.options.state_dir, event.session).ids(event.agent)
    return not marks or not set(marks) <= set(shown)


def _hear(asking: DaemonClient, event: AgentEvent) -> None:
    if asking("checks_here", event.cwd):
        with app.session_acts.opened(asking.options.state_dir, event.session) as acts:
            acts.hear(event.text)


def note_broken_by_edit(asking: DaemonClient, event: AgentEvent, breaks: Mapping[str, str]) -> None:
    """An edit breaks these rules, by id, and the host is to do so about each."""
    names = []
    for rule in breaks:
        names.append(f"{BROKEN} {rule}")
    names += [f"{STOPPED} {rule}" for rule, enforce in breaks.items() if enforce]
    _note(asking, event, names)


def _before_an_edit(asking: DaemonClient, event: AgentEvent) -> None:
    rules = asking("checks_here", event.cwd)
    if not rules:
        return
    paths = list(
        dict.fromkeys(path for edit in event.edits for path in (edit.was, edit.path) if path)
    )
    with app.session_acts.opened(asking.options.state_dir, event.session) as acts:
        for path in paths:
            acts.will_edit(Path(path))
    names = [name for path in paths for name in external_files.names_in_project(path, event.cwd)]
    _note(
        asking,
        event,
        [f"{IN_SCOPE} {rule.id}" for rule in rules if telling.breaches.concerns(rule, names)],
    )


def _before_a_command(asking: DaemonClient, event: AgentEvent) -> Kept:
    state = asking.options.state_dir
    rules = asking("checks_here", event.cwd)
    if not rules:
        return NOTHING
    with app.session_acts.opened(state, event.session) as acts:
        if any(has_check(rule, OF_WHAT_WAS_DONE) for rule in rules):
            acts.will_run(event.command, event.cwd)
        remarks = [*acts.said]
    breaches: list[Breach] = []
    names: list[str] = []
    for rule in rules:
        if has_check(rule, OF_COMMANDS):
            breach, seen = telling.breaches.at_a_command(rule, event.command, remarks)
            if breach:
                breaches += [breach]
            names += seen
    _note(asking, event, names)
    decision = strongest(breach.enforce for breach in breaches)
    if event.only and decision not in event.only:
        # the host takes no text before a command: the agent reads it beside the result
        with app.session_acts.opened(state, event.session) as acts:
            acts.waiting += [breach.sentence for breach in breaches]
        return NOTHING
    return Kept(tuple(breaches), decision)


def _after_a_command(asking: DaemonClient, event: AgentEvent) -> Kept:
    state = asking.options.state_dir
    with app.session_acts.opened(state, event.session) as acts:
        # an output that reads like a failure leaves open how each command of a line ended
        acts.has_run(
            event.command, worked=event.moment is Moment.TOOL_DONE, unsure=bool(event.text)
        )
        waiting, acts.waiting = acts.waiting, []
    return Kept(waiting=tuple(dict.fromkeys(waiting)))


def _at_the_end(asking: DaemonClient, event: AgentEvent) -> Kept:
    state = asking.options.state_dir
    breaches, names = _seen_at_the_end(asking, event, app.session_acts.read(state, event.session))
    if not names:
        return NOTHING
    with app.session_acts.opened(state, event.session) as acts:
        holds = []
        for breach in breaches:
            if breach.enforce and breach.rule.id not in acts.held:
                holds.append(breach)
        later = []
        for breach in breaches:
            if breach not in holds and breach.rule.id not in acts.told:
                later.append(breach)
        acts.held += [breach.rule.id for breach in holds]
        acts.told += [breach.rule.id for breach in later]
    _note(asking, event, [*names, *(f"{STOPPED} {breach.rule.id}" for breach in holds)])
    return Kept(holds=tuple(holds), for_person=tuple(later))


def _seen_at_the_end(
    asking: DaemonClient, event: AgentEvent, acts: Acts
) -> tuple[list[Breach], list[str]]:
    """How what a session did breaks rules, and what is to be noted of them."""
    breaches: list[Breach] = []
    names: list[str] = []
    if not acts.files and not acts.spans:
        return breaches, names
    rules = [rule for rule in asking("checks_here", event.cwd) if has_check(rule, OF_WHAT_WAS_DONE)]
    if rules:
        edits = app.session_acts.edits_of(acts, event.cwd)
    else:
        edits = {}
    for rule in rules if edits else ():
        breach, seen = telling.breaches.at_the_end(rule, edits, acts.succeeded)
        if breach:
            breaches += [breach]
        names += seen
    return breaches, names


def explained(asking: DaemonClient, event: AgentEvent) -> list[str]:
    """What checks of commands and of what was done say at an event, a line for each rule.

    Nothing is remembered.
    """
    if not asking.root.is_dir():
        return []
    acts = app.session_acts.read(asking.options.state_dir, event.session)
    rows = list[str]()
    if event.moment is Moment.BEFORE_TOOL and event.command:
        for rule in asking("checks_here", event.cwd):
            breach, seen = telling.breaches.at_a_command(rule, event.command, [*acts.said])
            if seen:
                rows += [_explained_at_a_command(rule, breach, seen)]
    elif event.moment is Moment.STOP and not event.unfinished:
        breaches, names = _seen_at_the_end(asking, event, acts)
        rows = [_explained_at_the_end(breach, acts) for breach in breaches]
        broken = {breach.rule.id for breach in breaches}
        in_scope = {name.split(" ")[1] for name in names} - broken
        for rule in asking("checks_here", event.cwd) if in_scope else ():
            if rule.id in in_scope:
                rows += [f"not told: {rule.handle}: its check finds nothing missing"]
    return rows


def _explained_at_a_command(rule: EntrySummary, breach: Breach | None, seen: Sequence[str]) -> str:
    if breach:
        return (
            f"told: {rule.handle} {rule.title}: this command breaks it ({breach.enforce or TELL})"
        )
    if f"{ALLOWED} {rule.id}" in seen:
        return f"not told: {rule.handle}: a person asked for this command"
    return f"not told: {rule.handle}: its check does not fire on this command"


def _explained_at_the_end(breach: Breach, acts: Acts) -> str:
    rule = breach.rule
    if breach.enforce and rule.id not in acts.held:
        return f"held: {rule.handle} {rule.title}: {breach.why}"
    if rule.id not in acts.told:
        return f"told to the person: {rule.handle} {rule.title}: {breach.why}"
    return f"not told: {rule.handle}: told to the person earlier in this session"


def _note(asking: DaemonClient, event: AgentEvent, names: Sequence[str]) -> None:
    """Write down what checks saw, each once a session and rule.

    `names` are a word and the id of a rule.
    """
    if not names or event.trial is not None:
        return
    with app.session_acts.opened(asking.options.state_dir, event.session) as acts:
        new = acts.fresh(*names)
    if new and asking.options.outcomes:
        words = [name.split(" ") for name in new]
        asking.record([Event("", "", word, rule) for word, rule in words])
