"""The options `--about` and `--no-about` of commands that write."""

from __future__ import annotations

import click

from ai_lessons.interfaces.cli.added_options import AddedOptions
from ai_lessons.interfaces.cli.command import Argument
from ai_lessons.interfaces.cli.options import several, stack

_OPTIONS = stack(
    several(
        "--about",
        "about",
        metavar="WHAT",
        text=(
            "What it speaks of: path, 'src/**', path::symbol, path::NAME=value, pypi/name<8, "
            "'command: git push';"
        ),
    ),
    click.option("--no-about", is_flag=True, help="Name no code, also where the text does."),
)
_NAMES = ("about", "no_about")

OF_A_LESSON = AddedOptions(
    _OPTIONS,
    _NAMES,
    common=("about",),
    arguments=(Argument("about", note="path, glob, path::symbol, pypi/name<8, command: git push"),),
)
OF_A_RULE = AddedOptions(
    _OPTIONS,
    _NAMES,
    arguments=(Argument("about", note="path, glob, path::symbol, command: git push"),),
)
OF_AN_UPDATE = AddedOptions(_OPTIONS, _NAMES)
