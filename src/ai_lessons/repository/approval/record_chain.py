"""The `signed` policy, pure: a rule is approved if its chain of signed records has one end, and that approves it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ai_lessons.repository.approval.signers import NotVerified, Signer, principal
from ai_lessons.repository.approval.ssh_signatures import verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NAMESPACE: Final = "ai-lessons-approval@v1"
FORMAT: Final = 1
RECORD_LIMIT: Final = 4096
Decision = Literal["approve", "revoke", "reject"]
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_DECISIONS: Final = frozenset({"approve", "revoke", "reject"})


class Record(NamedTuple):
    """One decision on a text (`sha256`: its `text_digest`); `previous`: digests, joined by commas, or None."""

    repository: str
    rule: str
    path: str
    sha256: str
    decision: Decision
    previous: str | None
    at: str  # ISO 8601 in UTC to the second, as the signer says, and proof of nothing

    def canonical(self) -> bytes:
        """The bytes that are signed and stored; equal records have equal bytes."""
        return json.dumps({"v": FORMAT, **self._asdict()}, sort_keys=True, separators=(",", ":")).encode()

    @property
    def digest(self) -> str:
        """The name by which the next record points here."""
        return sha256(self.canonical()).hexdigest()

    def follows(self) -> tuple[str, ...]:
        """The digests of the records before: several where this one settles what was decided side by side."""
        return tuple(one for one in (self.previous or "").split(",") if one)

    @property
    def seconds(self) -> float:
        """`at` in seconds since 1970."""
        return seconds_of(self.at)


class SignedRecord(NamedTuple):
    """A record's file as it stands, and the armoured signatures beside it."""

    data: bytes
    signatures: tuple[str, ...]


class RecordFinding(NamedTuple):
    """What the records say about one rule, and the text that they approve, which the branch may not have.

    `gone`: a decision that was seen here before is taken back, so nothing is approved.
    """

    reason: str
    by: tuple[str, ...] = ()
    at: str | None = None
    approved_digest: str | None = None
    approved_path: str | None = None
    gone: bool = False


class Chain(NamedTuple):
    """The valid records of one rule with the people who signed each, and why the others are not valid."""

    records: Mapping[str, Record] = {}
    signed_by: Mapping[str, tuple[str, ...]] = {}
    refused: tuple[str, ...] = ()

    def ends(self) -> tuple[str, ...]:
        """Digests of the records that no other record follows."""
        followed = {one for record in self.records.values() for one in record.follows()}
        return tuple(sorted(set(self.records) - followed))


def seconds_of(at: str) -> float:
    """ISO 8601 in seconds since 1970; ValueError if it is not."""
    return datetime.fromisoformat(at).timestamp()


def text_digest(data: bytes) -> str:
    """SHA-256 (hex) of a text with LF line ends: a checkout with CRLF is the same text."""
    return sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def parse_record(data: bytes) -> Record:
    """Read a record's file. Raises NotVerified."""
    if len(data) > RECORD_LIMIT:
        raise NotVerified(f"the record is longer than {RECORD_LIMIT} bytes")
    try:
        raw = json.loads(data)
        if not isinstance(raw, dict) or raw.pop("v", None) != FORMAT:
            raise NotVerified("the record is of a format that is not known")
        record = Record(**raw)
        fits = record.canonical() == data and record.decision in _DECISIONS and _TIME.fullmatch(record.at)
        texts = all(isinstance(v, str) or (v is None and key == "previous") for key, v in record._asdict().items())
        if not fits or not texts or record.seconds < 0:
            raise NotVerified("the record is not in canonical form")
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise NotVerified("the record cannot be read") from error
    return record


