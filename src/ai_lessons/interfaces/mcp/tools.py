"""Tools of MCP, made from the commands that declare one.

Begin with `tools` and `AgentCommand`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable  # pydantic reads it while it runs
from pathlib import Path  # noqa: TC003  # pydantic reads it while it runs
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import anyio.to_thread
import click
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool as ServedTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult, ResourceLink, TextContent, ToolAnnotations

from ai_lessons import extensions
from ai_lessons.errors import (
    EXIT_BUG,
    EXIT_INTERRUPTED,
    AiLessonsError,
    AmbiguousName,
    Conflict,
)
from ai_lessons.interfaces import agent_text, output
from ai_lessons.interfaces.cli import ending, root
from ai_lessons.interfaces.cli.call import Call
from ai_lessons.interfaces.cli.command import Command, programs, walk
from ai_lessons.interfaces.mcp.clients import Person, Reported, client_name, connection_of
from ai_lessons.interfaces.mcp.schemas import output_schema, parameters_of
from ai_lessons.interfaces.output import encode

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from ai_lessons.app.workspace import Library
    from ai_lessons.interfaces.cli.command import Tool
    from ai_lessons.interfaces.mcp.schemas import ToolParameter
    from ai_lessons.interfaces.mcp.sessions import SessionPool

    Data = dict[str, Any]

# Links of an answer, and the protocol that has them first
LINKS, LINKS_SINCE = 5, "2025-06-18"
ENTRY_URI = "lessons://entry/{id}"
# The argument that keeps what is refused because the same is there
KEEP_ANYWAY = "anyway"

LOG = logging.getLogger(__name__)

# What an agent pays for in every session, in the order in which it needs them.
# `--tools all` adds the others.
DEFAULT = (
    "search", "search_resources", "get_resource", "context", "add_lesson", "add_resource", "run_script",
    "suggest_rule", "link", "record_outcome",
)  # fmt: skip


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
    names = dict.fromkeys(DEFAULT)
    if chosen != "default":
        names |= dict.fromkeys(declared)
    served: list[ServedTool] = []
    for name in names:
        if name not in declared:
            # of a feature that is not here
            continue
        tool_command, tool = declared[name]
        if tool.reads or not read_only:
            served.append(CommandTool.of(tool_command, tool, pool, log))
    return served


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
        encoded = None
        if data:
            encoded = encode(data(value))
        structured = agent_text.data(value, self.served, root, encoded)
        self.result = CallToolResult(
            content=[TextContent(type="text", text=whole)], structured_content=structured
        )


class CommandTool(ServedTool):
    """A tool that runs a command.

    Its errors are sentences with a hint; no words of other programs reach the client.
    """

    log: Path
    note: Callable[[str, int], None]

    @classmethod
    def of(cls, command: Command, tool: Tool, pool: SessionPool, log: Path) -> CommandTool:
        """A command as its declaration says, with the first paragraph of its help where that says nothing else."""
        params = parameters_of(command, tool)
        takes: Data = {
            "type": "object",
            "properties": {param.name: param.schema for param in params},
        }
        required = [param.name for param in params if param.required]
        if required:
            takes["required"] = required
        first_paragraph, _, _ = (command.help or "").partition("\n\n")
        destroys = None
        if not tool.reads:
            destroys = tool.destroys
        return cls(
            fn=AgentCommand(command, tool, params, pool).answer,
            name=tool.name,
            title=tool.name.replace("_", " ").capitalize(),
            description=tool.description or " ".join(first_paragraph.split()),
            parameters=takes,
            fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=output_schema(tool)),
            is_async=False,
            context_kwarg=None,
            annotations=ToolAnnotations(
                read_only_hint=tool.reads or None,
                destructive_hint=destroys,
                idempotent_hint=tool.repeatable or None,
            ),
            log=log,
            note=pool.note,
        )

    async def run(
        self,
        arguments: Data,
        context: Context[Any, Any],
        # the SDK's signature
        convert_result: bool = False,  # noqa: ARG002
    ) -> Any:
        """Call the command in a thread; ToolError says in words what went wrong."""
        # what a call that was cancelled ends with
        code = EXIT_INTERRUPTED
        try:
            answer = await anyio.to_thread.run_sync(self.fn, arguments, context)
            code = 0
        except AiLessonsError as error:
            code = error.exit_code
            raise ToolError(output.refused(ending.in_words(error))) from error
        except Exception as error:
            code = EXIT_BUG
            LOG.exception("tool %s", self.name)
            raise ToolError(agent_text.bug(error, self.log)) from error
        finally:
            self.note(self.name, code)
        return answer


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
            named = dict(arguments)
            for key, value in arguments.items():
                if value == error.name:
                    named[key] = entry
            result = self._run(named, ctx)
        except Conflict as error:
            # a lesson that says the same as another one
            names = {param.name for param in self.params}
            if KEEP_ANYWAY not in names or not Person(ctx).keeps(error):
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
        names = [param.name for param in self.params]
        sent: Data = {}
        for name, value in arguments.items():
            if value is not None:
                sent[_meant(name, names)] = value
        for name in sent:
            if name not in names:
                hint = "it takes " + ", ".join(names)
                raise AiLessonsError(f"{self.tool.name} has no argument {name!r}", hint=hint)
        values: Data = {}
        missing: list[str] = []
        for param in self.params:
            if param.name in sent:
                values[str(param.param.name)] = param.typed(sent[param.name])
            elif param.required:
                missing.append(f"{param.name}: needed")
            elif param.default is not None:
                values[str(param.param.name)] = param.typed(param.default)
        if missing:
            raise click.BadParameter("; ".join(missing))
        return values


def links_of(answer: Data) -> list[ResourceLink]:
    """Links to the entries that an answer lists, or has written.

    None to the entry that is shown.
    """
    entries: list[Data] = []
    for value in answer.values():
        if isinstance(value, list):
            entries += [hit for hit in value if isinstance(hit, dict) and "handle" in hit]
    if not entries and "path" in answer and "text" not in answer:
        # what was written, and not what is shown
        entries = [answer]
    links: list[ResourceLink] = []
    for entry in entries[:LINKS]:
        uri = ENTRY_URI.format(id=entry["handle"])
        title = output.short_name(entry.get("title") or "") or None
        links.append(ResourceLink(uri=uri, name=entry["handle"], title=title))
    return links


def _meant(name: str, names: list[str]) -> str:
    """The argument's agreed name.

    What one tool calls `id` is the `resource_id` of another, and agents mix them up.
    """
    other = {"id": "resource_id", "resource_id": "id"}.get(name, name)
    if name not in names and other in names:
        return other
    return name
