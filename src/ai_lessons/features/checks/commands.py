"""The command `check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ai_lessons.features.checks import report
from ai_lessons.interfaces import output
from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Command

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call


@click.command(
    "check",
    cls=Command,
    measured="check",
    examples=[
        "",
        "src --since origin/main",
        "--baseline known.json --write-baseline",
        "--format sarif",
        "--since origin/main --warn",
    ],
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=options.FILE_NAME)
@click.option(
    "--since",
    metavar="REV",
    default="",
    help="Only lines that changed since the branch left this commit.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="text: path:line: message; sarif: 2.1.0.",
)
@click.option(
    "--baseline", metavar="FILE", default="", help="Leave out the findings that are in this file."
)
@click.option("--write-baseline", is_flag=True, help="Write what is found now into the baseline.")
@click.option(
    "--warn", is_flag=True, help="Exit code 0 whatever breaks, with how much it would have stopped."
)
@options.several(
    "--project", "projects", metavar="P", text="Rules of this project, in place of the folder's;"
)
def check(call: Call, /, paths: tuple[str, ...], form: str, warn: bool, **how: Any) -> int:
    """Show which lines of your files break rules in force that carry a check.

    Exit code 1 if any does.

    A comment on the line, or alone above it, allows it: `ai-lessons: allow R-5N1QTC because
    REASON`.
    """
    # what runs checks takes a while to load, which the help need not
    from ai_lessons.features.checks import in_ci, runner

    checked = runner.check(call.library, paths, **how)._replace(warn=warn)
    if form != "text" or call.json:
        checked = in_ci.with_origin(call.library, checked)
    call.figures |= {"files": checked.files, "allowed": checked.allowed}
    call.figures["findings"] = sum(finding.level != "note" for finding in checked.findings)
    if form == "text":
        call.answer(checked, report.as_text)
    else:
        click.echo(output.dump(checked if form == "json" else report.as_sarif(checked)))
        call.note(checked.notes)
    return int(checked.broken and not warn)
