"""Two clones and a bare hub: an agent proposes in one, a person takes it in the other, the first is served the rule."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ai_lessons.app import (
    editing,
    entries,
    pending_rules,
    proposals,
    review,
    rule_audit,
    search,
    sharing,
)
from ai_lessons.app.answers import Query
from ai_lessons.app.options import Options
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import LessonDraft, RuleDraft, Suggested
from ai_lessons.model.entries import Filter
from real_world import Git


@dataclass
class Clone:
    """One clone and its user, with folders of their own."""

    root: Path
    git: Git

    def run(self, *arguments: str) -> str:
        return self.git(self.root, *arguments)

    def library(self, agent: str | None = None) -> Library:
        place = self.root.parent / f"{self.root.name}-user"
        return Library(
            self.root,
            Options(
                place / "cache",
                place / "state",
                place / "config",
                self.root,
                agent=agent,
                offline=True,
            ),
        )

    def rules(self) -> list[str]:
        with self.library() as library:
            return [
                summary.title
                for summary in entries.list_entries(library).entries
                if summary.kind == "rule"
            ]

    def suggest(self, title: str = "GET before PUT") -> Suggested:
        with self.library(agent="claude") as library:
            made = proposals.suggest_rule(
                library, RuleDraft(title, "PUT replaces all", "Send all of it back.")
            )
        self.run("push", "-q", "origin", made.branch)
        return made


@dataclass
class Pair:
    """The clone of an agent and the clone of a person."""

    agent: Clone
    person: Clone


@pytest.fixture
def pair(tmp_path: Path, git: Git) -> Pair:
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    clones = []
    for name, email in (("agent", "agent@example.com"), ("person", "human@example.com")):
        git(tmp_path, "clone", "-q", "hub.git", name)
        clone = Clone(tmp_path / name, git)
        clone.run("config", "user.name", name)
        clone.run("config", "user.email", email)
        clones.append(clone)
    first, second = clones
    for number in range(2):
        (first.root / f"{number}.md").write_text("x\n")
        first.run("add", "-A")
        first.run("commit", "-qm", f"commit {number}")
    first.run("push", "-q", "-u", "origin", "main")
    second.run("pull", "-q", "origin", "main")
    second.run("branch", "-q", "--set-upstream-to=origin/main", "main")
    return Pair(first, second)


def approved_by_command(person: Clone, made: Suggested) -> None:
    with person.library() as library:
        assert [one.branch for one in pending_rules.pending_rules(library)] == [
            f"origin/{made.branch}"
        ]
        review.approve_rule(library, made.handle)


WAYS: dict[str, Callable[[Clone, Suggested], object]] = {
    "merged plainly": lambda person, made: person.run(
        "merge", "-q", "--no-edit", f"origin/{made.branch}"
    ),
    "merged without fast forward": lambda person, made: person.run(
        "merge", "-q", "--no-ff", "--no-edit", f"origin/{made.branch}"
    ),
    "approved by command": approved_by_command,
}


@pytest.mark.parametrize("take", WAYS.values(), ids=WAYS)
def test_what_a_person_takes_in_one_clone_is_served_in_the_other(
    pair: Pair, take: Callable[[Clone, Suggested], object]
) -> None:
    made = pair.agent.suggest()
    assert pair.agent.rules() == []
    pair.person.run("fetch", "-q")
    assert pair.person.rules() == []
    take(pair.person, made)
    assert pair.person.rules() == ["GET before PUT"]
    pair.person.run("push", "-q", "origin", "main", f":{made.branch}")
    pair.agent.run("pull", "-q", "--prune")
    assert pair.agent.rules() == ["GET before PUT"]
    with pair.agent.library(agent="claude") as library:
        approval = entries.show(library, made.handle).approval
        assert approval is not None
        assert (approval.approved_by, approval.suggested_by, approval.evidence) == (
            "person <human@example.com>",
            "agent <agent@example.com>",
            2,
        )
        assert pending_rules.pending_rules(library) == ()
        assert rule_audit.audit(library).ok
        found = search.search(
            library, Query("GET before PUT, send all of it back", Filter(project="global"))
        )
        assert [hit.entry.id for hit in found.rules] == [made.id]
    assert "error" not in pair.agent.run("fsck", "--strict")


def test_sync_carries_proposals_and_approvals_and_a_merge_of_it_takes_nothing_from_them(
    pair: Pair,
) -> None:
    with pair.agent.library(agent="claude") as library:
        made = proposals.suggest_rule(
            library, RuleDraft("GET before PUT", "PUT replaces all", "Send all of it back.")
        )
        assert sharing.sync(library).proposals == (made.branch,)
        assert sharing.sync(library).proposals == ()
    with pair.person.library() as library:
        assert sharing.sync(library).arrived == (made.branch,)
        assert review.approve_rule(library, made.handle).branch == f"origin/{made.branch}"
        sharing.sync(library)
    with pair.agent.library(agent="claude") as library:
        editing.add_lesson(library, LessonDraft("Meanwhile", "Text."))
        done = sharing.sync(library)
        assert (done.received, done.sent, done.merged, done.conflicts) == (2, 2, (), ())
        assert rule_audit.audit(library).ok
        assert sharing.sync(library).proposals == ()
    for clone in (pair.agent, pair.person):
        with clone.library() as library:
            sharing.sync(library)
            approval = entries.show(library, made.handle).approval
            assert approval is not None
            assert (approval.approved_by, approval.evidence) == ("person <human@example.com>", 2)
            assert pending_rules.pending_rules(library) == ()


def test_a_proposal_whose_merge_comes_along_is_no_news_and_its_branch_goes_with_it(
    pair: Pair,
) -> None:
    with pair.agent.library() as library:
        sharing.sync(library)
    with pair.person.library() as library:
        draft = RuleDraft("GET before PUT", "PUT replaces all", "Send all of it back.")
        made = proposals.suggest_rule(library, draft)
        sharing.sync(library)
        review.approve_rule(library, made.handle)
    with pair.agent.library() as library:
        assert sharing.sync(library).arrived == (made.branch,)
    with pair.person.library() as library:
        done = sharing.sync(library)
        assert f"{made.branch} is merged, so it was deleted on origin" in done.notes
        assert sharing.sync(library).notes == ()
    with pair.agent.library() as library:
        assert sharing.sync(library).arrived == ()
    assert made.branch not in pair.person.run("ls-remote", "--heads", "origin")


def test_the_merged_branch_of_somebody_else_stays(pair: Pair) -> None:
    with pair.agent.library(agent="claude") as library:
        draft = RuleDraft("GET before PUT", "PUT replaces all", "Send all of it back.")
        made = proposals.suggest_rule(library, draft)
        sharing.sync(library)
    with pair.person.library() as library:
        sharing.sync(library)
        review.approve_rule(library, made.handle)
        sharing.sync(library)
        assert made.branch in pair.person.run("ls-remote", "--heads", "origin")
    with pair.agent.library(agent="claude") as library:
        sharing.sync(library)
    assert made.branch not in pair.person.run("ls-remote", "--heads", "origin")
