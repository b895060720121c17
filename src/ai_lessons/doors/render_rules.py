"""Proposals, decisions, who approved what, as text for people. Pure: takes answers, returns text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ai_lessons.doors import render, render_jobs
from ai_lessons.doors.terminal import View, block, clean, count, line, table
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Light
from ai_lessons.knowledge.evaluation import finding_line
from ai_lessons.library.answers import Answer, Context, Hit, Why

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.library.reports import Audit, Decided, Pending, PinnedList, Promoted, Suggested

OF_A_BATCH = 10  # Proposals of one import that are listed; the others are counted
NOTHING_PENDING = "No proposal waits for review."
REVIEW = "ai-lessons admin review-rules"
WHAT = {"new": "a new {}", "edit": "an edit of a {}", "removal": "the removal of a {}"}
LACKING = "a text on the approval branch that lacks a good signature"


def _headline(entry: Suggested | Pending | Decided | Light, view: View) -> str:
    return view.named(entry.handle, entry.title)


def suggested(value: Suggested, view: View, review: str = REVIEW) -> str:
    """A new proposal: where it stands, what speaks against it, and the command to decide with."""
    return proposed((value,), view, review)


def proposed(values: Sequence[Suggested], view: View, review: str = REVIEW) -> str:
    """Several of them. `review` is the command to decide with."""
    rows = []
    for made in values:
        warnings = (f"{view.paint('warning:', 'warn')} {line(text)}" for text in made.warnings)
        rows.append(block(_headline(made, view), (f"branch: {line(made.branch)}", *warnings)))
    return "\n".join([*rows, f"Not in force until a person approves it: {review}"]) if rows else "Nothing to propose."


def pending(values: Sequence[Pending], view: View) -> str:
    """Proposals that wait, a line each as given, the first ones of each import; then what speaks against them."""
    if not values:
        return NOTHING_PENDING
    numbers: Counter[str] = Counter()
    shown: list[Pending] = []
    folded: list[Pending] = []
    for proposal in values:
        numbers[proposal.batch] += 1
        (shown if not proposal.batch or numbers[proposal.batch] <= OF_A_BATCH else folded).append(proposal)
    header = ("ID", "WHAT", "SUGGESTED BY", "ON", "LINES", "WHERE", "TITLE")
    rows = [
        (
            proposal.handle,
            proposal.change,
            proposal.suggested_by,
            view.day(proposal.suggested_at),
            f"+{proposal.added} -{proposal.removed}",
            "remote" if proposal.remote else "local",
            proposal.title,
        )
        for proposal in shown
    ]
    doubts = [
        f"{line(proposal.branch)}: {'; '.join(texts)}" for proposal in shown if (texts := list(_doubts(proposal)))
    ]
    for name in dict.fromkeys(proposal.batch for proposal in folded):
        others_of_import = [proposal for proposal in folded if proposal.batch == name]
        doubtful = sum(any(_doubts(proposal)) for proposal in others_of_import)
        doubts.append(
            f"… and {len(others_of_import)} more of import {line(name)}, {doubtful} with something to look at"
        )
    batches = [f"{render_jobs.BATCH} {line(name)}" for name in numbers if name]
    decide = f"Decide: {REVIEW}" + (f"; all of one import: {', '.join(batches)}" if batches else "")
    return "\n".join([table(header, rows, view, flexible=(5, 4, 2, 3, 6)), *doubts, *left_out(values), decide])


def left_out(values: Sequence[Pending]) -> list[str]:
    """Lines about proposals that are not listed, because there are too many."""
    return [f"not listed: {line(text)}" for proposal in values for text in proposal.left_out]


def _doubts(proposal: Pending) -> Iterator[str]:
    yield from map(line, proposal.conflicts)
    if proposal.kind == "rule" and proposal.change == "new" and not proposal.rationale:
        yield "no reason is stated: edit it and say why"
    if proposal.similar:
        yield f"much like {', '.join(map(line, proposal.similar))}: update it?"
    if proposal.rejected_before:
        yield f"the same was rejected {line(proposal.rejected_before)}"


def proposal(pending: Pending, view: View) -> str:
    """One proposal as a reviewer needs it: who and when, doubts, the report, the whole text or how it differs."""
    what = WHAT.get(pending.change, LACKING).format(line(pending.kind))
    what += " in force" if pending.kind == "rule" and pending.change in {"edit", "removal"} else ""
    where = "remote" if pending.remote else "local"
    facts = [
        f"{what}, suggested by {line(pending.suggested_by)} on {view.when(pending.suggested_at)}",
        f"branch: {line(pending.branch)} ({where}), commit {line(pending.commit[:10])}",
        f"path: {view.place(pending.path)}" if pending.path else "",
        f"tags: {line(', '.join(pending.tags))}" if pending.tags else "",
        f"rationale: {line(pending.rationale)}" if pending.rationale else "",
        _for_whom(pending, view),
        *(f"{view.paint('warning:', 'warn')} {text}" for text in _doubts(pending)),
    ]
    blocks = [block(_headline(pending, view), facts)]
    evidence = [block("Evidence:", (_headline(entry, view) for entry in pending.evidence))] if pending.evidence else []
    blocks += evidence if pending.change != "edit" else []
    if pending.report.strip():
        blocks += [f"Report of the proposer:\n{_indented(clean(pending.report).strip())}", "What is proposed:"]
    header = 2 if pending.kind == "rule" else 0  # it names the path, which is stated above
    texts = (
        [render.diff(pending.diff.split("\n", header)[-1], view)] if pending.diff and pending.change != "new" else []
    )
    blocks += [_indented(text) for text in texts if text.strip()]
    for file in pending.files if pending.change == "new" or pending.kind == "rule" else ():
        head = (
            f"{line(file.path)}:\n"
            if len(pending.files) > 1
            else "As it will read:\n"
            if pending.change != "new"
            else ""
        )
        blocks += [f"{head}{_indented(clean(file.new).removesuffix(chr(10)))}"] if file.new is not None else []
    blocks += evidence if pending.change == "edit" else []
    return "\n\n".join(blocks)


def _for_whom(proposal: Pending, view: View) -> str:
    """What taking it changes for the agents who are told rules; empty for what is no rule."""
    changes = {
        "new": "are told this", "edit": "are told this instead", "removal": "are no longer told this"
    }  # fmt: skip
    if proposal.kind != "rule" or proposal.change not in changes:
        return ""
    project = proposal.path.partition("/")[0]
    whose = "every project" if project == GLOBAL_PROJECT else f"project {line(project)}"
    files = f" that edit {line(' or '.join(proposal.applies_to))}" if proposal.applies_to else ""
    tiers = [f" (tier {line(name)})" for name, root in view.roots.items() if root == view.root and len(view.roots) > 1]
    return f"changes: agents in {whose}{files} {changes[proposal.change]}{''.join(tiers[:1])}"


def _indented(text: str) -> str:
    return "\n".join(f"    {row}".rstrip() for row in text.split("\n"))


def approved(values: Sequence[Decided], view: View) -> str:
    """What was approved, and the merges that say so; of one merge for many, what it took."""
    commit = values[-1].commit
    if len(values) == 1 or any(decision.commit != commit for decision in values):
        return "\n".join(decided("Approved", decision, view) for decision in values)
    head = f"Approved {count(len(values), 'rule')} with one merge: {line(commit[:10])}"
    return block(head, (_headline(decision, view) for decision in values))


def decided(word: str, decision: Decided, view: View) -> str:
    """What was approved or rejected, and where that is kept."""
    where = f"record: {view.place(decision.path)}" if word == "Rejected" else f"commit: {line(decision.commit[:10])}"
    return f"{word} {_headline(decision, view)}\n  {where}"


def signers(value: PinnedList, view: View) -> str:
    """Whose signatures count now."""
    rows = [f"{'+' if key in value.added else ' '} {line(key)}" for key in value.keys]
    rows += [f"- {line(key)}" for key in value.removed]
    head = "Trusted to approve rules here:" if rows else "No signers are pinned here."
    return "\n".join([head, *rows, *([f"  pinned in {view.place(value.file)}"] if rows else [])])


def audit(value: Audit, view: View) -> str:
    """Every rule of the approval branch: its evidence, who approved it; all that violates the policy; then the rest."""
    header = ("ID", "IN FORCE", "EVIDENCE", "APPROVED BY", "ON", "COMMIT", "TITLE")
    rows = [
        (
            row.handle, "yes" if row.in_force else "no", f"{row.evidence} {row.how}".rstrip(),
            row.approved_by, view.day(row.approved_at), row.commit[:10], row.title,
        )
        for row in value.rows
    ]  # fmt: skip
    lines = [table(header, rows, view, "No rules.", flexible=(5, 2, 3, 4, 6))]
    wrong = [f"{line(row.handle)} {line(row.problem)}" for row in value.rows if row.problem]
    wrong += map(line, value.alarms)
    lines += [f"{view.paint('violation:', 'bad')} {text}" for text in wrong]
    header = ("ID", "TAKEN BY", "APPROVED BY", "SUGGESTED BY", "ON", "COMMIT", "TITLE")
    taken = [
        (
            row.id[-6:], row.how, row.approved_by or "not told by the forge", row.suggested_by,
            view.day(row.approved_at), row.commit[:10], row.title,
        )
        for row in value.taken
    ]  # fmt: skip
    if taken:
        lines += ["", "Other proposals that were taken:", table(header, taken, view, flexible=(5, 3, 2, 4, 6)), ""]
    kept = "kept" if value.ok else "violated"
    return "\n".join([*lines, f"{count(len(rows), 'rule')}, {count(len(wrong), 'problem')}: the policy is {kept}"])


def why(value: Why, view: View) -> str:
    """Where an entry comes from, one reason a line, and how it has done if anything happened to it."""
    done = render.usage(value.usage, view) if value.usage.tallies.last_used else []
    return block(_headline(value.entry, view), [*map(line, value.lines), *done])


def context(value: Context, view: View) -> str:
    """What to know before starting, as a search shows it but without scores: they say only what came first."""
    hits = tuple(Hit(entry._replace(score=None)) for entry in (*value.rules, *value.lessons))
    text = "Nothing is known for this yet."
    if hits:
        text = render.answer(Answer("", hits, approvals=value.approvals), view)
    return "\n\n".join([text, *([render.left_out(value.left_out, view)] if value.left_out else [])])


STYLES = {"approve": "good", "revise": "warn", "reject": "bad"}


def promoted(value: Promoted, view: View) -> str:
    """What was done and why; then the evaluation."""
    if value.outcome == "present":
        return f"{_headline(value.entry, view)}\n  nothing to do"
    rows = []
    if value.copy is not None:
        copied = f"  copied from {line(value.from_)}: {line(value.handle)}"
        rows += [render_jobs.written(value.copy, view), copied]
    if value.proposal is not None:
        if value.outcome == "asked":
            rows += [f"{_headline(value.entry, view)}\n  goes to {line(value.to)} once this is taken:"]
        there = value.decided_in.startswith("enterprise:")
        job = "sync sends it to them" if there else "review-rules"
        rows += [suggested(value.proposal, view, f"ai-lessons --tier {line(value.decided_in)} admin {job}")]
    return "\n".join([*rows, *_reasons(value, view)])


def _reasons(value: Promoted, view: View) -> Iterator[str]:
    if value.policy:
        yield f"  policy: {line(value.policy)}"
    report = value.evaluation
    yield f"  evaluation: {view.paint(report.recommendation, STYLES[report.recommendation])}"
    files = {finding.where.rpartition(":")[0] for finding in report.findings if finding.where}
    for finding in report.findings:  # where it stands, in a few words: the line, and of two files the name
        path, _, number = finding.where.rpartition(":")
        where = f"line {number}" if len(files) < 2 else f"{path.rpartition('/')[2]}:{number}"
        yield f"    {line(finding_line(finding._replace(where=where if path else '')))}"
