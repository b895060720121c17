"""The commands `contribute feedback` and `admin params`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons.errors import UsageError
from ai_lessons.features.learning import jobs, texts
from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Argument, Command, Tool

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call

OUTCOMES = ("helpful", "ignored", "contradicted")


@click.command(
    "feedback",
    cls=Command,
    examples=[
        "L-8F3K2A helpful",
        'L-8F3K2A contradicted --note "PATCH works since v4"',
        "L-8F3K2A=helpful S-9XW2RB=ignored",
    ],
    tool=Tool(
        "record_outcome",
        [Argument("id", "ref", single=True), Argument("outcome", single=True), "note"],
        lambda: jobs.Feedback,
        "Say how an entry did.",
    ),
)
@options.id_argument
@click.argument("outcome", type=options.OneOrPair(OUTCOMES), required=False)
@click.argument("pairs", metavar="[ID=OUTCOME]...", nargs=-1)
@click.option("--note", metavar="TEXT", default="", help="Why; kept with the event.")
def feedback(call: Call, ref: str, outcome: str | None, pairs: tuple[str, ...], note: str) -> None:
    """Record how an entry did: helpful, ignored or contradicted. Its confidence changes with it.

    Several at once: ID=OUTCOME for each.
    """
    single = outcome in OUTCOMES and not pairs
    if single:
        texts_of_pairs = [f"{ref}={outcome}"]
    else:
        texts_of_pairs = [text for text in (ref, outcome, *pairs) if text]
    stated = [_pair(text) for text in texts_of_pairs]
    results = [jobs.feedback(call.library, name, word, note) for name, word in stated]
    call.answer(
        results[0] if single else results,
        lambda _, view: "\n".join(texts.feedback(result, view) for result in results),
    )


def _pair(text: str) -> tuple[str, str]:
    """An entry and how it did. Raises UsageError."""
    name, _, word = text.rpartition("=")
    if not name or word not in OUTCOMES:
        raise UsageError(
            f"{text!r} does not say of an entry whether it was {', '.join(OUTCOMES)}",
            hint="ai-lessons contribute feedback L-8F3K2A=helpful L-VDM8A9=ignored",
        )
    return name, word


@click.command("params", cls=Command, examples=["", "injection_budget --reset", "--reset"])
@click.argument("name", required=False)
@click.option("--reset", is_flag=True, help="Forget what was learned; without a NAME, of all.")
def params(call: Call, name: str | None, reset: bool) -> None:
    """Show the parameters that are learned from outcomes, or reset them."""
    job = jobs.params
    if reset:
        job = jobs.params_reset
    call.answer(job(call.library, name), texts.params)
