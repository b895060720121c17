"""Commands that agents may call, as MCP tools, and the pool of open libraries that answers them."""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from inspect import get_annotations
from pathlib import Path  # noqa: TC003  # pydantic reads it while it runs
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import anyio.from_thread
import anyio.to_thread
import click
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool as ServedTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.types import (
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ResourceLink,
    TextContent,
    ToolAnnotations,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ai_lessons import extensions
from ai_lessons.app import daemon_client
from ai_lessons.app.answers import Answer, Shown
from ai_lessons.app.options import Limits, Options, Progress, no_progress
from ai_lessons.app.workspace import Library, ReusableLibrary
from ai_lessons.errors import AiLessonsError, AmbiguousName, Conflict
from ai_lessons.interfaces import agent_text, library_options, output
from ai_lessons.interfaces.cli import ending, root
from ai_lessons.interfaces.cli.call import Call
from ai_lessons.interfaces.cli.command import Argument, Command, Tool, programs, walk
from ai_lessons.interfaces.cli.options import FileName, context_tags, words
from ai_lessons.interfaces.output import clean, encode, line
from ai_lessons.model.entries import Kind, fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server.mcpserver import Context

    from ai_lessons.settings import Settings

    Data = dict[str, Any]

T = TypeVar("T")

NO_LIMITS = Limits()
# Seconds between two notes of progress, and two looks whether a waiting call is still wanted
PAUSE = 0.1
# Characters of a script, and entries, that a person can judge in a form
READABLE, CHOICES = 8_000, 20
# Links of an answer, and the protocol that has them first
LINKS, LINKS_SINCE = 5, "2025-06-18"
ENTRY_URI = "lessons://entry/{id}"
# The argument that keeps what is refused because the same is there
KEEP_ANYWAY = "anyway"
# The work of this name is the commit: a call cancelled before it leaves nothing
LAST_CHANCE = "writing"


def client_name(ctx: Context[Any, Any] | None) -> str:
    """The name that the client gave itself, or `mcp`."""
    params = None
    if ctx:
        params = ctx.session.client_params
    return (params.client_info.name.strip() if params else "") or "mcp"


def connection_of(ctx: Context[Any, Any] | None) -> str:
    """The name of the session of a client over HTTP; empty where each request stands alone.

    Where there are sessions the transport lets only an id through that it gave itself.
    """
    if ctx is None or ctx.session.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ""
    name = (ctx.headers or {}).get(MCP_SESSION_ID_HEADER, "")
    if not name:
        return ""
    return f"mcp-{name}"


class Stopping(BaseException):
    """The server ends: a call that takes long gives up.

    No error of a tool, so nothing catches it.
    """


class SessionPool:
    """Libraries on the repository that the settings name, for many threads.

    `limits`: the files callers may name.
    """

    def __init__(
        self,
        load: Callable[[], Settings],
        *,
        session: str | None = None,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self._load, self._session, self._limits = load, session, limits
        self._program = daemon_client.program()
        self._read_with: tuple[Path, Options] | None = None
        self._kept = ReusableLibrary(lambda: Library(*self._arguments()))
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._stopping = threading.Event()
        self._calls: set[object] = set()

    @property
    def settings(self) -> Settings:
        """The user's settings as they are now.

        A server outlives branches, tiers and edits of `config.toml`.
        """
        return self._load()

    def read(self, job: Callable[[Library], T]) -> T:
        """Do a job that reads; others that read wait."""
        with self._at_work(), self._turn(self._reading):
            arguments = self._arguments()
            if arguments != self._read_with:
                self._kept.close()
                self._read_with = arguments
            return self._kept.do(job)

    def write(self, job: Callable[[Library], T], *, agent: str, progress: Progress) -> T:
        """Do a job that writes, in the name of `agent` unless the user's settings name one.

        One at a time.
        """
        with self._at_work(), self._turn(self._writing), self._fresh(agent, progress) as library:
            return job(library)

    def run(
        self,
        job: Callable[[Library], T],
        *,
        agent: str,
        trusts: Callable[[str, str], bool] | None = None,
        progress: Progress = no_progress,
    ) -> T:
        """Do a job that may take long and shares nothing with others.

        Running a script, playing transcripts.

        `trusts` asks the person at the client; not over HTTP, where it may be any person.
        """
        with (
            self._at_work(),
            self._fresh(agent, progress, trusts if self._session else None) as library,
        ):
            return job(library)

    def still(self) -> None:
        """Raise if the call of this thread is not to go on.

        The server ends, or its client has cancelled it.
        """
        if self._stopping.is_set():
            raise Stopping
        anyio.from_thread.check_cancelled()

    def stop(self, patience: float) -> None:
        """Ask all that runs to end, and wait for it `patience` seconds."""
        self._stopping.set()
        deadline = time.monotonic() + patience
        while self._calls and time.monotonic() < deadline:
            time.sleep(PAUSE / 10)

    def close(self) -> None:
        """Close what is kept open."""
        with self._reading:
            self._kept.close()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        call = object()
        self._calls.add(call)
        try:
            with self.naming_upgrades():
                yield
        finally:
            self._calls.discard(call)

    @contextmanager
    def naming_upgrades(self) -> Iterator[None]:
        """Raises AiLessonsError.

        A call failed because the files of the program are not those that it began with.
        """
        try:
            yield
        except AiLessonsError:
            raise
        except Exception as error:
            try:
                changed = daemon_client.program() != self._program
            except OSError:
                changed = True
            if not changed:
                raise
            LOG.exception("the program was replaced")
            message = "ai-lessons was upgraded or removed while this server ran, so it cannot go on"
            raise AiLessonsError(
                message, hint="restart this server, then repeat the call"
            ) from error

    def _arguments(self) -> tuple[Path, Options]:
        loaded = self.settings
        chosen = library_options(loaded)
        return loaded.repo, chosen._replace(
            session=chosen.session or self._session, limits=self._limits
        )

    def _fresh(
        self, agent: str, progress: Progress, trusts: Callable[[str, str], bool] | None = None
    ) -> Library:
        repo, loaded = self._arguments()
        return Library(
            repo, loaded._replace(agent=loaded.agent or agent, progress=progress, ask_trust=trusts)
        )

    @contextmanager
    def _turn(self, lock: threading.Lock) -> Iterator[None]:
        while not lock.acquire(timeout=PAUSE):
            self.still()
        try:
            yield
        finally:
            lock.release()


class Person:
    """The person at the client, who is asked in a form where the client has one.

    Never about an approval.
    """

    def __init__(self, ctx: Context[Any, Any] | None) -> None:
        self._ctx = ctx

    def trusts(self, path: str, text: str) -> bool:
        """Whether a script with this text may run.

        False where it is too long to be read in a form.
        """
        if len(text) > READABLE:
            return False
        fields = {"run": {"type": "boolean", "title": "Run it, and trust this text from now on"}}
        return (
            self._answer(
                f"Run {line(path)}? This machine has not run it before.\n\n{clean(text)}", fields
            )
            is True
        )

    def choice(self, error: AmbiguousName) -> str | None:
        """Which entry a name that several have stands for; None: no answer."""
        if not 1 < len(error.suggestions) <= CHOICES:
            return None
        fields = {"entry": {"type": "string", "title": "Entry", "enum": list(error.suggestions)}}
        answer = self._answer(f"Which entry is {line(error.name)}?", fields)
        # a suggestion is a handle, an id or a branch, and its title in brackets
        return answer.partition(" (")[0] if answer in error.suggestions else None

    def keeps(self, error: Conflict) -> bool:
        """Whether to keep what was refused because the same is there."""
        fields = {"keep": {"type": "boolean", "title": "Keep it beside the other one"}}
        return self._answer(f"{line(error.message)}. Keep the new one, too?", fields) is True

    def _answer(self, question: str, fields: Data) -> Any:
        """The value of the only field of a form.

        None where it was declined, or the client has none.
        """
        asks = ClientCapabilities(elicitation=ElicitationCapability())
        # from 2026-07-28 on a server asks nothing while a call runs
        if self._ctx is None or self._ctx.session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return None
        if not self._ctx.session.check_client_capability(asks):
            return None
        schema = {"type": "object", "properties": fields, "required": list(fields)}
        ask = partial(self._ctx.session.elicit_form, question, schema, self._ctx.request_id)
        done = anyio.from_thread.run(ask)
        if done.action == "accept":
            return (done.content or {}).get(*fields)
        return None


class Reported:
    """Progress of the library's as notes to the client.

    One bar for all phases of a job, which never goes back.
    """

    def __init__(self, ctx: Context[Any, Any] | None) -> None:
        self._ctx = ctx
        self._phase, self._before, self._done, self._last = ("", 0), 0, 0, 0.0
        self._committing = False

    def show(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what`.

        Raises if the call was cancelled, and nothing is written yet.
        """
        if self._committing or self._ctx is None:
            return
        anyio.from_thread.check_cancelled()
        self._committing = what == LAST_CHANCE
        if (what, total) != self._phase:
            self._phase, self._before = (what, total), self._before + self._done
        self._done = done
        if total and (done == total or time.monotonic() - self._last >= PAUSE):
            self._last = time.monotonic()
            so_far, whole = self._before + done, self._before + total
            anyio.from_thread.run(
                self._ctx.report_progress, so_far, whole, f"{what} {done}/{total}"
            )


LOG = logging.getLogger(__name__)

DEFAULT = (
    "search", "search_resources", "get_resource", "context", "add_lesson", "add_resource", "run_script",
    "suggest_rule", "link", "record_outcome",
)  # fmt: skip
"""What an agent pays for in every session, in the order in which it needs them.

`--tools all` adds the others.
"""

TEXT: Data = {"type": "string"}
ARRAY: Data = {"type": "array"}
JSON_TYPES = {
    "str": "string", "bool": "boolean", "int": "integer", "float": "number", "tuple": "array", "dict": "object",
}  # fmt: skip


def tools(
    pool: SessionPool, log: Path, chosen: str = "default", *, read_only: bool = False
) -> list[ServedTool]:
    """The tools of a set, or those of them that only read, ready to be served.

    `log` is where reports of bugs are.
    """
    declared: dict[str, tuple[Command, Tool]] = {}
    for group in (root, *programs().values()):
        for _, tool_command in walk(group):
            if isinstance(tool_command, Command) and tool_command.tool:
                declared[tool_command.tool.name] = (tool_command, tool_command.tool)
    every = DEFAULT if chosen == "default" else (*DEFAULT, *declared)
    served: list[ServedTool] = []
    for name in dict.fromkeys(every):
        if name not in declared:
            # of a feature that is not here
            continue
        tool_command, tool = declared[name]
        if tool.reads or not read_only:
            served.append(CommandTool.of(tool_command, tool, pool, log))
    return served


class ToolParameter(NamedTuple):
    """One parameter of a tool.

    Its name, the click parameter that it is, its schema, whether it is required.
    """

    name: str
    param: click.Parameter
    schema: Data
    required: bool
    default: object

    def typed(self, value: object) -> object:
        """A value from JSON, or as text, as click takes it.

        Raises BadParameter: it is several where one is needed.
        """
        several = self.schema["type"] in {"array", "object"}
        if isinstance(value, str) and several:
            with suppress(ValueError, RecursionError):
                read = json.loads(value)
                if isinstance(read, list | dict):
                    value = read
        if isinstance(value, dict):
            value = [
                tag if weight is None else f"{tag}={weight!r}" for tag, weight in value.items()
            ]
        if isinstance(value, list) and not several:
            raise click.BadParameter(f"not of the type {self.schema['type']}", param=self.param)
        many = getattr(self.param, "multiple", False) or self.param.nargs == -1
        if not isinstance(value, list):
            whole = (
                isinstance(self.param.type, FileName)
                or self.param.type is click.UNPROCESSED
                or not several
            )
            if not many:
                return value
            if whole:
                return [value]
            return words(str(value))
        if not all(isinstance(text, str) for text in value):
            raise click.BadParameter("not a list of strings", param=self.param)
        if many:
            return value
        return ",".join(value)


def parameters_of(command: Command, tool: Tool) -> list[ToolParameter]:
    """The parameters of a tool, as `Tool.takes` names them."""
    params = {}
    for param in command.params:
        params[param.name] = param
    arguments = (
        Argument(argument) if isinstance(argument, str) else argument for argument in tool.takes
    )
    results: list[ToolParameter] = []
    for argument in arguments:
        results.append(_parameter(argument, params[argument.parameter or argument.name]))
    return results


def _parameter(argument: Argument, param: click.Parameter) -> ToolParameter:
    schema = schema_of(param, single=argument.single)
    default: object = argument.default
    if default is None:
        if schema["type"] == "boolean":
            default = False
        else:
            default = param.default
    if argument.note:
        schema |= {"description": argument.note}
    if isinstance(default, str | int | float) and default not in {"", False}:
        schema |= {"default": default}
    required = argument.required or (param.required and argument.default is None)
    return ToolParameter(argument.name, param, schema, required, argument.default)


def schema_of(param: click.Parameter, *, single: bool) -> Data:
    """What a parameter takes, as short as it can be said to an agent.

    A range is named by the error alone.
    """
    kind = param.type
    # the function by which one text with commas is more
    split = getattr(kind, "func", None)
    if split is context_tags:
        return {"type": "object"}
    many = param.nargs == -1 or getattr(param, "multiple", False) or split is not None
    if many and not single:
        return {"type": "array", "items": {"type": "string"}}
    if isinstance(kind, click.Choice):
        return {"enum": list(kind.choices), "type": "string"}
    if getattr(param, "is_flag", False):
        return {"type": "boolean"}
    if not isinstance(kind, click.types.FloatParamType | click.types.IntParamType):
        return {"type": "string"}
    return {"type": "number" if isinstance(kind, click.types.FloatParamType) else "integer"}


def output_schema(tool: Tool) -> Data:
    """The JSON Schema of what a tool answers, made of the fields of the answer's class, but for words on it."""
    properties: Data = {}
    if isinstance(tool.answer, str):
        properties[tool.answer] = ARRAY
        return {"type": "object", "properties": properties}
    answer = tool.answer()
    if answer is Shown:
        properties |= {"handle": TEXT, "title": TEXT, "text": TEXT}
    elif answer is Answer:
        properties |= {kind.folder: ARRAY for kind in tool.kinds or Kind}
    elif fields := fields_of(answer):
        if fields.entry:
            properties |= {"handle": TEXT}
        properties |= {
            name.rstrip("_"): type_schema(annotation_of(answer, name)) for name in fields.names
        }
        properties = {
            name: schema for name, schema in properties.items() if name not in {"notes", "warnings"}
        }
    return {"type": "object", "properties": properties}


def annotation_of(answer: type, name: str) -> str:
    """The type of a field or property, as the source states it."""
    for base in answer.__mro__:
        annotation = get_annotations(base).get(name)
        if annotation is not None:
            return str(getattr(annotation, "__forward_arg__", annotation))
    return str(getattr(answer, name).fget.__annotations__["return"])


def type_schema(annotation: str) -> Data:
    """The JSON Schema of a type as the source states it.

    Any, where JSON has no such type (an enum, a union).
    """
    # not by pydantic: most types are imported for the type checker alone, so it cannot resolve
    # their names
    json_type = None
    if " | " not in annotation:
        json_type = JSON_TYPES.get(annotation.partition("[")[0])
    if json_type:
        return {"type": json_type}
    return {}


class ToolCall(Call):
    """What a command is given when an agent calls it.

    The library of the pool, and an answer that is kept.
    """

    tool: ClassVar[bool] = True

    def __init__(self, pool: SessionPool, tool: Tool) -> None:
        super().__init__(json=True)
        self.pool, self.served = pool, tool
        self.result = CallToolResult(content=[])

    def interrupted(self) -> None:
        """Raise if the client has cancelled the call, or the server ends."""
        self.pool.still()

    def answer(self, value: Any, text: Any, data: Any = None, **_terminal: Any) -> None:
        """Keep what the agent reads, and the same as data; agents have no pager."""
        whole, root = self.for_agents(self.served, value, text), self.settings.whereabouts
        structured = agent_text.data(
            value, self.served, root, encode(data(value)) if data else None
        )
        self.result = CallToolResult(
            content=[TextContent(type="text", text=whole)], structured_content=structured
        )


class CommandTool(ServedTool):
    """A tool that runs a command.

    Its errors are sentences with a hint; no words of other programs reach the client.
    """

    log: Path

    @classmethod
    def of(cls, command: Command, tool: Tool, pool: SessionPool, log: Path) -> CommandTool:
        """A command as its declaration says, with the first paragraph of its help where that says nothing else."""
        params = parameters_of(command, tool)
        required = []
        for param in params:
            if param.required:
                required.append(param.name)
        return cls(
            fn=AgentCommand(command, tool, params, pool).answer,
            name=tool.name,
            title=tool.name.replace("_", " ").capitalize(),
            description=tool.description
            or " ".join((command.help or "").partition("\n\n")[0].split()),
            parameters={
                "type": "object",
                "properties": {param.name: param.schema for param in params},
            }
            | ({"required": required} if required else {}),
            fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=output_schema(tool)),
            is_async=False,
            context_kwarg=None,
            annotations=ToolAnnotations(
                read_only_hint=tool.reads or None,
                destructive_hint=None if tool.reads else tool.destroys,
                idempotent_hint=tool.repeatable or None,
            ),
            log=log,
        )

    async def run(
        self,
        arguments: Data,
        context: Context[Any, Any],
        # the SDK's signature
        convert_result: bool = False,  # noqa: ARG002
    ) -> Any:
        """Call the command in a thread; ToolError says in words what went wrong."""
        try:
            return await anyio.to_thread.run_sync(self.fn, arguments, context)
        except AiLessonsError as error:
            raise ToolError(output.refused(ending.in_words(error))) from error
        except Exception as error:
            LOG.exception("tool %s", self.name)
            raise ToolError(agent_text.bug(error, self.log)) from error


class AgentCommand(NamedTuple):
    """A command as agents call it, on the libraries of the pool."""

    command: Command
    tool: Tool
    params: list[ToolParameter]
    pool: SessionPool

    def answer(self, arguments: Data, ctx: Context[Any, Any] | None) -> CallToolResult:
        """The answer of the tool, with links to entries.

        The person says which entry is meant, or what is kept.
        """
        try:
            result = self._run(arguments, ctx)
        except AmbiguousName as error:
            entry = Person(ctx).choice(error)
            if entry is None:
                raise
            named = {}
            for key, value in arguments.items():
                if value == error.name:
                    named[key] = entry
                else:
                    named[key] = value
            result = self._run(named, ctx)
        except Conflict as error:
            # a lesson that says the same as another one
            if KEEP_ANYWAY not in [param.name for param in self.params] or not Person(ctx).keeps(
                error
            ):
                raise
            result = self._run({**arguments, KEEP_ANYWAY: True}, ctx)
        if ctx is not None and ctx.session.protocol_version >= LINKS_SINCE:
            links = links_of(result.structured_content or {})
            result = result.model_copy(update={"content": [*result.content, *links]})
        if any(row.client == client_name(ctx) for row in extensions.hosts()):
            # it would show the model the same twice
            return result.model_copy(update={"structured_content": {}})
        return result

    def _run(self, arguments: Data, ctx: Context[Any, Any] | None) -> CallToolResult:
        """Run the command on what the agent sent."""
        tool, pool, call = self.tool, self.pool, ToolCall(self.pool, self.tool)
        call.connection = connection_of(ctx)
        with pool.naming_upgrades():
            try:
                values = self._values(arguments)
                context = self.command.make_context(tool.name, [], obj=call, default_map=values)
            except click.BadParameter as error:
                name = next(
                    (f"{param.name}: " for param in self.params if param.param is error.param), ""
                )
                hint = "it takes " + ", ".join(param.name for param in self.params)
                raise AiLessonsError(
                    f"wrong arguments for {tool.name}: {name}{error.message}", hint=hint
                ) from error
            call.settings = pool.settings

        def job(library: Library) -> CallToolResult:
            call.library = library
            with context:
                self.command.invoke(context)
            return call.result

        if tool.reads:
            return pool.read(job)
        if tool.alone:
            return pool.run(job, agent=client_name(ctx), trusts=Person(ctx).trusts)
        return pool.write(job, agent=client_name(ctx), progress=Reported(ctx).show)

    def _values(self, arguments: Data) -> Data:
        """By the command's parameters what a person would have given.

        Raises BadParameter: an argument is missing.
        """
        names = []
        for param in self.params:
            names.append(param.name)
        arguments = {
            _meant(name, names): value for name, value in arguments.items() if value is not None
        }
        if unknown := [name for name in arguments if name not in names]:
            hint = "it takes " + ", ".join(names)
            raise AiLessonsError(f"{self.tool.name} has no argument {unknown[0]!r}", hint=hint)
        if missing := [
            f"{param.name}: needed"
            for param in self.params
            if param.required and param.name not in arguments
        ]:
            raise click.BadParameter("; ".join(missing))
        arguments = {
            param.name: param.default for param in self.params if param.default is not None
        } | arguments
        values = {}
        for param in self.params:
            if param.name in arguments:
                values[str(param.param.name)] = param.typed(arguments[param.name])
        return values


def links_of(answer: Data) -> list[ResourceLink]:
    """Links to the entries that an answer lists, or has written.

    None to the entry that is shown.
    """
    hits = [
        hit
        for hits in answer.values()
        if isinstance(hits, list)
        for hit in hits
        if isinstance(hit, dict)
    ]
    entries = [hit for hit in hits if "handle" in hit] or (
        [answer] if "path" in answer and "text" not in answer else []
    )
    results: list[ResourceLink] = []
    for entry in entries[:LINKS]:
        results.append(
            ResourceLink(
                uri=ENTRY_URI.format(id=entry["handle"]),
                name=entry["handle"],
                title=output.short_name(entry.get("title") or "") or None,
            )
        )
    return results


def _meant(name: str, names: list[str]) -> str:
    """The argument's agreed name.

    What one tool calls `id` is the `resource_id` of another, and agents mix them up.
    """
    other = {"id": "resource_id", "resource_id": "id"}.get(name, name)
    if name not in names and other in names:
        return other
    return name
