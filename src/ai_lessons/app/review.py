"""Decides about proposals: pending, approve, change, reject; the audit and the signers.

For people only.
"""

from __future__ import annotations

import os
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app import secrets, write_checks
from ai_lessons.app.answers import Pending, ProposedFile, Suggested
from ai_lessons.app.proposals import (
    SHORTEST_END,
    Objections,
    ProposalContext,
    deciding,
    described,
    entry_of,
    make,
    objections,
    open_proposals,
    proposed_file,
    refuse_changed,
)
from ai_lessons.app.write_checks import checked, refuse_wrong_kinds
from ai_lessons.approval import decisions, outcomes, state
from ai_lessons.approval.decisions import ProposalRequest
from ai_lessons.approval.outcomes import Rejection
from ai_lessons.approval.proposals import OpenProposal
from ai_lessons.approval.signatures import (
    COMMAND,
    LIMIT,
    PinnedSigners,
    notes_on_signers,
    parse_signers,
)
from ai_lessons.approval.state import odd_commits
from ai_lessons.errors import (
    AiLessonsError,
    AmbiguousName,
    Conflict,
    InvalidEntry,
    NotFound,
    Problem,
    Refused,
    UsageError,
)
from ai_lessons.git import external_files, plumbing
from ai_lessons.git.approval_branch import branch_name, tracking
from ai_lessons.git.commits import contained
from ai_lessons.git.objects import blob_of
from ai_lessons.git.store import Change
from ai_lessons.model import frontmatter, markdown
from ai_lessons.model.approval import (
    AGENT_TRAILER,
    REJECTED,
    BranchView,
    UnapprovedChange,
    Verdict,
    moment,
)
from ai_lessons.model.entries import Kind, handle, id_end
from ai_lessons.model.layout import place, side_of
from ai_lessons.model.texts import decode, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.approval.outcomes import TakenProposal
    from ai_lessons.model.entries import Entry


class Decided(NamedTuple):
    """What a person decided, in `commit`, on the proposal of `branch`.

    At `path` lies the entry or the rejection.
    """

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    notes: tuple[str, ...] = ()


