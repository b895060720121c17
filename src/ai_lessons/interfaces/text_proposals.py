"""Proposals and decisions about them, for people."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces.output import block, clean, count, line, table
from ai_lessons.interfaces.text_jobs import BATCH, STAMP, STATED_BY_FILE
from ai_lessons.model import layout
from ai_lessons.model.entries import GLOBAL_PROJECT, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.app import pinned_signers, review, rule_audit
    from ai_lessons.app.answers import Why
    from ai_lessons.app.written import PastSessions, Pending, Suggested
    from ai_lessons.interfaces.output import View

NOTHING_PENDING = "No proposal waits for review."
REVIEW = "ai-lessons admin review-rules"
WHAT = {"new": "a new {}", "edit": "an edit of a {}", "removal": "the removal of a {}"}
LACKING = "stands on the approval branch without approval"


def suggested(value: Suggested, view: View, review: str = REVIEW) -> str:
    """A new proposal: where it stands, what speaks against it, and the command to decide with."""
    return proposed((value,), view, review)


def proposed(values: Sequence[Suggested], view: View, review: str = REVIEW) -> str:
    """Several of them. `review` is the command to decide with."""
    rows = []
    for made in values:
        warnings = (f"{view.paint('warning:', 'warn')} {line(text)}" for text in made.warnings)
        if made.past:
            says = weighed(made.past)
        else:
            says = ""
        rows.append(block(view.named(made), (f"branch: {line(made.branch)}", *warnings, says)))
    if rows:
        return "\n".join([*rows, f"Not in force until a person approves it: {review}"])
    return "Nothing to propose."


def pending(values: Sequence[Pending], view: View) -> str:
    """Proposals that wait, a line each as given, the first ones of each import.

    Then what speaks against them.
    """
    if not values:
        return NOTHING_PENDING
    numbers = Counter[str]()
    shown: list[Pending] = []
    folded: defaultdict[str, list[Pending]] = defaultdict(list)
    for proposal in values:
        numbers[proposal.batch] += 1
        # an import of more than ten proposals is counted, not listed
        few = not proposal.batch or numbers[proposal.batch] <= 10
        (shown if few else folded[proposal.batch]).append(proposal)
    header = ("ID", "WHAT", "SUGGESTED BY", "ON", "LINES", "WHERE", "TITLE")
    rows = [
        (
            proposal.handle, proposal.change, proposal.suggested_by, view.day(proposal.suggested_at),
            f"+{proposal.added} -{proposal.removed}", "remote" if proposal.remote else "local", proposal.title,
        )
        for proposal in shown
    ]  # fmt: skip
    effects = [
        f"{line(proposal.handle)} {line(effect)}"
        for proposal in shown
        for effect in proposal.effects
    ]
    doubts = [
        f"{line(proposal.branch)}: {'; '.join(_doubts(proposal))}"
        for proposal in shown
        if any(_doubts(proposal))
    ]
    for name, proposals in folded.items():
        doubtful = sum(any(_doubts(proposal)) for proposal in proposals)
        doubts.append(
            f"… and {len(proposals)} more of import {line(name)}, {doubtful} with "
            "something to look at"
        )
    batches = [f"{BATCH} {line(name)}" for name in numbers if name]
    decide = f"Decide: {REVIEW}" + (f"; all of one import: {', '.join(batches)}" if batches else "")
    return "\n".join(
        [table(header, rows, view, flexible=(5, 4, 2, 3, 6)), *effects, *doubts, decide]
    )


def _doubts(proposal: Pending) -> Iterator[str]:
    yield from map(line, proposal.conflicts)
    if proposal.kind == "rule" and proposal.change == "new" and not proposal.rationale:
        yield "no reason is stated: edit it and say why, or approve it with --rationale"
    if proposal.similar:
        yield f"close to {', '.join(map(line, proposal.similar))}: update it?"
    if proposal.rejected_before:
        yield f"the same was rejected {line(proposal.rejected_before)}"


def weighed(value: PastSessions) -> str:
    """What past sessions say of a proposal, in a sentence or two."""
    if value.apart:
        apart = f" It came from {count(value.apart, 'session')}, counted apart."
    else:
        apart = ""
    if value.checked:
        apart = f" Its checks would have spoken in {value.commands:,} of {count(value.checked, 'session')}.{apart}"
    if not value.told:
        return f"told: in none of {count(value.sessions, 'session')} of this machine.{apart}"
    if value.checked:
        spoke = "its checks spoke"
    else:
        spoke = "run"
    ways = (
        (value.said, "it was said again"),
        (value.edits, "what it names was edited"),
        (value.commands, spoke),
    )
    where = ", ".join(f"in {times:,} {way}" for times, way in ways if times)
    return (
        f"told: in {value.told:,} of {count(value.sessions, 'session')} of this machine ({where}), "
        f"about {value.characters:,} characters in all.{apart}"
    )


def proposal(pending: Pending, view: View, past: PastSessions | None = None) -> str:
    """One proposal as a reviewer needs it.

    Who and when, doubts, the report, the whole text or how it differs.

    `past`: what sessions on this machine say of it.
    """
    new, rule = pending.change == "new", pending.kind == Kind.RULE
    what = WHAT.get(pending.change, LACKING).format(line(pending.kind))
    what += " in force" if rule and pending.change in {"edit", "removal"} else ""
    where = "remote" if pending.remote else "local"
    tiers = [name for name, root in view.roots.items() if root == view.root]
    tier = f" (from the {line(tiers[0])} repository)" if tiers and "user" not in tiers else ""
    facts = [
        f"{what}, suggested by {line(pending.suggested_by)} on {view.when(pending.suggested_at)}",
        f"branch: {line(pending.branch)} ({where}), commit {line(pending.commit[:10])}",
        f"path: {view.place(pending.path)}" if pending.path else "",
        f"tags: {line(', '.join(pending.tags))}" if pending.tags else "",
        f"rationale: {line(pending.rationale)}" if pending.rationale else "",
        f"changes: {reach(pending)}{tier}" if rule and pending.change in WHAT else "",
        *(f"checks: {line(effect)}" for effect in pending.effects),
        weighed(past) if past else "",
        *(f"{view.paint('warning:', 'warn')} {text}" for text in _doubts(pending)),
    ]
    blocks = [block(view.named(pending), facts)]
    evidence = (
        [block("Evidence:", (view.named(entry) for entry in pending.evidence))]
        if pending.evidence
        else []
    )
    blocks += evidence if pending.change != "edit" else []
    if pending.report.strip():
        blocks += [
            f"Report of the proposer:\n{_indented(clean(pending.report).strip())}",
            "What is proposed:",
        ]
    if pending.diff and not new:
        # it names the path, which is stated above
        header = 2 if rule else 0
        blocks.append(_indented(interfaces_text.diff(pending.diff.split("\n", header)[-1], view)))
    title = "" if new else "As it will read:\n"
    for file in pending.files if new or rule else ():
        head = f"{line(file.path)}:\n" if len(pending.files) > 1 else title
        blocks += (
            [f"{head}{_indented(clean(file.new).removesuffix(chr(10)))}"]
            if file.new is not None
            else []
        )
    blocks += evidence if pending.change == "edit" else []
    return "\n\n".join(blocks)


def reach(proposal: Pending) -> str:
    """Which agents read what a proposal says once it is taken, or no longer."""
    where = layout.place(proposal.path)
    if where:
        project = where.project
    else:
        project = GLOBAL_PROJECT
    if project == GLOBAL_PROJECT:
        agents = "agents in every project"
    else:
        agents = f"agents in project {line(project)}"
    if proposal.applies_to:
        agents += f" that edit {line(' or '.join(proposal.applies_to))}"
    if proposal.kind != Kind.RULE:
        return f"{agents} " + (
            "no longer find this" if proposal.change == "removal" else "find this when they search"
        )
    effects = {"edit": "are told this instead", "removal": "are no longer told this"}
    return f"{agents} {effects.get(proposal.change, 'are told this')}"


def _indented(text: str) -> str:
    results = []
    for row in text.split("\n"):
        results.append(f"    {row}".rstrip())
    return "\n".join(results)


def approved(values: Sequence[review.Decided], view: View) -> str:
    """What was approved, and the merges that say so; of one merge for many, what it took."""
    commit = values[-1].commit
    if len(values) == 1 or any(decision.commit != commit for decision in values):
        results = []
        for decision in values:
            results.append(decided("Approved", decision, view))
        return "\n".join(results)
    head = f"Approved {count(len(values), 'rule')} with one merge: {line(commit[:10])}"
    return block(head, (view.named(decision) for decision in values))


def decided(word: str, decision: review.Decided, view: View) -> str:
    """What was approved or rejected, and where that is kept."""
    if word == "Rejected":
        where = f"record: {view.place(decision.path)}"
    else:
        where = f"commit: {line(decision.commit[:10])}"
    return f"{word} {view.named(decision)}\n  {where}"


def signers(value: pinned_signers.PinnedList, view: View) -> str:
    """Whose signatures count now."""
    rows = []
    for key in value.keys:
        rows.append(f"{'+' if key in value.added else ' '} {line(key)}")
    rows += [f"- {line(key)}" for key in value.removed]
    if rows:
        head = "Trusted to approve rules here:"
    else:
        head = "No signers are pinned here."
    return "\n".join([head, *rows, *([f"  pinned in {view.place(value.file)}"] if rows else [])])


def audit(value: rule_audit.Audit, view: View) -> str:
    """Every rule of the approval branch: how it came there, by whom; what violates the policy.

    Then the rest.
    """
    header = ("ID", "IN FORCE", "EVIDENCE", "APPROVED BY", "ON", "COMMIT", "TITLE", "WHY")
    rows = []
    for row in value.rows:
        rows.append(
            (
                row.handle,
                "yes" if row.in_force else "no",
                f"{row.evidence} {row.how}".strip(),
                row.approved_by,
                view.day(row.approved_at),
                row.commit[:10],
                row.title,
                row.reason,
            )
        )
    lines = [table(header, rows, view, "No rules.", flexible=(5, 7, 2, 3, 4, 6))]
    wrong = []
    for row in value.rows:
        if row.problem:
            wrong.append(f"{line(row.handle)} {line(row.problem)}")
    wrong += map(line, value.alarms)
    lines += [f"{view.paint('violation:', 'bad')} {text}" for text in wrong]
    columns = ("ID", "TAKEN BY", "APPROVED BY", "SUGGESTED BY", "ON", "COMMIT", "TITLE")
    taken = [
        (
            row.id[-6:], row.how, row.approved_by or "not told by the forge", row.suggested_by,
            view.day(row.approved_at), row.commit[:10], row.title,
        )
        for row in value.taken
    ]  # fmt: skip
    if taken:
        lines += [
            "",
            "Other proposals that were taken:",
            table(columns, taken, view, flexible=(5, 3, 2, 4, 6)),
            "",
        ]
    if value.ok:
        kept = "kept"
    else:
        kept = "violated"
    return "\n".join(
        [
            *lines,
            f"{count(len(rows), 'rule')}, {count(len(wrong), 'problem')}: the policy is {kept}",
        ]
    )


def why(value: Why, view: View) -> str:
    """Where an entry comes from, one reason a line, and how it has done if anything happened to it."""
    if value.usage.tallies.last_used:
        done = interfaces_text.usage(value.usage, view)
    else:
        done = []
    stated = []
    for row in value.lines:
        if row.startswith(STATED_BY_FILE):
            stated.append(row.removeprefix(STATED_BY_FILE))
    rows = []
    for row in value.lines:
        if not row.startswith(STATED_BY_FILE):
            rows.append(row)
    if stated:
        rows += [STATED_BY_FILE + ", ".join(stated)]
    dated = (STAMP.sub(lambda stamp: view.when(stamp[0]), line(row)) for row in rows)
    return block(view.named(value.entry), [*dated, *done])
