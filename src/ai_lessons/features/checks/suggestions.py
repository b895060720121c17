"""Which check fits a rule that people have to say time and again."""

from __future__ import annotations

import json
from datetime import UTC
from shlex import quote
from typing import TYPE_CHECKING

from ai_lessons.app.outdated import REST, Outdated
from ai_lessons.features.checks.fitting import fitting
from ai_lessons.model.checks import day_of
from ai_lessons.model.entries import Filter, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.app.workspace import RepositorySession


def outdated(repo: RepositorySession) -> Iterator[Outdated]:
    """Rules in force without a check, whose words name one."""
    catalog = repo.current()
    rules = catalog.select(Filter(kinds=frozenset({Kind.RULE})))
    checked = catalog.facts("checks")
    kept = repo.learned.kept(rules)
    tallies = repo.learned.tallies()
    today = repo.options.now().astimezone(UTC).date()
    for rule in rules:
        reviewed = day_of(rule.stated.reviewed)
        if rule.id in checked or (reviewed is not None and today < reviewed + REST):
            continue
        needed = tallies[rule.id].needed if rule.id in tallies else 0
        not_followed = rule.id in kept and kept[rule.id].sessions.not_followed
        # Sessions that were about a rule, from which a check that fits is offered
        if needed < 2 and not not_followed:
            continue
        text = catalog.openings([rule.id]).get(rule.id, "")
        check = fitting(rule.title, text, rule.stated.applies_to or ())
        if check:
            stated = quote(json.dumps(check))
            command = f"ai-lessons contribute update {rule.handle} --check {stated}"
            why = "nothing checks it"
            if needed:
                why = f"{needed} sessions were about it, and nothing checks it"
            yield Outdated(rule, "check_fits", f"{why}: {command}")
