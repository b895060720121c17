"""What it costs to know which rules are in force, and to approve one: 1,000 approvals over 10,000 commits.

`python -m bench.approvals look REPO` and `… approve REPO`, run by the bench in processes of their own, print seconds
as JSON.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from ai_lessons.approval.state import derive
from ai_lessons.git import approval_branch
from ai_lessons.git.worktree import locate
from bench.harness import Bar, Outcome, World, machine, number, table, world

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = 1000
LESSONS_EACH = 8
FIRST_BAR, LATER_BAR, APPROVE_BAR = 0.4, 0.005, 0.020
BRANCH = "refs/heads/main"
ROUNDS = 5
APPROVALS = 15


def history() -> Iterator[str]:
    """A fast-import stream: every rule proposed on a branch, merged by somebody else, lessons in between."""
    mark = 1
    yield commit(BRANCH, mark, "person", "Start", {"README.md": "# Knowledge\n"})
    for n in range(RULES):
        rule = f"01JD3Z8QK5W7M2X9V4T6{n:06d}"
        path, text = (
            f"p{n % 20}/rules/rule-{n:06d}.md",
            f"---\nid: {rule}\nkind: rule\ntitle: Rule {n}\n---\nDo {n}.\n",
        )
        branch = f"rules/R-{rule[-6:]}-rule-{n}"
        yield commit(
            f"refs/heads/{branch}", mark + 1, "agent", f"Propose rule: Rule {n}", {path: text}, mark
        )
        yield commit(
            BRANCH, mark + 2, "person", f"Merge branch '{branch}'", {path: text}, mark, mark + 1
        )
        mark += 2
        for k in range(LESSONS_EACH):
            mark += 1
            lesson = {
                f"p{n % 20}/lessons/2026-{n % 12 + 1:02}/lesson-{n}-{k}.md": f"lesson {n} {k}\n"
            }
            yield commit(BRANCH, mark, "agent", f"Add lesson: {n} {k}", lesson, mark - 1)


def commit(
    ref: str,
    mark: int,
    who: str,
    subject: str,
    files: dict[str, str],
    parent: int = 0,
    merged: int = 0,
) -> str:
    """One commit of the stream."""
    lines = [
        f"commit {ref}",
        f"mark :{mark}",
        f"committer {who} <{who}@example.com> {1_700_000_000 + mark} +0000",
    ]
    lines += [f"data {len(subject)}", subject]
    lines += [f"from :{parent}"] if parent else []
    lines += [f"merge :{merged}"] if merged else []
    for path, text in files.items():
        lines += [f"M 100644 inline {path}", f"data {len(text)}", text]
    return "\n".join(lines) + "\n"


def build(home: World, root: Path) -> None:
    """The repository, packed, its proposal branches gone as after any approval."""
    root.mkdir()
    home.git(root, "init", "-q", "-b", "main")
    stream = "".join(history()).encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input=stream, check=True)
    for line in home.git(
        root, "for-each-ref", "--format=%(refname)", "refs/heads/rules"
    ).out.split():
        home.git(root, "update-ref", "-d", line)
    home.git(root, "reset", "-q", "--hard", "main")


def look(root: Path) -> dict[str, float]:
    """Seconds of wall time: the first derivation (median of rounds, each from nothing), and what every later read asks.

    With nothing new a read only compares the stamp; the verdicts are in the catalog.
    """
    worktree = locate(root)
    first = []
    for _ in range(ROUNDS):
        shutil.rmtree(worktree.state_dir, ignore_errors=True)
        start = time.perf_counter()
        view = derive(worktree, BRANCH)
        first.append(time.perf_counter() - start)
    start = time.perf_counter()
    approval_branch.memory(worktree.state_dir)
    approval_branch.key_of(worktree, view.tip or "")
    later = time.perf_counter() - start
    in_force = sum(verdict.in_force for verdict in view.verdicts.values())
    return {"first": median(first), "later": later, "in_force": in_force}


def approve(root: Path) -> dict[str, float]:
    """Median seconds of taking one proposal: objects, branch, git's index and the file in the working tree."""
    from ai_lessons.approval import decisions, proposals, state
    from ai_lessons.approval.decisions import ProposalRequest, propose
    from ai_lessons.approval.signatures import PinnedSigners
    from ai_lessons.git.commit import Committer
    from ai_lessons.git.objects import opened
    from ai_lessons.git.store import Store

    store = Store(root, committing=Committer)
    took = []

    def trunk() -> state.Trunk:
        signers = PinnedSigners(
            store.worktree, BRANCH, root.with_name("user"), lambda: datetime.now(UTC)
        )
        return state.approval_of_branch(store.worktree, BRANCH, signers)

    with opened(store.worktree) as repo:
        for n in range(APPROVALS):
            rule = f"01JD3Z8QK5W7M2X9V4T7{n:06d}"
            text = f"---\nid: {rule}\nkind: rule\ntitle: New {n}\nrationale: measured\n---\nDo {n}.\n".encode()
            path = f"p{n % 20}/rules/new-{n:06d}.md"
            wish = ProposalRequest(
                rule, f"R-{rule[-6:]}-new-{n}", f"Propose rule: New {n}", {path: text}
            )
            propose(store, repo, trunk(), wish)
        while refs := proposals.unmerged(found := trunk(), ()):
            waiting = proposals.read_page(repo, found, refs).proposals
            start = time.perf_counter()
            decisions.approve(store, repo, found, waiting[:1], "New")
            took.append(time.perf_counter() - start)
    return {"approve": median(took), "slowest": max(took), "approved": len(took)}


def main() -> None:
    """Build, look, approve, print, judge."""
    if sys.argv[1:2] in (["look"], ["approve"]):
        print(json.dumps({"look": look, "approve": approve}[sys.argv[1]](Path(sys.argv[2]))))
        return
    outcome = Outcome()
    print(machine())
    with world() as home:
        root = home.folder / "approvals"
        build(home, root)
        told = json.loads(home.python("-m", "bench.approvals", "look", str(root)).out)
        told |= json.loads(home.python("-m", "bench.approvals", "approve", str(root)).out)
        rows = [
            ["first look, from nothing", number(told["first"])],
            ["a look with nothing new", number(told["later"])],
            [f"approving one proposal of {told['approved']:.0f}", number(told["approve"])],
            ["the slowest of them", number(told["slowest"])],
        ]
        print(
            table(
                f"{told['in_force']:,.0f} rules in force, 10,000 commits", ["what", "wall s"], rows
            )
        )
        outcome.judge(Bar("first derivation", told["first"], FIRST_BAR, "s"))
        outcome.judge(Bar("later, nothing new", told["later"], LATER_BAR, "s"))
        outcome.judge(Bar("approving a proposal in process", told["approve"], APPROVE_BAR, "s"))
    outcome.finish(check="--check" in sys.argv)


if __name__ == "__main__":
    main()
