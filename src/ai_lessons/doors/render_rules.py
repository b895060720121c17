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


def _headline(one: Suggested | Pending | Decided | Light, view: View) -> str:
    return view.named(one.handle, one.title)


def suggested(value: Suggested, view: View, review: str = REVIEW) -> str:
    """A new proposal: where it stands, what speaks against it, and the command to decide with."""
    return proposed((value,), view, review)


def proposed(values: Sequence[Suggested], view: View, review: str = REVIEW) -> str:
    """Several of them. `review` is the command to decide with."""
    rows = []
    for one in values:
        warnings = (f"{view.paint('warning:', 'warn')} {line(text)}" for text in one.warnings)
        rows.append(block(_headline(one, view), (f"branch: {line(one.branch)}", *warnings)))
    return "\n".join([*rows, f"Not in force until a person approves it: {review}"]) if rows else "Nothing to propose."


def pending(values: Sequence[Pending], view: View) -> str:
    """Proposals that wait, a line each as given, the first ones of each import; then what speaks against them."""
    if not values:
        return NOTHING_PENDING
    numbers: Counter[str] = Counter()
    shown: list[Pending] = []
    folded: list[Pending] = []
    for one in values:
        numbers[one.batch] += 1
        (shown if not one.batch or numbers[one.batch] <= OF_A_BATCH else folded).append(one)
    header = ("ID", "WHAT", "SUGGESTED BY", "ON", "LINES", "WHERE", "TITLE")
    rows = [
        (
            one.handle, one.change, one.suggested_by, view.day(one.suggested_at), f"+{one.added} -{one.removed}",
            "remote" if one.remote else "local", one.title,
        )
        for one in shown
    ]  # fmt: skip
    doubts = [f"{line(one.branch)}: {'; '.join(texts)}" for one in shown if (texts := list(_doubts(one)))]
    for name in dict.fromkeys(one.batch for one in folded):
        rest = [one for one in folded if one.batch == name]
        doubtful = sum(any(_doubts(one)) for one in rest)
        doubts.append(f"… and {len(rest)} more of import {line(name)}, {doubtful} with something to look at")
    batches = [f"{render_jobs.BATCH} {line(name)}" for name in numbers if name]
    decide = f"Decide: {REVIEW}" + (f"; all of one import: {', '.join(batches)}" if batches else "")
    return "\n".join([table(header, rows, view, flexible=(5, 4, 2, 3, 6)), *doubts, *left_out(values), decide])


def left_out(values: Sequence[Pending]) -> list[str]:
    """Lines about proposals that are not listed, because there are too many."""
    return [f"not listed: {line(text)}" for one in values for text in one.left_out]


def _doubts(one: Pending) -> Iterator[str]:
    yield from map(line, one.conflicts)
    if one.kind == "rule" and one.change == "new" and not one.rationale:
        yield "no reason is stated: edit it and say why"
    if one.similar:
        yield f"much like {', '.join(map(line, one.similar))}: update it?"
    if one.rejected_before:
        yield f"the same was rejected {line(one.rejected_before)}"


def proposal(one: Pending, view: View) -> str:
    """One proposal as a reviewer needs it: who and when, doubts, the report, the whole text or how it differs."""
    what = WHAT.get(one.change, LACKING).format(line(one.kind))
    what += " in force" if one.kind == "rule" and one.change in {"edit", "removal"} else ""
    facts = [
        f"{what}, suggested by {line(one.suggested_by)} on {view.when(one.suggested_at)}",
        f"branch: {line(one.branch)} ({'remote' if one.remote else 'local'}), commit {line(one.commit[:10])}",
        f"path: {view.place(one.path)}" if one.path else "",
        f"tags: {line(', '.join(one.tags))}" if one.tags else "",
        f"rationale: {line(one.rationale)}" if one.rationale else "",
        _for_whom(one, view),
        *(f"{view.paint('warning:', 'warn')} {text}" for text in _doubts(one)),
    ]
    blocks = [block(_headline(one, view), facts)]
    evidence = [block("Evidence:", (_headline(entry, view) for entry in one.evidence))] if one.evidence else []
    blocks += evidence if one.change != "edit" else []
    if one.report.strip():
        blocks += [f"Report of the proposer:\n{_indented(clean(one.report).strip())}", "What is proposed:"]
    header = 2 if one.kind == "rule" else 0  # it names the path, which is stated above
    texts = [render.diff(one.diff.split("\n", header)[-1], view)] if one.diff and one.change != "new" else []
    blocks += [_indented(text) for text in texts if text.strip()]
    for file in one.files if one.change == "new" or one.kind == "rule" else ():
        head = f"{line(file.path)}:\n" if len(one.files) > 1 else "As it will read:\n" if one.change != "new" else ""
        blocks += [f"{head}{_indented(clean(file.new).removesuffix(chr(10)))}"] if file.new is not None else []
    blocks += evidence if one.change == "edit" else []
    return "\n\n".join(blocks)


