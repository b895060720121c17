"""Proposals, decisions, who approved what. As text for people. Pure: takes answers, returns text.

What a proposal says stands indented, so that no text of its own can look like ours.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.doors import render, render_jobs
from ai_lessons.doors.terminal import clean, count, line, table
from ai_lessons.knowledge.evaluation import told
from ai_lessons.library.answers import Answer, Hit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.evaluation import EvaluationFinding
    from ai_lessons.library.answers import Context, Why
    from ai_lessons.library.policies import Enforced, Enforcement
    from ai_lessons.library.rule_answers import (
        Approved,
        Audit,
        AuditRow,
        Pending,
        Promoted,
        Rejected,
        Revoked,
        Suggested,
        TakenRow,
        TrustedKeys,
    )

NOTHING_PENDING = "No proposal waits for review."
REVIEW = "ai-lessons admin review-rules"
WHAT = {
    "new": "a new {}",
    "edit": "an edit of a {}",
    "removal": "the removal of a {}",
    "unsigned": "a text on the approval branch that lacks signatures",
}
RULE = "rule"
# Frontmatter of a new entry that a reviewer reads in our own lines, or that decides nothing
SAID_ABOVE = frozenset({"id", "kind", "title", "rationale", "tags", "created"})
_KEY = re.compile(r"([^\s:#][^:]*):")
INDENT = "    "


def _headline(handle: str, title: str, view: View) -> str:
    return f"{view.paint(f'[{line(handle)}]', 'handle')} {line(title)}"


def suggested(value: Suggested, view: View, review: str = REVIEW) -> str:
    """A new proposal: where it stands, what speaks against it, and what happens next."""
    return proposed((value,), view, review)


def proposed(values: Sequence[Suggested], view: View, review: str = REVIEW) -> str:
    """Several of them. `review` is the command to decide with."""
    rows = []
    for one in values:
        rows += [_headline(one.handle, one.title, view), f"  branch: {line(one.branch)}"]
        rows += [f"  {view.paint('warning:', 'warn')} {line(text)}" for text in one.warnings]
    return "\n".join([*rows, f"Not in force until a person approves it: {review}"]) if rows else "Nothing to propose."


def pending(values: Sequence[Pending], view: View) -> str:
    """Proposals that wait, a line each as given, then what speaks against them."""
    if not values:
        return NOTHING_PENDING
    header = ("ID", "WHAT", "SUGGESTED BY", "ON", "LINES", "WHERE", "TITLE")
    rows = [
        (
            one.handle, one.change, one.suggested_by, one.suggested_at[:10], f"+{one.added} -{one.removed}",
            _where(one), one.title,
        )
        for one in values
    ]  # fmt: skip
    doubts = [f"{line(one.branch)}: {'; '.join(texts)}" for one in values if (texts := list(_doubts(one)))]
    return "\n".join([*table(header, rows, view, flexible=(6, 2)), *doubts, *left_out(values), f"Decide: {REVIEW}"])


def left_out(values: Sequence[Pending]) -> list[str]:
    """Lines about proposals that are not listed, because there are too many."""
    return [f"not listed: {line(text)}" for one in values for text in one.left_out]


def _where(one: Pending) -> str:
    return "remote" if one.remote else "local"


def _doubts(one: Pending) -> Iterator[str]:
    """What speaks against a proposal."""
    yield from map(line, one.conflicts)
    if one.similar:
        yield f"much like {', '.join(map(line, one.similar))}"
    if one.rejected_before:
        yield f"the same was rejected {line(one.rejected_before)}"


def number_pending(value: int, _view: View) -> str:
    """The bare number, for hooks and prompts."""
    return str(value)


def proposal(one: Pending, view: View) -> str:
    """One proposal as a reviewer needs it: who and when, doubts, the report, the whole text or how it differs."""
    facts = [
        f"{_what(one)}, suggested by {line(one.suggested_by)} on {line(one.suggested_at)}",
        f"branch: {line(one.branch)} ({_where(one)}), commit {line(one.commit[:10])}",
        f"path: {view.place(one.path)}" if one.path else "",
        f"tags: {line(', '.join(one.tags))}" if one.tags else "",
        f"rationale: {line(one.rationale)}" if one.rationale else "",
        *(f"{view.paint('warning:', 'warn')} {text}" for text in _doubts(one)),
    ]
    blocks = ["\n".join([_headline(one.handle, one.title, view), *(f"  {fact}" for fact in facts if fact)])]
    if one.report.strip():
        blocks += [f"Report of the proposer:\n{_indented(clean(one.report).strip())}", "What is proposed:"]
    whole = one.change == "new" and one.kind != "script"  # a script is two files, and its code is what matters
    blocks += _new_text(one) if whole else [_indented(render.diff(one.diff, view))] if one.diff else []
    if one.evidence:
        blocks.append("\n".join(["Evidence:", *(f"  {_brief(entry, view)}" for entry in one.evidence)]))
    return "\n\n".join(blocks)


def _what(one: Pending) -> str:
    said = WHAT.get(one.change, line(one.change)).format(line(one.kind))
    return f"{said} in force" if one.kind == RULE and one.change in {"edit", "removal"} else said


def _new_text(one: Pending) -> list[str]:
    """The text of a new entry, and whatever else its file states."""
    stated = "\n".join(_stated(one.diff))
    return [_indented(clean(text)) for text in (one.body.strip("\n"), stated) if text.strip()]


def _stated(diff: str) -> Iterator[str]:
    """Lines of the frontmatter that a diff adds, but for the keys that are told anyway; they start at column 0."""
    added = [row[1:] for row in diff.partition("\n@@ ")[2].split("\n") if row.startswith("+")]
    key = ""
    for row in added[1:] if added[:1] == ["---"] else ():
        if row == "---":
            return
        found = _KEY.match(row)
        key = found[1] if found else key
        if key not in SAID_ABOVE:
            yield row


def _indented(text: str) -> str:
    return "\n".join(f"{INDENT}{row}".rstrip() for row in text.split("\n"))


def _brief(entry: Light, view: View) -> str:
    return _headline(entry.handle, entry.title, view)


def approved(values: Sequence[Approved], view: View) -> str:
    """What was approved, and the merge that says so."""
    return "\n".join(
        f"Approved {_headline(one.handle, one.title, view)}\n  commit: {line(one.commit[:10])}" for one in values
    )


def rejected(one: Rejected, view: View) -> str:
    """What was turned down, and where that is kept."""
    return f"Rejected {_headline(one.handle, one.title, view)}\n  record: {view.place(one.record_path)}"


def revoked(one: Revoked, view: View) -> str:
    """What does not hold any longer, and the commit that says so."""
    return f"Revoked {_headline(one.handle, one.title, view)}\n  commit: {line(one.commit[:10])}"


def trusted_keys(value: TrustedKeys, view: View) -> str:
    """Whose keys count now."""
    rows = [f"{'+' if key in value.added else ' '} {line(key)}" for key in value.keys]
    return "\n".join(
        [
            "Trusted to approve rules here:",
            *rows,
            *(f"- {line(key)}" for key in value.removed),
            f"  pinned in {view.place(value.file)}",
        ]
    )


def audit(value: Audit, view: View) -> str:
    """Every rule of the approval branch: its evidence, who approved it; all that violates the policy; then the rest."""
    header = ("ID", "IN FORCE", "EVIDENCE", "APPROVED BY", "ON", "COMMIT", "TITLE")
    rows = [
        (
            one.handle, "yes" if one.in_force else "no", f"{one.evidence} {one.how}".rstrip(),
            one.approved_by, one.approved_at[:10], one.commit[:10], one.title,
        )
        for one in value.rows
    ]  # fmt: skip
    lines = table(header, rows, view, flexible=(6, 3)) if rows else ["No rules."]
    wrong = [*_wrong(value.rows), *(line(text) for text in value.alarms)]
    lines += [f"{view.paint('violation:', 'bad')} {text}" for text in wrong]
    lines += ["", *_taken(value.taken, view), ""] if value.taken else []
    verdict = "the policy is kept" if value.ok else "the policy is violated"
    return "\n".join([*lines, f"{count(len(rows), 'rule')}, {count(len(wrong), 'problem')}: {verdict}"])


def _taken(rows: Sequence[TakenRow], view: View) -> list[str]:
    header = ("ID", "TAKEN BY", "APPROVED BY", "SUGGESTED BY", "ON", "COMMIT", "TITLE")
    told = [
        (
            one.handle or one.id[-6:], one.how, one.approved_by or "not told by the forge", one.suggested_by,
            one.approved_at[:10], one.commit[:10], one.title,
        )
        for one in rows
    ]  # fmt: skip
    return ["Other proposals that were taken:", *table(header, told, view, flexible=(6, 3, 2))]


def _wrong(rows: Iterable[AuditRow]) -> Iterator[str]:
    return (f"{line(one.handle)} {line(one.problem)}" for one in rows if one.problem)


def why(value: Why, view: View) -> str:
    """Where an entry comes from, one reason a line."""
    return "\n".join([_brief(value.entry, view), *(f"  {line(text)}" for text in value.lines)])


def context(value: Context, view: View) -> str:
    """What to know before starting, as a search shows it but without scores: they say only what came first."""
    if not value.rules and not value.lessons:
        return "Nothing is known for this yet."
    hits = tuple(Hit(one._replace(score=None)) for one in (*value.rules, *value.lessons))
    return render.answer(Answer("", hits), view)


_STYLES = {"refused": "bad", "allowed": "good", "released": "good"}


def enforcement(value: Enforcement, view: View) -> str:
    """Every decision, the newest first."""
    if not value.rows:
        return "No policy of an enterprise has allowed or refused anything here."
    return "\n".join([*(row for one in value.rows for row in _told(one, view)), count(len(value.rows), "decision")])


def _told(one: Enforced, view: View) -> Iterator[str]:
    outcome = line(one.outcome)
    way = f"{line(one.source)} to {line(one.target)}" if one.source else f"written to {line(one.target)}"
    yield f"{line(one.at)} {view.paint(outcome, _STYLES.get(outcome, 'warn'))} {line(one.title)} ({way})"
    yield f"  {line(one.enterprise)}: {line(one.policy)} is {line(one.value)}"
    agent = f" (agent {line(one.agent)})" if one.agent else ""
    stated = (
        f"{line(one.branch)} at {line(one.commit[:10])} in {line(one.stated_in)}"
        if one.commit
        else "nowhere on this machine"
    )
    yield f"  by {line(one.by) or 'somebody'}{agent}; stated: {stated}"


WOULD = {
    "copied": "would be copied to {}",
    "proposed": "would be proposed to {}",
    "asked": "may go to {} once people of {} release it, which would be asked for",
    "present": "nothing to do",
    "refused": "may not go to {}",
}
"""What a dry run says, by outcome."""

STYLES = {"approve": "good", "revise": "warn", "reject": "bad"}


def promoted(value: Promoted, view: View) -> str:
    """What was done, or would be, and why; then the evaluation, and what the generic form leaves out."""
    if value.outcome == "present" and not value.dry_run:
        return f"{_entry_line(value, view)}\n  nothing to do"
    rows = [*_done(value, view), *_policy(value), *_evaluation(value, view)]
    rows += [f"  left behind: {line(one)}" for one in value.dropped]
    return "\n".join([*rows, *_generic(value, view)])


def plan(value: Promoted, view: View) -> str:
    """What a person is asked about: the same as a dry run shows."""
    return "\n".join([_planned(value, view), *_policy(value), *_evaluation(value, view), *_generic(value, view)])


def _entry_line(value: Promoted, view: View) -> str:
    return f"{view.paint(f'[{line(value.entry.handle)}]', 'handle')} {line(value.entry.title)}"


def _planned(value: Promoted, view: View) -> str:
    return f"{_entry_line(value, view)}\n  {WOULD[value.outcome].format(line(value.target), line(value.decided_in))}"


def _done(value: Promoted, view: View) -> Iterator[str]:
    if value.dry_run:
        yield _planned(value, view)
    if value.written is not None:
        yield render_jobs.written(value.written, view)
        yield f"  copied from {line(value.source)}: {line(value.entry.handle)}"
    if value.suggested is not None:
        if value.outcome == "asked":
            yield f"{_entry_line(value, view)}\n  goes to {line(value.target)} once this is taken:"
        command = f"ai-lessons --tier {line(value.decided_in)} admin"
        yield suggested(value.suggested, view, f"{command} review-rules")
        if value.decided_in.startswith("enterprise:"):
            yield f"Send it to them: {command} sync"


def _policy(value: Promoted) -> list[str]:
    return [f"  policy: {line(value.policy)}"] if value.policy else []


def _evaluation(value: Promoted, view: View) -> list[str]:
    report = value.report
    head = f"  evaluation: {view.paint(report.recommendation.value, STYLES[report.recommendation.value])}"
    files = {one.where.rpartition(":")[0] for one in report.findings if one.where}
    return [head, *(f"    {line(told(_placed(one, alone=len(files) < 2)))}" for one in report.findings)]


def _placed(one: EvaluationFinding, *, alone: bool) -> EvaluationFinding:
    """Where it stands, in a few words: the line, and of two files the name."""
    path, _, number = one.where.rpartition(":")
    return one._replace(where=(f"line {number}" if alone else f"{path.rpartition('/')[2]}:{number}") if path else "")


def _generic(value: Promoted, view: View) -> list[str]:
    if not value.generic:
        return []
    rows = [view.paint("In its generic form:", "heading"), *(f"  {line(one)}" for one in value.replaced)]
    return [*rows, *clean(value.diff).rstrip("\n").split("\n")]
