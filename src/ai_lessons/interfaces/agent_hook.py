"""`ai-lessons admin agent-hook`: one event of an agent host in, at most one answer out.

Never raises.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from ai_lessons import app, extensions, settings
from ai_lessons.app import agent_sessions
from ai_lessons.app.agent_sessions import is_remembered
from ai_lessons.app.daemon_client import DaemonClient
from ai_lessons.app.told import Context
from ai_lessons.errors import AiLessonsError, UsageError
from ai_lessons.interfaces import hook, library_options
from ai_lessons.interfaces.measures import measured
from ai_lessons.model import agent_hosts, expression
from ai_lessons.model.agent_hosts import ToTell, text_at
from ai_lessons.model.decisions import DENY, strongest
from ai_lessons.model.entries import Moment
from ai_lessons.model.failures import did_not_end, looks_failed
from ai_lessons.model.plain import is_ours, joined
from ai_lessons.model.shell_writes import writes
from ai_lessons.model.tool_calls import call_of
from ai_lessons.telling import words
from ai_lessons.telling.pipeline import NOTHING, AgentEvent, Budget, enforced_at, handle_event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_lessons.app.options import Options
    from ai_lessons.interfaces.measures import Figures
    from ai_lessons.model.agent_hosts import AgentHost
    from ai_lessons.model.edits import Edit
    from ai_lessons.model.plain import AgentText
    from ai_lessons.model.tool_calls import ToolCall
    from ai_lessons.settings import Settings

# seconds of CPU time after which a hook starts the helper and answers without it; a small base
# takes 0.2
WORK = 0.4
AGENT_VARIABLE = "AI_LESSONS_AGENT"


def run(
    repo: str | None = None,
    tier: str | None = None,
    data: bytes | None = None,
    *,
    explain: bool = False,
    began: float | None = None,
) -> str:
    """The answer to the event on standard input (or in `data`); empty for none. Never raises.

    `explain`: the entries given and left out, each with the reason, in place of the answer; nothing
    is changed. `began`: when the host began to wait, on the monotonic clock.
    """
    name = "?"
    if began is None:
        began = time.monotonic()
    watch = _deadline(hook.PATIENCE_TO_BEGIN, began)
    try:
        here = settings.current_folder()
        if data is None:
            data = sys.stdin.buffer.read(hook.MOST_INPUT)
        if data == hook.CHECK:
            return _checked(here, repo, tier)
        event = parse(data, here, os.environ.get(AGENT_VARIABLE, ""))
        if event is None:
            return ""
        name = event.moment.value
        environ = {} if explain else os.environ
        with measured(hook.OPERATION, environ, began) as asked, ExitStack() as stack:
            figures = note_event(asked, event)
            chosen = settings.load(os.environ, event.cwd, repo=repo, tier=tier)
            if not explain and (event.moment is not Moment.BEGIN or chosen.warm):
                watch.cancel()
                watch = _deadline(hook.PATIENCE, began)
            asking = partial(_client, chosen, stack, explain)
            if explain or not chosen.warm:
                return respond(event, chosen, os.environ, asking, figures, explain=explain)
            return _soon(event, chosen, asking, figures)
    except (Exception, _TooMuchWork) as error:  # noqa: BLE001  # whatever it is, the host goes on
        hook.log(f"{name}: {type(error).__name__}: {error}")
        return ""
    finally:
        watch.cancel()


def note_event(figures: Figures | None, event: AgentEvent) -> Figures:
    """What is counted of an event: its moment, and the host if it is one of ours."""
    if figures is None:
        # nobody asks for it
        return {}
    figures["event"] = event.moment.value
    figures["host"] = agent_hosts.called(event.host).id
    figures["outcome"] = "silent"
    return figures


def _client(chosen: Settings, stack: ExitStack, warm: bool, terms: Options) -> DaemonClient:
    """One that asks the helper, or else opens the repository, which `stack` closes."""
    opened = partial(app.workspace.Library, chosen.repo, terms)
    return DaemonClient(
        chosen.repo, terms, lambda: stack.enter_context(opened()), warm=warm, alone=True
    )


def _checked(here: Path, repo: str | None, tier: str | None) -> str:
    """Which repositories the hook reads, or why it cannot.

    The answer to the check of `admin doctor`.
    """
    try:
        chosen = settings.load(os.environ, here, repo=repo, tier=tier)
        with app.workspace.Library(chosen.repo, library_options(chosen)):
            return f"reads {chosen.whereabouts}"
    except AiLessonsError as error:
        return f"cannot read: {error.message}"


class _TooMuchWork(BaseException):
    """The hook used up its CPU time."""


def _soon(
    event: AgentEvent,
    chosen: Settings,
    asking: Callable[[Options], DaemonClient],
    figures: Figures,
) -> str:
    """The answer by words alone, within the CPU time `WORK`.

    The helper is started for later events.
    """
    client = asking(library_options(chosen)._replace(session=event.session or chosen.session))

    def stop(*_: object) -> None:
        raise _TooMuchWork

    text, missed = "", ""
    before = signal.signal(signal.SIGPROF, stop)
    try:
        # CPU time, so that the load of the machine does not matter
        signal.setitimer(signal.ITIMER_PROF, WORK)
        text = respond(event, chosen, os.environ, lambda _: client, figures)
        if client.missed:
            missed = "nothing was compared by meaning"
        else:
            missed = ""
    except _TooMuchWork:
        missed = "there is more to read than a hook may take time for"
        if event.forgotten:
            text = answer(event, words.start(Context(), chosen.whereabouts, 0).text)
        else:
            text = ""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    # a question by meaning, which loads the model
    client.start_helper("at_a_prompt", "what is known", ())
    if missed:
        hook.log(f"{event.moment}: {missed}: no helper was there to ask; one is started")
    return text


def respond(
    event: AgentEvent,
    chosen: Settings,
    environ: Mapping[str, str],
    asking: Callable[[Options], DaemonClient],
    figures: Figures,
    *,
    explain: bool = False,
) -> str:
    """The answer to an event with these settings and this environment. Raises as `handle_event`.

    What is done about it is noted in `figures`.
    """
    if event.moment is Moment.BEGIN and not explain:
        _name_to_commands(environ, event.session)
    event = event._replace(host=event.host or chosen.agent or "")
    host = agent_hosts.called(event.host)
    # with what is known where there is much that is new: what was read until then is kept
    # of what a host waits, in which what is new is read and judged
    until = time.monotonic() + 0.5 * (
        hook.PATIENCE_TO_BEGIN if event.moment is Moment.BEGIN else hook.PATIENCE
    )
    terms = library_options(chosen)._replace(session=event.session or chosen.session, until=until)
    client = asking(terms)
    if explain:
        event = event._replace(trial=agent_sessions.read(terms.state_dir, event.session))
    enforced = enforced_at(client, event)
    person = words.for_person(enforced.for_person)
    if enforced.holds:
        figures["outcome"] = "held"
        return answer(
            event, words.held(enforced.holds), enforced.decision, holds=True, person=person
        )
    if enforced.decision == DENY:
        figures["outcome"] = DENY
        return answer(event, words.kept(enforced.breaches), DENY, person=person)
    if event.moment in host.takes_no_text_at:
        if explain:
            return NOTHING.explained(enforced.explained)
        return answer(event, None, person=person)
    if host.begins_at_prompt and event.moment is Moment.PROMPT:
        if not event.text.strip():
            # a turn of the model
            return ""
        if not is_remembered(terms.state_dir, event.session):
            event = event._replace(moment=Moment.BEGIN, forgotten=True)
    budget = Budget(chosen.hooks.start_characters, chosen.agents.max_chars, chosen.whereabouts)
    telling = handle_event(client, event, budget, _no_limit, explain=explain)
    if host.ends_without_asking and event.moment is Moment.TOOL_DONE and event.command:
        at_the_end = event._replace(moment=Moment.STOP)
        telling = handle_event(client, at_the_end, budget, _no_limit, explain=explain)
    if explain:
        return telling.explained(enforced.explained)
    text = joined(words.kept(enforced.breaches, enforced.waiting), telling.text)
    decision = strongest((telling.decision, enforced.decision))
    if text:
        figures["outcome"] = decision or "told"
    return answer(event, text, decision, person=person)


def _no_limit() -> None:
    """What fits is noted as told: from here on nothing cuts the work short."""
    signal.setitimer(signal.ITIMER_PROF, 0)


def _name_to_commands(environ: Mapping[str, str], session: str) -> None:
    """Name agent and session to the commands of the session.

    Its host runs the lines of a file before each.
    """
    for row in extensions.hosts():
        file = environ.get(row.variable)
        if row.variable and file:
            with open(file, "a", encoding="utf-8") as out:
                out.write(f'export AI_LESSONS_AGENT="${{AI_LESSONS_AGENT:-{row.agent}}}"\n')
                out.write(f"export AI_LESSONS_SESSION={shlex.quote(session)}\n")


def _deadline(seconds: float, began: float) -> Timer:
    """End the process with exit code 0 this many seconds after it began."""

    def end() -> None:
        hook.note_timeout(began)
        hook.log(
            f"no answer within {seconds:.0f} s; a first look at a big repository: "
            "ai-lessons admin reindex"
        )
        os._exit(0)

    watch = Timer(max(began + seconds - time.monotonic(), 0.0), end)
    watch.daemon = True
    watch.start()
    return watch


# some hosts give back what a hook told as the beginning of the next prompt
_TOLD = expression(r"\A(?:\s*<hook_context>.*?</hook_context>\s*)+", re.DOTALL)
_OUTPUTS = ("stdout", "output", "stderr", "content", "error")
_EXITED = expression(r"\s*(?:Error: )?Exit code:? (\d)")


def parse(data: bytes, here: Path, named: str = "") -> AgentEvent | None:
    """The event, or None for one without an answer; `here` replaces a missing folder.

    Raises UsageError: no event.

    `named`: the host, as the settings of the hook say, for one whose events do not show it.
    """
    agent, raw = _event_of(data, named)
    host = agent_hosts.called(agent)
    name = raw["hook_event_name"]
    moment = host.moments.get(name)
    if moment is None or raw.get("is_interrupt") is True or not host.is_of_interest(moment, raw):
        return None
    tool = host.tool(raw)
    stated = raw.get("tool_input")
    call = call_of(tool, stated if isinstance(stated, dict) else {"input": stated})
    if call.command and not call.edits and moment is Moment.BEFORE_TOOL:
        call = _with_writes(call)
    result, folder = host.result(raw), Path(host.folder(raw) or here)
    if name == host.told_with_result and (
        call.edits or (call.paths and not tool.startswith("mcp__"))
    ):
        moment = Moment.BEFORE_TOOL
    text = _about(moment, raw, result)
    if moment is Moment.TOOL_DONE and _has_failed(host, result, text):
        moment, text = Moment.TOOL_FAILED, _about(Moment.TOOL_FAILED, raw, result)
    if _was_stopped(raw, moment, text) or (moment is Moment.PROMPT and is_ours(text)):
        return None
    starts_anew = text_at(raw, "source") != "resume" or not host.keeps_what_is_told
    return AgentEvent(
        moment,
        session=text_at(raw, "session_id") or "unnamed",
        cwd=folder,
        agent=text_at(raw, "agent_id"),
        tool=tool,
        paths=tuple(str(folder / path) for path in call.paths),
        # an event may hold megabytes, and a host waits two seconds
        command=call.command[:20_000],
        text=text[:200_000],
        forgotten=moment is Moment.BEGIN and starts_anew,
        again=host.goes_on_again(raw),
        unfinished=host.is_unfinished(raw),
        name=name,
        host=agent,
        only=host.decisions.get(name, ()),
        edits=tuple(_at(folder, edit) for edit in call.edits if moment is Moment.BEFORE_TOOL),
    )


def _event_of(data: bytes, named: str) -> tuple[str, dict[str, Any]]:
    """The host, and the event with the keys of Claude Code. Raises UsageError: it is none."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError("standard input holds no event of an agent host") from error
    if not isinstance(raw, dict):
        raise UsageError("standard input holds no event of an agent host: it is no JSON object")
    agent = agent_hosts.host_of(raw, named)
    event = agent_hosts.called(agent).event(raw)
    if not isinstance(event.get("hook_event_name"), str):
        raise UsageError(
            "standard input holds no event of an agent host: hook_event_name is missing"
        )
    return agent, event


