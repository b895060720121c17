"""However a history is cut into pieces: the verdicts are the same as when it is judged at once."""

import re
import shutil
import subprocess
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ai_lessons.approval import state as approval_state
from ai_lessons.approval.state import derive
from ai_lessons.errors import GitMissing
from ai_lessons.git import commits
from ai_lessons.git.worktree import Worktree, locate
from approval import approval_world
from approval.approval_world import (
    AGENT,
    BRANCH,
    HUMAN,
    OTHER,
    OTHER_BRANCH,
    PATH,
    RULE,
    Clone,
    text,
)

REF = "refs/heads/main"
TWIN = RULE.replace("01JD", "01JE")
PATHS = (
    PATH,
    approval_world.OTHER_PATH,
    "jira/rules/moved.md",
    "web/rules/x.md",
    "jira/lessons/a.md",
)
TEXTS = (
    text("one"),
    text("two"),
    text("other", OTHER),
    text("twin", TWIN),
    "no frontmatter\n",
    "---\nid: [\n---\n",
)
MESSAGES = (
    "tidy", f"Merge branch '{BRANCH}'", f"Merge branch '{OTHER_BRANCH}'",
    f"Merge branches '{BRANCH}' and '{OTHER_BRANCH}'", f"Merge branch '{BRANCH}' into feature",
    "Merge branch 'main' of hub", "Use X (#7)", f"Approve rule: X\n\nProposal: {BRANCH}",
    f"Merge branch '{BRANCH}'\n\nAgent: claude",
)  # fmt: skip


@dataclass(frozen=True)
class Planned:
    """One commit: parents by number, the tree as changes to the first parent's, and what it says."""

    parents: tuple[int, ...]
    changes: tuple[tuple[str, str | None], ...]
    message: str
    author: tuple[str, str]
    committer: tuple[str, str]
    time: int
    takes: int  # whose tree a merge starts from


def _parents(number: int) -> st.SearchStrategy[list[int]]:
    if number == 0:
        return st.just([])
    near = st.integers(max(0, number - 3), number - 1)
    merges = st.lists(near, min_size=min(number, 2), max_size=3, unique=True)
    return st.lists(near, min_size=1, max_size=1) | merges


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Planned], list[tuple[int, int, int]]]:
    """Commits, and stages: where main, and two proposal branches, stand (a number, -1: nowhere)."""
    commits: list[Planned] = []
    for number in range(draw(st.integers(3, 14))):
        parents = draw(_parents(number))
        # the likely things often: one rule, merged by its name, from a side that starts one or two commits back
        several = st.tuples(
            st.sampled_from((PATH, *PATHS)), st.sampled_from((*TEXTS[:2], *TEXTS, None))
        )
        commits.append(
            Planned(
                tuple(parents),
                tuple(draw(st.lists(several, max_size=2))),
                draw(
                    st.sampled_from(
                        MESSAGES if len(parents) < 2 else (*MESSAGES[1:2] * 4, *MESSAGES)
                    )
                ),
                draw(st.sampled_from((AGENT, HUMAN))),
                draw(st.sampled_from((AGENT, HUMAN, approval_world.GITHUB))),
                1_760_000_000 + draw(st.integers(0, 9)) * 60,
                draw(st.integers(0, 2)),
            )
        )
    place = st.integers(0, len(commits) - 1)
    branch = st.integers(-1, len(commits) - 1)
    return commits, draw(
        st.lists(st.tuples(place, branch, branch), min_size=1, max_size=4).map(sorted)
    )


def build(root: Path, commits: list[Planned]) -> list[str]:
    """Make them with fast-import; the ids in order."""
    trees: list[dict[str, str]] = []
    stream: list[bytes] = []
    for number, commit in enumerate(commits):
        base = commit.parents[commit.takes % len(commit.parents)] if commit.parents else None
        tree = dict(trees[base]) if base is not None else {"README.md": "x\n"}
        for path, content in commit.changes:
            tree.pop(path, None)
            if content is not None:
                tree[path] = content
        trees.append(tree)
        message = commit.message.encode()
        lines = [f"commit refs/made/{number}", f"mark :{number + 1}"]
        for role, (name, email) in (("author", commit.author), ("committer", commit.committer)):
            lines.append(f"{role} {name} <{email}> {commit.time} +0000")
        stream.append("\n".join([*lines, f"data {len(message)}\n"]).encode() + message + b"\n")
        for n, parent in enumerate(commit.parents):
            stream.append(f"{'merge' if n else 'from'} :{parent + 1}\n".encode())
        stream.append(b"deleteall\n")
        for path, content in tree.items():
            stream.append(
                f"M 100644 inline {path}\ndata {len(content.encode())}\n{content}\n".encode()
            )
    git = ["git", "-C", str(root)]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    marks = root / ".git" / "marks"
    subprocess.run(
        [*git, "fast-import", "--quiet", "--force", f"--export-marks={marks}"],
        input=b"".join(stream),
        check=True,
    )
    by_mark = dict(line.split() for line in marks.read_text().splitlines())
    return [by_mark[f":{number + 1}"] for number in range(len(commits))]


