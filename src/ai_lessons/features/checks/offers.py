"""Rules that a call breaks, or does not: a rule with a check is told where that fires, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.search.terms import EDIT_BAR
from ai_lessons.telling.matching import SYMBOL
from ai_lessons.telling.offers import NotAbout, Offer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.app.workspace import Reading
    from ai_lessons.telling.offers import Occasion

# surer than any entry that only names the code
SUREST = EDIT_BAR * (SYMBOL + 1)


def before_a_tool(repo: Reading, occasion: Occasion) -> Iterator[Offer | NotAbout]:
    """The rules that the edits of a call break, and those whose checks saw nothing in it."""
    if occasion.command:
        for rule_id, facts in repo.catalog.facts("checks").items():
            if any("command" in check for check in facts["checks"]):
                yield NotAbout(rule_id, command=True)
    if not occasion.paths:
        return
    # what runs checks takes a tenth of a hook's time to load
    from ai_lessons.features.checks.edits import broken_by

    broken, looked = broken_by(repo, occasion.edits, Path(occasion.folders[0]), occasion.named)
    for rule_id in looked:
        yield NotAbout(rule_id)
    for rule in broken:
        yield Offer(rule.summary, SUREST, rule.why, breaks=rule.enforce)
