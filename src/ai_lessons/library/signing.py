"""The policy `signed`: which keys count here, what signatures put in force, and signing with a person's own key.

Loads `cryptography`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, AmbiguousName, NotFound, Refused
from ai_lessons.knowledge import frontmatter
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.gate import checked
from ai_lessons.library.proposal_context import (
    ProposalContext,
    deciding,
    described,
    entry_of,
    proposed_file,
    refuse_changed,
)
from ai_lessons.library.reports import Decided, Pending
from ai_lessons.repository import proposal_commits
from ai_lessons.repository.approval.approval_types import BranchView, UnapprovedChange, Verdict, moment
from ai_lessons.repository.approval.record_chain import Decision, Record, text_digest
from ai_lessons.repository.approval.rule_files import SIGNERS
from ai_lessons.repository.approval.rule_history import read_blobs
from ai_lessons.repository.approval.signed import decide, repository_name, with_signatures
from ai_lessons.repository.approval.signers import PinnedKeys, Signer, fingerprint, key_type, parse_signers
from ai_lessons.repository.store import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ai_lessons.library.opened import Library
    from ai_lessons.library.options import Options
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.proposals import Waiting
    from ai_lessons.repository.worktree import Worktree

COMMAND = "ai-lessons admin trust-keys"


class Trusted(NamedTuple):
    """The keys that count for one repository, and why the list inside it does not, if it does not.

    None: no person was asked whom to trust yet, so no key counts.
    """

    repository: str
    signers: tuple[Signer, ...] | None
    reason: str = ""


class Signatures:
    """Judges views by signatures. For one thread at a time."""

    def __init__(self, worktree: Worktree, options: Options) -> None:
        self._worktree, self._options = worktree, options
        self._asked = False
        self.notes: tuple[str, ...] = ()

    def judge(self, view: BranchView) -> BranchView:
        """The view with verdicts by signatures; the first time it asks whom to trust. Raises Refused, StorageFailed."""
        if view.tip is None:
            return view
        trusted = self.trusted(view)
        text, keys = (b"", ()) if trusted.signers is not None else self.proposed(view)
        ask = None if self._options.agent or self._asked else self._options.ask_keys
        # a history that was rewritten down to its first commit would pass for a new repository: alarms come first
        if keys and ask is not None and not view.alarms:
            self._asked = True
            question = f"{self._worktree.root.name}: rules here need signatures. Trust these keys to approve them?"
            if ask(question, told_of(keys)):
                self.pin(trusted.repository, text)
                trusted = self.trusted(view)
        self.notes = ()
        if trusted.signers is None:
            hint = COMMAND if keys else f"list them in {SIGNERS} on the approval branch"
            note = f"approvals have to be signed here, and no keys are trusted yet: no rule is in force ({hint})"
            self.notes = (note,)
            return view
        if not trusted.signers:
            self.notes = (f"approvals have to be signed here, and the list of trusted keys is empty: {COMMAND}",)
        elif trusted.reason:
            note = f"{trusted.reason}, so only the keys count that you trusted before ({COMMAND})"
            self.notes = (note,)
        return with_signatures(
            self._worktree,
            view,
            trusted.signers,
            repository=trusted.repository,
            now=self._options.now().timestamp(),
            threshold=view.policy.threshold,
        )

    def trusted(self, view: BranchView) -> Trusted:
        """The keys that count now for this branch. Asks no person."""
        name = repository_name(self._worktree, view.ref, view.tip or "")
        data = PinnedKeys(self._options.config_dir, name).read()
        if data is None:
            return Trusted(name, None)
        pinned = parse_signers(data.decode("utf-8", "replace"))
        # whoever pushes can order lists as he likes, signed ones too: only a person here takes another one
        same = SIGNERS not in view.files or view.files[SIGNERS] == blob_id(data)
        return Trusted(name, pinned, "" if same else "the list of signers in the repository is another one")

    def proposed(self, view: BranchView) -> tuple[bytes, tuple[Signer, ...]]:
        """The list inside the repository, as text and as far as it can be read; empty if there is none."""
        blob = view.files.get(SIGNERS)
        found = read_blobs(self._worktree, {blob}) if blob else {}
        if blob and blob not in found:
            raise AiLessonsError(f"{SIGNERS} is missing in git", hint="git fsck")
        text = found[blob] if blob else b""
        return text, parse_signers(text.decode("utf-8", "replace"))

    def pin(self, repository: str, text: bytes) -> str:
        """Trust exactly the keys of this list from now on; the file that says so."""
        pinned = PinnedKeys(self._options.config_dir, repository)
        pinned.pin(text)
        return str(pinned.file)


def told_of(keys: Iterable[Signer]) -> list[str]:
    """A line for each key, for people: fingerprint, principals, type."""
    return [f"{fingerprint(one.key)} {one.principals} ({key_type(one.key)})" for one in keys]


UNSIGNED = "unsigned"  # The sort of what waits on the approval branch itself for signatures


def signed(at: ProposalContext, one: Waiting) -> Mapping[str, bytes]:
    """The files of a signed record that takes a proposal (a removal: revokes the rule), by path. Raises Refused."""
    return _record(at, one.entry, one.piece.path, at.text(one), "revoke" if one.sort == "removal" else "approve")


def _record(at: ProposalContext, rule: str, path: str, data: bytes, decision: Decision) -> Mapping[str, bytes]:
    now = at.repo.options.now()
    trusted = at.repo.rules.signatures.trusted(at.trunk.view)
    wanted = Record(trusted.repository, rule, path, text_digest(data), decision, None, frontmatter.stamp(now))
    name = frontmatter.new_id(now)
    return decide(at.trunk, wanted, name, signers=trusted.signers or (), interactive=os.isatty(0))


def unsigned_rules(at: ProposalContext) -> list[Pending]:
    """What is on the approval branch already and lacks signatures; nothing where none are asked for."""
    return [_pending(at, verdict, one) for verdict, one in _unsigned(at)]


def approve_standing(repo: RepositorySession, ref: str, expect: str | None) -> Decided:
    """Sign a text that is on the approval branch already, merged or signed by others."""
    with deciding(repo, "approve") as at:
        path, end = at.repo.inside(ref) or ref, ref.strip().upper().removeprefix(f"{Kind.RULE.letter}-")
        every = _unsigned(at)
        named = [pair for pair in every if path == pair[1].path]
        named = named or [pair for pair in every if len(end) >= 4 and pair[0].rule.endswith(end)]
        if len(named) > 1:
            raise AmbiguousName(ref, [one.path for _, one in named])
        if not named:
            known = [at.handle(verdict.rule) for verdict, _ in every[:5]]
            raise NotFound("open proposal or unsigned rule", ref, suggestions=known)
        verdict, one = named[0]
        refuse_changed(one.blob or "", expect)
        data = repo.rules.text(verdict.rule, one.path, one.blob or "")
        entry = checked(one.path, data)
        records = _record(at, verdict.rule, one.path, data, "approve")
        subject = f"Sign approval of rule: {entry.title}"
        done = proposal_commits.put(repo.store, at.git, at.trunk, verdict.rule, subject, records)
        handle = at.handle(verdict.rule)
    repo.current()
    notes = (*done.notes, *what_is_missing(repo, verdict.rule))
    return Decided(verdict.rule, handle, entry.title, one.path, at.trunk.name, done.commit, notes)


def revoke_rule(library: Library, ref: str) -> Decided:
    """Take a rule out of force by a signed record, where approvals are signed; its file stays where it is.

    Raises NotFound, AmbiguousName, Refused (an agent, nothing is signed here, no key), Conflict.
    """
    repo = library.primary
    with deciding(repo, "revoke") as at:
        if at.trunk.view.policy.require != "signed":
            hint = f"propose that it goes: ai-lessons contribute delete {ref}"
            raise Refused(f"approvals are not signed on {at.trunk.name}, so there is nothing to revoke", hint=hint)
        light = repo.resolve(ref)
        verdict = _judged(repo).verdicts.get(light.id)
        if light.kind is not Kind.RULE or verdict is None or not verdict.path or not verdict.blob:
            raise NotFound("rule in force", ref)
        data = repo.rules.text(light.id, verdict.path, verdict.blob)
        records = _record(at, light.id, verdict.path, data, "revoke")
        done = proposal_commits.put(repo.store, at.git, at.trunk, light.id, f"Revoke rule: {light.title}", records)
    repo.current()
    notes = list(done.notes)
    still = _judged(repo).verdicts.get(light.id)
    if still and still.in_force:
        people = at.trunk.view.policy.threshold
        command = f"ai-lessons admin revoke-rule {light.handle}"
        notes.append(f"it is in force until {people} people have revoked it: {command}")
    return Decided(light.id, light.handle, light.title, verdict.path, at.trunk.name, done.commit, tuple(notes))


def what_is_missing(repo: RepositorySession, rule: str) -> Iterator[str]:
    """Why a rule that was signed is not in force yet, if so. Call `current` first."""
    verdict = _judged(repo).verdicts.get(rule)
    if verdict is None or (verdict.in_force and not verdict.unapproved):
        return
    reason = verdict.evidence.reason or "what was approved before is in force"
    yield f"it is not in force yet: {next(iter(repo.rules.signatures.notes), reason)}"


def _judged(repo: RepositorySession) -> BranchView:
    view = repo.rules.view()
    if view is None:
        raise NotFound("approval branch in", str(repo.store.root))
    return view


def _unsigned(at: ProposalContext) -> list[tuple[Verdict, UnapprovedChange]]:
    """Texts on the branch that only signatures are missing for."""
    view = _judged(at.repo)
    verdicts = [one for _, one in sorted(view.verdicts.items())] if view.policy.require == "signed" else []
    texts = ((verdict, one) for verdict in verdicts for one in verdict.unapproved)
    return [(verdict, one) for verdict, one in texts if one.blob and view.files.get(one.path) == one.blob]


def _pending(at: ProposalContext, verdict: Verdict, one: UnapprovedChange) -> Pending:
    data = at.repo.rules.text(verdict.rule, one.path, one.blob or "")
    entry = entry_of(one.path, {one.path: data})
    return described(
        at,
        entry,
        [proposed_file(one.path, at.text_in_force(verdict.rule), data)],
        id=verdict.rule,
        handle=at.handle(verdict.rule),
        title=entry.title if entry else one.path,
        branch=at.trunk.name,
        remote=not at.trunk.ref.startswith("refs/heads/"),
        kind=Kind.RULE.value,
        change=UNSIGNED,
        suggested_by=", ".join(map(str, one.evidence.suggested_by)),
        suggested_at=moment(one.evidence.at),
        commit=one.blob or "",
        conflicts=(verdict.evidence.reason,) if verdict.evidence.reason else (),
        similar=(),
        rejected_before="",
        body=entry.body if entry else data.decode("utf-8", "replace"),
        path=one.path,
    )
