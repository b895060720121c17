"""The commands `recall run` and `admin trust-script`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ai_lessons.features.scripts import jobs, texts
from ai_lessons.interfaces.cli import options, prompts
from ai_lessons.interfaces.cli.command import Alias, Argument, Command, Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.interfaces.output import View


@click.command(
    "run",
    cls=Command,
    examples=["S-9XW2RB -- --dry-run v3", "S-9XW2RB --timeout 30"],
    tool=Tool(
        "run_script",
        [
            Argument("resource_id", "ref"),
            "args",
            Argument("timeout", note="seconds", default=120.0),
        ],
        lambda: jobs.Ran,
        "Run a script that this machine trusts.",
        destroys=True,
        alone=True,
    ),
)
@options.id_argument
@click.option("--cwd", metavar="D", type=click.Path(), help="Run it in this folder.")
@click.option(
    "--timeout",
    metavar="S",
    type=click.FloatRange(0, min_open=True),
    help="Stop it after S seconds.",
)
@click.argument("args", metavar="[-- ARGS...]", nargs=-1, type=click.UNPROCESSED)
def run(call: Call, ref: str, cwd: str | None, timeout: float | None, args: tuple[str, ...]) -> int:
    """Run a script and exit with its exit code.

    A script that this machine has not run before is shown first, on a terminal, and you are asked.
    """
    if call.tool:
        result = jobs.run_captured(
            call.library, ref, args, timeout=timeout, interrupted=call.interrupted
        )
        call.answer(result, texts.ran)
        return 0
    folder = None
    if cwd:
        folder = Path(call.settings.cwd, cwd).resolve()
    return jobs.run(call.library, ref, args, cwd=folder, timeout=timeout)


run_resource = Alias(
    "run-resource",
    "run",
    "Run a script and exit with its exit code.",
    ["S-9XW2RB -- --dry-run v3"],
).of(run)


@click.command("trust-script", cls=Command, examples=["S-9XW2RB"])
@options.id_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
def trust_script(call: Call, ref: str, yes: bool) -> None:
    """Trust a script, and the files beside it that it names, as they are now on this machine.

    A change asks again.

    What this machine has not trusted yet is shown whole, and that text is what is trusted.
    """
    shown: list[str] = []

    def agreed(path: str, text: str) -> bool:
        if call.can_ask and not yes:
            return prompts.confirm(
                "\nTrust this text from now on?", *prompts.shown_to_trust(path, text)
            )
        shown.extend(prompts.shown_to_trust(path, text))
        return True

    def drawn(paths: Sequence[str], view: View) -> str:
        rows = list(shown)
        if shown:
            rows.append("")
        for path in paths:
            rows.append(f"Trusted as it stands: {view.place(path)}")
        return "\n".join(rows)

    def data(paths: Sequence[str]) -> dict[str, object]:
        return {"path": paths[0], "beside": paths[1:], "shown": "\n".join(shown)}

    call.answer(jobs.trust_script(call.library, ref, agreed), drawn, data)
