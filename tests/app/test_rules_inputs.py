"""What rules in force depend on: whatever of it changes, their state does; and what is served without time to judge."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest

from ai_lessons.app.options import Options
from ai_lessons.app.rules_in_force import NOT_JUDGED
from ai_lessons.app.workspace import Library
from approval.approval_world import BRANCH, PATH, Clone, World, text, world

HERE = "refs/heads/main"


@dataclass
class Desk:
    """A clone, its hub, and the user's folder."""

    world: World
    clone: Clone
    folder: Path

    def options(self, until: float = 0) -> Options:
        cache, state, config = (self.folder / name for name in ("cache", "state", "config"))
        return Options(cache, state, config, cwd=self.clone.root, offline=True, until=until)

    def state(self) -> str:
        with Library(self.clone.root, self.options()) as library:
            library.primary.rules.view()
            return library.primary.rules.state()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made, mine = world(tmp_path)
    mine.approved()
    mine.run("push", "-q")
    return Desk(made, mine, tmp_path / "user")


def a_commit(desk: Desk) -> None:
    desk.clone.other_work()


def a_fetch(desk: Desk) -> None:
    theirs = desk.world.clone("theirs")
    theirs.other_work()
    theirs.run("push", "-q")
    desk.clone.run("fetch", "-q")


def a_fetch_of_the_acknowledged_remote_under_another_name(desk: Desk) -> None:
    theirs = desk.world.clone("theirs")
    theirs.other_work()
    theirs.run("push", "-q")
    desk.clone.run("fetch", "-q", "upstream")


def another_address(desk: Desk) -> None:
    desk.clone.run("remote", "set-url", "origin", str(desk.folder / "elsewhere.git"))


def another_approval_branch(desk: Desk) -> None:
    desk.clone.run("branch", "other")
    desk.clone.run("config", "ai-lessons.approvalBranch", "other")


def a_list_of_signers(desk: Desk) -> None:
    with Library(desk.clone.root, desk.options()) as library:
        library.primary.rules.signers(HERE).pin(desk.clone.has_key().encode())


def another_memory(desk: Desk) -> None:
    (desk.clone.root / ".git" / "ai-lessons" / "approval" / "remembered.json").unlink()


def a_history_that_is_cut_off(desk: Desk) -> None:
    (desk.clone.root / ".git" / "shallow").write_text(desk.clone.head() + "\n")


def a_filter(desk: Desk) -> None:
    (desk.clone.root / ".git" / "info" / "attributes").write_text("*.md filter=x\n")


INPUTS: list[Callable[[Desk], None]] = [
    a_commit,
    a_fetch,
    another_address,
    another_approval_branch,
    a_list_of_signers,
    another_memory,
    a_history_that_is_cut_off,
    a_filter,
]


@pytest.mark.parametrize("change", INPUTS, ids=[change.__name__ for change in INPUTS])
def test_whatever_verdicts_are_made_from_changes_the_state(
    desk: Desk, change: Callable[[Desk], None]
) -> None:
    before = desk.state()
    assert desk.state() == before
    change(desk)
    with Library(desk.clone.root, desk.options()) as library:
        assert library.primary.rules.state() != before


def test_the_acknowledged_forge_is_followed_where_its_remote_was_renamed(desk: Desk) -> None:
    settings = "format: 1\napproval:\n  require: forge\n"
    desk.clone.commit("settings", {".ai-lessons/config.yaml": settings})
    desk.clone.run("push", "-q")
    desk.state()
    fork = desk.folder.with_name("fork.git")
    desk.clone.run("clone", "-q", "--bare", str(desk.folder.with_name("hub.git")), str(fork))
    desk.clone.run("remote", "rename", "origin", "upstream")
    desk.clone.run("remote", "add", "origin", str(fork))
    desk.clone.run("fetch", "-q", "origin")
    desk.clone.run("branch", "-q", "-u", "origin/main")
    before = desk.state()
    a_fetch_of_the_acknowledged_remote_under_another_name(desk)
    with Library(desk.clone.root, desk.options()) as library:
        assert library.primary.rules.state() != before


def test_without_time_to_judge_the_last_known_rules_are_served_and_a_note_says_so(
    desk: Desk,
) -> None:
    with Library(desk.clone.root, desk.options()) as library:
        library.primary.current()
    desk.clone.other_work()
    desk.clone.propose({PATH: text("Use Y")})
    desk.clone.merge(BRANCH, options=("--no-ff",))
    with Library(desk.clone.root, desk.options(until=monotonic() - 1)) as library:
        library.primary.current()
        assert NOT_JUDGED in library.primary.rules.notes
        assert library.primary.rules.count == 1
        view = library.primary.rules.view(readable=True)
        assert view is not None
        assert view.tip != desk.clone.head()
    with Library(desk.clone.root, desk.options()) as library:
        library.primary.current()
        assert NOT_JUDGED not in library.primary.rules.notes
