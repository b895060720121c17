"""The options `--check` and `--from-fix` of commands that write rules."""

from __future__ import annotations

from textwrap import indent

import click

from ai_lessons.interfaces.cli.added_options import AddedOptions
from ai_lessons.interfaces.cli.command import Argument
from ai_lessons.interfaces.cli.options import stack


def _checks(_ctx: click.Context, _option: click.Parameter, text: str | None) -> object:
    """A check, or a list of them, written as YAML. Raises InvalidEntry: it is none."""
    if text is None:
        return None
    # most commands read no YAML
    from ai_lessons.model.markdown import parse_mapping

    if text.lstrip().startswith(("[", "-")):
        # a list, which stands below a key
        return parse_mapping(f"check:\n{indent(text, '  ')}", "--check", first_line=0)["check"]
    return parse_mapping(text, "--check")


_CHECK = click.option(
    "--check",
    metavar="YAML",
    callback=_checks,
    help="What shows that it is broken. An edit: {files: …, regex: …, bad: …, good: …}, or pattern: of ast-grep. "
    "A command: {command: go test, instead: make test, bad: …, good: …}. What was done: {changed: 'src/**', "
    "unless_changed: 'tests/**', bad: …, good: …}, or ran: make lint. Each with enforce: tell, ask or deny.",
)
_FROM_FIX = click.option(
    "--from-fix",
    metavar="COMMIT",
    help="Draft the check from a commit of the code that you stand in.",
)

OF_A_RULE = AddedOptions(
    stack(_CHECK, _FROM_FIX),
    ("check", "from_fix"),
    arguments=(Argument("check", note="YAML: files, regex, bad, good"),),
)
OF_AN_UPDATE = AddedOptions(_CHECK, ("check",))
