"""Records of releases: what they hold, and which of them a branch has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ai_lessons.repository import proposal_records
from ai_lessons.repository.approval.approval_types import ApprovalPolicy
from ai_lessons.repository.proposal_records import (
    Release,
    canonical,
    read_release,
    record_path,
    released_by,
    releases_on,
)
from ai_lessons.repository.worktree import locate

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Git

ULID = "01JD3Z8QK5W7M2X9V4T68F3K2A"
RELEASES = ".ai-lessons/releases"
PATH = record_path(f"{RELEASES}/", ULID, "A title", "2026-11-21T20:14:00Z")
RECORD = Release("A title", "01JD3Z8QK5W7M2X9V4T6QQQ111", "enterprise:acme", "user", "Ada <ada@example.com>",
                 "2026-11-21T20:14:00Z", "governance.outbound_policy", "Words.\n")  # fmt: skip
PROPOSAL = "proposals/release-8F3K2A-a-title"
ANYBODY = ApprovalPolicy()


def put(repo: Path, git: Git, data: bytes, path: str = PATH, message: str = "by hand", *who: str) -> str:
    file = repo / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    git(repo, "add", "-A")
    git(repo, *who, "commit", "-qm", message)
    return git(repo, "rev-parse", "HEAD")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\r\t-")))
@example("---\nid: x\n---\nbody")
@example("\n\n")
@example("---")
@example("\ufeff---\nkind: release\n---\n")
def test_a_record_that_is_read_back_covers_its_text_and_no_other(text: str) -> None:
    record = RECORD._replace(text=text)
    found = read_release(record.render())
    assert found is not None
    assert found.covers(RECORD.entry, "user", text)
    assert not found.covers(RECORD.entry, "user", text.rstrip() + "x")
    assert found._replace(text=RECORD.text) == RECORD


@given(st.binary())
@example(RECORD.render().replace(b"Words", b"Other"))
@example(RECORD.render().replace(b"sha256: ", b"sha256: 0"))
@example(RECORD.render().replace(b"kind: release", b"kind: doc"))
@example(RECORD.render() + b"x" * 2_000_000)
@example(RECORD.render() + b"\xff")
def test_a_file_that_is_no_record_is_none(data: bytes) -> None:
    assert read_release(data) is None


def test_line_ends_and_the_end_of_a_text_do_not_matter() -> None:
    assert canonical("a\r\nb\rc \n\n") == canonical("a\nb\nc") == "a\nb\nc\n"


def test_what_lies_among_records_and_is_none_is_passed_over(git_repo: Path, git: Git) -> None:
    put(git_repo, git, b"nothing", f"{RELEASES}/2026/notes.md")
    put(git_repo, git, b"\xff\0", f"{RELEASES}/2026/picture.png")
    (git_repo / RELEASES / "2026/link.md").symlink_to("../../../README.md")
    tip = put(git_repo, git, RECORD.render())
    assert releases_on(locate(git_repo), tip) == [(PATH, RECORD)]
    assert proposal_records.file_at(locate(git_repo), tip, f"{RELEASES}/2026/link.md") is None
    assert proposal_records.file_at(locate(git_repo), tip, RELEASES) is None


def test_a_repository_without_records_has_none(git_repo: Path, git: Git) -> None:
    tip = git(git_repo, "rev-parse", "HEAD")
    assert releases_on(locate(git_repo), tip) == []
    assert releases_on(locate(git_repo), put(git_repo, git, b"a file", RELEASES)) == []


def test_a_repository_in_a_folder_of_another_has_its_own_records(git_repo: Path, git: Git) -> None:
    put(git_repo, git, b"# x\n", "inner/README.md")
    tip = put(git_repo, git, RECORD.render(), f"inner/{PATH}")
    assert releases_on(locate(git_repo / "inner"), tip) == [(PATH, RECORD)]
    assert releases_on(locate(git_repo), tip) == []


CURATOR = ("-c", "user.name=Cy", "-c", "user.email=cy@example.com")
FORGE = ("-c", "user.name=GitHub", "-c", "user.email=noreply@github.com")
PROPOSED = f"Ask for release: A title\n\nProposed-as: {PROPOSAL}"


@pytest.mark.parametrize(
    ("merging", "who", "by"),
    [
        (f"Merge branch '{PROPOSAL}'", (), "Test Person <person@example.com>"),
        (f"Merge branch '{PROPOSAL}'", CURATOR, "Cy <cy@example.com>"),
        (f"Approve release: A title\n\nProposal: {PROPOSAL}", CURATOR, "Cy <cy@example.com>"),
        ("In my own words", CURATOR, "Cy <cy@example.com>"),
        (f"Merge pull request #7 from acme/{PROPOSAL}", FORGE, "GitHub <noreply@github.com>"),
        ("Merge branch 'something'", CURATOR, ""),
        ("Merge branch 'proposals/release-QQQ111-other'", CURATOR, ""),
        (f"Merge branch '{PROPOSAL}' into elsewhere", CURATOR, ""),
        (f"Merge branch '{PROPOSAL}'\n\nAgent: some agent", CURATOR, ""),
    ],
)
def test_a_merge_of_its_proposal_lets_a_record_in(
    git_repo: Path, git: Git, merging: str, who: tuple[str, ...], by: str
) -> None:
    git(git_repo, "switch", "-qc", "p")
    put(git_repo, git, RECORD.render(), PATH, PROPOSED)
    git(git_repo, "switch", "-q", "main")
    git(git_repo, *who, "merge", "-q", "--no-ff", "-m", merging, "p")
    tip = put(git_repo, git, b"later\n", "later.md")
    assert released_by(locate(git_repo), tip, PATH, "main", ANYBODY) == by


@pytest.mark.parametrize(
    ("message", "who", "by"),
    [
        (PROPOSED, (), ""),
        ("by hand", (), ""),
        (PROPOSED, CURATOR, "Cy <cy@example.com>"),
        ("by hand", CURATOR, ""),
        ("Ask for release: A title (#7)", FORGE, "GitHub <noreply@github.com>"),
        ("Add it", FORGE, ""),
        (f"{PROPOSED}\nAgent: some agent", CURATOR, ""),
    ],
)
def test_a_squash_counts_if_it_was_not_its_author_who_made_it(
    git_repo: Path, git: Git, message: str, who: tuple[str, ...], by: str
) -> None:
    author = ("-c", "author.name=Test Person", "-c", "author.email=person@example.com")
    tip = put(git_repo, git, RECORD.render(), PATH, message, *who, *author)
    assert released_by(locate(git_repo), tip, PATH, "main", ANYBODY) == by
    assert released_by(locate(git_repo), tip, PATH, "main", ApprovalPolicy("forge")) != ""
    if by.startswith("GitHub"):
        assert released_by(locate(git_repo), tip, PATH, "main", ApprovalPolicy(distinct=True)) == ""


def test_a_shallow_clone_does_not_know_who_let_a_record_in(git_repo: Path, git: Git, tmp_path: Path) -> None:
    git(git_repo, "switch", "-qc", "p")
    put(git_repo, git, RECORD.render(), PATH, PROPOSED)
    git(git_repo, "switch", "-q", "main")
    git(git_repo, "merge", "-q", "--no-ff", "-m", f"Merge branch '{PROPOSAL}'", "p")
    put(git_repo, git, b"later\n", "later.md")
    git(tmp_path, "clone", "-q", "--depth=1", git_repo.as_uri(), "shallow")
    tip = git(tmp_path / "shallow", "rev-parse", "HEAD")
    assert released_by(locate(tmp_path / "shallow"), tip, PATH, "main", ANYBODY) == ""
