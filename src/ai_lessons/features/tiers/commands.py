"""The commands `contribute promote` and `admin tiers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ai_lessons.features.tiers import texts
from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Argument, Command, Tool

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call


def _promoted() -> type:
    from ai_lessons.features.tiers.promotion import Promoted

    return Promoted


@click.command(
    "promote",
    cls=Command,
    examples=[
        "L-8F3K2A --to user",
        'L-8F3K2A --to enterprise:acme --reason "three teams lost statuses"',
    ],
    tool=Tool(
        "promote",
        [
            Argument("id", "ref"),
            Argument("to", note="enterprise:NAME; a rule also to user or project"),
            "reason",
        ],
        _promoted,
        "Propose an entry to an enterprise, with an evaluation; a person there decides. "
        "Copies between the user's and the project's tier are for people.",
    ),
)
@options.id_argument
@click.option(
    "--to",
    required=True,
    metavar="TIER",
    help="user, project or enterprise:NAME; see `admin tiers`.",
)
@click.option(
    "--reason", default="", metavar="R", help="Why; for the people who decide about it there."
)
@options.allow_secret_option
def promote(call: Call, /, ref: str, to: str, **fields: Any) -> None:
    """Bring an entry to another tier.

    A copy to yours or the project's, a proposal to an enterprise's.
    """
    # help and completion do without
    from ai_lessons.features.tiers import promotion

    request = promotion.PromotionRequest(**fields, person=not call.tool)
    call.answer(promotion.promote(call.library, ref, to, request), texts.promoted)


@click.command("tiers", cls=Command)
def tiers(call: Call) -> None:
    """Show which repositories are read and written from this folder, and why."""
    from ai_lessons.features.tiers.states import tier_states

    call.answer(tier_states(call.root, call.options()), texts.tiers)
    call.note(filter(None, [call.settings.places.note]))
