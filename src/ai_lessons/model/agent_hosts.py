"""What an agent host says, takes and keeps; `features.hosts` has a module and a row for each.

Begin with `AgentHost`: what it says itself is the form of Claude Code, which most hosts have taken
over, and that of a host that is not known.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import extensions
from ai_lessons.model import expression
from ai_lessons.model.decisions import ASK, ASK_OR_DENY, DENY
from ai_lessons.model.entries import Moment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ai_lessons.extensions import HostRow
    from ai_lessons.model.transcripts import Transcript

Json = dict[str, Any]

MOMENTS: Mapping[str, Moment] = MappingProxyType({
    "SessionStart": Moment.BEGIN, "UserPromptSubmit": Moment.PROMPT, "PreToolUse": Moment.BEFORE_TOOL,
    "PostToolUse": Moment.TOOL_DONE, "PostToolUseFailure": Moment.TOOL_FAILED, "Stop": Moment.STOP,
    "SubagentStart": Moment.BEGIN,
})  # fmt: skip
NOTHING: Mapping[str, Any] = MappingProxyType({})


EXIT_CODE = expression(r"(?m)^(?:Process exited with code|Exit [Cc]ode:?) (-?\d+)\s*$")


class HostSettings(NamedTuple):
    """What shows that a host is on this machine, and the files in which our hooks and server go.

    Names of files are below the user's folder of it (`~`), or below the project (`./`); `hooks` and
    `servers` with `#` and the key of a table.
    """

    programs: tuple[str, ...]
    folder: str
    # of the environment, in which a user names another folder
    variable: str
    # files and folders of a project that uses it
    projects: tuple[str, ...]
    # those by which a text gets to the agent when a session starts, and around an edit
    events: tuple[str, str]
    hooks: tuple[str, ...]
    servers: tuple[str, ...]
    instructions: tuple[str, ...]
    # events of our plugin, with the host's name for each and its tools (or ours); a host that hears
    # none has no hooks of ours
    hears: Mapping[str, tuple[str, str]] = NOTHING
    # calls of an event stand in groups
    grouped: bool = True
    # what a second is in its limits of time
    second: int = 1
    # without which it reads no file of hooks
    head: Mapping[str, Any] = NOTHING
    # its events do not say which host they are from, so the command of the hook does
    named: bool = False
    # key of a file of hooks, under which our plugin may be switched on
    plugins: str = ""
    # a file of our own in place of hooks, and the one in the folder of our hooks that it is made of
    module: tuple[str, str] = ("", "")
    # what a user has to do before hooks run
    advice: str = ""
    # Files for everybody on a machine, below its root, each with what its administrators have to
    # know: with `#` and the key of our table in it
    managed: Mapping[str, str] = NOTHING
    # the key of the command there, of a host whose calls stand alone in them; empty: as elsewhere
    managed_command: str = ""


class ToTell(NamedTuple):
    """What a host is told at a moment, in answer to the event that it calls `event`.

    `decision`: it shall ask its user about what the agent is about to do, or deny it. `holds`: it
    keeps the agent at work.
    """

    moment: Moment
    event: str
    text: str
    decision: str = ""
    holds: bool = False


class AgentHost:
    """A host. A module of `features.hosts` says in a class below this one what differs."""

    id = ""
    name = ""
    settings: HostSettings | None = None
    # files and folders of a project that it reads whole at a start, by its documentation
    instructions: tuple[str, ...] = ()

    # --- events ---

    moments: Mapping[str, Moment] = MOMENTS
    # by event the decisions that it takes there, where it takes no text without one
    decisions: Mapping[str, tuple[str, ...]] = NOTHING
    # the event at which it takes what is known of a file, if it takes no text before a tool
    told_with_result = ""
    # whether a session that goes on has in mind what hooks told
    keeps_what_is_told = True
    # whether a result without a word on how the tool ended is that of one that failed
    failed_unless_stated = False
    # whether a session begins at its first prompt, because no text is taken at a start
    begins_at_prompt = False
    # moments at which it takes no text; without a terminal some end whatever a stop is answered
    takes_no_text_at: Collection[Moment] = ()
    # so that what is asked at an end is asked when a command worked
    ends_without_asking = False

    def event(self, raw: Json) -> Json:
        """The event with the keys and names of Claude Code."""
        return raw

    def is_of_interest(self, _moment: Moment, _raw: Mapping[str, Any]) -> bool:
        """Whether the event is one of those that are answered."""
        return True

    def tool(self, raw: Mapping[str, Any]) -> str:
        """The tool; one of an MCP server as `mcp__SERVER__TOOL`."""
        return text_at(raw, "tool_name")

    def folder(self, raw: Mapping[str, Any]) -> str:
        """The folder of the session; empty if it is not stated."""
        return text_at(raw, "cwd")

    def result(self, raw: Mapping[str, Any]) -> object:
        """What a tool gave back: a text, or a table with `output` and `exit_code` or `is_error`."""
        return raw.get("tool_response")

    def goes_on_again(self, raw: Mapping[str, Any]) -> bool:
        """Whether the agent stops once more, after an answer made it go on."""
        return raw.get("stop_hook_active") is True

    def is_unfinished(self, raw: Mapping[str, Any]) -> bool:
        """Whether the agent stops in the midst of its work."""
        return bool(raw.get("background_tasks"))

    # --- answers ---

    # whether it asks its user where our answer says so
    asks = True
    # whether a stop takes a reason to go on and nothing else
    blocks_at_stop = False
    # moments at which it shows its user nothing
    hides_from_person_at: Collection[Moment] = ()

    def answer(self, message: ToTell) -> Json:
        """The answer that adds a text to the context of the agent, keeps it at work, or decides."""
        if message.holds or (message.moment is Moment.STOP and self.blocks_at_stop):
            return self.holding(message.text)
        return self.adding(message)

    def holding(self, reason: str) -> Json:
        """What keeps the agent at work."""
        return {"decision": "block", "reason": reason}

    def adding(self, message: ToTell) -> Json:
        """What adds a text to the context of the agent."""
        output = {"hookEventName": message.event, "additionalContext": message.text}
        if message.decision and message.event == "PreToolUse":
            output |= {
                "permissionDecision": message.decision,
                "permissionDecisionReason": message.text,
            }
            if message.decision == DENY:
                # the agent reads why it was refused
                del output["additionalContext"]
        return {"hookSpecificOutput": output}

    def decided(self, decision: str) -> str:
        """What is asked of this host where a rule asks for one of two decisions."""
        if decision != ASK_OR_DENY:
            return decision
        return ASK if self.asks else DENY

    # --- transcripts ---

    # a glob below the user's folder of it
    transcripts = ""

    def wrote(self, _record: Mapping[str, Any]) -> bool:
        """Whether a record of a transcript is one of this host, and of no other."""
        return False

    def read(self, _session: Transcript, _record: Mapping[str, Any]) -> bool:
        """Add what a record says to its session. False: its form is not known."""
        return False

    # --- settings ---

    def server(self, program: str, env: Json) -> Json:
        """Our MCP server in its settings."""
        return {"command": program, "env": env}


UNKNOWN = AgentHost()


def text_at(raw: Mapping[str, Any], key: str) -> str:
    """The text of a key; empty for anything else."""
    value = raw.get(key)
    if isinstance(value, str):
        return value
    return ""


def tables(value: Any) -> Iterator[Mapping[str, Any]]:
    """The parts of a message: a text alone, or a list of parts."""
    if isinstance(value, str):
        yield {"type": "text", "text": value}
    elif isinstance(value, list):
        for part in value:
            yield from [part] if isinstance(part, dict) else tables(part)


def words_of(value: Any) -> str:
    """The texts of the parts of a message."""
    results = []
    for part in tables(value):
        if part.get("text"):
            results.append(str(part["text"]))
    return "\n".join(results)


def every() -> Iterator[AgentHost]:
    """All hosts, in the order of their table. Loads the module of each."""
    for row in extensions.hosts():
        yield loaded(row)


def loaded(row: HostRow) -> AgentHost:
    """The host of a row."""
    host: AgentHost = extensions.load(row.place)
    return host


def called(agent: str) -> AgentHost:
    """The host whose sessions have this name."""
    for row in extensions.hosts():
        if row.agent == agent:
            return loaded(row)
    return UNKNOWN


def host_of(raw: Mapping[str, Any], named: str) -> str:
    """How sessions of the host are called that an event is from; empty if it does not show.

    By what only one host sends, then where it keeps the transcript. `named`: as the command of the
    hook says.
    """
    event = raw.get("hook_event_name")
    for row in extensions.hosts():
        if event in row.events or any(key in raw for key in row.keys):
            return row.agent
    place = text_at(raw, "transcript_path") or text_at(raw, "transcriptPath")
    folders = place.replace("\\", "/").split("/")[:-1]
    for row in extensions.hosts():
        if row.folder and row.folder in folders:
            return row.agent
    for row in extensions.hosts():
        if row.agent == named:
            return row.agent
    return ""


def advice(name: str) -> str:
    """What a user has to do before hooks run in the host of this name; empty for nothing."""
    for host in every():
        if host.settings is not None and host.name == name:
            return host.settings.advice
    return ""