def _for_whom(one: Pending, view: View) -> str:
    """What taking it changes for the agents who are told rules; empty for what is no rule."""
    changes = {
        "new": "are told this", "edit": "are told this instead", "removal": "are no longer told this"
    }  # fmt: skip
    if one.kind != "rule" or one.change not in changes:
        return ""
    project = one.path.partition("/")[0]
    whose = "every project" if project == GLOBAL_PROJECT else f"project {line(project)}"
    files = f" that edit {line(' or '.join(one.applies_to))}" if one.applies_to else ""
    tiers = [f" (tier {line(name)})" for name, root in view.roots.items() if root == view.root and len(view.roots) > 1]
    return f"changes: agents in {whose}{files} {changes[one.change]}{''.join(tiers[:1])}"


def _indented(text: str) -> str:
    return "\n".join(f"    {row}".rstrip() for row in text.split("\n"))


def approved(values: Sequence[Decided], view: View) -> str:
    """What was approved, and the merges that say so; of one merge for many, what it took."""
    commit = values[-1].commit
    if len(values) == 1 or any(one.commit != commit for one in values):
        return "\n".join(decided("Approved", one, view) for one in values)
    head = f"Approved {count(len(values), 'rule')} with one merge: {line(commit[:10])}"
    return block(head, (_headline(one, view) for one in values))


def decided(word: str, one: Decided, view: View) -> str:
    """What was approved or rejected, and where that is kept."""
    where = f"record: {view.place(one.path)}" if word == "Rejected" else f"commit: {line(one.commit[:10])}"
    return f"{word} {_headline(one, view)}\n  {where}"


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
            one.handle, "yes" if one.in_force else "no", f"{one.evidence} {one.how}".rstrip(),
            one.approved_by, view.day(one.approved_at), one.commit[:10], one.title,
        )
        for one in value.rows
    ]  # fmt: skip
    lines = [table(header, rows, view, "No rules.", flexible=(5, 2, 3, 4, 6))]
    wrong = [f"{line(one.handle)} {line(one.problem)}" for one in value.rows if one.problem]
    wrong += map(line, value.alarms)
    lines += [f"{view.paint('violation:', 'bad')} {text}" for text in wrong]
    header = ("ID", "TAKEN BY", "APPROVED BY", "SUGGESTED BY", "ON", "COMMIT", "TITLE")
    others = [
        (
            one.id[-6:], one.how, one.approved_by or "not told by the forge", one.suggested_by,
            view.day(one.approved_at), one.commit[:10], one.title,
        )
        for one in value.taken
    ]  # fmt: skip
    if others:
        lines += ["", "Other proposals that were taken:", table(header, others, view, flexible=(5, 3, 2, 4, 6)), ""]
    kept = "kept" if value.ok else "violated"
    return "\n".join([*lines, f"{count(len(rows), 'rule')}, {count(len(wrong), 'problem')}: the policy is {kept}"])


def why(value: Why, view: View) -> str:
    """Where an entry comes from, one reason a line, and how it has done if anything happened to it."""
    done = render.usage(value.usage, view) if value.usage.tallies.last_used else []
    return block(_headline(value.entry, view), [*map(line, value.lines), *done])


def context(value: Context, view: View) -> str:
    """What to know before starting, as a search shows it but without scores: they say only what came first."""
    hits = tuple(Hit(one._replace(score=None)) for one in (*value.rules, *value.lessons))
    known = "Nothing is known for this yet."
    if hits:
        known = render.answer(Answer("", hits, approvals=value.approvals), view)
    return "\n\n".join([known, *([render.left_out(value.left_out, view)] if value.left_out else [])])


STYLES = {"approve": "good", "revise": "warn", "reject": "bad"}


def promoted(value: Promoted, view: View) -> str:
    """What was done and why; then the evaluation."""
    if value.outcome == "present":
        return f"{_headline(value.entry, view)}\n  nothing to do"
    rows = []
    if value.written is not None:
        copied = f"  copied from {line(value.source)}: {line(value.entry.handle)}"
        rows += [render_jobs.written(value.written, view), copied]
    if value.suggested is not None:
        if value.outcome == "asked":
            rows += [f"{_headline(value.entry, view)}\n  goes to {line(value.target)} once this is taken:"]
        there = value.decided_in.startswith("enterprise:")
        job = "sync sends it to them" if there else "review-rules"
        rows += [suggested(value.suggested, view, f"ai-lessons --tier {line(value.decided_in)} admin {job}")]
    return "\n".join([*rows, *_reasons(value, view)])


def _reasons(value: Promoted, view: View) -> Iterator[str]:
    if value.policy:
        yield f"  policy: {line(value.policy)}"
    report = value.report
    yield f"  evaluation: {view.paint(report.recommendation, STYLES[report.recommendation])}"
    files = {one.where.rpartition(":")[0] for one in report.findings if one.where}
    for one in report.findings:  # where it stands, in a few words: the line, and of two files the name
        path, _, number = one.where.rpartition(":")
        where = f"line {number}" if len(files) < 2 else f"{path.rpartition('/')[2]}:{number}"
        yield f"    {line(finding_line(one._replace(where=where if path else '')))}"
