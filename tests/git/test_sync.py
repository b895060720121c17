"""Sharing through a real hub: what comes in, what goes out, and everything that may be in the way."""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

from ai_lessons.errors import (
    Conflict,
    NotFound,
    Refused,
    Unreachable,
    UnsavedEdits,
    UnsupportedRepository,
)
from ai_lessons.git.commit import Committer
from ai_lessons.git.conflicts import kept
from ai_lessons.git.store import Change, Job, Store
from ai_lessons.git.sync import Synced, decide, sync, torn_now
from real_world import Git, commit_all, ends, put_file, put_program

LESSON = "p/lessons/2026-11/x-8f3k2a.md"
TEXT = """---
id: 01JD3Z8QK5W7M2X9V4T68F3K2A
kind: lesson
title: PUT replaces all
tags:
  - a
  - z
confidence: high
source: tested
---
One.
Two.
Three.
Four.
Five.
"""
REMOVED = "one side removed it, the other changed it"
PROPOSAL = "rules/R-AAAAAA-x"
RULE = "p/rules/y-9f3k2a.md"
RULE_TEXT = (
    "---\nid: 01JD3Z8QK5W7M2X9V4T69F3K2A\nkind: rule\ntitle: T\nrationale: R\n---\n1\n2\n3\n4\n"
)


@dataclass
class Clone:
    """One clone of the hub, and its user."""

    root: Path
    git: Git
    own: dict[str, str] = field(default_factory=dict)  # proposals

    @property
    def store(self) -> Store:
        return Store(self.root, committing=Committer)

    def run(self, *arguments: str) -> str:
        return self.git(self.root, *arguments)

    def write(self, path: str, text: str | None) -> Self:
        self.apply(Change(path, None if text is None else text.encode()))
        return self

    def apply(self, *changes: Change) -> None:
        """One job, committed: what just came in may look like somebody's pull that goes on."""
        store = self.store
        if store.apply(Job(f"Write {changes[0].path}", changes)).waiting:
            assert store.save().waiting == ""

    def edit(self, path: str, old: str, new: str) -> Self:
        text = self.read(path)
        assert old in text
        return self.write(path, text.replace(old, new))

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def sync(self, remote: str | None = None, take: str = "") -> Synced:
        return sync(self.store, remote=remote, take=take, proposals=lambda: self.own)

    def propose(self, name: str) -> None:
        """A proposal at its head, which it sends with the next sync."""
        self.run("branch", name, "main")
        self.own[name] = self.head

    @property
    def head(self) -> str:
        return self.run("rev-parse", "HEAD")


