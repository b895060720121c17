"""What a report of CI says beyond its findings: of which code it is, when, and who approved the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import app
from ai_lessons.app.quoting import without_people
from ai_lessons.git import external_files, plumbing, worktree
from ai_lessons.model.frontmatter import stamp

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.app.workspace import Library
    from ai_lessons.features.checks.findings import CheckReport


def with_origin(library: Library, report: CheckReport) -> CheckReport:
    """A report of what was just checked that others can add up, see `features.reports`."""
    repo = library.reading
    cwd = repo.options.cwd
    top = external_files.top_of(cwd)
    approvals = app.history_of_entries.approvals_of(repo, report.checked)
    rules = []
    for rule in report.by_rule:
        approval = approvals.get(rule.id)
        if approval is None:
            rules.append(rule)
            continue
        # a report may be public where the repository of the rules is not
        name = without_people(approval.approved_by.partition(" <")[0])
        rules.append(
            rule._replace(
                commit=approval.commit, approved_by=name, approved_at=approval.approved_at
            )
        )
    names = external_files.names_of(cwd) or [cwd.name]
    return report._replace(
        by_rule=tuple(rules),
        project=names[0],
        revision=_revision(top),
        at=stamp(repo.options.now()),
    )


def _revision(top: Path | None) -> str:
    """The commit of the code; empty where git knows of none."""
    if top is None:
        return ""
    done = plumbing.run(worktree.locate(top), "rev-parse", "--verify", "--quiet", "HEAD")
    if done.code:
        return ""
    return done.text
