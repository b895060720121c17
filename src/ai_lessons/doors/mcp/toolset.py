"""Which tools are served, what the client is told of each, and how their errors reach it."""

from __future__ import annotations

import logging
from pathlib import Path  # noqa: TC003  # pydantic reads it while it runs
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import ValidationError

from ai_lessons.doors.mcp import shapes
from ai_lessons.doors.mcp.errors import bug, in_words, told
from ai_lessons.doors.mcp.tools import Tools
from ai_lessons.errors import AiLessonsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.mcpserver import Context

    from ai_lessons.doors.mcp.desk import SessionPool

LOG = logging.getLogger(__name__)


class Served(NamedTuple):
    """One tool: the schema of its data, and what a host may ask its user about."""

    output: Mapping[str, Any]
    reads: bool = False
    destroys: bool = False
    again: bool = False
    """Calling it once more with the same arguments changes nothing more."""


DEFAULT = {
    "search": Served(shapes.SEARCH, reads=True),
    "search_resources": Served(shapes.RESOURCES, reads=True),
    "get_resource": Served(shapes.SHOWN, reads=True),
    "context": Served(shapes.CONTEXT, reads=True),
    "add_lesson": Served(shapes.WRITTEN),
    "add_resource": Served(shapes.IMPORTED, again=True),
    "run_script": Served(shapes.RAN, destroys=True),
    "suggest_rule": Served(shapes.SUGGESTED),
    "link": Served(shapes.WRITTEN, again=True),
    "record_outcome": Served(shapes.OUTCOME),
}
"""What an agent pays for in every session, in the order in which it needs them."""

MORE = {
    "get": Served(shapes.SHOWN, reads=True),
    "refresh_resource": Served(shapes.REFRESHED, again=True),
    "unlink": Served(shapes.WRITTEN, destroys=True),
    "related": Served(shapes.RELATED, reads=True),
    "load_lessons": Served(shapes.LOADED, reads=True),
    "mark_wrong": Served(shapes.WRITTEN, again=True),
    "promote": Served(shapes.PROMOTED),
    "list_pending": Served(shapes.PENDING, reads=True),
    "stats": Served(shapes.OBJECT, reads=True),
}
"""What `--tools all` adds. No tool approves, rejects, trusts or deletes."""

SETS = {"default": DEFAULT, "all": {**DEFAULT, **MORE}}


class KnowledgeTool(Tool):
    """A tool whose errors are sentences with a hint; nobody else's words reach the client."""

    log: Path

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Call the tool.

        Raises:
            ToolError: whatever went wrong, in words.
        """
        known = self.parameters["properties"]
        if unknown := [name for name in arguments if name not in known]:
            raise ToolError(told(f"{self.name} has no argument {unknown[0]!r}", "it takes " + ", ".join(known)))
        try:
            return await super().run(arguments, context, convert_result)
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, AiLessonsError):
                raise ToolError(in_words(error.__cause__)) from error.__cause__
            LOG.exception("tool %s", self.name)
            raise ToolError(bug(error.__cause__ or error, self.log)) from error
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_wrong_arguments(self.name, error.__cause__)) from error.__cause__
            raise


def _wrong_arguments(tool: str, error: ValidationError) -> str:
    """What is wrong with each argument, without the library's own decoration."""
    rows = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
    return told(f"wrong arguments for {tool}: " + "; ".join(rows), "")


def tools(desk: SessionPool, log: Path, chosen: str = "default", *, read_only: bool = False) -> list[Tool]:
    """The tools of a set, or those of them that only read, ready to be served; `log` is where reports of bugs are."""
    every = Tools(desk)
    wanted = {name: served for name, served in SETS[chosen].items() if served.reads or not read_only}
    return [_tool(getattr(every, name), served, log) for name, served in wanted.items()]


def _tool(function: Any, served: Served, log: Path) -> Tool:
    made = Tool.from_function(
        function,
        description=" ".join((function.__doc__ or "").split()),
        annotations=ToolAnnotations(
            read_only_hint=served.reads or None,
            destructive_hint=None if served.reads else served.destroys,
            idempotent_hint=served.again or None,
        ),
        structured_output=False,
    )
    made.fn_metadata.output_schema = dict(served.output)
    parameters = slim(made.parameters, made.parameters.get("$defs", {}))
    return KnowledgeTool(**dict(made) | {"parameters": parameters}, log=log)


def slim(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as short as it can say the same to an agent: no titles, no defaults of nothing, references in place.

    That an optional argument may also be null is left out, because leaving it out says the same.
    """
    if "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return slim(defined[schema["$ref"].rpartition("/")[2]] | rest, defined)
    if "anyOf" in schema and "default" in schema:
        some = [one for one in schema["anyOf"] if one != {"type": "null"}]
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        return slim((some[0] if len(some) == 1 else {"anyOf": some}) | rest, defined)
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in {"title", "$defs"} or (key == "description" and "enum" in schema):
            continue
        if key == "default" and value in (None, "", [], {}):
            continue
        if key == "properties":
            made[key] = {name: slim(one, defined) for name, one in value.items()}
        else:
            made[key] = slim(value, defined) if isinstance(value, dict) else value
    return made
