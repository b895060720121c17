"""The sessions that a team keeps in git: on one branch, at a ref for each checkpoint, or both."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from ai_lessons.errors import NotFound
from ai_lessons.features.harvest import checkpoints
from real_world import Git, commit_all, put_file

Sessions = list[tuple[str, str, bytes]]


def keep(git: Git, code: Path, ref: str, files: Mapping[str, str]) -> None:
    """A checkpoint at a ref, with these files."""
    git(code, "checkout", "-q", "--orphan", "made")
    git(code, "rm", "-rfq", "--ignore-unmatch", ".")
    for name, text in files.items():
        put_file(code / name, text)
    commit_all(git, code, "Checkpoint")
    git(code, "update-ref", ref, "HEAD")
    git(code, "checkout", "-q", "main")
    git(code, "branch", "-qD", "made")


@pytest.fixture
def code(tmp_path: Path, git: Git) -> Path:
    """Code whose team keeps three sessions: one on the branch, one at refs of two checkpoints, one at both."""
    place = tmp_path / "code"
    put_file(place / "shop.py", "")
    git(place, "init", "-q")
    commit_all(git, place, "Begin")
    s1, s2, s3 = (json.dumps({"session_id": name}) for name in ("s1", "s2", "s3"))
    on_branch = {"aa/1/0/metadata.json": s1, "aa/1/0/full.jsonl": "{}", "bb/2/0/metadata.json": s3}
    keep(git, place, "refs/heads/entire/checkpoints/v1", on_branch | {"bb/2/0/full.jsonl": "{}"})
    short = {"metadata.json": "{}", "0/metadata.json": s2, "0/full.jsonl": "{}\n"}
    keep(git, place, "refs/entire/checkpoints/0D/01KXGTTNGCEACC83QZEJ5YAF0D", short)
    long = short | {
        "0/full.jsonl": "{}\n{}\n",
        "1/metadata.json": s3,
        "1/full.jsonl": "{}\n{}\n{}\n",
    }
    also = {"0/transcript.jsonl": '{"type": "user", "content": "the same session in short"}'}
    keep(git, place, "refs/entire/checkpoints/5T/01KVBJD96J55PB4WRH2EADBE5T", long | also)
    return place


def test_both_forms_are_read_and_the_longest_of_each_session_counts(code: Path) -> None:
    assert list(checkpoints.transcripts(code)) == [
        ("s1", "entire/checkpoints/v1:aa/1/0/full.jsonl", b"{}"),
        ("s2", "refs/entire/checkpoints/5T/01KVBJD96J55PB4WRH2EADBE5T:0/full.jsonl", b"{}\n{}\n"),
        (
            "s3",
            "refs/entire/checkpoints/5T/01KVBJD96J55PB4WRH2EADBE5T:1/full.jsonl",
            b"{}\n{}\n{}\n",
        ),
    ]


@pytest.mark.parametrize(
    ("ref", "sessions"),
    [
        ("entire/checkpoints/v1", ["s1", "s3"]),
        ("refs/heads/entire/checkpoints/v1", ["s1", "s3"]),
        ("entire/checkpoints", ["s1", "s3"]),
        ("refs/entire/checkpoints", ["s2", "s3"]),
        ("refs/entire/checkpoints/0D/01KXGTTNGCEACC83QZEJ5YAF0D", ["s2"]),
        ("entire/checkpoints/v1~0", ["s1", "s3"]),
    ],
)
def test_a_ref_may_be_a_branch_one_checkpoint_or_all_refs_below_a_name(
    code: Path, ref: str, sessions: list[str]
) -> None:
    assert [name for name, _, _ in checkpoints.transcripts(code, ref)] == sessions


def test_a_clone_has_neither_form_until_it_does_what_the_hint_says(
    code: Path, tmp_path: Path, git: Git
) -> None:
    git(tmp_path, "clone", "-q", "--single-branch", "--branch", "main", str(code), "clone")
    with pytest.raises(NotFound, match="no ref 'entire/checkpoints/v1'") as missing:
        list(checkpoints.transcripts(tmp_path / "clone"))
    assert "'+refs/entire/checkpoints/*:refs/entire/checkpoints/*'" in missing.value.hint
    git(tmp_path, *shlex.split(missing.value.hint)[1:])
    there, here = (
        list(checkpoints.transcripts(code)),
        list(checkpoints.transcripts(tmp_path / "clone")),
    )
    assert here == there
    git(code, "branch", "-qD", "entire/checkpoints/v1")
    git(tmp_path, "clone", "-q", str(code), "later")
    git(tmp_path / "later", *shlex.split(missing.value.hint)[3:])
    assert [name for name, _, _ in checkpoints.transcripts(tmp_path / "later")] == ["s2", "s3"]


def test_of_trees_that_name_more_files_than_anybody_keeps_only_the_first_are_read(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ai_lessons.features.harvest.checkpoints._MOST_FILES", 5)
    assert len(list(checkpoints.transcripts(code))) == 1
