"""What signed records say about a rule: every attack and every honest case, with the verdict beside it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.repository.approval.record_chain import (
    NAMESPACE,
    Chain,
    Record,
    RecordFinding,
    SignedRecord,
    chains,
    joined,
    judge,
    parse_record,
    remember,
    text_digest,
)
from ai_lessons.repository.approval.signers import NotVerified, Signer, parse_signers
from ai_lessons.repository.approval.ssh_signatures import sign

RULE = "01JD3Z8QK5W7M2X9V4T68F3K2A"
PATH = "jira/rules/use-x-8f3k2a.md"
HERE = "one repository"
V1, V2, V3 = (f"---\nid: {RULE}\n---\nUse X{n}\n".encode() for n in ("", " v2", " v3"))
NOW = 1_800_000_000.0
PEOPLE = ("alice", "bob", "mallory")


@dataclass(frozen=True)
class World:
    """Keys of three people, of whom alice and bob are trusted, and a cache of signatures (they cost a process)."""

    keys: Path
    signers: tuple[Signer, ...]
    made: dict[tuple[bytes, str, str], str]

    def signed(self, record: Record, *people: str, namespace: str = NAMESPACE) -> SignedRecord:
        made = (self.signature(record.canonical(), person, namespace) for person in people)
        return SignedRecord(record.canonical(), tuple(made))

    def signature(self, data: bytes, person: str, namespace: str) -> str:
        if (data, person, namespace) not in self.made:
            self.made[data, person, namespace] = sign(data, str(self.keys / person), namespace)
        return self.made[data, person, namespace]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("people")
    lines = []
    for person in (*PEOPLE, "alice-laptop"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / person)], check=True)
        public = (folder / f"{person}.pub").read_text().split()[:2]
        if person != "mallory":
            lines.append(f'{person.partition("-")[0]}@x namespaces="ai-lessons-*" {" ".join(public)}')
    return World(folder, parse_signers("\n".join(lines)), {})


def approve(text: bytes, after: Record | None = None, **other: str) -> Record:
    first = Record(HERE, RULE, PATH, text_digest(text), "approve", None, "2026-01-01T00:00:00Z")
    if after is not None:
        first = first._replace(previous=after.digest, at=after.at.replace("01T", "02T"))
    return first._replace(**other)  # type: ignore[arg-type]  # only text fields are named


FIRST = approve(V1)
SECOND = approve(V2, FIRST)
SIDEWAYS = approve(V3, FIRST)
REVOKED = approve(V2, SECOND, decision="revoke")
REJECTED = approve(V3, SECOND, decision="reject")


def by_alice(*records: Record) -> Callable[[World], Sequence[SignedRecord]]:
    return lambda world: [world.signed(record, "alice") for record in records]


def by(*people: str, namespace: str = NAMESPACE) -> Callable[[World], Sequence[SignedRecord]]:
    return lambda world: [world.signed(FIRST, *people, namespace=namespace)]


LAST = "not the one that was approved last"
CASES = [
    # what happened, the files, the records, how many people are needed, the verdict
    ("approved by alice", {PATH: V1}, by_alice(FIRST), 1, "approved by"),
    ("checked out with CRLF", {PATH: V1.replace(b"\n", b"\r\n")}, by_alice(FIRST), 1, "approved by"),
    ("edited text", {PATH: V1 + b"evil\n"}, by_alice(FIRST), 1, LAST),
    ("one space at the end of a line", {PATH: V1.replace(b"X\n", b"X \n")}, by_alice(FIRST), 1, LAST),
    ("moved file", {"jira/rules/other.md": V1}, by_alice(FIRST), 1, "and stands at"),
    ("a copy with the same id", {PATH: V1, "jira/rules/copy.md": V1}, by_alice(FIRST), 1, "stands in several files"),
    ("signed with a key nobody trusts", {PATH: V1}, by("mallory"), 1, "key that is not trusted"),
    (
        "record of another repository",
        {PATH: V1},
        by_alice(FIRST._replace(repository="another")),
        1,
        "about another repository",
    ),
    ("signature of a commit used again", {PATH: V1}, by("alice", namespace="git"), 1, "was made for 'git'"),
    (
        "record changed after signing",
        {PATH: V1},
        lambda world: [SignedRecord(FIRST._replace(path="b.md").canonical(), world.signed(FIRST, "alice").signatures)],
        1,
        "does not match the text",
    ),
    (
        "second text approved by bob",
        {PATH: V2},
        lambda world: [world.signed(FIRST, "alice"), world.signed(SECOND, "bob")],
        1,
        "approved by",
    ),
    ("downgrade: the first text put back", {PATH: V1}, by_alice(FIRST, SECOND), 1, LAST),
    (
        "downgrade: and the second record removed",
        {PATH: V1},
        by_alice(FIRST),
        1,
        "approved by",
    ),  # memory is needed, below
    ("revoked", {PATH: V2}, by_alice(FIRST, SECOND, REVOKED), 1, "revoked by"),
    ("two approvals side by side", {PATH: V2}, by_alice(FIRST, SECOND, SIDEWAYS), 1, "side by side"),
    ("two people needed, one signed", {PATH: V1}, by("alice"), 2, "1 of 2 people"),
    ("two people needed, one signed with two keys", {PATH: V1}, by("alice", "alice-laptop"), 2, "1 of 2 people"),
    ("two people needed, two signed", {PATH: V1}, by("alice", "bob"), 2, "approved by"),
    # beyond the eighteen
    ("two people needed, one trusted and one not", {PATH: V1}, by("alice", "mallory"), 2, "1 of 2 people"),
    ("no signature at all", {PATH: V1}, by(), 1, "has no signature"),
    ("the file is gone without a decision", {}, by_alice(FIRST), 1, "removed without a decision"),
    ("an edit rejected leaves what was approved", {PATH: V2}, by_alice(FIRST, SECOND, REJECTED), 1, "approved by"),
    (
        "rejected before anything was approved",
        {PATH: V1},
        by_alice(approve(V1, decision="reject")),
        1,
        "is a rejection",
    ),
    ("the first record is gone, the last one stands", {PATH: V2}, by_alice(SECOND), 1, "approved by"),
    (
        "dated before the record it follows",
        {PATH: V2},
        by_alice(FIRST, approve(V2, FIRST, at="2025-01-01T00:00:00Z")),
        1,
        LAST,
    ),
]


@pytest.mark.parametrize(("what", "files", "records", "threshold", "expected"), CASES, ids=[case[0] for case in CASES])
def test_the_verdict(
    world: World,
    what: str,
    files: dict[str, bytes],
    records: Callable[[World], Sequence[SignedRecord]],
    threshold: int,
    expected: str,
) -> None:
    assert expected in verdict(world, files, records(world), threshold).reason


def verdict(
    world: World, files: dict[str, bytes], records: Sequence[SignedRecord], threshold: int = 1
) -> RecordFinding:
    judged = chains(records, world.signers, repository=HERE, now=NOW, threshold=threshold)
    return judge({path: text_digest(data) for path, data in files.items()}, judged.get(RULE, Chain()))


def test_an_approval_says_who_and_when_and_which_text(world: World) -> None:
    found = verdict(world, {PATH: V1}, by("alice", "bob")(world))
    assert (found.by, found.at) == (("alice@x", "bob@x"), FIRST.at)
    assert (found.approved_digest, found.approved_path) == (text_digest(V1), PATH)


def test_a_text_that_went_stale_still_names_the_one_that_is_approved(world: World) -> None:
    found = verdict(world, {PATH: V1 + b"more"}, by_alice(FIRST)(world))
    assert (found.reason, found.approved_digest) == (
        "the text is not the one that was approved last",
        text_digest(V1),
    )


def test_a_clone_that_saw_the_second_record_notices_that_it_is_gone(world: World) -> None:
    seen = remember({}, chains(by_alice(FIRST, SECOND)(world), world.signers, repository=HERE, now=NOW))
    assert seen == {RULE: SECOND.digest}
    rolled_back = chains(by_alice(FIRST)(world), world.signers, repository=HERE, now=NOW)
    assert judge({PATH: text_digest(V1)}, rolled_back[RULE], seen[RULE]).gone
    assert remember(seen, rolled_back) == seen, "an alarm does not silence itself"


def test_a_chain_that_disappears_whole_is_noticed_too() -> None:
    assert judge({}, Chain(), FIRST.digest).gone


def test_a_chain_that_grew_is_remembered_anew(world: World) -> None:
    grown = chains(by_alice(FIRST, SECOND)(world), world.signers, repository=HERE, now=NOW)
    assert remember({RULE: FIRST.digest}, grown) == {RULE: SECOND.digest}


def test_an_expired_key_signs_nothing_new_whatever_time_it_says(world: World) -> None:
    expired = tuple(signer._replace(valid_before=SECOND.seconds + 1) for signer in world.signers)
    records = by_alice(FIRST, SECOND, approve(V3, SECOND))(world)
    assert not chains(records, expired, repository=HERE, now=NOW)[RULE].records
    assert len(chains(records, expired, repository=HERE, now=SECOND.seconds)[RULE].records) == 3


def test_what_was_valid_here_before_its_key_expired_stays_so_with_all_that_it_follows(world: World) -> None:
    expired = tuple(signer._replace(valid_before=SECOND.seconds + 1) for signer in world.signers)
    records = by_alice(FIRST, SECOND, approve(V3, SECOND))(world)
    judged = chains(records, expired, repository=HERE, now=NOW, known=[SECOND.digest])
    assert set(judged[RULE].records) == {FIRST.digest, SECOND.digest}
    assert not chains(records, world.signers[1:], repository=HERE, now=NOW, known=[SECOND.digest])[RULE].records


def test_a_key_counts_from_the_time_on_that_the_list_says(world: World) -> None:
    later = tuple(signer._replace(valid_after=FIRST.seconds + 1) for signer in world.signers)
    assert set(chains(by_alice(FIRST, SECOND)(world), later, repository=HERE, now=NOW)[RULE].records) == {SECOND.digest}


def test_no_number_of_other_signatures_hides_a_good_one(world: World) -> None:
    (good,) = world.signed(FIRST, "alice").signatures
    junk = ["junk", *world.signed(FIRST, "mallory").signatures, *world.signed(SECOND, "alice").signatures] * 100
    judged = chains([SignedRecord(FIRST.canonical(), (*junk, good))], world.signers, repository=HERE, now=NOW)
    assert judged[RULE].signed_by == {FIRST.digest: ("alice@x",)}


def test_what_was_decided_side_by_side_is_settled_by_a_record_that_follows_both(world: World) -> None:
    settled = approve(V3, SECOND)._replace(previous=joined([SECOND.digest, SIDEWAYS.digest]), at="2026-01-03T00:00:00Z")
    records = by_alice(FIRST, SECOND, SIDEWAYS, settled)(world)
    assert verdict(world, {PATH: V3}, records).reason == "approved by alice@x"
    assert verdict(world, {PATH: V2}, records).reason == "the text is not the one that was approved last"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b"[" * 4000,
        b"\xff",
        FIRST.canonical() + b"\n",
        FIRST.canonical().replace(b'"v":1', b'"v":2'),
        FIRST.canonical().replace(b'"v":1', b'"v":1,"w":1'),
        FIRST.canonical().replace(b'"approve"', b'"bless"'),
        FIRST.canonical().replace(b'"previous":null', b'"previous":1'),
        FIRST.canonical().replace(b"2026-01-01T00:00:00Z", b"yesterday"),
        FIRST.canonical().replace(b"2026-01-01T00:00:00Z", b"2026-13-01T00:00:00Z"),
        FIRST.canonical().replace(b",", b", "),
        b" " * 5000,
    ],
)
def test_a_record_that_is_not_canonical_is_not_a_record(data: bytes) -> None:
    with pytest.raises(NotVerified):
        parse_record(data)


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_reader_of_records(data: bytes) -> None:
    with pytest.raises(NotVerified):
        parse_record(data)


@given(
    st.builds(
        Record, *[st.text(max_size=20)] * 4, st.just("approve"), st.none() | st.text(max_size=9), st.just(FIRST.at)
    )
)
def test_every_record_reads_back(record: Record) -> None:
    assert parse_record(record.canonical()) == record
