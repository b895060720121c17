"""The command `recall about`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Command
from ai_lessons.interfaces.output import block, line
from ai_lessons.interfaces.text import titled, warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.features.anchors.places import EntryAbout
    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.interfaces.output import View


@click.command(
    "about", cls=Command, examples=["src/shop/cart.py", "src/shop/cart.py::Cart.total --json"]
)
@click.argument("place", metavar="PATH[::SYMBOL]", type=options.FILE_NAME)
def about(call: Call, place: str) -> None:
    """Show what is known of a place in your code: a file, a folder, a symbol in a file."""
    from ai_lessons.features.anchors import places

    call.answer(places.about(call.library, place), entries_about)


def entries_about(hits: Sequence[EntryAbout], view: View) -> str:
    """Entries that speak of a place, each with the anchor that says so and what became of it."""
    if not hits:
        return "No entry speaks of this place."
    blocks = []
    for hit in hits:
        rows = (f"about: {line(hit.anchor)}", *warning(hit.entry, view))
        blocks.append(block(titled(hit.entry, view), rows))
    return "\n".join(blocks)
