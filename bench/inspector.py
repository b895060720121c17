"""The MCP Inspector's command line against our server, for real: `python -m bench.inspector`.

Needs node and npm, and fetches the Inspector with npx; says so and leaves with 0 where there is no npx. Each step
prints what was asked and the beginning of the answer; the first answer that is not as it should be ends it with 1.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from bench.harness import World, world

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
PATIENCE = 300
SHOWN = 160
TOOL_ERROR = 5
"""Its exit code for an answer that says `isError`."""


class Wrong(Exception):
    """An answer that is not as it should be."""


class Inspector:
    """The Inspector on one repository; a fresh server for every step, as it does."""

    def __init__(self, home: World, repo: Path) -> None:
        self._home, self._repo = home, repo

    def ask(self, method: str, *args: str) -> dict[str, Any]:
        """What the server answers, as the Inspector prints it."""
        server = [
            sys.executable,
            "-c",
            "from ai_lessons.interfaces.mcp import main; main()",
            "--repo",
            str(self._repo),
        ]
        argv = ["npx", "-y", INSPECTOR, "--cli", *server, "--method", method, *args]
        done = subprocess.run(
            argv, cwd=self._home.folder, env=dict(self._home.env) | {"AI_LESSONS_OFFLINE": "1"}, capture_output=True,
            text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        if done.returncode not in {0, TOOL_ERROR}:
            raise Wrong(f"{method} {args} -> {done.returncode}\n{done.stdout}{done.stderr}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def call(self, tool: str, **args: str) -> dict[str, Any]:
        """One call of a tool."""
        return self.ask("tools/call", "--tool-name", tool, *(f"--tool-arg={k}={v}" for k, v in args.items()))


def step(name: str, answer: dict[str, Any], holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Print a step, and hold its answer against what it should be."""
    text = " ".join(json.dumps(answer).split())
    print(f"{name}\n    {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}")
    if not holds(answer):
        raise Wrong(f"{name}: {json.dumps(answer, indent=2)}")
    return answer


def walk(inspector: Inspector) -> None:
    """Everything that the server offers, once."""
    step("tools/list", inspector.ask("tools/list"), lambda a: len(a["tools"]) == 10)
    made = step(
        "tools/call add_lesson",
        inspector.call("add_lesson", title="Quagga", content="Seen.", tags='["zoo"]'),
        lambda a: not a.get("isError") and a["structuredContent"]["handle"].startswith("L-"),
    )
    handle = made["structuredContent"]["handle"]
    found = inspector.call("search", query="quagga", limit="3")
    step("tools/call search", found, lambda a: a["structuredContent"]["lessons"][0]["handle"] == handle)
    step(
        "tools/call get_resource",
        inspector.call("get_resource", resource_id=handle),
        lambda a: "end of data" in a["content"][0]["text"],
    )
    step(
        "tools/call get_resource, a wrong id",
        inspector.call("get_resource", resource_id="L-NOPE22"),
        lambda a: a["isError"] and "no entry" in a["content"][0]["text"],
    )
    templates = inspector.ask("resources/templates/list")
    step("resources/templates/list", templates, lambda a: len(a["resourceTemplates"]) == 2)
    step(
        "resources/read",
        inspector.ask("resources/read", "--uri", f"lessons://entry/{handle}"),
        lambda a: "Quagga" in a["contents"][0]["text"],
    )
    step("prompts/list", inspector.ask("prompts/list"), lambda a: len(a["prompts"]) == 2)
    step(
        "prompts/get",
        inspector.ask("prompts/get", "--prompt-name", "after_task", "--prompt-args", "task=Feed it"),
        lambda a: "You owe a lesson" in a["messages"][0]["content"]["text"],
    )


def main() -> None:
    """Make a repository and walk through everything."""
    if shutil.which("npx") is None:
        print("there is no npx here, so the Inspector was not asked")
        return
    with world() as home:
        repo = home.folder / "knowledge"
        home.program("--repo", str(repo), "admin", "init")
        try:
            walk(Inspector(home, repo))
        except Wrong as wrong:
            print(wrong, file=sys.stderr)
            sys.exit(1)
    print("every answer was as it should be")


if __name__ == "__main__":
    main()
