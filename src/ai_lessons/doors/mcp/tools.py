"""The commands that agents may call, as tools of MCP: what they send is read as the words of a command line."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from functools import partial
from pathlib import Path  # noqa: TC003  # pydantic reads it while it runs
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import anyio.to_thread
import click
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool as ServedTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from ai_lessons.doors.cli import error_handler, root
from ai_lessons.doors.cli.command_context import Call, notes_of
from ai_lessons.doors.cli.commands import Command, Tool, walk
from ai_lessons.doors.cli.options import FileName, context_tags
from ai_lessons.doors.encode import encode
from ai_lessons.doors.from_settings import whereabouts
from ai_lessons.doors.lesson_cli import lesson
from ai_lessons.doors.mcp import framing
from ai_lessons.doors.mcp.session_pool import Reported, SessionPool, client_name
from ai_lessons.doors.terminal import BARE, line
from ai_lessons.errors import AiLessonsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.mcpserver import Context

    from ai_lessons.library.opened import Library

    Data = dict[str, Any]

LOG = logging.getLogger(__name__)

DEFAULT = (
    "search", "search_resources", "get_resource", "context", "add_lesson", "add_resource", "run_script",
    "suggest_rule", "link", "record_outcome",
)  # fmt: skip
"""What an agent pays for in every session, in the order in which it needs them; `--tools all` adds the others."""

PYTHON: Mapping[str, Any] = {
    "string": str, "boolean": bool, "integer": int, "number": int | float, "array": list, "object": dict | list,
}  # fmt: skip


def tools(pool: SessionPool, log: Path, chosen: str = "default", *, read_only: bool = False) -> list[ServedTool]:
    """The tools of a set, or those of them that only read, ready to be served; `log` is where reports of bugs are."""
    commands = (command for group in (root, lesson) for _, command in walk(group) if isinstance(command, Command))
    found = {command.tool.name: (command, command.tool) for command in commands if command.tool}
    names = DEFAULT if chosen == "default" else dict.fromkeys((*DEFAULT, *found))
    return [CommandTool.of(*found[name], pool, log) for name in names if found[name][1].reads or not read_only]


class Taken(NamedTuple):
    """One parameter of a tool: its agreed name, the click parameter that it is, its schema, whether it is needed."""

    name: str
    of: click.Parameter
    schema: Data
    needed: bool

    def texts(self, value: object) -> list[str]:
        """A value from JSON, or as text, as the command line has it. Raises BadParameter: it is of another type."""
        kind = self.schema["type"]
        if isinstance(value, str) and kind != "string":
            read = None
            with suppress(ValueError, RecursionError):
                read = json.loads(value)
            if isinstance(read, PYTHON[kind]):
                value = read
            elif kind in {"array", "object"}:
                whole = isinstance(self.of.type, FileName) or self.of.type is click.UNPROCESSED
                value = [value] if whole else list(filter(None, map(str.strip, value.split(","))))
        if isinstance(value, dict) and kind == "object":
            value = [tag if weight is None else f"{tag}={weight!r}" for tag, weight in value.items()]
        elif not isinstance(value, PYTHON[kind]) or (isinstance(value, bool) and kind != "boolean"):
            raise click.BadParameter(f"not of the type {kind}", param=self.of)
        if not isinstance(value, list):
            return [str(value)]
        if not all(isinstance(one, str) for one in value):
            raise click.BadParameter("not a list of strings", param=self.of)
        # a list that the command takes as one text with commas, or as several options
        return value if getattr(self.of, "multiple", False) or self.of.nargs == -1 else [",".join(value)]


def taken(command: Command, tool: Tool) -> list[Taken]:
    """The parameters of a tool, as `Tool.takes` names them."""
    known = {param.name: param for param in command.params}
    found = []
    for word in tool.takes.split():
        name, _, of = word.rstrip("!").partition("=")
        param = known[of or name]
        schema = schema_of(param, single=word.endswith("!"))
        default = tool.defaults.get(name, False if schema["type"] == "boolean" else param.default)
        schema |= {"description": tool.notes[name]} if name in tool.notes else {}
        schema |= {"default": default} if isinstance(default, str | int | float) and default != "" else {}
        found.append(Taken(name, param, schema, param.required and name not in tool.defaults))
    return found


def schema_of(param: click.Parameter, *, single: bool) -> Data:
    """What a parameter takes, as short as it can be said to an agent: that null is left out goes without saying."""
    kind = param.type
    split = getattr(kind, "func", None)  # the function by which one text with commas is more
    if split is context_tags:
        return {"type": "object", "additionalProperties": {"type": ["number", "null"]}}
    many = param.nargs == -1 or getattr(param, "multiple", False) or split is not None
    if many and not single:
        return {"type": "array", "items": {"type": "string"}}
    if isinstance(kind, click.Choice):
        return {"enum": list(kind.choices), "type": "string"}
    if getattr(param, "is_flag", False):
        return {"type": "boolean"}
    if not isinstance(kind, click.types.FloatParamType | click.types.IntParamType):
        return {"type": "string"}
    schema: Data = {"type": "number" if isinstance(kind, click.types.FloatParamType) else "integer"}
    if isinstance(kind, click.IntRange | click.FloatRange):
        schema |= {"exclusiveMinimum" if kind.min_open else "minimum": kind.min}
        schema |= {"exclusiveMaximum" if kind.max_open else "maximum": kind.max}
    return {key: value for key, value in schema.items() if value is not None}


class ToolCall(Call):
    """What a command is given when an agent calls it: the library of the pool, and an answer that is kept."""

    tool: ClassVar[bool] = True

    def __init__(self, pool: SessionPool, tool: Tool) -> None:
        super().__init__(json=True)
        self.pool, self.served = pool, tool
        self.result = CallToolResult(content=[])

    def interrupted(self) -> None:
        """Raise if the client has cancelled the call, or the server ends."""
        self.pool.still()

    def answer(self, value: Any, text: Any, data: Any = None, *, framed: Any = None, **_paged: Any) -> None:
        """Keep what the agent reads, and the same as data; agents have no pager."""
        notes = "\n".join(f"note: {line(note)}" for note in dict.fromkeys(notes_of(value)))
        told = text(value, BARE if framed else self.view)
        root = whereabouts(self.settings)
        told = framed(told, root, notes) if framed else f"{told}\n{notes}".rstrip("\n")
        found = framing.data(value, encode(data(value) if data else value), self.served.gives, root)
        self.result = CallToolResult(content=[TextContent(type="text", text=told)], structured_content=found)


class CommandTool(ServedTool):
    """A tool that runs a command. Its errors are sentences with a hint; no words of other programs reach the client."""

    log: Path

    @classmethod
    def of(cls, command: Command, tool: Tool, pool: SessionPool, log: Path) -> CommandTool:
        """A command as its declaration says, with the first paragraph of its help where that says nothing else."""
        params = taken(command, tool)
        required = [one.name for one in params if one.needed]
        gives = {key: framing.OUTPUT.get(key, framing.TEXT) for key in tool.gives.split()}  # the keys that matter most
        return cls(
            fn=partial(_called, command, tool, params, pool),
            name=tool.name,
            title=None,
            description=tool.tell or " ".join((command.help or "").partition("\n\n")[0].split()),
            parameters={"type": "object", "properties": {one.name: one.schema for one in params}}
            | ({"required": required} if required else {}),
            fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema={"type": "object", "properties": gives}),
            is_async=False,
            context_kwarg=None,
            annotations=ToolAnnotations(
                read_only_hint=tool.reads or None,
                destructive_hint=None if tool.reads else tool.destroys,
                idempotent_hint=tool.repeatable or None,
            ),
            log=log,
        )

    async def run(self, arguments: Data, context: Context[Any, Any], convert_result: bool = False) -> Any:  # noqa: ARG002  # the SDK's signature
        """Call the command in a thread; ToolError says in words what went wrong."""
        try:
            return await anyio.to_thread.run_sync(self.fn, arguments, context)
        except AiLessonsError as error:
            raise ToolError(error_handler.in_words(error)) from error
        except Exception as error:
            LOG.exception("tool %s", self.name)
            raise ToolError(framing.bug(error, self.log)) from error


def _called(
    command: Command, tool: Tool, params: list[Taken], pool: SessionPool, arguments: Data, ctx: Context[Any, Any]
) -> CallToolResult:
    """Run the command on what the agent sent."""
    call = ToolCall(pool, tool)
    try:
        context = command.make_context(tool.name, command_line(tool, params, arguments), obj=call)
    except click.BadParameter as error:
        name = next((f"{one.name}: " for one in params if one.of is error.param), "")
        hint = "it takes " + ", ".join(one.name for one in params)
        raise AiLessonsError(f"wrong arguments for {tool.name}: {name}{error.message}", hint=hint) from error
    call.settings = pool.settings

    def job(library: Library) -> CallToolResult:
        call.library = library
        with context:
            command.invoke(context)
        return call.result

    if tool.reads:
        return pool.read(job)
    if tool.alone:
        return pool.run(job, agent=client_name(ctx))
    return pool.write(job, agent=client_name(ctx), progress=Reported(ctx).show)


def command_line(tool: Tool, params: list[Taken], arguments: Data) -> list[str]:
    """The words that a person would have typed. Raises BadParameter: an argument is missing, or of another type."""
    names = [one.name for one in params]
    arguments = {_meant(name, names): value for name, value in arguments.items()}
    if unknown := [name for name in arguments if name not in names]:
        raise AiLessonsError(f"{tool.name} has no argument {unknown[0]!r}", hint="it takes " + ", ".join(names))
    given = {**tool.defaults, **{name: value for name, value in arguments.items() if value is not None}}
    if missing := [f"{one.name}: needed" for one in params if one.needed and one.name not in given]:
        raise click.BadParameter("; ".join(missing))
    options, rest = list[str](), list[str]()
    for one in params:
        texts = one.texts(given[one.name]) if one.name in given else []
        option = max(one.of.opts, key=len)
        if isinstance(one.of, click.Argument):
            rest += texts
        elif one.schema["type"] != "boolean":
            options += [f"{option}={text}" for text in texts]
        elif texts == ["True"]:
            options.append(option)
    return [*options, "--", *rest]


def _meant(name: str, names: list[str]) -> str:
    """The argument's agreed name: what one tool calls `id` is the `resource_id` of another, and agents mix them up."""
    other = {"id": "resource_id", "resource_id": "id"}.get(name, name)
    return other if name not in names and other in names else name