@dataclass
class Team:
    """A hub and two clones that have the same lesson and the same rule."""

    hub: Path
    ann: Clone
    bob: Clone

    def share(self, path: str, text: str) -> None:
        """A file that both have."""
        self.ann.write(path, text).sync()
        self.bob.sync()


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Where the first test that needs a team leaves a copy of it for the others."""
    return [tmp_path_factory.mktemp("team")]


@pytest.fixture
def team(tmp_path: Path, git: Git, made_once: list[Path]) -> Team:
    names = ("ann", "bob")
    ann, bob = (Clone(tmp_path / name, git) for name in names)
    copies = made_once[0]
    if not any(copies.iterdir()):
        git(copies, "init", "-q", "--bare", "hub.git")
        for name in names:
            git(copies, "clone", "-q", "hub.git", name)
            clone = Clone(copies / name, git)
            clone.run("config", "user.name", name)
            clone.run("config", "user.email", f"{name}@example.com")
            clone.run("remote", "set-url", "origin", "../hub.git")
            if name == "ann":
                clone.write(LESSON, TEXT)
                clone.write(RULE, RULE_TEXT)
            clone.sync()
    for name in ("hub.git", *names):
        shutil.copytree(copies / name, tmp_path / name, symlinks=True)
    return Team(tmp_path / "hub.git", ann, bob)


def test_what_is_new_here_goes_out_and_what_is_new_there_comes_in(team: Team) -> None:
    team.ann.write("p/lessons/1.md", "1\n")
    begun: list[tuple[str, int, int]] = []
    sent = sync(team.ann.store, progress=lambda *told: begun.append(told))
    assert begun == [
        ("Fetching from origin", 0, 0),
        ("Sending to origin (commits: 1, proposals: 0)", 0, 0),
    ]
    assert (sent.sent, sent.received, sent.merged, sent.notes) == (1, 0, (), ())
    came = team.bob.sync()
    assert (came.sent, came.received, came.commit) == (0, 1, team.ann.head)
    assert team.bob.read("p/lessons/1.md") == "1\n"
    again = team.bob.sync()
    assert (again.sent, again.received) == (0, 0)


def test_edits_of_the_same_entry_are_merged_key_by_key_into_a_merge_commit(team: Team) -> None:
    team.ann.edit(LESSON, "  - a\n", "  - a\n  - ann\n")
    team.ann.edit(RULE, "\n1\n", "\none\n")
    team.ann.edit(LESSON, "confidence: high", "confidence: low").sync()
    team.bob.edit(LESSON, "  - a\n", "  - a\n  - bob\n")
    team.bob.edit(LESSON, "source: tested", "source: observed")
    team.bob.edit(LESSON, "Five.", "5.")
    mine, theirs = team.bob.head, team.ann.head
    done = team.bob.sync()
    assert (done.merged, done.received, done.sent) == ((LESSON,), 3, 4)
    assert team.bob.read(RULE) == RULE_TEXT.replace("\n1\n", "\none\n"), "which one side changed"
    merged = (
        TEXT.replace("  - a\n", "  - a\n  - ann\n  - bob\n")
        .replace("high", "low")
        .replace("tested", "observed")
    )
    assert team.bob.read(LESSON) == merged.replace("Five.", "5.")
    subject = "Merge remote-tracking branch 'origin/main' into main"
    assert team.bob.run("log", "-1", "--format=%P %s") == f"{mine} {theirs} {subject}"
    assert team.bob.run("status", "--porcelain") == ""
    assert team.ann.sync().received == 4
    assert team.ann.run("rev-parse", "HEAD^{tree}") == team.bob.run("rev-parse", "HEAD^{tree}")
    assert "error" not in team.bob.run("fsck", "--strict")


def test_the_users_own_edits_stay_as_they_are_staged_or_not(team: Team) -> None:
    for name in ("staged.md", "edited.md"):
        team.share(name, "old\n")
    team.ann.edit(LESSON, "Five.", "5.").sync()
    (team.bob.root / "staged.md").write_text("new\n")
    team.bob.run("add", "staged.md")
    (team.bob.root / "edited.md").write_text("new\n")
    (team.bob.root / "untracked.md").write_text("new\n")
    team.bob.edit(LESSON, "One.", "1.")
    before = team.bob.run("status", "--porcelain")
    done = team.bob.sync()
    assert done.notes == (
        "3 entry files are edited and in no commit, so nobody else has them: ai-lessons admin save --edits",
    )
    assert (
        team.bob.run("status", "--porcelain")
        == before
        == "M edited.md\nM  staged.md\n?? untracked.md"
    )
    assert team.bob.read(LESSON) == TEXT.replace("One.", "1.").replace("Five.", "5.")


def test_a_lock_of_gits_is_named_and_nothing_is_merged(team: Team) -> None:
    team.ann.write("x.md", "x\n").sync()
    (team.bob.root / ".git/index.lock").touch()
    before = team.bob.head
    with pytest.raises(Conflict, match=r"git holds .*index\.lock"):
        team.bob.sync()
    assert team.bob.head == before
    (team.bob.root / ".git/index.lock").unlink()
    assert team.bob.sync().received == 1


@pytest.mark.parametrize(
    ("state", "diverged"),
    [
        ("edited", True),
        ("staged", False),
        ("untracked", True),
        ("untracked", False),
        ("ignored", False),
    ],
)
def test_an_edit_in_the_way_stops_the_sync_before_anything_has_changed(
    team: Team, state: str, diverged: bool
) -> None:
    path = LESSON if state in {"edited", "staged"} else "p/new.md"
    team.ann.write(path, "from ann\n")
    team.ann.write("p/other.md", "from ann\n").sync()
    if diverged:
        team.bob.write("p/mine.md", "mine\n")
    (team.bob.root / path).write_text("from bob\n")
    if state == "staged":
        team.bob.run("add", path)
    if state == "ignored":
        (team.bob.root / ".git/info/exclude").write_text("new.md\n")
    looks = (("rev-parse", "HEAD"), ("status", "--porcelain"), ("diff",), ("diff", "--cached"))
    before = [team.bob.run(*look) for look in looks]
    with pytest.raises(UnsavedEdits) as caught:
        team.bob.sync()
    assert path in caught.value.message
    assert caught.value.exit_code == 6
    assert before == [team.bob.run(*look) for look in looks]
    assert (team.bob.root / path).read_text() == "from bob\n"
    assert not (team.bob.root / "p/other.md").exists()


def torn(done: Synced) -> dict[str, tuple[str, ...]]:
    """The files in conflict, and why."""
    return {one.path: one.reasons for one in done.conflicts}


class TestConflict:
    @pytest.fixture
    def done(self, team: Team) -> Synced:
        team.ann.edit(LESSON, "One.", "I.")
        team.ann.write("ann.md", "ann\n").sync()
        team.bob.edit(LESSON, "One.", "1.")
        self.before = team.bob.head
        return team.bob.sync()

    def test_leaves_branch_and_files_as_they_were_and_keeps_our_side_on_the_hub(
        self, team: Team, done: Synced
    ) -> None:
        assert torn(done) == {LESSON: ("the text",)}
        assert team.bob.head == self.before
        assert team.bob.run("status", "--porcelain") == ""
        assert "1.\n" in team.bob.read(LESSON)
        assert not (team.bob.root / "ann.md").exists()
        assert re.fullmatch(r"conflict/2.*Z-x-8f3k2a", done.kept)
        assert team.bob.git(team.hub, "rev-parse", done.kept) == team.bob.head
        assert team.bob.git(team.hub, "rev-parse", "main") == team.ann.head
        # asked again it is the same conflict, and its branch moves on
        assert team.bob.sync().kept == done.kept
        again = team.bob.write("more.md", "more\n").sync()
        assert (again.kept, again.conflicts) == (done.kept, done.conflicts)
        assert team.bob.git(team.hub, "rev-parse", done.kept) == team.bob.head

    @pytest.mark.parametrize(("take", "text"), [("ours", "1."), ("theirs", "I.")])
    def test_is_settled_by_a_choice_and_the_next_sync_clears_the_branch(
        self, team: Team, done: Synced, take: str, text: str
    ) -> None:
        (conflict,) = torn_now(team.bob.store, done.place)
        assert conflict.ours == TEXT.replace("One.", "1.")
        assert conflict.theirs == TEXT.replace("One.", "I.")
        assert decide(team.bob.store, done.place, conflict.path, take).torn == ()
        assert torn_now(team.bob.store, done.place) == ()
        assert team.bob.read(LESSON) == TEXT.replace("One.", text)
        assert team.bob.read("ann.md") == "ann\n"
        assert team.bob.run("status", "--porcelain") == ""
        team.bob.sync()
        assert kept(team.bob.store.worktree) == {}
        assert team.bob.git(team.hub, "branch", "--list", "conflict/*") == ""
        team.ann.sync()
        assert team.ann.read(LESSON) == TEXT.replace("One.", text)

    def test_a_choice_holds_only_for_the_texts_that_it_was_made_about(
        self, team: Team, done: Synced
    ) -> None:
        team.ann.edit(RULE, "1", "uno").sync()
        team.bob.edit(RULE, "4", "four").sync()
        lesson, rule = torn_now(team.bob.store, done.place)
        assert rule.reasons == ("a rule, which is never merged",)
        assert decide(team.bob.store, done.place, lesson.path, "ours").torn[0].path == RULE
        team.bob.edit(LESSON, "1.", "2.")
        assert [one.path for one in torn_now(team.bob.store, done.place)] == [LESSON, RULE]


def test_removed_here_and_changed_there_is_a_conflict_from_both_sides(team: Team) -> None:
    team.ann.write(LESSON, None)
    team.ann.edit(RULE, "1", "one").sync()
    team.bob.edit(LESSON, "Five.", "5.")
    team.bob.write(RULE, None)
    done = team.bob.sync()
    gone = [(one.path, one.ours is None, one.theirs is None) for one in done.conflicts]
    assert gone == [(LESSON, False, True), (RULE, True, False)]
    for one in torn_now(team.bob.store, done.place):
        decide(team.bob.store, done.place, one.path, "theirs")
    assert not (team.bob.root / LESSON).exists()
    assert "one" in team.bob.read(RULE)


@pytest.mark.parametrize("mover", ["ann", "bob"])
def test_an_edit_follows_an_entry_that_was_moved_meanwhile(team: Team, mover: str) -> None:
    moving, editing = (team.ann, team.bob) if mover == "ann" else (team.bob, team.ann)
    new = "q/lessons/2026-11/renamed.md"
    text = moving.read(LESSON).replace("title: PUT replaces all", "title: Quite another title")
    moving.apply(Change(LESSON, None), Change(new, text.encode()))
    editing.edit(LESSON, "Five.", "5.")
    team.ann.sync()
    done = team.bob.sync()
    assert (done.conflicts, done.merged) == ((), (new,))
    assert not (team.bob.root / LESSON).exists()
    assert team.bob.read(new) == text.replace("Five.", "5.")


def test_an_entry_that_both_moved_ends_where_the_hub_has_it(team: Team) -> None:
    for clone, project in ((team.ann, "a"), (team.bob, "b")):
        text = clone.read(LESSON).replace("  - a\n", f"  - {project}{project}\n  - a\n")
        clone.apply(Change(LESSON, None), Change(f"{project}/lessons/x.md", text.encode()))
    team.ann.sync()
    assert team.bob.sync().conflicts == ()
    assert not (team.bob.root / "b/lessons/x.md").exists()
    assert "  - aa\n  - bb\n" in team.bob.read("a/lessons/x.md")


@pytest.mark.parametrize(("mover", "runs"), [("ann", True), ("bob", False)])
def test_moved_here_and_removed_there_is_a_conflict_about_the_new_place(
    team: Team, mover: str, runs: bool
) -> None:
    moving, removing = (team.ann, team.bob) if mover == "ann" else (team.bob, team.ann)
    new = "q/lessons/2026-11/renamed.md"
    moving.apply(Change(LESSON, None), Change(new, TEXT.encode(), executable=runs))
    removing.write(LESSON, None)
    team.ann.sync()
    done = team.bob.sync()
    assert torn(done) == {new: (REMOVED,)}
    decide(team.bob.store, done.place, new, "theirs" if mover == "ann" else "ours")
    assert team.bob.read(new) == TEXT
    assert not (team.bob.root / LESSON).exists()


def test_an_entry_moved_to_a_name_that_the_other_gave_to_another_loses_neither(team: Team) -> None:
    new, other = (
        "q/lessons/2026-11/renamed.md",
        TEXT.replace("8F3K2A", "7F3K2A").replace("One.", "Another."),
    )
    team.ann.edit(LESSON, "Five.", "5.")
    team.ann.write(new, other).sync()
    team.bob.apply(Change(LESSON, None), Change(new, TEXT.encode()))
    done = team.bob.sync()
    assert torn(done) == {LESSON: (REMOVED,), new: ("id", "the text")}
    decide(team.bob.store, done.place, LESSON, "theirs")
    decide(team.bob.store, done.place, new, "theirs")
    assert team.bob.read(LESSON) == TEXT.replace("Five.", "5.")
    assert team.bob.read(new) == other


def test_two_entries_that_look_alike_are_never_taken_for_one_that_was_moved(team: Team) -> None:
    new, other = (
        "p/lessons/2026-11/y-7f3k2a.md",
        TEXT.replace("8F3K2A", "7F3K2A").replace("One.", "Another."),
    )
    team.ann.apply(Change(LESSON, None), Change(new, other.encode()))
    team.ann.sync()
    team.bob.edit(LESSON, "  - z\n", "  - z\n  - zz\n")
    assert [one.path for one in team.bob.sync().conflicts] == [LESSON]
    team.bob.write(LESSON, None)
    assert team.bob.sync().conflicts == ()
    assert team.bob.read(new) == other
    assert not (team.bob.root / LESSON).exists()


@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_a_file_edited_here_and_made_a_folder_of_there_is_decided_one_after_the_other(
    team: Team, take: str
) -> None:
    team.share("p/notes", "a file\n")
    team.ann.write("p/notes", None)
    team.ann.write("p/notes/one.md", "below a folder\n").sync()
    team.bob.write("p/notes", "edited\n")
    done = team.bob.sync()
    assert [one.path for one in done.conflicts] == ["p/notes"]
    left = decide(team.bob.store, done.place, "p/notes", take).torn
    if take == "theirs":
        assert left == ()
        assert team.bob.read("p/notes/one.md") == "below a folder\n"
    else:
        assert [one.path for one in left] == ["p/notes/one.md"]
        assert decide(team.bob.store, done.place, "p/notes/one.md", "ours").torn == ()
        assert team.bob.read("p/notes") == "edited\n"


def test_no_attribute_and_no_merge_driver_of_the_repository_has_a_say_in_a_sync(team: Team) -> None:
    team.share(".gitattributes", "*.md merge=theirs\n* merge=union\n")
    (team.bob.root / ".git/info/attributes").write_text(
        "p/rules/* merge=theirs\n*.bin merge=union\n"
    )
    team.bob.run("config", "merge.theirs.driver", "touch ran; cp %B %A")
    team.bob.run("config", "merge.default", "theirs")
    for clone, number in ((team.ann, "1"), (team.bob, "2")):
        clone.edit(LESSON, "  - a\n", f"  - a\n  - a{number}\n")
        clone.edit(RULE, number, "edited")
        clone.apply(Change("p/x.bin", b"\0" + number.encode()))
    team.ann.sync()
    done = team.bob.sync()
    assert [one.path for one in done.conflicts] == [RULE, "p/x.bin"]
    for one in done.conflicts:
        decide(team.bob.store, done.place, one.path, "ours")
    assert "  - a\n  - a1\n  - a2\n" in team.bob.read(LESSON)
    assert not list(team.bob.root.rglob("ran"))


def test_forty_merged_files_start_no_more_programs_than_one(team: Team, started: Path) -> None:
    names = [f"p/lessons/2026-11/{number}.md" for number in range(40)]
    team.ann.apply(*(Change(name, TEXT.encode()) for name in names))
    team.ann.sync()
    team.bob.sync()
    counts = []
    for some in (names[:1], names):
        for clone, old, new in ((team.ann, "One.", "1."), (team.bob, "Five.", "5.")):
            texts = [clone.read(name) for name in some]
            flipped = [
                text.replace(old, new) if old in text else text.replace(new, old) for text in texts
            ]
            clone.apply(
                *(Change(name, text.encode()) for name, text in zip(some, flipped, strict=True))
            )
        team.ann.sync()
        started.write_text("")
        assert team.bob.sync().merged == tuple(sorted(some))
        counts.append(len(started.read_text().splitlines()))
        team.ann.sync()
    assert counts[0] == counts[1]


def test_a_file_where_the_other_has_a_folder_is_a_conflict(team: Team) -> None:
    team.ann.write("p/notes", "a file\n").sync()
    team.bob.write("p/notes/one.md", "below a folder\n")
    assert torn(team.bob.sync()) == {
        "p/notes": ("a file on one side has the name of a folder on the other",)
    }


def test_a_folder_that_they_made_a_file_of_is_a_file(team: Team) -> None:
    team.share("p/notes/one.md", "below a folder\n")
    team.ann.write("p/notes/one.md", None)
    team.ann.write("p/notes", "a file\n").sync()
    team.bob.write("p/other.md", "x\n")
    assert team.bob.sync().conflicts == ()
    assert team.bob.read("p/notes") == "a file\n"


def test_event_logs_of_one_name_are_the_union(team: Team) -> None:
    log = ".ai-lessons/events/c/2026-11.jsonl"
    for clone, events in ((team.ann, "13"), (team.bob, "23")):
        clone.write(log, "".join(f'{{"id":"{event}"}}\n' for event in events)).sync()
    assert sorted(team.bob.read(log).splitlines()) == ['{"id":"1"}', '{"id":"2"}', '{"id":"3"}']


@pytest.mark.parametrize("runs", ["ann", "bob"])
def test_a_script_that_both_added_and_one_can_run_can_be_run(team: Team, runs: str) -> None:
    for clone in (team.ann, team.bob):
        clone.apply(Change("p/scripts/1/x.sh", b"#!/bin/sh\n", executable=runs == clone.root.name))
        clone.sync()
    assert team.bob.run("ls-files", "-s", "p/scripts/1/x.sh").startswith("100755")


def test_histories_that_cross_are_merged_over_their_common_ground(team: Team) -> None:
    team.ann.edit(LESSON, "One.", "1.")
    team.bob.edit(LESSON, "Five.", "5.")
    first, second = team.ann.head, team.bob.head
    team.ann.run("fetch", "-q", "../bob", "main")
    team.bob.run("fetch", "-q", "../ann", "main")
    team.ann.run("merge", "-q", "--no-edit", second)
    team.bob.run("merge", "-q", "--no-edit", first)
    team.ann.edit(LESSON, "  - a\n", "  - a\n  - ann\n")
    team.bob.edit(LESSON, "1.", "One.")
    team.ann.sync()
    assert team.bob.sync().conflicts == ()
    assert team.bob.read(LESSON) == TEXT.replace("Five.", "5.").replace(
        "  - a\n", "  - a\n  - ann\n"
    )


def test_somebody_who_is_faster_is_merged_and_the_push_repeated(team: Team) -> None:
    team.ann.write("ann.md", "ann\n")
    hook = team.bob.root / ".git/hooks/pre-push"
    put_program(
        hook,
        f"#!/bin/sh\nrm -f '{hook}'\nenv -i PATH=\"$PATH\" git -C '{team.ann.root}' push -q origin main\n",
    )
    team.bob.write("bob.md", "bob\n")
    done = team.bob.sync()
    assert done.received == 1
    assert (
        team.bob.git(team.hub, "ls-tree", "--name-only", "main", "ann.md", "bob.md")
        == "ann.md\nbob.md"
    )


def refusing(hub: Path, words: str) -> None:
    put_program(
        hub / "hooks/update",
        f'#!/bin/sh\ncase "$1" in refs/heads/main) echo "error: {words}" >&2; exit 1;; esac\n',
    )


def test_at_a_terminal_it_is_shown_how_much_comes_and_goes_and_a_refusal_stays_as_it_is(
    team: Team,
) -> None:
    def shown(clone: Clone) -> dict[str, tuple[int, int]]:
        told = dict[str, tuple[int, int]]()
        sync(
            clone.store,
            ask=True,
            progress=lambda what, done, total: told.update({what: (done, total)}),
        )
        return told

    for number in range(3):
        team.ann.write(f"p/lessons/{number}.md", f"{number}\n")
    objects = shown(team.ann)["Writing objects"]
    assert objects[0] == objects[1] >= 9  # three commits, three trees, three files
    came = shown(team.bob)
    assert came["Receiving objects"] == objects
    refusing(team.hub, "Counting is not allowed")
    team.ann.write("p/lessons/more.md", "more\n")
    with pytest.raises(Refused, match=r"does not take pushes to main: .*Counting is not allowed"):
        shown(team.ann)


def test_a_protected_branch_is_said_clearly_the_work_stays_here_and_proposals_go_out(
    team: Team,
) -> None:
    refusing(team.hub, "GH006: Protected branch update failed for refs/heads/main.")
    team.ann.propose(PROPOSAL)
    proposed = team.ann.head
    team.ann.edit(LESSON, "Five.", "5.")
    with pytest.raises(Refused) as caught:
        team.ann.sync()
    assert caught.value.message.startswith(
        "origin does not take pushes to main: hook declined: GH006: Protected branch"
    )
    assert "git push origin main:refs/heads/from-main" in caught.value.hint
    assert "5." in team.ann.read(LESSON)
    assert team.ann.git(team.hub, "rev-parse", PROPOSAL) == proposed
    assert team.bob.sync().arrived == (PROPOSAL,)


@pytest.mark.parametrize("hook", ["pre-push", "pre-receive"])
def test_a_hook_that_refuses_main_is_quoted_and_proposals_go_all_the_same(
    team: Team, hook: str
) -> None:
    folder = team.ann.root / ".git/hooks" if hook == "pre-push" else team.hub / "hooks"
    put_program(
        folder / hook,
        "#!/bin/sh\nif grep -q refs/heads/main; then echo ==; echo no; echo ticket; exit 1; fi\n",
    )
    team.ann.propose(PROPOSAL)
    team.ann.write("x.md", "x\n")
    with pytest.raises(Refused, match=r"no; ticket; proposals were sent: rules/R-AAAAAA-x"):
        team.ann.sync()
    assert team.ann.git(team.hub, "rev-parse", PROPOSAL) == team.ann.own[PROPOSAL]
    assert team.ann.store.commits(None)


def test_a_proposal_that_a_hook_refuses_is_unsent_and_a_remote_that_is_gone_is_no_refusal(
    team: Team,
) -> None:
    put_program(team.ann.root / ".git/hooks/pre-push", "#!/bin/sh\necho no >&2; exit 1\n")
    team.ann.propose(PROPOSAL)
    done = team.ann.sync()
    assert (done.unsent, done.proposals) == ((PROPOSAL,), ())
    assert done.notes == ("rules/R-AAAAAA-x was not pushed: your hook pre-push refused it: no",)
    team.ann.run("remote", "set-url", "--push", "origin", "/nowhere")
    with pytest.raises(Unreachable):
        team.ann.sync()


def test_a_proposal_that_somebody_went_on_with_goes_on_here_and_one_that_differs_is_named(
    team: Team,
) -> None:
    for name in (PROPOSAL, "rules/R-BBBBBB-x"):
        team.ann.propose(name)
    team.ann.sync()
    team.bob.sync()
    tip = team.bob.run("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "more")
    team.bob.run(
        "push", "-q", "origin", f"{tip}:refs/heads/{PROPOSAL}", f"{tip}:refs/heads/rules/R-BBBBBB-x"
    )
    other = team.ann.run("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "else")
    team.ann.run("update-ref", "refs/heads/rules/R-BBBBBB-x", other)
    team.ann.own["rules/R-BBBBBB-x"] = other
    done = team.ann.sync()
    assert team.ann.run("rev-parse", PROPOSAL) == tip
    assert done.notes == ("rules/R-BBBBBB-x says something else here than on origin",)


def test_without_a_remote_or_with_a_wrong_one_the_error_says_what_to_do(team: Team) -> None:
    with pytest.raises(NotFound, match="no remote 'upstream'") as caught:
        team.ann.sync("upstream")
    assert caught.value.hint == "--remote takes one of: origin"
    team.ann.run("remote", "remove", "origin")
    with pytest.raises(NotFound) as caught:
        team.ann.sync()
    assert caught.value.hint == f"git -C {team.ann.root} remote add origin ADDRESS"


def test_a_remote_can_be_named_and_the_branch_may_have_another_name_there(
    team: Team, tmp_path: Path
) -> None:
    team.ann.git(tmp_path, "init", "-q", "--bare", "other.git")
    team.ann.run("remote", "add", "backup", "../other.git")
    assert team.ann.sync("backup").sent == 2
    assert team.ann.git(tmp_path / "other.git", "rev-parse", "main") == team.ann.head
    team.ann.run("push", "-q", "origin", "main:trunk")
    team.ann.run("branch", "-q", "--set-upstream-to=origin/trunk")
    team.ann.write("x.md", "x\n")
    assert team.ann.sync().place.name == "origin/trunk"
    assert team.ann.git(team.hub, "rev-parse", "trunk") == team.ann.head


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (("checkout", "-q", "--detach"), "HEAD is detached"),
        (("merge", "-q", "--no-ff", "--no-commit", "other"), "a merge is under way"),
    ],
)
def test_in_the_middle_of_something_nothing_is_shared(
    team: Team, prepare: tuple[str, ...], words: str
) -> None:
    team.ann.run("switch", "-qc", "other")
    team.ann.run("commit", "-qm", "other", "--allow-empty")
    team.ann.run("switch", "-q", "main")
    team.ann.run(*prepare)
    with pytest.raises(Conflict, match=words):
        team.ann.sync()


def test_two_repositories_that_have_nothing_in_common_are_not_merged(
    team: Team, git_repo: Path, git: Git
) -> None:
    git(git_repo, "remote", "add", "origin", str(team.hub))
    stranger = Clone(git_repo, git)
    before = stranger.head
    with pytest.raises(Refused, match="no commit in common"):
        stranger.sync()
    assert stranger.head == before


def test_a_branch_without_commits_takes_what_is_there(team: Team, tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "new")
    git(tmp_path / "new", "remote", "add", "origin", str(team.hub))
    fresh = Clone(tmp_path / "new", git)
    assert fresh.sync().received == 2
    assert fresh.read(LESSON) == TEXT
    assert fresh.run("status", "--porcelain") == ""


def test_a_shallow_clone_shares_as_far_as_it_reaches_and_says_where_it_does_not(
    team: Team, tmp_path: Path, git: Git
) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{team.hub}", "shallow")
    shallow = Clone(tmp_path / "shallow", git)
    shallow.write("s.md", "s\n")
    assert shallow.sync().sent == 1
    team.ann.sync()
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{team.hub}", "cut")
    cut = Clone(tmp_path / "cut", git)
    tree = cut.run("rev-parse", "HEAD^{tree}")
    cut.run("update-ref", "refs/heads/main", cut.run("commit-tree", tree, "-m", "cut off"))
    with pytest.raises(UnsupportedRepository) as caught:
        cut.sync()
    assert "git fetch --unshallow origin" in caught.value.hint


def test_a_folder_of_a_bigger_repository_is_shared_with_that(team: Team) -> None:
    (team.ann.root / "p").mkdir(exist_ok=True)
    with pytest.raises(Refused, match="is shared as a whole"):
        sync(Store(team.ann.root / "p", committing=Committer))


def test_a_hub_that_is_gone_is_unreachable_and_nothing_changes(team: Team) -> None:
    team.hub.rename(team.hub.with_name("gone.git"))
    team.ann.write("x.md", "x\n")
    before = team.ann.head
    with pytest.raises(Unreachable) as caught:
        team.ann.sync()
    assert "does not appear to be a git repository" in caught.value.message
    assert "git -C " in caught.value.hint
    assert team.ann.head == before


def test_a_connection_that_never_answers_is_given_up_and_all_its_processes_ended(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = tmp_path / "alive"
    silent = put_program(tmp_path / "ssh", f'#!/bin/sh\necho $$ > "{alive}"\nexec sleep 1000\n')
    team.ann.run("config", "core.sshCommand", str(silent))
    team.ann.run("remote", "set-url", "origin", "ssh://nowhere.example/hub.git")
    monkeypatch.setattr("ai_lessons.git.network.REMOTE_SECONDS", 3.0)
    with pytest.raises(Unreachable, match="no answer within 3 seconds"):
        team.ann.sync()
    # on a machine that is busy enough it was ended before it could say its number
    process = int(alive.read_text() or "0") if alive.exists() else 0
    assert not process or ends(process)


def test_nobody_at_the_terminal_means_that_ssh_and_git_ask_nothing(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    put_program(tmp_path / "ssh", f'#!/bin/sh\necho "$GIT_TERMINAL_PROMPT $*" > "{told}"\nexit 1\n')
    team.ann.run("config", "core.sshCommand", str(tmp_path / "ssh"))
    team.ann.run("remote", "set-url", "origin", "ssh://nowhere.example/hub.git")
    with pytest.raises(Unreachable):
        team.ann.sync()
    assert told.read_text().startswith("0 -oBatchMode=yes -oConnectTimeout=")
    with pytest.raises(Unreachable):
        sync(team.ann.store, ask=True)
    assert told.read_text().startswith("1 -oConnectTimeout=")


def test_nothing_is_asked_of_git_that_version_2_34_lacks(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = team.ann.run("--exec-path")
    old = tmp_path / "old"
    old.mkdir()
    put_program(
        old / "git",
        '#!/bin/sh\nfor word; do case "$word" in merge-tree|replay|--merge-base*) '
        f'echo "usage: git" >&2; exit 129;; esac; done\nexec "{real}/git" "$@"\n',
    )
    monkeypatch.setenv("PATH", f"{old}:/usr/bin:/bin")
    team.ann.edit(LESSON, "One.", "1.").sync()
    team.bob.edit(LESSON, "Five.", "5.")
    assert team.bob.sync().merged == (LESSON,)
    assert team.bob.read(LESSON) == TEXT.replace("One.", "1.").replace("Five.", "5.")


def test_commits_that_the_user_wants_signed_but_cannot_sign_are_made_and_said_to_be_unsigned(
    team: Team,
) -> None:
    team.bob.run("config", "commit.gpgsign", "true")
    team.bob.run("config", "gpg.program", "false")
    team.ann.edit(LESSON, "One.", "1.").sync()
    (team.bob.root / "x.md").write_text("x\n")
    team.bob.run("add", "x.md")
    team.bob.run("commit", "-qm", "x", "--no-gpg-sign")
    done = team.bob.sync()
    assert (done.merged, [note.partition(":")[0] for note in done.notes]) == ((), ["unsigned"])
    assert team.bob.git(team.hub, "rev-parse", "main") == team.bob.head


def erased(team: Team) -> str:
    """Both have a text that Ann then erases from the history of the hub; the commit that had it."""
    team.share("p/lessons/customer.md", "Max has account 4711\n")
    gone = team.ann.head
    team.ann.run("reset", "-q", "--hard", "HEAD~1")
    team.ann.run("commit", "-q", "--allow-empty", "-m", "Something else")
    team.ann.run("push", "-q", "--force", "origin", "main")
    return gone


@pytest.mark.parametrize(("by_hand", "own"), [(False, True), (True, False)])
def test_history_that_was_erased_on_the_hub_stays_erased(
    team: Team, by_hand: bool, own: bool
) -> None:
    gone, hub = erased(team), team.ann.head
    if own:
        team.bob.write("bob.md", "bob\n")
    if by_hand:
        team.bob.run("fetch", "-q", "--prune")
    before = team.bob.head
    for _ in range(2):
        with pytest.raises(
            Conflict, match=f"origin/main was rewritten: commit {gone[:10]}"
        ) as caught:
            team.bob.sync()
    assert "--take theirs" in caught.value.hint
    assert (team.bob.head, team.bob.git(team.hub, "rev-parse", "main")) == (before, hub)
    done = team.bob.sync(take="theirs")
    assert (team.bob.head, done.sent) == (hub, 0)
    assert not (team.bob.root / "p/lessons/customer.md").exists()
    (name,) = team.bob.run("branch", "--list", "kept/*", "--format=%(refname:short)").split()
    assert name in done.notes[0]
    assert team.bob.run("rev-parse", name) == before
    team.bob.write("more.md", "more\n")
    assert team.bob.sync().sent == 1
    assert team.bob.git(team.hub, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_taking_theirs_keeps_an_edit_of_ones_own_or_stops_before_anything_has_changed(
    team: Team,
) -> None:
    erased(team)
    (team.bob.root / LESSON).write_text("mine\n")
    before = team.bob.head
    team.bob.sync(take="theirs")
    assert team.bob.read(LESSON) == "mine\n"
    team.ann.edit(LESSON, "Five.", "5.")
    team.ann.run("push", "-q", "--force", "origin", f"{before}:main")
    team.bob.run("checkout", "-q", LESSON)
    (team.bob.root / "p/lessons/customer.md").write_text("not committed\n")
    head = team.bob.head
    with pytest.raises(UnsavedEdits, match=r"customer\.md"):
        team.bob.sync(take="theirs")
    assert (team.bob.head, team.bob.read("p/lessons/customer.md")) == (head, "not committed\n")


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_branch_that_was_renamed_on_the_hub_is_not_made_again(team: Team, by_hand: bool) -> None:
    team.ann.run("branch", "-m", "main", "trunk")
    team.ann.run("push", "-q", "origin", "trunk")
    team.ann.git(team.hub, "symbolic-ref", "HEAD", "refs/heads/trunk")
    team.ann.run("push", "-q", "origin", ":main")
    team.bob.write("bob.md", "bob\n")
    if by_hand:
        team.bob.run("fetch", "-q", "--prune")
    for _ in range(2):
        with pytest.raises(
            Conflict, match=r"origin has no branch main any more.* its main branch is trunk"
        ):
            team.bob.sync()
    assert team.bob.git(team.hub, "for-each-ref", "--format=%(refname)") == "refs/heads/trunk"
    assert team.bob.sync(take="theirs").sent == 1
    assert team.bob.run("branch", "--show-current") == "trunk"
    assert team.bob.sync().sent == 0


def test_a_hub_that_was_made_anew_is_filled(team: Team, tmp_path: Path) -> None:
    team.ann.git(tmp_path, "init", "-q", "--bare", "-b", "main", "new.git")
    team.ann.run("remote", "set-url", "origin", "../new.git")
    assert team.ann.sync().sent > 0


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_proposal_that_was_deleted_on_the_hub_is_not_sent_again(
    team: Team, by_hand: bool
) -> None:
    team.ann.propose(PROPOSAL)
    assert team.ann.sync().proposals == (PROPOSAL,)
    team.bob.run("push", "-q", "origin", f":{PROPOSAL}")
    if by_hand:
        team.ann.run("fetch", "-q", "--prune")
    for _ in range(2):
        done = team.ann.sync()
        assert done.proposals == ()
        assert f"{PROPOSAL} was deleted on origin and is not sent again" in done.notes[0]
    assert team.ann.git(team.hub, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


EVENTS = ".ai-lessons/events/abc/2026-11.jsonl"


def test_recorded_events_alone_strand_no_commit_on_a_protected_branch(team: Team) -> None:
    refusing(team.hub, "not here")
    before = team.ann.head
    team.ann.write(EVENTS, "{}\n")
    done = team.ann.sync()
    assert (team.ann.head, done.sent) == (before, 0)
    assert done.notes == (
        "origin/main takes no pushes: nothing is committed on main from now on, events stay here",
    )
    assert team.ann.sync().notes == ()
    assert not team.ann.store.commits(None)
    team.ann.run("switch", "-q", "-c", "work")
    assert team.ann.store.commits(None)
    team.ann.run("switch", "-q", "main")
    (team.hub / "hooks/update").unlink()
    put_file(team.ann.root / "by-hand.md", "x\n")
    commit_all(team.ann.git, team.ann.root, "By hand")
    assert team.ann.sync().sent == 1
    assert team.ann.store.commits(None)


@pytest.mark.parametrize("later", [False, True])
def test_what_came_to_main_as_a_squash_is_not_sent_again(team: Team, later: bool) -> None:
    team.ann.write("x.md", "x\n")
    team.ann.write("y.md", "y\n")
    team.ann.run("push", "-q", "origin", "main:from-main")
    team.bob.run("fetch", "-q")
    team.bob.run("merge", "-q", "--squash", "origin/from-main")
    team.bob.run("commit", "-q", "-m", "Squashed")
    if later:
        team.bob.write("z.md", "z\n")
    team.bob.run("push", "-q", "origin", "main")
    refusing(team.hub, "protected")
    done = team.ann.sync()
    assert (team.ann.head, done.sent) == (team.bob.head, 0)
    assert team.ann.run("status", "--porcelain") == ""


@pytest.mark.parametrize("setting", ["branch.main.pushRemote", "remote.pushDefault"])
def test_a_fork_gets_what_is_pushed_and_the_upstream_is_merged(
    team: Team, tmp_path: Path, setting: str
) -> None:
    team.ann.git(tmp_path, "clone", "-q", "--bare", "hub.git", "fork.git")
    team.bob.run("remote", "add", "fork", "../fork.git")
    team.bob.run("config", setting, "fork")
    refusing(team.hub, "denied to bob")
    team.ann.git(tmp_path, "clone", "-q", "fork.git", "other")
    other = Clone(tmp_path / "other", team.ann.git)
    other.write("other.md", "other\n")
    assert other.sync().sent == 1
    team.bob.write("bob.md", "bob\n")
    team.bob.propose(PROPOSAL)
    done = team.bob.sync()
    assert (done.proposals, done.received) == ((PROPOSAL,), 1)
    assert "what was sent is on fork/main" in done.notes
    assert (
        team.bob.git(tmp_path / "fork.git", "rev-parse", "main", PROPOSAL).split()[0]
        == team.bob.head
    )
    assert team.bob.sync().sent == 0


def test_the_branch_that_git_would_push_to_is_pushed_to(team: Team) -> None:
    team.bob.run("switch", "-q", "-c", "work", "--track", "origin/main")
    team.bob.run("config", "push.default", "current")
    team.bob.write("bob.md", "bob\n")
    before = team.ann.head
    assert team.bob.sync().sent == 1
    assert team.bob.git(team.hub, "rev-parse", "main", "work").split() == [before, team.bob.head]


def test_a_remote_that_clones_call_otherwise_is_shared_with(team: Team, tmp_path: Path) -> None:
    team.ann.run("remote", "rename", "origin", "company")
    team.ann.run("remote", "add", "aaa", "../nowhere.git")
    team.ann.run("switch", "-q", "-c", "work")
    team.ann.run("config", "clone.defaultRemoteName", "company")
    team.ann.write("x.md", "x\n")
    assert (team.ann.sync().remote, team.ann.sync().branch) == ("company", "work")