def _with_writes(call: ToolCall) -> ToolCall:
    """A call of a shell with what its line shows that it writes."""
    edits = writes(call.command)
    names = (name for edit in edits for name in (edit.was, edit.path) if name)
    return call._replace(edits=edits, paths=tuple(dict.fromkeys((*call.paths, *names))))


def _at(folder: Path, edit: Edit) -> Edit:
    """An edit with whole paths."""
    path, was = (name and str(folder / os.path.expanduser(name)) for name in (edit.path, edit.was))
    return edit._replace(path=path, was=was)


def _was_stopped(raw: Mapping[str, Any], moment: Moment, text: str) -> bool:
    """Whether the user refused the call or interrupted it, so that the command itself has not failed."""
    response = raw.get("tool_response")
    if moment in {Moment.TOOL_DONE, Moment.TOOL_FAILED}:
        return did_not_end(text) or (
            isinstance(response, dict) and response.get("interrupted") is True
        )
    return False


def _has_failed(host: AgentHost, result: object, text: str) -> bool:
    """Whether the tool of a result failed; `text` is empty if it does not look so."""
    failed = _failed(result)
    if failed is None:
        return bool(text) and host.failed_unless_stated
    return failed


def _failed(result: object) -> bool | None:
    """Whether a tool failed, by its result, on hosts that have no event for that.

    None: it does not show.
    """
    if not isinstance(result, dict):
        exited = None
        if isinstance(result, str):
            exited = _EXITED.match(result)
        if exited:
            return exited[1] != "0"
        return None
    codes = [code for key in ("exit_code", "exitCode") if isinstance(code := result.get(key), int)]
    if result.get("is_error") is True:
        return True
    if codes:
        return any(codes)
    return None


