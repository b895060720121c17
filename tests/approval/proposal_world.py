"""Proposals as the library makes and ends them, on a repository of git's, for the tests of this room."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ai_lessons.approval import decisions, outcomes, proposals, state
from ai_lessons.approval.decisions import Made
from ai_lessons.approval.outcomes import Rejection
from ai_lessons.approval.proposals import OpenProposal
from ai_lessons.approval.signatures import PinnedSigners
from ai_lessons.git.commit import Committer
from ai_lessons.git.objects import data_of, opened
from ai_lessons.git.store import Actor, Store
from ai_lessons.model.approval import Verdict
from approval.approval_world import PATH, RULE, text
from real_world import Git, put_file

MAIN = "refs/heads/main"
STEM = "R-8F3K2A-use-x"
RECORD = "01JD3Z8QK5W7M2X9V4T6RRRRRR"


@dataclass
class Desk:
    """One clone and whoever works in it."""

    root: Path
    git: Git
    be: Callable[[str, str], None]

    @property
    def store(self) -> Store:
        return Store(self.root, committing=Committer)

    def run(self, *arguments: str) -> str:
        return self.git(self.root, *arguments)

    def trunk(self) -> state.Trunk:
        worktree = self.store.worktree
        signers = PinnedSigners(
            worktree, MAIN, self.root.with_name("user"), lambda: datetime.now(UTC)
        )
        return state.approval_of_branch(worktree, MAIN, signers)

    def propose(
        self, files: dict[str, str | None] | None = None, stem: str = STEM, agent: str | None = None
    ) -> Made:
        wanted = {PATH: text("Use X")} if files is None else files
        data = {path: None if words is None else words.encode() for path, words in wanted.items()}
        store = self.store
        with opened(store.worktree) as repo:
            request = decisions.ProposalRequest(
                RULE, stem, "Propose rule: Use X", data, actor=Actor(agent=agent)
            )
            return decisions.propose(store, repo, self.trunk(), request)

    def waiting(self) -> list[OpenProposal]:
        store = self.store
        with opened(store.worktree) as repo:
            seen = self.trunk()
            refs = proposals.unmerged(seen, {one.commit for one in outcomes.rejected(seen)})
            return proposals.read_page(repo, seen, refs).proposals

    def open(self, branch: str = "") -> OpenProposal:
        return next(one for one in self.waiting() if one.branch.endswith(branch))

    def approve(self, branch: str = "", one: OpenProposal | None = None) -> Made:
        store = self.store
        proposal = one or self.open(branch)
        with opened(store.worktree) as repo:
            return decisions.approve(store, repo, self.trunk(), [proposal], "Use X")

    def reject(self, branch: str = "", reason: str = "no") -> Made:
        store = self.store
        one = self.open(branch)
        with opened(store.worktree) as repo:
            words = data_of(repo, one.piece.new).decode() if one.piece.new else ""
            record = Rejection(
                one.entry,
                "Use X",
                reason,
                one.name,
                one.commit,
                one.piece.path,
                "A",
                "2026-11-21T20:14:00Z",
                words,
            )
            return decisions.reject(store, repo, self.trunk(), one, record, RECORD)

    def edits(self, *paths: str) -> list[decisions.Edited]:
        store = self.store
        with opened(store.worktree) as repo:
            return decisions.edited(store, repo, paths)

    def put_back(self) -> tuple[str, ...]:
        store = self.store
        with opened(store.worktree) as repo:
            return decisions.put_back(store, repo, decisions.edited(store, repo))

    def verdict(self, rule: str = RULE) -> Verdict | None:
        return self.trunk().view.verdicts.get(rule)

    def served(self, rule: str = RULE) -> str | None:
        verdict = self.verdict(rule)
        return (
            self.run("cat-file", "blob", verdict.blob).splitlines()[-1]
            if verdict and verdict.blob
            else None
        )

    def write(self, path: str, words: str) -> Path:
        return put_file(self.root / path, words)

    def commit(self, path: str, words: str | None = "x\n", message: str = "by hand") -> None:
        if words is None:
            (self.root / path).unlink()
        else:
            self.write(path, words)
        self.run("add", "-A", "--", path)
        self.run("commit", "-qm", message, "--", path)

    def status(self) -> str:
        return self.run("status", "--porcelain", "-uall")

    def edited(self) -> tuple[str, str, str]:
        """All that git says of edits."""
        return self.status(), self.run("diff"), self.run("diff", "--cached")

    def propose_to_a_hub(self) -> Made:
        """The same as propose, in a clone of a hub that then has it."""
        hub = str(self.root.with_name("hub.git"))
        self.run("clone", "-q", "--bare", ".", hub)
        self.run("remote", "add", "origin", hub)
        made = self.propose()
        self.run("push", "-q", "origin", made.branch)
        return made

    def approved(self, words: str = "Use X") -> None:
        """A rule that an agent proposed and a person took, with main a commit further."""
        self.be("Agent", "agent@x")
        self.propose({PATH: text(words)})
        self.be("Human", "human@x")
        self.approve()
        self.commit(f"global/docs/unversioned/{words.rsplit(maxsplit=1)[-1]}.md")
