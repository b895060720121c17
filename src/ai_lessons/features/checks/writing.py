"""The check that a rule gets when it is written: the stated one, or one that a fix shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app.additions import Addition, NewText
from ai_lessons.errors import UsageError
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from ai_lessons.app.workspace import RepositorySession


def addition(repo: RepositorySession, new_text: NewText) -> Addition:
    """The check of a rule, as options state it.

    Raises UsageError: both do, or the entry is no rule. NotFound: the fix shows none.
    """
    check, fix = new_text.options.get("check"), new_text.options.get("from_fix")
    if check is None and not fix:
        return Addition()
    if new_text.kind is not Kind.RULE:
        raise UsageError(f"a {new_text.kind} has no check: only a rule has a check")
    if not fix:
        return Addition({"check": check})
    if check is not None:
        raise UsageError(
            "a check is either stated or drafted from a fix", hint="--check or --from-fix"
        )
    # it reads commits, which few rules ask for
    from ai_lessons.features.checks.fixes import draft

    drafted = draft(repo.options.cwd, fix)
    return Addition({"check": drafted.check}, notes=(drafted.sentence,))
