"""Whether rules are kept while an agent works: commands before they run, and what was done at the end.

`session_acts` remembers what the agent did; here the rules in force are held against it, and the
host is told what to do. A rule holds the end of a session once; then the person is told, and
nothing more happens.

Most projects have no rule with a check, and what runs checks takes a tenth of a hook's time to
load: it is imported where there is such a rule.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.app import agent_sessions
from ai_lessons.app.agent_sessions import ACTS, is_remembered
from ai_lessons.git import external_files
from ai_lessons.model import command_forms
from ai_lessons.model.decisions import TELL, strongest
from ai_lessons.model.entries import Moment
from ai_lessons.model.events import ALLOWED, IN_SCOPE, STOPPED, Event
from ai_lessons.telling.enforcing import NOTHING, Enforced

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from ai_lessons.app.daemon_client import DaemonClient
    from ai_lessons.features.checks.session_acts import Acts
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.telling.enforcing import Breach
    from ai_lessons.telling.pipeline import AgentEvent

# the key that tells each of these forms of a check from others
OF_COMMANDS, OF_WHAT_WAS_DONE = "command", "changed"


def at_an_event(asking: DaemonClient, event: AgentEvent) -> Enforced:
    """What checks say at an event of a session.

    What happened is remembered where there are rules with a check.

    Raises NoRepository and its like: see `Library`. StorageFailed: the state folder cannot be
    written.
    """
    if event.trial is not None:
        return Enforced(explained=tuple(_explained(asking, event)))
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


def _rules(asking: DaemonClient, event: AgentEvent) -> Sequence[EntrySummary]:
    """The rules in force with a check that hold where the event is."""
    rules: Sequence[EntrySummary] = asking("rules_here", "checks", event.cwd)
    return rules


def _has(rule: EntrySummary, form: str) -> bool:
    """Whether a rule has a check of this form."""
    facts = (rule.facts or {})["checks"]
    return any(form in check for check in facts["checks"])


def _acts(asking: DaemonClient, event: AgentEvent) -> AbstractContextManager[Acts]:
    """What the session did, for this process alone."""
    from ai_lessons.features.checks import session_acts

    return session_acts.opened(asking.options.state_dir, event.session)


def _is_new(asking: DaemonClient, event: AgentEvent) -> bool:
    """Whether a call of this line was not looked at in this session, which then had no rule with a check."""
    marks = command_forms.marks(event.command, str(event.cwd))
    shown = agent_sessions.read(asking.options.state_dir, event.session).ids(event.agent)
    return not marks or not set(marks) <= set(shown)


def _hear(asking: DaemonClient, event: AgentEvent) -> None:
    if _rules(asking, event):
        with _acts(asking, event) as acts:
            acts.hear(event.text)


def _before_an_edit(asking: DaemonClient, event: AgentEvent) -> None:
    rules = _rules(asking, event)
    if not rules:
        return
    from ai_lessons.features.checks import breaches

    paths: dict[str, None] = {}
    for edit in event.edits:
        for path in (edit.was, edit.path):
            if path:
                paths[path] = None
    with _acts(asking, event) as acts:
        for path in paths:
            acts.will_edit(Path(path))
    names: list[str] = []
    for path in paths:
        names += external_files.names_in_project(path, event.cwd)
    in_scope = []
    for rule in rules:
        if breaches.concerns(rule, names):
            in_scope.append(f"{IN_SCOPE} {rule.id}")
    _note(asking, event, in_scope)


def _before_a_command(asking: DaemonClient, event: AgentEvent) -> Enforced:
    rules = _rules(asking, event)
    if not rules:
        return NOTHING
    with _acts(asking, event) as acts:
        if any(_has(rule, OF_WHAT_WAS_DONE) for rule in rules):
            acts.will_run(event.command, event.cwd)
        remarks = [*acts.said]
    broken: list[Breach] = []
    names: list[str] = []
    for _, breach, seen in _at_a_command(rules, event.command, remarks):
        if breach:
            broken.append(breach)
        names += seen
    _note(asking, event, names)
    decision = strongest(breach.enforce for breach in broken)
    if event.only and decision not in event.only:
        # the host takes no text before a command: the agent reads it beside the result
        with _acts(asking, event) as acts:
            acts.waiting += [breach.sentence for breach in broken]
        return NOTHING
    return Enforced(tuple(broken), decision)


def _at_a_command(
    rules: Sequence[EntrySummary], line: str, remarks: Sequence[str]
) -> list[tuple[EntrySummary, Breach | None, list[str]]]:
    """The rules whose checks name a call of a line, each with how that breaks it, and what is noted."""
    of_commands = [rule for rule in rules if _has(rule, OF_COMMANDS)]
    if not of_commands:
        return []
    from ai_lessons.features.checks import breaches

    named = []
    for rule in of_commands:
        breach, seen = breaches.at_a_command(rule, line, remarks)
        if seen:
            named.append((rule, breach, seen))
    return named


def _after_a_command(asking: DaemonClient, event: AgentEvent) -> Enforced:
    with _acts(asking, event) as acts:
        # an output that reads like a failure leaves open how each command of a line ended
        worked = event.moment is Moment.TOOL_DONE
        acts.has_run(event.command, worked=worked, unsure=bool(event.text))
        waiting, acts.waiting = acts.waiting, []
    return Enforced(waiting=tuple(dict.fromkeys(waiting)))


def _at_the_end(asking: DaemonClient, event: AgentEvent) -> Enforced:
    from ai_lessons.features.checks import session_acts

    remembered = session_acts.read(asking.options.state_dir, event.session)
    breaches, names = _seen_at_the_end(asking, event, remembered)
    if not names:
        return NOTHING
    with _acts(asking, event) as acts:
        holds, later = [], []
        for breach in breaches:
            if breach.enforce and breach.rule.id not in acts.held:
                holds.append(breach)
            elif breach.rule.id not in acts.told:
                later.append(breach)
        acts.held += [breach.rule.id for breach in holds]
        acts.told += [breach.rule.id for breach in later]
    names += [f"{STOPPED} {breach.rule.id}" for breach in holds]
    _note(asking, event, names)
    return Enforced(holds=tuple(holds), for_person=tuple(later))


def _seen_at_the_end(
    asking: DaemonClient, event: AgentEvent, acts: Acts
) -> tuple[list[Breach], list[str]]:
    """How what a session did breaks rules, and what is to be noted of them."""
    broken: list[Breach] = []
    names: list[str] = []
    if not acts.files and not acts.spans:
        return broken, names
    rules = [rule for rule in _rules(asking, event) if _has(rule, OF_WHAT_WAS_DONE)]
    if not rules:
        return broken, names
    from ai_lessons.features.checks import breaches, session_acts

    edits = session_acts.edits_of(acts, event.cwd)
    if edits:
        for rule in rules:
            breach, seen = breaches.at_the_end(rule, edits, acts.succeeded)
            if breach:
                broken.append(breach)
            names += seen
    return broken, names


def _explained(asking: DaemonClient, event: AgentEvent) -> list[str]:
    """What checks of commands and of what was done say at an event, a line for each rule."""
    from ai_lessons.features.checks import session_acts

    acts = session_acts.read(asking.options.state_dir, event.session)
    rows: list[str] = []
    if event.moment is Moment.BEFORE_TOOL and event.command:
        for rule, breach, seen in _at_a_command(_rules(asking, event), event.command, acts.said):
            rows.append(_explained_at_a_command(rule, breach, seen))
    elif event.moment is Moment.STOP and not event.unfinished:
        breaches, names = _seen_at_the_end(asking, event, acts)
        rows += [_explained_at_the_end(breach, acts) for breach in breaches]
        broken = {breach.rule.id for breach in breaches}
        kept = {name.split(" ")[1] for name in names} - broken
        for rule in _rules(asking, event) if kept else ():
            if rule.id in kept:
                rows.append(f"not told: {rule.handle}: its check finds nothing missing")
    return rows


def _explained_at_a_command(rule: EntrySummary, breach: Breach | None, seen: Sequence[str]) -> str:
    handle = rule.handle
    if breach:
        decision = breach.enforce or TELL
        return f"told: {handle} {rule.title}: this command breaks it ({decision})"
    if f"{ALLOWED} {rule.id}" in seen:
        return f"not told: {handle}: a person asked for this command"
    return f"not told: {handle}: its check does not fire on this command"


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
    if not names:
        return
    with _acts(asking, event) as acts:
        new = acts.fresh(*names)
    if new and asking.options.outcomes:
        events: list[Any] = []
        for name in new:
            word, rule_id = name.split(" ")
            events.append(Event("", "", word, rule_id))
        asking.record(events)
