"""What the page Learning shows, in plain numbers: whether lessons help, which do, what was learned."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from ai_lessons.app.overview import Handle, Table
from ai_lessons.features.learning import jobs
from ai_lessons.features.learning.parameters import (
    ABLATION,
    ASSESSMENT,
    BUDGET,
    CONFIDENCE,
    SIMILARITY,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.app.learned import Effect
    from ai_lessons.app.workspace import Library
    from ai_lessons.features.learning.parameters import ParameterState

_IN_WORDS = {
    BUDGET: "An agent is shown at most {} lessons and rules at a time.",
    CONFIDENCE: (
        "A lesson comes unasked if it helped in at least {} of 100 cases, as far as is known."
    ),
    SIMILARITY: "A lesson comes to a question if it is at least {} of 100 like it.",
    ASSESSMENT: "Agents are asked in {} of 100 sessions how the lessons did.",
    ABLATION: "A lesson is left out on purpose in {} of 100 cases, to see whether it helps.",
}
_NOT_KNOWN = "Not known yet: no lesson was left out on purpose in a session that was judged."


def tables(library: Library) -> Iterator[Table]:
    """What was learned in a repository."""
    figures = library.primary.learned.figures()
    yield Table("Does it help?", _effect_in_words(figures.ablation))
    learned = [plainly(param) for param in jobs.params(library)]
    columns: tuple[str, ...] = ("what holds", "probably between", "learned from")
    yield Table("What was learned", "", columns, learned)
    judged = []
    for entry in dict.fromkeys((*figures.most_useful, *figures.least_useful)):
        helps = f"{100 * entry.confidence:.0f} of 100"
        judged.append((Handle(entry.handle), *entry[1:-1], helps))
    columns = ("entry", "title", "helpful", "ignored", "contradicted", "helps in")
    summary = "How often agents and people said so."
    yield Table("Most and least useful", summary, columns, judged, "No entry was judged yet.")
    kept = [(Handle(rule.handle), rule.title, rule.line) for rule in figures.kept]
    summary = "What checks saw in sessions of this machine."
    nothing = "No check saw a rule in a session yet."
    yield Table("Kept or not, by rule", summary, ("rule", "title", "sessions"), kept, nothing)


def _effect_in_words(effect: Effect | None) -> str:
    if effect is None:
        return _NOT_KNOWN
    share = f"{abs(100 * effect.difference):.0f} fewer"
    if effect.difference >= 0:
        share = f"{abs(100 * effect.difference):.0f} more"
    sessions = f"{effect.shown:,} session{'s' * (effect.shown != 1)}"
    bounds = f"{100 * effect.low:+.0f} and {100 * effect.high:+.0f}"
    return (
        f"Of 100 sessions, {share} went well with a lesson than without it. "
        f"Counted: {sessions} with a lesson, {effect.left_out:,} in which it was left out on "
        f"purpose; the true number is between {bounds}."
    )


def plainly(param: ParameterState) -> tuple[str, str, str]:
    """A parameter as a sentence, the numbers between which it lies (95 %), and how much was seen of it."""
    scale = 100
    if param.name == BUDGET:
        scale = 1
    sentence = _IN_WORDS.get(param.name, f"{param.help}: {{}}").format(f"{scale * param.value:.0f}")
    if not param.observations:
        return sentence, "", "nothing yet: as it began"
    spread = 2 * sqrt(param.position * (1 - param.position) / (param.alpha + param.beta + 1))
    low = scale * param.at(max(param.position - spread, 0.0))
    high = scale * param.at(min(param.position + spread, 1.0))
    seen = f"{param.observations:,} outcome{'s' * (param.observations != 1)}"
    return sentence, f"{low:.0f} and {high:.0f}", seen
