"""Making signed records of decisions, ready to become files on the approval branch. Judging them is `signed`'s part."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import Refused
from ai_lessons.knowledge.layout import slug
from ai_lessons.repository import git
from ai_lessons.repository.approval.rule_files import APPROVALS
from ai_lessons.repository.approval.rule_history import read_blobs
from ai_lessons.repository.signature.records import NAMESPACE, Chain, Record, chains, joined, parse_record, text_digest
from ai_lessons.repository.signature.signed import RECORD_SUFFIX, record_paths, signed_records
from ai_lessons.repository.signature.signing import sign
from ai_lessons.repository.signature.sshsig import NotVerified

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_lessons.repository.approval.trunk import Trunk
    from ai_lessons.repository.signature.records import Decision, SignedRecord
    from ai_lessons.repository.signature.signers import Signer

KEY_SETTING: Final = "user.signingkey"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A decision about the text `data` at `path`. `at` is ISO 8601 in UTC, `name` a ULID for the record's file."""

    rule: str
    path: str
    data: bytes
    decision: Decision
    at: str
    name: str

    def record(self, repository: str, previous: str | None) -> Record:
        """What is to be signed."""
        digest = text_digest(self.data)
        return Record(repository, self.rule, self.path, digest, self.decision, previous, self.at)


def decide(
    trunk: Trunk, wanted: Wanted, *, repository: str, signers: Sequence[Signer], interactive: bool
) -> Mapping[str, bytes]:
    """The files of a decision with a signature by the user's own key, by path.

    Where others have signed the same decision and more have to, it is one more signature beside their record.
    `signers` are the keys that are trusted; without any, whatever the branch has counts as decided.

    Raises:
        Refused: no key, one that did not sign (see `signing.sign`), or nothing is left to sign.
    """
    key = git.setting(trunk.worktree, KEY_SETTING)
    if not key:
        raise Refused(
            "git does not know which key signs for you",
            hint=f"git config --global {KEY_SETTING} ~/.ssh/id_ed25519.pub",
        )
    before = _Before(trunk, wanted.rule, repository, signers)
    record, path = before.fitting(wanted) or (wanted.record(repository, before.end()), "")
    name = path.rpartition("/")[2].removesuffix(RECORD_SUFFIX) or wanted.name
    email = git.setting(trunk.worktree, "user.email") or "signer"
    record_path, signature_path = record_paths(wanted.rule, name, slug(email))
    if signature_path in trunk.view.files:
        raise Refused(
            f"{email} has signed this already", hint="now others have to: ai-lessons admin approve-rule --sign"
        )
    armoured = sign(record.canonical(), key, NAMESPACE, interactive=interactive).encode()
    return {signature_path: armoured} if path else {record_path: record.canonical(), signature_path: armoured}


class _Before:
    """What was decided about a rule until now: records with enough signatures, and those that wait for more."""

    def __init__(self, trunk: Trunk, rule: str, repository: str, signers: Sequence[Signer]) -> None:
        folder = f"{APPROVALS}{rule}/"
        files = [one for one in trunk.view.records if one.path.startswith(folder)]
        contents = read_blobs(trunk.worktree, {one.blob for one in files})
        found = signed_records(files, contents)
        self._paths = {contents[one.blob]: one.path for one in files if one.blob in contents}
        self._rule, self._repository = rule, repository
        people = trunk.view.policy.threshold
        if signers:
            self._valid = self._chain(found, signers, people)
            self._signed = self._chain(found, signers, 1)
        else:
            self._valid = self._signed = _unjudged(found, rule)
        self._known = bool(signers)

    def _chain(self, found: Iterable[SignedRecord], signers: Sequence[Signer], people: int) -> Chain:
        judged = chains(found, signers, repository=self._repository, threshold=people)
        return judged.get(self._rule) or Chain()

    def end(self) -> str | None:
        """The decision that no other follows; what is signed next settles several that were made side by side."""
        return joined(self._valid.ends())

    def fitting(self, wanted: Wanted) -> tuple[Record, str] | None:
        """The same decision as others made it, to be signed by one more, and its path.

        Raises:
            Refused: enough people have signed it.
        """
        end = self.end()
        last = self._valid.records.get(end or "")
        if last is not None and _same(last, wanted.record(self._repository, last.previous)):
            if self._known:
                by = ", ".join(self._valid.signed_by[end or ""])
                raise Refused(f"this is decided and signed already, by {by}")
            return last, self._paths[last.canonical()]
        for record in self._signed.records.values():
            if record.digest not in self._valid.records and _same(record, wanted.record(self._repository, end)):
                return record, self._paths[record.canonical()]
        return None


def _same(one: Record, other: Record) -> bool:
    """The same decision in the same place, whenever it was made."""
    return (one.repository, one.path, one.sha256, one.decision, one.previous) == (
        other.repository, other.path, other.sha256, other.decision, other.previous,
    )  # fmt: skip


def _unjudged(found: Iterable[SignedRecord], rule: str) -> Chain:
    """Every record that can be read, whoever signed it."""
    records = {}
    for one in found:
        with suppress(NotVerified):  # it decides nothing, so nothing follows it
            record = parse_record(one.data)
            records[record.digest] = record
    return Chain({digest: record for digest, record in records.items() if record.rule == rule})