def _about(moment: Moment, raw: Mapping[str, Any], result: object) -> str:
    """The prompt, or the output of a tool that failed or seems to have."""
    if moment is Moment.PROMPT:
        return _TOLD.sub("", text_at(raw, "prompt"))
    if moment not in {Moment.TOOL_DONE, Moment.TOOL_FAILED}:
        return ""
    if isinstance(result, dict):
        parts: Mapping[str, Any] = result
    else:
        parts = {}
    if isinstance(result, str):
        output = result
    else:
        output = "\n".join(text_at(parts, key) for key in _OUTPUTS)
    text = text_at(raw, "error") or text_at(raw, "error_message") or output.strip()
    if moment is Moment.TOOL_FAILED or looks_failed(text):
        return text
    return ""


def answer(
    event: AgentEvent,
    text: AgentText | None,
    decision: str = "",
    *,
    holds: bool = False,
    person: AgentText | None = None,
) -> str:
    """The JSON that adds `text` to the context of the agent.

    At a stop it makes the agent go on, once.

    `decision`: the host shall `ask` its user whether to do what it is about to do, or refuse it
    (`deny`). `holds`: it keeps the agent at work. `person`: what the user is shown. Empty where
    there is nothing to say.
    """
    host = agent_hosts.called(event.host)
    fields: dict[str, Any] = {}
    if text:
        message = ToTell(event.moment, event.name, text, host.decided(decision), holds)
        fields = host.answer(message)
    if person and event.moment not in host.hides_from_person_at:
        fields["systemMessage"] = person
    if fields:
        return json.dumps(fields)
    return ""