def chains(
    records: Iterable[SignedRecord],
    signers: Sequence[Signer],
    *,
    repository: str,
    now: float,
    threshold: int = 1,
    known: Iterable[str] = (),
) -> dict[str, Chain]:
    """Valid records by rule id: of this repository, signed by `threshold` people, not dated before what they follow.

    Whoever pushes makes the history and its times. So a key counts that is good `now`; of records that were valid here
    before (`known` by digest), and those that they follow, one that was good when they were made.
    """
    parsed: dict[str, Record] = {}
    found: defaultdict[str, tuple[dict[str, Record], dict[str, tuple[str, ...]], list[str]]]
    found = defaultdict(lambda: ({}, {}, []))
    readable = []
    for signed in records:
        try:
            record = parse_record(signed.data)
        except NotVerified:
            continue  # it does not even say which rule it is about
        parsed[record.digest] = record
        readable.append((signed, record))
    waiting, old = list(known), set[str]()
    while waiting:
        if (name := waiting.pop()) not in old and name in parsed:
            old.add(name)
            waiting += parsed[name].follows()
    for signed, record in readable:
        times = (record.seconds,) if record.digest in old else (record.seconds, now)
        who, reason = _signed_by(signed, signers, times)
        valid, people, refused = found[record.rule]
        if record.repository != repository:
            refused.append("a record is about another repository")
        elif len(who) < max(threshold, 1):
            refused.append(f"{len(who)} of {threshold} people have signed" if who else reason)
        else:
            valid[record.digest], people[record.digest] = record, tuple(sorted(who))
    return {rule: Chain(_in_order(valid), people, tuple(refused)) for rule, (valid, people, refused) in found.items()}


def _signed_by(signed: SignedRecord, signers: Sequence[Signer], times: Sequence[float]) -> tuple[set[str], str]:
    """The people whose keys are good at these times and whose signatures hold, and why the last other one does not."""
    who, reason = set(), "a record has no signature"
    for armoured in signed.signatures:
        try:
            key = verify(signed.data, armoured, NAMESPACE)
        except NotVerified as error:
            reason = str(error)
            continue
        reason = "a record is signed with a key that is not trusted for this at that time"
        people = {principal(signers, key, NAMESPACE, at) for at in times}
        who |= {one for one in people if one} if None not in people else set()
    return who, reason


def _in_order(known: Mapping[str, Record]) -> dict[str, Record]:
    """Those that are not dated before a record that they follow."""
    return {
        digest: record
        for digest, record in known.items()
        if all(one not in known or known[one].at <= record.at for one in record.follows())
    }


def joined(ends: Sequence[str]) -> str | None:
    """What a record that follows all of these calls the one before."""
    return ",".join(sorted(ends)) or None


def judge(texts: Mapping[str, str], chain: Chain, seen: str | None = None) -> RecordFinding:
    """What is decided about a rule whose texts (by path) have these digests; `seen`: its chain's end seen before."""
    if seen is not None and seen not in chain.records:
        return RecordFinding(f"record {seen[:12]}, seen here before, is gone: decisions were taken back", gone=True)
    ends = chain.ends()
    if not ends:
        return RecordFinding(chain.refused[0] if chain.refused else "there is no signed record")
    if len(ends) > 1:
        return RecordFinding(f"{len(ends)} decisions were made side by side; one more has to settle it")
    at: str | None = ends[0]
    # a rejection leaves standing what was decided before
    while at is not None and (last := chain.records.get(at)) is not None and last.decision == "reject":
        at = next(iter(last.follows()), None)
    record = chain.records.get(at or "")
    if at is None or record is None:
        return RecordFinding("the only decision is a rejection")
    by = chain.signed_by[at]
    if record.decision == "revoke":
        return RecordFinding(f"revoked by {', '.join(by)}", by, record.at)
    reason, path = f"approved by {', '.join(by)}", next(iter(texts), "")
    if len(texts) > 1:
        reason = f"the rule stands in several files: {', '.join(sorted(texts))}"
    elif not texts:
        reason = "the file was removed without a decision"
    elif texts[path] != record.sha256:
        reason = "the text is not the one that was approved last"
    elif path != record.path:
        reason = f"approved at {record.path}, and stands at {path} now"
    return RecordFinding(reason, by, record.at, record.sha256, record.path)


def remember(remembered: Mapping[str, str], judged: Mapping[str, Chain]) -> dict[str, str]:
    """The ends of chains to remember after a look; a chain that lost the record it had stays as it was remembered."""
    now = dict(remembered)
    for rule, chain in judged.items():
        ends = chain.ends()
        if len(ends) == 1 and (rule not in now or now[rule] in chain.records):
            now[rule] = ends[0]
    return now
