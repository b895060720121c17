"""docs/reference/mcp.md from the server itself: `python -m bench.mcp_reference` writes it again. A test compares."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ai_lessons.doors.mcp import http, protocol
from ai_lessons.doors.mcp.desk import SessionPool
from ai_lessons.doors.mcp.framing import LONGEST, NOTICE
from ai_lessons.doors.mcp.toolset import DEFAULT, tools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.mcpserver.tools import Tool

    from ai_lessons.settings import Settings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "mcp.md"

INTRODUCTION = f"""# MCP

<!-- generated: python -m bench.mcp_reference -->

What `ai-lessons-mcp` (or `ai-lessons admin mcp`) offers to agents. How to set it up is in
[Serve agents over MCP](../how-to/mcp.md).

Every tool answers with text for the agent and with structured content in the shapes of [json.md](json.md); a list is
inside an object. Answers that hold texts of entries say, in structured content as `notice`:

> {NOTICE}

Bodies stand between two marks with a hash that no body can contain; what a terminal would obey is escaped. A text of
more than {LONGEST:,} characters is cut, and says so.

Errors are tool errors of two lines, what happened and `hint: …`, the same as on the [command line](errors.md).

An id is a handle (`L-8F3K2A`), a full id, any unique end of one, or a path. Where a list is wanted, a text with commas
will do.
"""

RESOURCES = """## Resources

| address | is |
| --- | --- |
| `lessons://entry/{id}` | one entry in full, as `get_resource` gives it |
| `lessons://context/{project}` | rules and lessons of one project, as `context` gives them |

## Prompts

| prompt | arguments | says |
| --- | --- | --- |
| `before_task` | `task`, `project` (optional) | what to ask for before a task |
| `after_task` | `task`, `outcome` (optional) | what is owed after it: lesson and script, perhaps a rule |

"""


def nothing() -> NoReturn:
    """A desk that is never asked for anything."""
    raise AssertionError


def kind_of(schema: Mapping[str, Any]) -> str:
    """What an argument takes, in a few words."""
    if "enum" in schema:
        return " ".join(f"`{one}`" for one in schema["enum"])
    if schema["type"] == "array":
        return f"list of {schema['items']['type']}s"
    limits = [f"{word} {schema[key]:g}" for key, word in LIMITS.items() if key in schema]
    return " ".join([schema["type"], *limits])


LIMITS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}


def section(tool: Tool) -> str:
    """One tool: what it does, its arguments, what it may change."""
    hints = tool.annotations
    assert hints is not None
    reads = "Reads only." if hints.read_only_hint else "Writes."
    if hints.destructive_hint:
        reads = "May destroy something: a host should ask its user."
    again = " Again with the same arguments it changes nothing more." if hints.idempotent_hint else ""
    required = tool.parameters.get("required", [])
    rows = [
        f"| `{name}` | {kind_of(one)} | {'yes' if name in required else default(one)} | {one.get('description', '')} |"
        for name, one in tool.parameters["properties"].items()
    ]
    table = "\n".join(["| argument | is | needed, else | |", "| --- | --- | --- | --- |", *rows])
    return (
        "\n\n".join(filter(None, (f"### {tool.name}", tool.description, reads + again, table if rows else ""))) + "\n"
    )


def default(schema: Mapping[str, Any]) -> str:
    """What holds where the argument is left out."""
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else ""


def page() -> str:
    """The whole page."""

    def settings() -> Settings:
        nothing()

    served = tools(SessionPool(settings), Path("mcp.log"), "all")
    first = [section(tool) for tool in served if tool.name in DEFAULT]
    more = [section(tool) for tool in served if tool.name not in DEFAULT]
    over_http = (
        "## Over HTTP\n\n"
        f"Streamable HTTP at `{http.PATH}`, requests of at most {http.BODY_BYTES:,} bytes, {http.SESSIONS} clients. "
        "A wrong token is answered\nwith 401, a foreign `Origin` with 403, a foreign `Host` with 421, "
        "a request that is too large with 413.\n"
    )
    told = "\n".join(f"> {row}" for row in _wrapped(protocol.INSTRUCTIONS))
    return "\n".join(
        [
            INTRODUCTION, "What the server says of itself when a client connects:\n", told, "",
            "## Tools in every session\n", *first, "## Tools with `--tools all`\n", *more, RESOURCES.rstrip("\n"), "",
            over_http.rstrip("\n"),
        ]
    ) + "\n"  # fmt: skip


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 120)


def main() -> None:
    """Write it."""
    PAGE.write_text(page(), encoding="utf-8")
    print("written:", PAGE, file=sys.stderr)


if __name__ == "__main__":
    main()
