"""Where an entry comes from, who approved it, and what on the approval branch violates its policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app import review
from ai_lessons.app.answers import Approval, Audit, AuditRow, Related, Why
from ai_lessons.app.contexts import CHAIN, related_of
from ai_lessons.approval import proposals as approval_proposals
from ai_lessons.approval import state
from ai_lessons.approval.state import odd_commits
from ai_lessons.errors import AiLessonsError, Refused
from ai_lessons.git.worktree import branch_name, read_ref, short_name
from ai_lessons.model import lessons, links
from ai_lessons.model.approval import BranchView, Evidence, Verdict, moment
from ai_lessons.model.entries import EntrySummary, Kind, Relation, handle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ai_lessons.app.workspace import Library, Reader, Reading, RepositorySession
    from ai_lessons.approval.proposals import TakenProposal
    from ai_lessons.git.history import FileRevision

_WAYS = {
    "merge": "by a merge of the proposal",
    "squash": "by a squash merge",
    "rebase": "by a rebase merge",
    "direct": "by a commit on the branch itself",
    "evil-merge": "by a text changed inside a merge",
    "self-merge": "by a merge of the proposer's own",
    "signed": "by a signed merge of the proposal",
    "unsigned": "by a merge that no pinned signer signed",
}
_STATED = ("confidence", "source", "from", "category", "scope", "rationale", "source_path", "source_ref", "path")


def approval_of(repo: RepositorySession, rule: EntrySummary) -> Approval | None:
    """Who approved this rule; None if it is no more in force. Call `current` first. Raises NotFound: no text in git."""
    view = repo.rules.known()
    verdict = view.verdicts.get(rule.id) if view else None
    if view is None or verdict is None or not verdict.in_force or verdict.blob is None or verdict.path is None:
        return None
    return _approval(verdict.evidence, _unapproved_change(repo, view, verdict, verdict.path, verdict.blob))


def approvals_of(repo: Reading, rules: Iterable[EntrySummary]) -> dict[str, Approval]:
    """Who approved these rules, by id, without a look for unapproved changes. Call `current` first."""
    lights, approvals = list(rules), dict[str, Approval]()
    tiers = {rule.tier for rule in lights}
    views = {place.options.tier: place.rules.known() for place in repo.every if place.options.tier in tiers}
    for rule in lights:
        view = views.get(rule.tier)
        verdict = view.verdicts.get(rule.id) if view else None
        if verdict and verdict.in_force:
            approvals[rule.id] = _approval(verdict.evidence)
    return approvals


def _approval(evidence: Evidence, unapproved_change: str = "") -> Approval:
    return Approval(
        approved_by=str(evidence.by or ""),
        approved_at=moment(evidence.at),
        suggested_by=", ".join(map(str, evidence.suggested_by)),
        commit=evidence.commit,
        evidence=evidence.level,
        how=evidence.how,
        unapproved_change=unapproved_change,
    )


def _unapproved_change(repo: RepositorySession, view: BranchView, verdict: Verdict, path: str, blob: str) -> str:
    """The diff to the working tree if the rule was edited there, else to the branch."""
    approved = _unix(repo.rules.text(verdict.rule, path, blob))
    text_here = _text(lambda: repo.store.read(path))
    if text_here != approved:
        # a tree at another commit may simply have another text
        head = repo.store.head().commit
        if head and (head == view.tip or text_here != _text(lambda: repo.history.text_at("HEAD", path))):
            return _diff(path, approved, text_here, "working tree")
    for arrival in verdict.unapproved:
        if arrival.blob != blob:  # else another copy of the same text
            text = _unix(repo.rules.text(verdict.rule, arrival.path, arrival.blob)) if arrival.blob else None
            return _diff(path, approved, text, "approval branch")
    return ""


def _text(read: Callable[[], bytes]) -> bytes | None:
    try:
        return _unix(read())
    except AiLessonsError:
        return None  # gone, or replaced by what is no plain file


def _unix(data: bytes) -> bytes:
    """As git would store it where it changes line ends on checkout."""
    return data.replace(b"\r\n", b"\n")


def _diff(path: str, approved: bytes, other: bytes | None, where: str) -> str:
    from ai_lessons.git.history import unified  # most have none, and need not load what reads git's objects

    other_name = f"{path} ({where})" if other is not None else f"removed from the {where}"
    return unified(path, approved, other, (f"{path} (in force)", other_name))


def why(library: Library, ref: str) -> Why:
    """Who said it, from what, who approved it. Raises NotFound, AmbiguousName: not one entry answers to `ref`."""
    repo, light = library.holding(ref)
    entry, _ = repo.load(light.id)
    revisions = repo.history.log(repo.file_of(light))
    approval = approval_of(repo, light) if light.kind is Kind.RULE else None
    stated = {key: lessons.source_line(entry.fields[key]) for key in _STATED if entry.fields.get(key) not in (None, "")}
    chain, neighbours = _linked(library.reading.catalog, light)
    lines = [*_author_lines(approval, revisions)]
    if light.details.get("stated_by"):
        lines.append(f"stated by {light.details['stated_by']}")
    prefix = "its file says " if light.kind is Kind.LESSON else ""
    lines += [f"{prefix}{key}: {value}" for key, value in stated.items()]
    lines += [f"derived from {_title(related)}" for related in chain]
    for related in neighbours:
        relation = related.relation.replace("_", " ") + ("" if related.outgoing else " (said there):")
        lines.append(f"{relation} {_title(related)}")
    if light.kind is not Kind.RULE:
        lines += _merge_lines(repo, light)
    elif approval:
        by = f" by {approval.approved_by}" if approval.approved_by else ""
        way = f"{_WAYS.get(approval.how, approval.how)} (evidence {approval.evidence})"
        lines.append(f"approved{by} on {approval.approved_at}, {way}, commit {approval.commit[:10]}")
        if approval.unapproved_change:
            lines.append("an unapproved change of it exists; the approved text is in force")
    return Why(light, approval, tuple(lines), repo.usages.of(light))


def _linked(catalog: Reader, light: EntrySummary) -> tuple[tuple[Related, ...], tuple[Related, ...]]:
    """The chain of what it derives from, never back to where it came by another way, and its other neighbours."""
    derived = Relation.DERIVED_FROM.value
    edges = [edge for edge in catalog.edges() if edge.relation == derived]
    origins: list[links.GraphStep] = []
    seen, border = {light.id}, {light.id}
    for depth in range(1, CHAIN + 1):
        ring = {e.target: e for e in edges if e.source in border and e.target not in seen}.values()
        origins += [links.GraphStep(e.target, e.relation, True, e.weight, depth, e.source) for e in ring]  # noqa: FBT003
        border = {edge.target for edge in ring}
        seen |= border
    steps = links.reach(catalog.edges(light.id), light.id)
    near = [step for step in steps if not (step.relation == derived and step.outgoing)]
    return related_of(catalog, origins), related_of(catalog, near)


def _author_lines(approval: Approval | None, revisions: Sequence[FileRevision]) -> Iterator[str]:
    """Who said it: the author of the first commit, of a rule those of its proposal."""
    if revisions:
        first, agent = revisions[-1], revisions[-1].trailers.get("Agent")
        by, at = f"{first.author} <{first.email}>{f', agent {agent}' if agent else ''}", first.when
    elif approval:
        by, at = "", approval.approved_at
    else:
        yield "not committed yet: git does not know who said it"
        return
    yield f"said by {(approval.suggested_by if approval else by) or 'an unknown author'} on {at}"
    if len(revisions) > 1:
        last = revisions[0]
        times = "once" if len(revisions) == 2 else f"{len(revisions) - 1} times"
        yield f"changed {times} since, last by {last.author} on {last.when}"


def _title(related: Related) -> str:
    return f"{related.entry.handle} {related.entry.title}" if related.entry else f"{related.target} (not here)"


def _merge_lines(repo: RepositorySession, light: EntrySummary) -> Iterator[str]:
    """Who took the proposals of it, newest first; nothing where it was simply written."""
    # what is no rule need not pay for what rules are judged with

    for proposal in taken(repo, light.id):
        way = f"by a merge of {proposal.proposal}" if proposal.how == "merge" else f"by a commit of {proposal.proposal}"
        by = f" by {proposal.approved_by}" if proposal.approved_by else ""
        who = proposal.suggested_by
        yield f"approved{by} on {proposal.approved_at}, {way} (suggested by {who}), commit {proposal.commit[:10]}"


def audit(library: Library) -> Audit:
    """Who approved which rule, when, by which commit and evidence; and all that violates the policy."""
    repo = library.primary
    repo.current()
    view = repo.rules.view()
    if view is None:
        return Audit((), ("there is no approval branch, so no rule is in force",), ok=False)
    verdicts = [verdict for verdict in view.verdicts.values() if verdict.in_force or verdict.unapproved]
    rows = sorted((_row(repo, view, verdict) for verdict in verdicts), key=lambda row: (row.path, row.id))
    alarms = tuple(f"{alarm.message} ({alarm.hint})" if alarm.hint else alarm.message for alarm in view.alarms)
    odd = odd_commits(repo.store.worktree, view.ref)
    alarms += tuple(f"commit {commit[:10]} proves nothing: {what} (look: git fsck)" for commit, what in odd)
    alarms += tuple(what for _, what in _left(repo, view))
    ok = not alarms and not any(row.problem for row in rows)
    signing_notes = review.notes(view, repo.rules.signers(view.ref)) if view.policy.require == "signed" else ()
    return Audit(tuple(rows), (*alarms, *view.damaged, *signing_notes), ok, tuple(taken(repo)))


def taken(repo: RepositorySession, entry: str = "") -> list[TakenProposal]:
    """The proposals of anything but rules that came to the approval branch, newest first; of one entry, if named."""
    ref = repo.rules.ref()
    if not ref or not (tip := read_ref(repo.store.worktree, ref)):
        return []
    proposals = approval_proposals.taken(repo.store.worktree, tip, short_name(ref))
    return [proposal for proposal in proposals if not entry or (proposal.id and entry.endswith(proposal.id))]


def _row(repo: RepositorySession, view: BranchView, verdict: Verdict) -> AuditRow:
    evidence = verdict.evidence
    path = verdict.path or next((arrival.path for arrival in verdict.unapproved), "")
    light = repo.catalog.many([verdict.rule]).get(verdict.rule)
    problems = [
        f"{'a text' if arrival.blob else 'its removal'} at {arrival.path} is on {branch_name(view.ref)}"
        f" without approval: {arrival.evidence.reason}"
        for arrival in verdict.unapproved
    ]
    return AuditRow(
        id=verdict.rule,
        handle=light.handle if light else handle(Kind.RULE, verdict.rule),
        title=light.title if light else path,
        path=path,
        in_force=verdict.in_force,
        evidence=evidence.level,
        how=evidence.how,
        approved_by=str(evidence.by or ""),
        approved_at=moment(evidence.at) if verdict.in_force else "",
        suggested_by=", ".join(map(str, evidence.suggested_by)),
        commit=evidence.commit,
        problem="; ".join(problems),
    )


def _left(repo: RepositorySession, view: BranchView) -> Iterator[tuple[str, str]]:
    """The commits that approved with keys which are on the list no more, nobody having looked since, and what of it."""
    signed = state.load(repo.store.worktree.state_dir).signed if view.policy.require == "signed" else {}
    listed = {signer.key for signer in repo.rules.signers(view.ref).read() or ()} if signed else set()
    for verdict in view.verdicts.values():
        by = signed.get(verdict.evidence.commit) if verdict.in_force else None
        if by and by.key and by.key not in listed:
            left = f"{verdict.path} was approved by {by.who} with a key that left the list of signers, {by.key}"
            yield verdict.evidence.commit, f"{left} (if it still holds: ai-lessons admin audit --acknowledge)"


def acknowledge(library: Library, ask: Callable[[str], bool] | None) -> Audit:
    """Take the approval branch as it is now for what was seen last, if `ask` agrees. Raises Refused, StorageFailed."""
    repo = library.primary
    repo.options.refuse_agents("acknowledge alarms", "ai-lessons admin audit --acknowledge")
    current = audit(library)
    if not current.alarms:
        return current
    if ask is None:
        raise Refused("alarms are looked at by a person, and there is no terminal to ask on", hint="--yes")
    looks = repo.rules.looks()
    if not ask("\n".join(current.alarms)):
        raise Refused("the alarms stay; nothing was changed")
    worktree = repo.store.worktree
    memory = state.load(worktree.state_dir)
    seen = {commit: memory.signed[commit]._replace(key="") for view in looks for commit, _ in _left(repo, view)}
    state.save(worktree.state_dir, memory._replace(signed={**memory.signed, **seen}))
    for view in looks:
        state.acknowledge(worktree, view, view.stated)
    return audit(library)