def place_branches(root: Path, ids: list[str], stage: tuple[int, int, int]) -> None:
    for ref, number in zip(
        (REF, f"refs/heads/{BRANCH}", f"refs/remotes/origin/{OTHER_BRANCH}"), stage, strict=True
    ):
        file = root / ".git" / ref
        file.unlink(missing_ok=True)
        if number >= 0:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(ids[number] + "\n")


def forget_state(worktree: Worktree) -> None:
    """Everything that can be rebuilt; what was seen stays."""
    approval_state.note_file(worktree, REF).unlink(missing_ok=True)


def plain(parents: tuple[int, ...], *changes: tuple[str, str | None]) -> Planned:
    return Planned(parents, changes, "tidy", AGENT, AGENT, 1_760_000_000, 0)


SAME_COMMIT_UNDER_ANOTHER_NAME = (
    [plain((), (PATH, TEXTS[0])), plain((0,)), plain((0,), (PATHS[1], TEXTS[0]))],
    [(0, 0, 2), (0, 2, 0)],
)
"""A commit stood at a branch that names another rule, then at the one that names its own."""


@example(SAME_COMMIT_UNDER_ANOTHER_NAME)
@settings(max_examples=25)
@given(histories())
def test_history_read_in_pieces_gives_the_same_as_history_read_at_once(
    history: tuple[list[Planned], list[tuple[int, int, int]]],
) -> None:
    commits, stages = history
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        ids = build(root, commits)
        worktree = locate(root)
        for stage in stages:
            place_branches(root, ids, stage)
            in_pieces = derive(worktree, REF)
        assert derive(worktree, REF) == in_pieces
        forget_state(worktree)
        at_once = derive(worktree, REF)
        assert at_once == in_pieces
        tree = subprocess.run(
            ["git", "-C", name, "ls-tree", "-r", "--name-only", REF],
            capture_output=True,
            text=True,
            check=True,
        )
        assert set(in_pieces.files) == {path for path in tree.stdout.split() if "/rules/" in path}


def test_a_read_with_nothing_new_starts_no_program(
    mine: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine.approved()
    mine.view()
    monkeypatch.setenv("PATH", "/nonexistent")
    assert mine.view().verdicts[RULE].in_force


@pytest.mark.parametrize("what", ["commit", "packed", "damaged", "other version"])
def test_a_read_after_a_change_works_it_out(
    mine: Clone, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine.approved()
    mine.view()
    worktree = locate(mine.root)
    state = approval_state.note_file(worktree, REF)
    match what:
        case "commit":
            mine.other_work()
        case "packed":
            mine.run("pack-refs", "--all")
        case "damaged":
            state.write_bytes(state.read_bytes()[:-100])
        case _:
            state.write_text(re.sub('"key":"[0-9]+"', '"key":"99"', state.read_text(), count=1))
    with (
        monkeypatch.context() as without_git,
        nullcontext() if what == "packed" else pytest.raises(GitMissing),
    ):
        without_git.setenv("PATH", "/nonexistent")
        mine.view()
    assert mine.served() == "Use X"


def test_a_state_folder_that_cannot_be_written_only_costs_time(mine: Clone) -> None:
    mine.approved()
    worktree = locate(mine.root)
    shutil.rmtree(worktree.state_dir, ignore_errors=True)
    worktree.state_dir.write_text("in the way")
    assert mine.served() == "Use X"


def test_a_folder_of_a_bigger_repository_has_its_own_rules(mine: Clone) -> None:
    inner = mine.root / ".ai" / "reference"
    mine.commit("code", {"src/rules/x.md": text("not ours", OTHER)})
    mine.other_work()
    mine.propose({f".ai/reference/{PATH}": text("Use X")})
    mine.merge(BRANCH)
    found = derive(locate(inner), REF)
    assert list(found.files) == [PATH]
    assert found.verdicts[RULE].in_force


def test_what_a_merge_brings_outside_of_the_folder_counts_as_another_file(mine: Clone) -> None:
    mine.propose({f".ai/reference/{PATH}": text("Use X"), "src/x.py": "x = 1\n"})
    mine.merge(BRANCH)
    (change,) = derive(locate(mine.root / ".ai" / "reference"), REF).verdicts[RULE].unapproved
    assert change.evidence.reason.startswith("this merge brings more than this one rule")


def test_the_words_of_a_merge_that_approves_a_thousand_rules_are_read_whole(mine: Clone) -> None:
    names = "\n".join(f"Proposal: rules/R-{n:06}-{'x' * 90}" for n in range(1000))
    mine.run("commit", "-q", "--allow-empty", "-m", f"Approve\n\n{names}")
    (commit,) = commits.read(locate(mine.root), ["HEAD"], ["HEAD~1"])
    assert commit.info.message.endswith(names)
