"""`ai-lessons contribute promote`: an entry goes to another tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ai_lessons import library
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command, Tool
from ai_lessons.doors.cli.options import allow_secret_option, id_argument

if TYPE_CHECKING:
    from ai_lessons.library.promotion.promotions import Promoted


def register(group: click.Group) -> None:
    """Hang this command into the group `contribute`."""
    group.add_command(promote)


@click.command(
    "promote",
    cls=Command,
    examples=[
        "ai-lessons contribute promote L-8F3K2A --to user",
        'ai-lessons contribute promote L-8F3K2A --to enterprise:acme --reason "three teams lost statuses"',
        "ai-lessons contribute promote L-8F3K2A --to enterprise:acme --generic --dry-run",
    ],
    tool=Tool(
        "promote",
        "id=ref to reason dry_run",
        "id handle outcome copy proposal evaluation policy dropped_links notes",
        "Propose an entry to an enterprise, with an evaluation; a person there decides. With dry_run only the "
        "evaluation. Copies between the user's and the project's tier are for people.",
        notes={"to": "enterprise:NAME; a rule also to user or project"},
    ),
)
@id_argument
@click.option("--to", required=True, metavar="TIER", help="user, project or enterprise:NAME; see `admin tiers`.")
@click.option("--reason", default="", metavar="R", help="Why; for the people who decide about it there.")
@click.option("--generic", is_flag=True, help="Without code, names, hosts and paths; shows what goes, and asks.")
@click.option("--name", "names", metavar="WORD", multiple=True, help="With --generic: leave this out, too.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, with the evaluation; write nothing.")
@click.option("--yes", is_flag=True, help="Take the generic form unasked; needed where there is no terminal.")
@allow_secret_option
@pass_call
def promote(call: Call, /, ref: str, to: str, **given: Any) -> None:
    """Bring an entry to another tier: a copy to yours or the project's, a proposal to an enterprise's."""
    from ai_lessons.doors import render_promoting
    from ai_lessons.library.promotion.promotions import PromotionRequest

    wanted = (
        PromotionRequest(**given, ask=lambda plan: _confirmed(call, plan))
        if call.can_ask
        else PromotionRequest(**given, person=not call.tool)
    )
    done = library.promoting.promote(call.library, ref, to, wanted)
    call.answer(done, render_promoting.promoted)


def _confirmed(call: Call, plan: Promoted) -> bool:
    """Show the generic form to the person at the terminal, and ask."""
    from ai_lessons.doors import render_promoting
    from ai_lessons.doors.cli import asking

    if call.bars:
        call.bars.finish()
    click.echo(render_promoting.plan(plan, call.view), err=True, color=call.view.colour)
    return asking.confirm("\nTake it in this form?")