class PinnedList(NamedTuple):
    """Whose signatures approve rules, pinned in `file`.

    A line for each key (fingerprint, principals, type).
    """

    file: str
    keys: tuple[str, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class AuditRow(NamedTuple):
    """A rule of the approval branch, its `evidence` (0 to 3), the way in one word, and what lacks evidence there.

    `reason`: which evidence applied, as a sentence.
    """

    id: str
    handle: str
    title: str
    path: str
    in_force: bool
    evidence: int
    how: str
    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str
    problem: str = ""
    reason: str = ""


class Audit(NamedTuple):
    """Every rule with its evidence, and other proposals that were taken.

    Not `ok` with a violation or an alarm.
    """

    rows: tuple[AuditRow, ...]
    alarms: tuple[str, ...]
    ok: bool
    taken: tuple[TakenProposal, ...] = ()


# For interfaces: what several calls ask of git is asked once
one_job = plumbing.once


def pending_rules(opened: Library, batch: Batch | None = None) -> tuple[Pending, ...]:
    """Every proposal that waits for a person, of branches here and on remotes, oldest first.

    Or those of a batch.

    Then what stands on the approval branch without approval, of rules that have no open proposal.
    """
    with open_proposals(opened.primary) as at:
        if batch is not None:
            rules = []
            for proposal in _of_one(batch, at.every.proposals):
                rules.append(_pending(at, proposal))
            return tuple(rules)
        pending = [_pending(at, proposal) for proposal in at.waiting]
        proposed = {rule.id for rule in pending}
        lacking = _judged(at.repo).unapproved()
        standing = []
        for verdict, change in lacking:
            with suppress(NotFound):
                # a text that is too long or damaged, as readers are told
                if verdict.rule not in proposed:
                    standing += [_pending_standing(at, verdict, change)]
        return (*pending, *standing)


def pending_rule(opened: Library, ref: str) -> Pending:
    """One of them, as a person has to see it before it is decided about.

    Raises NotFound, AmbiguousName.
    """
    with open_proposals(opened.primary) as at:
        waiting = _find(at, ref)
        if isinstance(waiting, OpenProposal):
            return _pending(at, waiting)
        return _pending_standing(at, *waiting)


def _find(at: ProposalContext, ref: str) -> OpenProposal | tuple[Verdict, UnapprovedChange]:
    """The proposal that is meant, else the text on the approval branch that waits for approval."""
    try:
        return at.find(ref)
    except AmbiguousName:
        raise
    except NotFound:
        return _standing(at, ref)


def _pending(at: ProposalContext, proposal: OpenProposal) -> Pending:
    entry, handle = at.entry(proposal), at.called(proposal)
    if entry and proposal.sort != "removal":
        speaks = objections(at, entry, handle)
    else:
        speaks = Objections()
    if entry:
        unread = []
    else:
        unread = ["its text cannot be read"]
    conflicts = [
        *filter(None, [proposal.smuggled]),
        *at.faults(proposal),
        *unread,
        *speaks.contradictions,
    ]
    if entry:
        title = entry.title
    else:
        title = proposal.branch
    if entry:
        body = entry.body
    else:
        body = at.text(proposal).decode("utf-8", "replace")
    return described(
        at,
        entry,
        _files(at, proposal),
        id=proposal.entry,
        handle=handle,
        title=title,
        branch=proposal.branch,
        remote=proposal.remote,
        kind=at.what(proposal),
        change=proposal.sort,
        suggested_by=_suggested_by(proposal),
        suggested_at=moment(proposal.at),
        commit=proposal.commit,
        conflicts=tuple(conflicts),
        similar=speaks.similar,
        rejected_before=speaks.rejected_before,
        body=body,
        path=proposal.path,
        report=proposal.report,
        batch=proposal.batch,
    )


def _files(at: ProposalContext, proposal: OpenProposal) -> list[ProposedFile]:
    """The files: those of a rule beside the text in force, others beside what the approval branch has."""
    if proposal.is_rule:
        new = None
        if proposal.sort != "removal":
            new = at.text(proposal)
        return [proposed_file(proposal.path, at.text_in_force(proposal.entry), new)]
    files = []
    for piece in (piece for piece in proposal.pieces if not piece.done):
        old, new = (
            at.read(piece.path, blob)
            for blob in (piece.here, piece.new if piece.is_plain else None)
        )
        files.append(proposed_file(piece.path, old, new))
    return files


def _suggested_by(proposal: OpenProposal) -> str:
    agent = next((value for key, value in proposal.trailers if key == AGENT_TRAILER), "")
    return ", ".join(map(str, proposal.suggested_by)) + (f" (agent {agent})" if agent else "")


class Batch(NamedTuple):
    """Which proposals of rules are meant.

    Of a project, of one import, or whose path or branch a pattern names.

    `of`: a branch; of the import, those that the same person proposed.
    """

    project: str = ""
    batch: str = ""
    globs: Sequence[str] = ()
    of: str = ""

    def covers(self, proposal: OpenProposal) -> bool:
        """Whether it is one of them; every condition that is given has to hold."""
        where = None
        if proposal.is_rule:
            where = place(proposal.path)
        names = (proposal.path, proposal.branch)
        return (
            where is not None
            and self.project in {"", where.project}
            and (not self.batch or proposal.batch == self.batch.upper())
            and (
                not self.globs
                or any(fnmatchcase(name, glob) for glob in self.globs for name in names)
            )
        )


def _of_one(batch: Batch, every: Sequence[OpenProposal]) -> list[OpenProposal]:
    """The proposals that it covers.

    Of an import those of one author, and where several claim it, who made it here.

    Raises Conflict: several do, none here.
    """
    covered = []
    for proposal in every:
        if batch.covers(proposal):
            covered.append(proposal)
    if not batch.batch or not covered:
        return covered
    makers = {proposal.makers for proposal in covered if not proposal.remote}
    makers = makers or {proposal.makers for proposal in covered}
    if batch.of:
        makers = {proposal.makers for proposal in covered if proposal.branch == batch.of}
    if len(makers) > 1:
        names = " and of ".join(sorted({str(maker[0]) for maker in makers}))
        hint = "approve them by id, or as a pattern names them"
        raise Conflict(
            f"import {batch.batch} has proposals of {names}, and is of one person", hint=hint
        )
    return [proposal for proposal in covered if proposal.makers in makers]


@plumbing.once()
def approve_rule(
    opened: Library, ref: str, *, sign: bool = False, expect: str | None = None
) -> Decided:
    """Merge a proposal (named by branch, handle, id or path) into the approval branch.

    Its rule is in force.

    Where that branch is checked out, files and git's index come along. `sign`: the merge has to be
    signed, as it always has where the policy asks for it. What stands on the branch without
    approval can be named, too. `expect` is the `Pending.commit` shown. Raises NotFound,
    AmbiguousName, Refused, Conflict, InvalidEntry.
    """
    repo = opened.primary
    with deciding(repo, "approve") as at:
        waiting = _find(at, ref)
        if not isinstance(waiting, OpenProposal):
            return _approve_standing(at, *waiting, expect, sign=sign)
        refuse_changed(waiting.commit, expect)
        (done,) = _approve(at, [waiting], at.title(waiting), sign=sign)
    return done


@plumbing.once()
def approve_rules(
    opened: Library, chosen: Mapping[str, str], title: str, *, sign: bool = False
) -> tuple[Decided, ...]:
    """Merge many proposals of rules (branch.

    The `Pending.commit` shown) in as few commits as may be, all or none each.

    Raises as `approve_rule`; what was merged before that stays.
    """
    repo = opened.primary
    done: list[Decided] = []
    left = iter(chosen.items())
    # one commit merges 400 proposals: their names take most of what is read of a commit's message
    while chunk := list(islice(left, 400)):
        with deciding(repo, "approve") as at:
            open_now = {}
            for proposal in at.every.proposals:
                open_now[proposal.branch] = proposal
            if gone := next((branch for branch, _ in chunk if branch not in open_now), None):
                raise NotFound(
                    "open proposal", gone, hint="it was decided or taken back meanwhile: look again"
                )
            for branch, commit in chunk:
                refuse_changed(open_now[branch].commit, commit)
            done += _approve(
                at, [open_now[branch] for branch, _ in chunk], f"{len(chunk)} {title}", sign=sign
            )
    return tuple(done)


def _approve(
    at: ProposalContext, several: Sequence[OpenProposal], title: str, *, sign: bool
) -> tuple[Decided, ...]:
    """Merge them in one commit.

    Raises InvalidEntry, UsageError, Conflict: one of them is not fit.
    """
    repo, first, require = at.repo, several[0], at.trunk.view.policy.require
    named = [(at.title(proposal), at.called(proposal)) for proposal in several]
    # what breaks the format must not get on the approval branch
    for proposal in (proposal for proposal in several if proposal.sort != "removal"):
        if new := [fault for fault in at.faults(proposal) if fault not in proposal.faults]:
            raise Conflict(
                f"{proposal.branch} cannot be taken as it is: {new[0]}",
                hint="mend it, or reject this one",
            )
        _checked(at, proposal, {})
    sign = sign or (first.is_rule and require == "signed")
    done = decisions.approve(
        repo.store, at.git, at.trunk, several, title, what=at.what(first), sign=sign
    )
    # only to spare the next reader a look at the history: it is known what this approval changes
    with suppress(AiLessonsError):
        state.derive(repo.store.worktree, at.trunk.ref, at.trunk.signers, anew=True)
    repo.current()
    notes = list(done.notes)
    if not first.is_rule and repo.store.head().ref != at.trunk.ref:
        notes.append(f"it is on {at.trunk.name}; here it is found once that is checked out")
    if first.is_rule and require == "forge":
        remote = branch_name(tracking(repo.store.worktree, at.trunk.ref)).partition("/")[0]
        notes.append(f"it is in force once it is on the forge: git push {remote} {at.trunk.name}")
    for proposal in several if require == "signed" else ():
        if proposal.is_rule and proposal.sort != "removal":
            notes += _what_is_missing(repo, proposal.entry)
    *decided, last = (
        Decided(proposal.entry, handle, name, proposal.path, proposal.branch, done.commit)
        for proposal, (name, handle) in zip(several, named, strict=True)
    )
    return (*decided, last._replace(notes=tuple(dict.fromkeys(notes))))


def _checked(
    at: ProposalContext,
    proposal: OpenProposal,
    changed: Mapping[str, bytes],
    was: Entry | None = None,
) -> Entry:
    """The entry that a proposal would be, with these files of it changed.

    Raises as `checked`, `refuse_wrong_kinds`.
    """
    files = {**at.files(proposal), **changed}
    if proposal.path not in files:
        raise InvalidEntry(
            [Problem(proposal.path, "is not there, so its description describes nothing")]
        )
    entry = checked(proposal.path, files[proposal.path], files.get(side_of(proposal.path)), was=was)
    refuse_wrong_kinds(at.repo.catalog, entry.kind, (link[:2] for link in entry.links))
    return entry


@plumbing.once()
def reject_rule(
    opened: Library, ref: str, *, reason: str = "", expect: str | None = None
) -> Decided:
    """Turn a proposal down.

    A record with reason and text on the approval branch, and its branch is deleted.

    `expect` is the `Pending.commit` shown. Raises NotFound, AmbiguousName, Refused, Conflict.
    """
    repo = opened.primary
    with deciding(repo, "reject") as at:
        proposal = at.find(ref)
        refuse_changed(proposal.commit, expect)
        title, handle, now = at.title(proposal), at.called(proposal), repo.options.now()
        texts = {path: data.decode("utf-8", "replace") for path, data in at.files(proposal).items()}
        # a text that would bring a secret to the approval branch is not kept
        texts = {path: "" if secrets.secrets_in(text) else text for path, text in texts.items()}
        text, paths = ("", ()) if proposal.sort == "removal" else outcomes.joined(texts)
        record = Rejection(
            entry=proposal.entry,
            title=title,
            reason=" ".join(reason.split()),
            proposal=proposal.name,
            commit=proposal.commit,
            path=proposal.path,
            suggested_by=_suggested_by(proposal),
            at=frontmatter.stamp(now),
            text=text,
            what=at.what(proposal),
            files=paths,
        )
        write_checks.refuse(repo, {record.path: reason.encode()})
        record_name = frontmatter.new_id(now)
        done = decisions.reject(repo.store, at.git, at.trunk, proposal, record, record_name)
        path = outcomes.record_path(REJECTED, record_name, title, record.at)
    return Decided(proposal.entry, handle, title, path, proposal.branch, done.commit, done.notes)


@plumbing.once()
def take_back(opened: Library, commit: str) -> Suggested:
    """Take a decision about one proposal back by the next one.

    It waits again, as its author proposed it.

    `commit` is the `Decided.commit`. What was approved is undone by a proposal of its own, which is
    approved. Raises NotFound: no such decision. Conflict: what it changed was changed again.
    Refused.
    """
    repo = opened.primary
    with deciding(repo, "take back a decision about") as at:
        decision = decisions.read_decision(repo.store, at.git, at.trunk, commit)
        if decision.taken and at.trunk.view.policy.distinct:
            hint = "propose its removal, or the text before, which another person approves"
            raise Refused(
                "here nobody approves alone, so nobody takes an approval back alone", hint=hint
            )
        if decision.taken:
            before, after = (
                {
                    path: at.read(path, blob_of(versions[side]))
                    for path, versions in decision.taken.items()
                }
                for side in (0, 1)
            )
            texts = {}
            for path in after:
                texts[path] = after[path] or before[path]
            entries = (entry_of(path, texts) for path in texts)
            entry = next((entry for entry in entries if entry and entry.id == decision.entry), None)
            if entry is None:
                raise Conflict(f"{min(texts)} cannot be read, so its approval is not taken back")
            made = make(at, entry, before, f"Take back: {entry.title}")
    if decision.taken:
        approve_rule(opened, made.branch, expect=made.commit)
    with deciding(repo, "take back a decision about") as at:
        again = decisions.reopen(repo.store, at.git, at.trunk, decision)
        proposal = at.find(again.branch)
        names = proposal.entry, at.called(proposal), at.title(proposal), proposal.path
    return Suggested(*names, again.branch, again.commit, again.notes)


@plumbing.once()
def edit_proposal(
    opened: Library, ref: str, editor: Callable[[str, str], str | None], expect: str | None = None
) -> Suggested | None:
    """One more commit with what `editor(text, suffix)` gave; None if nothing was changed.

    Raises InvalidEntry.
    """
    repo = opened.primary
    repo.refuse_other_formats()
    with open_proposals(repo) as at:
        proposal = at.find(ref)
        refuse_changed(proposal.commit, expect)
        path = proposal.piece.path
        if proposal.sort == "removal":
            raise UsageError(f"{proposal.branch} is a removal; there is no text to edit")
        old = decode(at.text(proposal), path)
        new = editor(old, os.path.splitext(path)[1] or ".txt")
        if new is None or new == old:
            return None
        data, handle = new.encode(), at.called(proposal)
        entry = _checked(at, proposal, {path: data}, at.entry(proposal))
        repo.guard([Change(path, data)])
        allowed = write_checks.refuse(repo, {path: data}, old)
        warnings = objections(at, entry, handle).warnings
        wish = ProposalRequest(
            entry=proposal.entry,
            stem="",
            subject=f"Edit proposal: {entry.title}",
            files={path: data},
            trailers=allowed,
            actor=write_checks.actor(repo),
        )
        made = decisions.amend(repo.store, at.git, proposal, wish)
    return Suggested(
        proposal.entry,
        handle,
        entry.title,
        path,
        made.branch,
        made.commit,
        (*warnings, *made.notes),
    )


def state_reason(
    opened: Library, ref: str, reason: str, expect: str | None = None
) -> Suggested | None:
    """One more commit on a proposal that says why; None if it says so already.

    Raises as `edit_proposal`.
    """
    words = one_line(reason, 1_000)
    return edit_proposal(
        opened, ref, lambda text, _: markdown.edit(text, {"rationale": words}), expect
    )


@plumbing.once()
def audit(library: Library) -> Audit:
    """Who approved which rule, when, by which commit and evidence.

    And all that violates the policy.
    """
    repo = library.primary
    repo.current()
    view = repo.rules.view()
    if view is None:
        return Audit((), ("there is no approval branch, so no rule is in force",), ok=False)
    verdicts = [
        verdict for verdict in view.verdicts.values() if verdict.in_force or verdict.unapproved
    ]
    rows = sorted(
        (_row(repo, view, verdict) for verdict in verdicts), key=lambda row: (row.path, row.id)
    )
    alarms = tuple(
        f"{alarm.message} ({alarm.hint})" if alarm.hint else alarm.message for alarm in view.alarms
    )
    odd = odd_commits(repo.store.worktree, view.ref)
    alarms += tuple(
        f"commit {commit[:10]} proves nothing: {what} (look: git fsck)" for commit, what in odd
    )
    ok = not alarms and not any(row.problem for row in rows)
    signing_notes: Iterable[str] = ()
    if view.policy.require == "signed":
        signing_notes = notes_on_signers(view, repo.rules.signers(view.ref))
    taken = outcomes.taken_on(repo.store.worktree, repo.rules.ref())
    return Audit(tuple(rows), (*alarms, *view.damaged, *signing_notes), ok, tuple(taken))


def coming(repo: RepositorySession) -> tuple[list[str], list[Problem]]:
    """What a pull request of the commits here would do to rules in force.

    Notes, and problems with what it hides.

    Raises UnsupportedRepository.
    """
    view, head = repo.rules.view(), repo.store.head().commit
    worktree = repo.store.worktree
    if view is None or not view.tip or not head or contained(worktree, view.tip, [head]):
        return [], []
    after = state.after_merge(worktree, view, head, repo.rules.signers(view.ref))
    if after is None:
        return [
            (
                f"a merge into {branch_name(view.ref)} would conflict, so what it does to "
                "rules cannot be told"
            )
        ], []
    names = plumbing.output(
        worktree, "diff", "--name-only", "-z", "--no-renames", f"{view.tip}...{head}"
    ).split(b"\0")
    shown = set()
    for name in names:
        shown.add(os.fsdecode(name).removeprefix(worktree.prefix))
    notes, hidden = [], []
    for rule in sorted({*view.verdicts, *after.verdicts}):
        before, now = view.verdicts.get(rule), after.verdicts.get(rule)
        was, is_now = (
            verdict.blob if verdict and verdict.in_force else None for verdict in (before, now)
        )
        if was == is_now:
            continue
        if was is None:
            does = "bring"
        elif is_now:
            does = "change"
        else:
            does = "remove"
        path = (now.path if now and now.path else None) or (before.path if before else None) or ""
        text = f"a merge would {does} rule {handle(Kind.RULE, rule)} ({path})"
        if path in shown:
            notes.append(text)
        else:
            hidden.append(Problem(path, f"{text}, and its changes do not show that"))
    return notes, hidden


def _row(repo: RepositorySession, view: BranchView, verdict: Verdict) -> AuditRow:
    evidence = verdict.evidence
    path = verdict.path or next((arrival.path for arrival in verdict.unapproved), "")
    summary = repo.catalog.many([verdict.rule]).get(verdict.rule)
    problems = []
    for arrival in verdict.unapproved:
        problems.append(
            f"{'a text' if arrival.blob else 'its removal'} at {arrival.path} is on {branch_name(view.ref)}"
            f" without approval: {arrival.evidence.reason}"
        )
    if summary:
        title = summary.title
    else:
        title = path
    if verdict.in_force:
        approved_at = moment(evidence.at)
    else:
        approved_at = ""
    if verdict.in_force:
        reason = evidence.reason
    else:
        reason = ""
    return AuditRow(
        id=verdict.rule,
        handle=summary.handle if summary else handle(Kind.RULE, verdict.rule),
        title=title,
        path=path,
        in_force=verdict.in_force,
        evidence=evidence.level,
        how=evidence.how,
        approved_by=str(evidence.by or ""),
        approved_at=approved_at,
        suggested_by=", ".join(map(str, evidence.suggested_by)),
        commit=evidence.commit,
        problem="; ".join(problems),
        reason=reason,
    )


def acknowledge(library: Library, ask: Callable[[str], bool] | None) -> Audit:
    """Take the approval branch as it is now for what was seen last, if `ask` agrees.

    Raises Refused, StorageFailed.
    """
    repo = library.primary
    repo.options.refuse_agents("acknowledge alarms", "ai-lessons admin audit --acknowledge")
    worktree, ref = repo.store.worktree, repo.rules.ref()
    # what stands at a new address can only be looked at once it is taken for the forge's
    if (
        ref
        and state.derive(worktree, ref, repo.rules.signers(ref)).policy.require == "forge"
        and (moved := state.moved_forge(worktree, ref))
    ):
        _agree(
            ask,
            (
                f"rules are in force as they stand on {moved[0]}, which is no remote any "
                f"more; {moved[1]} is"
            ),
        )
        state.acknowledge_forge(worktree, ref, moved[1])
    current = audit(library)
    if not current.alarms:
        return current
    views = repo.rules.snapshot().views
    _agree(ask, "\n".join(current.alarms))
    for view in views:
        state.acknowledge(worktree, view, view.stated)
    return audit(library)


def _agree(ask: Callable[[str], bool] | None, alarms: str) -> None:
    """Raises Refused.

    The person does not accept what raised the alarms, or there is nobody to ask.
    """
    if ask is None:
        raise Refused(
            "alarms are looked at by a person, and there is no terminal to ask on", hint="--yes"
        )
    if not ask(alarms):
        raise Refused("the alarms stay; nothing was changed")


def _named_in(data: bytes, file: Path | None) -> list[str]:
    """The signers that a list names. Raises UsageError: none."""
    if not (named := [str(signer) for signer in parse_signers(data)]):
        hint = "a line each: ADDRESS and the public key, or ADDRESS openpgp FINGERPRINT"
        raise UsageError(f"{file} names no signer", hint=hint)
    return named


def signers(
    library: Library,
    file: Path | None,
    ask: Callable[[str, list[str]], bool] | None,
    *,
    copy: bool = False,
    name: str = "",
) -> PinnedList:
    """Whose signatures approve rules here.

    With a `file` exactly those on it from now on, if `ask` agrees.

    `copy`: this is a copy of the repository that a list is for, so its address finds that list from
    now on. `name`: what the lines of approval here call the list, where that was made at another
    address. Raises NotFound, Refused, UsageError, StorageFailed.
    """
    repo = library.primary
    ref = repo.rules.ref()
    if ref is None:
        raise NotFound(
            "approval branch in",
            str(repo.store.root),
            hint="commit something on a branch called main",
        )
    pinned = repo.rules.signers(ref)
    present, by_address = pinned.matching()
    before = [str(signer) for signer in pinned.read() or ()]
    if file is None and not copy:
        return PinnedList(str(pinned.file()), tuple(before))
    repo.options.refuse_agents("say whose signatures count", f"{COMMAND} FILE")
    if file is None and (present is None or by_address):
        raise UsageError(
            "no list of another address was found for this repository, so there is "
            "nothing to add it to"
        )
    data = (
        external_files.read(repo.options.cwd / file, LIMIT)[0]
        if file is not None
        else present.data
        if present
        else b""
    )
    listed = _named_in(data, file)
    replaced = bool(present) and (by_address or copy)
    gone = [signer for signer in before if signer not in listed] if replaced else []
    changes = list(_what_changes(repo, ref, pinned, data)) if gone and ask else []
    _ask_for_trust(ask, repo.store.root.name, listed, gone, changes)
    pinned.pin(data, copy=copy, name=name)
    repo.current()
    added = tuple(signer for signer in listed if signer not in before)
    if changes:
        changes.append(
            "to keep what was served, look at these and sign them again: ai-lessons admin "
            "review-rules"
        )
    file_now = str(repo.rules.signers(ref).file())
    return PinnedList(file_now, tuple(listed), added, tuple(gone), (*changes, *repo.rules.notes))


def _ask_for_trust(
    ask: Callable[[str, list[str]], bool] | None,
    name: str,
    listed: list[str],
    gone: list[str],
    changes: list[str],
) -> None:
    """Ask the person whether these keys approve rules, with what that changes.

    Raises Refused: no.
    """
    if ask is None:
        raise Refused(
            "whom to trust is a person's decision, and there is no terminal to ask on", hint="--yes"
        )
    if gone:
        less = f" (and these no longer: {', '.join(gone)})"
    else:
        less = ""
    if changes:
        consequences = f"; {'; '.join(changes)}"
    else:
        consequences = ""
    if not ask(f"{name}: trust these keys to approve rules{less}{consequences}?", listed):
        raise Refused("no key is trusted that was not before; nothing was changed")


def _what_changes(
    repo: RepositorySession, ref: str, pinned: PinnedSigners, data: bytes
) -> Iterator[str]:
    """The rules that another list of signers would change."""
    before = _judged(repo)
    after = state.derive(repo.store.worktree, ref, pinned.with_data(data), only_look=True)
    for rule, verdict in sorted(before.verdicts.items()):
        now = after.verdicts.get(rule)
        if verdict.in_force and (now is None or now.blob != verdict.blob):
            if now and now.in_force:
                goes = "goes back to an earlier text"
            else:
                goes = "is not in force any more"
            yield f"{handle(Kind.RULE, rule)} {verdict.path} {goes}"


# The sort of what waits on the approval branch itself
STANDING = "standing"


def _standing(at: ProposalContext, ref: str) -> tuple[Verdict, UnapprovedChange]:
    """The text on the approval branch that is meant and waits for approval.

    Raises NotFound, AmbiguousName.
    """
    path, end, every = at.repo.inside(ref) or ref, id_end(ref), list(_judged(at.repo).unapproved())
    named = []
    for pair in every:
        if path == pair[1].path:
            named.append(pair)
    named = named or [
        pair for pair in every if len(end) >= SHORTEST_END and pair[0].rule.endswith(end)
    ]
    if len(named) > 1:
        raise AmbiguousName(ref, [change.path for _, change in named])
    if not named:
        handles = [*at.nearest(ref), *(at.handle(verdict.rule) for verdict, _ in every)]
        if handles:
            hint = ""
        else:
            hint = "no proposal waits: ai-lessons admin review-rules --list"
        raise NotFound("open proposal", ref, suggestions=handles[:5], hint=hint)
    return named[0]


def _approve_standing(
    at: ProposalContext,
    verdict: Verdict,
    change: UnapprovedChange,
    expect: str | None,
    *,
    sign: bool,
) -> Decided:
    """Approve what stands on the approval branch already: a text, or the removal of one."""
    repo, handle, policy = at.repo, at.handle(verdict.rule), at.trunk.view.policy
    refuse_changed(change.blob or "", expect)
    if change.blob:
        title = checked(change.path, repo.rules.text(verdict.rule, change.path, change.blob)).title
    else:
        title = repo.load(verdict.rule)[0].title
    sign = sign or policy.require == "signed"
    text = change.path, change.blob
    done = decisions.approve_standing(
        repo.store, at.git, at.trunk, verdict.rule, text, title, sign=sign
    )
    repo.current()
    notes_after = (*done.notes, *(_what_is_missing(repo, verdict.rule) if change.blob else ()))
    return Decided(
        verdict.rule, handle, title, change.path, at.trunk.name, done.commit, notes_after
    )


def _what_is_missing(repo: RepositorySession, rule: str) -> Iterator[str]:
    """Why a rule that was approved is not in force yet, if so. Call `current` first."""
    view = _judged(repo)
    verdict = view.verdicts.get(rule)
    if verdict is None or (verdict.in_force and not verdict.unapproved):
        return
    if verdict.unapproved:
        reason = verdict.unapproved[0].evidence.reason
    else:
        reason = verdict.evidence.reason
    yield f"it is not in force yet: {next(notes_on_signers(view, repo.rules.signers(view.ref)), reason)}"


def _judged(repo: RepositorySession) -> BranchView:
    view = repo.rules.view()
    if view is None:
        raise NotFound("approval branch in", str(repo.store.root))
    return view


def _pending_standing(at: ProposalContext, verdict: Verdict, change: UnapprovedChange) -> Pending:
    blob = change.blob or verdict.blob or ""
    data = at.repo.rules.text(
        verdict.rule, change.path if change.blob else verdict.path or change.path, blob
    )
    entry = entry_of(change.path, {change.path: data})
    return described(
        at,
        entry,
        [proposed_file(change.path, at.text_in_force(verdict.rule), data if change.blob else None)],
        id=verdict.rule,
        handle=at.handle(verdict.rule),
        title=entry.title if entry else change.path,
        branch=at.trunk.name,
        remote=not at.trunk.ref.startswith("refs/heads/"),
        kind=Kind.RULE.value,
        change=STANDING,
        suggested_by=", ".join(map(str, change.evidence.suggested_by)),
        suggested_at=moment(change.evidence.at),
        commit=change.blob or "",
        conflicts=(change.evidence.reason,) if change.evidence.reason else (),
        similar=(),
        rejected_before="",
        body=entry.body if entry else data.decode("utf-8", "replace"),
        path=change.path,
    )
