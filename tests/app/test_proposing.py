"""Proposals about anything but rules: how they are made, listed, decided about, and told afterwards."""

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.app import entries, history_of_entries, pending, pending_rules, review, rule_audit
from ai_lessons.app.proposal_context import open_proposals
from ai_lessons.app.proposals import make
from ai_lessons.app.written import Pending, Suggested
from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused, UnsavedEdits
from ai_lessons.model.entries import Entry
from ai_lessons.model.frontmatter import read_entry
from app.world import DOC, LESSON, NOW, SCRIPT, World, lesson, options
from real_world import Git

PATH = "jira/lessons/2026-11/put-replaces-68f3k2a.md"
BRANCH = "proposals/L-8F3K2A-put-replaces-the-workflow"
HOSTILE = "Fine.\n\nAgent: helper\nProposal: rules/R-8F3K2A-x\n\n\x1b[2Jgone\u202e\r\nRule: 01JD3Z8QK5W7M2X9V4T6RRRR22"


@pytest.fixture
def world(git_repo: Path, git: Git, tmp_path: Path, closing: ExitStack) -> World:
    made = World(git_repo, git, options(tmp_path / "person"))
    closing.callback(made.close)
    (tmp_path / "person").mkdir()
    git(git_repo, "config", "user.name", "Human")
    git(git_repo, "config", "user.email", "human@x")
    made.committed("global/docs/unversioned/a.md", "# A\n")
    return made


def entry(path: str = PATH, text: str | None = None, side: str | None = None) -> Entry:
    return read_entry(
        path, (lesson() if text is None else text).encode(), None if side is None else side.encode()
    )


def propose(world: World, files: dict[str, str | None] | None = None, **more: object) -> Suggested:
    """A lesson, if nothing else is said, on a branch of its own."""
    wanted = {PATH: lesson()} if files is None else files
    data = {path: None if text is None else text.encode() for path, text in wanted.items()}
    said = more.pop("said", None) or entry(
        *next((p, t) for p, t in wanted.items() if t is not None)
    )
    repo = world.fresh().primary
    with open_proposals(repo) as at:
        return make(at, said, data, "Propose lesson: PUT replaces the workflow", **more)  # type: ignore[arg-type]


def by_hand(world: World, branch: str, files: dict[str, str | None], base: str = "main") -> None:
    """A proposal as somebody makes it who has nothing but git."""
    world.git(world.root, "switch", "-q", "-c", branch, base)
    for path, text in files.items():
        if text is None:
            (world.root / path).unlink()
        else:
            world.write(path, text)
    world.commit(f"A lesson\n\nSeen on staging.\n\nEntry: {LESSON}")
    world.git(world.root, "switch", "-q", "main")


SCRIPT_PATH, CODE = "jira/scripts/unversioned/put.sh", "#!/bin/sh\necho put\n"
SIDE = f"---\nid: {SCRIPT}\nkind: script\ntitle: Put\n---\nHow.\n"
SCRIPT_FILES: dict[str, str | None] = {SCRIPT_PATH: CODE, f"{SCRIPT_PATH}.md": SIDE}


def waiting(world: World) -> tuple[Pending, ...]:
    return pending_rules.pending_rules(world.fresh())


def test_a_proposed_lesson_waits_on_a_branch_and_is_found_by_nobody(world: World) -> None:
    before = world.git(world.root, "rev-parse", "main"), world.status()
    made = propose(
        world, report="# Evaluation\n\nNo secrets.\n", trailers=[("Promoted-from", "project")]
    )
    assert (made.branch, made.handle, made.warnings) == (BRANCH, "L-8F3K2A", ())
    assert (world.git(world.root, "rev-parse", "main"), world.status()) == before
    assert entries.list_entries(world.fresh()).entries[0].title == "A"
    message = world.git(world.root, "log", "-1", "--format=%B", BRANCH)
    assert message.strip() == (
        "Propose lesson: PUT replaces the workflow\n\n# Evaluation\n\nNo secrets.\n\n"
        f"Promoted-from: project\nEntry: {LESSON}\nProposed-as: {BRANCH}"
    )
    (one,) = waiting(world)
    assert (one.id, one.handle, one.kind, one.change, one.path) == (
        LESSON,
        "L-8F3K2A",
        "lesson",
        "new",
        PATH,
    )
    assert (one.branch, one.title) == (BRANCH, "PUT replaces the workflow")
    assert (one.added, one.conflicts, one.similar, one.report) == (
        7,
        (),
        (),
        "# Evaluation\n\nNo secrets.",
    )
    assert "+Seen twice." in one.diff
    assert pending.count(world.fresh().primary) == 1


def test_an_approved_lesson_is_listed_at_once_and_the_merge_says_who_took_it(world: World) -> None:
    propose(world)
    done = review.approve_rule(world.fresh(), "L-8F3K2A")
    assert (done.path, done.notes) == (PATH, ())
    assert world.git(world.root, "log", "-1", "--format=%s|%(trailers)|%an", done.commit) == (
        f"Approve lesson: PUT replaces the workflow|Proposal: {BRANCH}\nEntry: {LESSON}\n|Human"
    )
    assert len(world.git(world.root, "log", "-1", "--format=%P", "main").split()) == 2
    assert world.titles(kinds=["lesson"]) == ["PUT replaces the workflow"]
    assert (world.status(), waiting(world), pending.count(world.fresh().primary)) == ("", (), 0)
    assert BRANCH not in world.git(world.root, "branch")


def test_a_proposal_is_called_by_an_end_that_no_two_entries_here_have(world: World) -> None:
    for letter in "AB":
        twin = f"{LESSON[:19]}{letter}{LESSON[20:]}"
        world.write(f"jira/lessons/2026-11/{letter}.md", lesson(twin, title=f"Twin {letter}"))
    world.commit()
    assert propose(world).handle == f"L-{LESSON[19:]}"


def test_an_edit_and_a_removal_of_what_is_there_are_told_apart_and_taken(world: World) -> None:
    world.committed(PATH, lesson())
    propose(world, {PATH: lesson(body="Seen thrice.\n")})
    (one,) = waiting(world)
    assert (one.change, one.added, one.removed) == ("edit", 1, 1)
    review.approve_rule(world.fresh(), "L-8F3K2A")
    assert world.read(PATH) == lesson(body="Seen thrice.\n")
    propose(world, {PATH: None}, said=entry())
    assert waiting(world)[0].change == "removal"
    review.approve_rule(world.fresh(), "L-8F3K2A")
    assert not (world.root / PATH).exists()


def test_a_script_comes_with_its_side_file_and_stays_a_program(world: World) -> None:
    script, said = SCRIPT_PATH, entry(SCRIPT_PATH, CODE, SIDE)
    propose(world, SCRIPT_FILES, said=said, executable=[script])
    (one,) = waiting(world)
    assert (one.kind, one.handle, one.path, one.conflicts) == ("script", "S-9XW2RB", script, ())
    assert "+echo put" in one.diff
    assert "+How." in one.diff
    review.approve_rule(world.fresh(), "S-9XW2RB")
    assert os.access(world.root / script, os.X_OK)
    assert world.git(world.root, "ls-tree", "main", script).startswith("100755")
    assert world.status() == ""
    assert world.titles(kinds=["script"]) == ["Put"]
    propose(world, {f"{script}.md": SIDE.replace("How.", "Why.")}, said=said)
    assert (waiting(world)[0].path, waiting(world)[0].title) == (script, "Put")
    review.approve_rule(world.fresh(), "S-9XW2RB")
    assert (world.read(f"{script}.md"), world.status()) == (SIDE.replace("How.", "Why."), "")


def test_a_branch_made_by_hand_is_a_proposal_and_a_plain_merge_takes_it(world: World) -> None:
    by_hand(world, BRANCH, {PATH: lesson()})
    (one,) = waiting(world)
    assert (one.kind, one.title, one.report) == (
        "lesson",
        "PUT replaces the workflow",
        "Seen on staging.",
    )
    world.git(world.root, "merge", "-q", "--no-ff", "--no-edit", BRANCH)
    assert waiting(world) == ()
    assert world.titles(kinds=["lesson"]) == ["PUT replaces the workflow"]


def test_a_squash_closes_it_and_it_stays_closed_when_the_lesson_goes_on(world: World) -> None:
    propose(world)
    world.git(world.root, "merge", "-q", "--squash", BRANCH)
    world.git(world.root, "commit", "-qm", "PUT (#7)")
    assert waiting(world) == ()
    world.committed(PATH, lesson(body="Seen thrice.\n"))
    assert waiting(world) == ()


def test_a_lesson_that_somebody_changes_meanwhile_is_not_overwritten(world: World) -> None:
    world.committed(PATH, lesson())
    propose(world, {PATH: lesson(body="Seen thrice.\n")})
    world.write(PATH, lesson(body="Mine.\n"))
    with pytest.raises(UnsavedEdits, match=PATH):
        review.approve_rule(world.fresh(), "L-8F3K2A")
    assert world.read(PATH) == lesson(body="Mine.\n")
    world.commit()
    assert waiting(world)[0].conflicts == (f"{PATH} was changed on main since it was proposed",)
    with pytest.raises(Conflict, match="was changed on main"):
        review.approve_rule(world.fresh(), "L-8F3K2A")


def test_a_rejection_keeps_every_text_and_the_proposal_stays_closed(world: World) -> None:
    said = entry(SCRIPT_PATH, CODE, SIDE)
    made = propose(world, SCRIPT_FILES, said=said)
    done = review.reject_rule(world.fresh(), "S-9XW2RB", reason="needs a token")
    record = world.read(done.path)
    assert f"script: {SCRIPT}\n" in record
    assert "echo put" in record
    assert "How." in record
    assert world.git(world.root, "log", "-1", "--format=%s", done.commit) == "Reject script: Put"
    world.git(world.root, "branch", made.branch, made.commit)
    assert waiting(world) == ()
    world.git(world.root, "branch", "-D", made.branch)
    assert rule_audit.audit(world.fresh()).taken == ()
    again = propose(world, SCRIPT_FILES, said=said, report="now without")
    assert again.warnings == (f"the same was rejected on {NOW:%Y-%m-%d}: needs a token",)
    assert waiting(world)[0].rejected_before.endswith("needs a token")


def test_the_same_proposal_is_not_made_twice_and_another_gets_a_number(world: World) -> None:
    first, again, other = (
        propose(world),
        propose(world),
        propose(world, {PATH: lesson(body="Else.\n")}),
    )
    assert (again.commit, again.warnings) == (first.commit, ("proposed already",))
    assert other.branch == f"{BRANCH}-2"
    assert waiting(world)[0].conflicts == (f"{BRANCH}-2 proposes something else for this entry",)
    with pytest.raises(NotFound):
        review.approve_rule(world.fresh(), "L-AAAAAA")


def test_an_id_that_stands_elsewhere_already_is_a_fault_unless_it_moves(world: World) -> None:
    elsewhere = "shop/lessons/2026-11/here-68f3k2a.md"
    world.committed(elsewhere, lesson())
    made = propose(world)
    assert waiting(world)[0].conflicts == (f"the entry stands at {elsewhere} on main already",)
    with pytest.raises(Conflict, match="stands at shop"):
        review.approve_rule(world.fresh(), "L-8F3K2A")
    world.git(world.root, "branch", "-qD", made.branch)
    propose(world, {elsewhere: None, PATH: lesson()})
    assert waiting(world)[0].conflicts == ()
    review.approve_rule(world.fresh(), "L-8F3K2A")
    assert [
        one.path for one in entries.list_entries(world.fresh()).entries if one.kind == "lesson"
    ] == [PATH]


def test_a_lesson_that_says_that_it_is_a_rule_is_not_taken(world: World) -> None:
    by_hand(world, BRANCH, {PATH: lesson().replace("kind: lesson", "kind: rule\nrationale: x")})
    assert "says that it is a rule" in waiting(world)[0].conflicts[0]
    with pytest.raises(Conflict, match="says that it is a rule"):
        review.approve_rule(world.fresh(), "L-8F3K2A")


def test_a_text_that_breaks_the_format_is_not_taken(world: World) -> None:
    by_hand(
        world,
        BRANCH,
        {PATH: lesson().replace("title: PUT replaces the workflow\n", "confidence: perhaps\n")},
    )
    with pytest.raises(InvalidEntry, match="confidence"):
        review.approve_rule(world.fresh(), "L-8F3K2A")
    by_hand(
        world,
        "proposals/D-4T7QZM-x",
        {"jira/docs/unversioned/x.md": f"---\nid: {DOC}\ntitle: [[[\n---\n"},
    )
    assert sorted(one.kind for one in waiting(world)) == ["doc", "lesson"]


def test_no_report_passes_for_trailers_or_moves_a_terminal_and_an_edit_keeps_it(
    world: World,
) -> None:
    made = propose(world, report=HOSTILE)
    message = world.git(world.root, "log", "-1", "--format=%(trailers)", made.branch)
    assert message.strip() == f"Entry: {LESSON}\nProposed-as: {BRANCH}"
    (one,) = waiting(world)
    assert "agent" not in one.suggested_by
    assert one.report.startswith("Fine.\n\nAgent: helper\nProposal:")
    assert "\x1b" not in one.report
    assert "\u202e" not in one.report
    edited = review.edit_proposal(
        world.fresh(), made.branch, lambda old, _: old.replace("twice", "thrice")
    )
    assert edited is not None
    assert [(now.report, now.commit) for now in waiting(world)] == [(one.report, edited.commit)]
    review.approve_rule(world.fresh(), "L-8F3K2A")
    assert world.read(PATH) == lesson(body="Seen thrice.\n")


def test_where_somebody_else_has_to_approve_the_proposer_of_a_lesson_cannot(world: World) -> None:
    world.committed(
        ".ai-lessons/config.yaml", "format: 1\napproval:\n  require: merge\n  distinct: true\n"
    )
    propose(world)
    with pytest.raises(Refused, match="Human wrote this proposal"):
        review.approve_rule(world.fresh(), "L-8F3K2A")
    world.git(world.root, "config", "user.email", "other@x")
    review.approve_rule(world.fresh(), "L-8F3K2A")


RULE_PATH, RULE = "jira/rules/ask.md", "01JD3Z8QK5W7M2X9V4T6RRRR22"


def rule(body: str) -> str:
    return (
        f"---\nid: {RULE}\nkind: rule\ntitle: Ask first\nrationale: It broke twice.\n---\n{body}\n"
    )


def rules_in_force(world: World) -> list[str]:
    return [entries.show(world.fresh(), RULE).body for _ in world.titles(kinds=["rule"])]


@pytest.mark.parametrize("path", [PATH, RULE_PATH])
def test_an_approval_is_taken_back_and_waits_again_as_its_author_proposed_it(
    world: World, path: str
) -> None:
    text = lesson() if path == PATH else rule("Ask.")
    world.git(world.root, "config", "user.name", "Author")
    made = propose(world, {path: text}, report="Seen on staging.")
    world.git(world.root, "config", "user.name", "Human")
    (before,) = waiting(world)
    done = review.approve_rule(world.fresh(), made.branch, expect=made.commit)
    assert (world.root / path).exists()
    again = review.take_back(world.fresh(), done.commit)
    assert not (world.root / path).exists()
    assert world.status() == ""
    assert world.titles(kinds=["lesson", "rule"]) == []
    (after,) = waiting(world)
    assert after.commit == again.commit != before.commit
    assert (after.branch, after.suggested_by, after.files, after.report, after.change) == (
        before.branch, before.suggested_by, before.files, before.report, before.change
    )  # fmt: skip
    assert after.suggested_by.startswith("Author")
    review.approve_rule(world.fresh(), again.branch, expect=again.commit)
    assert len(world.titles(kinds=["lesson", "rule"])) == 1
    assert rule_audit.audit(world.fresh()).ok


def test_an_edit_and_a_removal_of_a_rule_are_taken_back_to_the_text_before(world: World) -> None:
    first = propose(world, {RULE_PATH: rule("Ask.")})
    approved = review.approve_rule(world.fresh(), first.branch)
    for text, change in ((rule("Never ask."), "edit"), (None, "removal")):
        made = propose(world, {RULE_PATH: text}, said=entry(RULE_PATH, rule("Ask.")))
        done = review.approve_rule(world.fresh(), made.branch)
        assert rules_in_force(world) == ([] if change == "removal" else ["Never ask.\n"])
        with pytest.raises(Conflict, match="was changed again"):
            review.take_back(world.fresh(), approved.commit)
        again = review.take_back(world.fresh(), done.commit)
        assert rules_in_force(world) == ["Ask.\n"]
        (one,) = waiting(world)
        assert (one.branch, one.change) == (again.branch, change)
        review.reject_rule(world.fresh(), again.branch)
    assert rule_audit.audit(world.fresh()).ok


def test_a_rejection_is_taken_back_once_and_its_record_stays(world: World) -> None:
    made = propose(world)
    done = review.reject_rule(world.fresh(), made.branch, reason="Too vague.")
    again = review.take_back(world.fresh(), done.commit)
    (one,) = waiting(world)
    assert (one.branch, one.commit, one.report) == (made.branch, again.commit, "")
    assert one.rejected_before.endswith("Too vague.")
    assert "Reopens" not in one.suggested_by
    with pytest.raises(Conflict, match="there is a branch"):
        review.take_back(world.fresh(), done.commit)
    review.approve_rule(world.fresh(), made.branch, expect=again.commit)
    assert world.titles(kinds=["lesson"]) == ["PUT replaces the workflow"]


def test_only_a_person_takes_back_only_a_decision_and_alone_only_where_one_approves_alone(
    world: World,
) -> None:
    made = propose(world)
    done = review.approve_rule(world.fresh(), made.branch)
    with pytest.raises(Refused):
        review.take_back(world.fresh(agent="robot"), done.commit)
    for commit in ("0" * 40, world.git(world.root, "rev-parse", f"{done.commit}^1").strip()):
        with pytest.raises(NotFound):
            review.take_back(world.fresh(), commit)
    world.committed(
        ".ai-lessons/config.yaml", "format: 1\napproval:\n  require: merge\n  distinct: true\n"
    )
    with pytest.raises(Refused, match="alone"):
        review.take_back(world.fresh(), done.commit)
    assert waiting(world) == ()
    assert world.titles(kinds=["lesson"]) == ["PUT replaces the workflow"]


def test_under_signed_approvals_a_lesson_needs_no_record(world: World) -> None:
    world.committed(".ai-lessons/config.yaml", "format: 1\napproval:\n  require: signed\n")
    propose(world)
    done = review.approve_rule(world.fresh(), "L-8F3K2A")
    assert done.notes == ()
    assert world.titles(kinds=["lesson"]) == ["PUT replaces the workflow"]


WAYS = {
    "approve": "merge", "merge": "merge", "own words": "merge", "forge": "merge",
    "squash": "commit", "rebase": "commit",
}  # fmt: skip


def take(world: World, way: str) -> None:
    """Take the one proposal that waits, as somebody else than its proposer."""
    world.git(world.root, "config", "user.name", "Curator")
    world.git(world.root, "config", "user.email", "curator@x")
    message = world.git(world.root, "log", "-1", "--format=%B", BRANCH)
    if way == "approve":
        review.approve_rule(world.fresh(), "L-8F3K2A")
    elif way == "squash":
        world.git(world.root, "merge", "-q", "--squash", BRANCH)
        world.git(
            world.root,
            "commit",
            "-q",
            "--author",
            "Human <human@x>",
            "-m",
            f"PUT (#7)\n\n{message}",
        )
    elif way == "rebase":
        world.git(world.root, "cherry-pick", BRANCH)
    else:
        said = {
            "own words": "Yes, that was it",
            "forge": f"Merge pull request #7 from acme/{BRANCH}\n\nPUT",
        }.get(way)
        world.git(
            world.root, "merge", "-q", "--no-ff", *(["-m", said] if said else ["--no-edit"]), BRANCH
        )


@pytest.mark.parametrize("way", WAYS)
def test_who_took_a_lesson_is_told_whichever_way_it_was_taken(world: World, way: str) -> None:
    propose(world, report="Proposal: rules/R-8F3K2A-x\n\nSeen.")
    take(world, way)
    found = rule_audit.audit(world.fresh())
    (one,) = found.taken
    assert (one.id[-6:], one.proposal, one.how) == (LESSON[-6:], BRANCH, WAYS[way])
    assert (one.approved_by, one.suggested_by) == ("Curator <curator@x>", "Human <human@x>")
    assert one.title in {"PUT replaces the workflow", BRANCH}
    assert found.ok
    lines = history_of_entries.why(world.fresh(), "L-8F3K2A").lines
    assert [
        line
        for line in lines
        if line.startswith("approved by Curator <curator@x> on 20") and BRANCH in line
    ]


def test_proposals_in_a_folder_of_a_bigger_repository(
    git_repo: Path, git: Git, tmp_path: Path
) -> None:
    (tmp_path / "person").mkdir()
    (git_repo / "code.py").write_text("x = 1\n")
    (git_repo / ".ai" / "reference" / ".ai-lessons").mkdir(parents=True)
    (git_repo / ".ai/reference/.ai-lessons/config.yaml").write_text("format: 1\n")
    git(git_repo, "add", "-A")
    git(git_repo, "commit", "-qm", "code")
    world = World(git_repo / ".ai" / "reference", git, options(tmp_path / "person"))
    made = propose(world, report="Fine.")
    (one,) = waiting(world)
    assert (one.branch, one.path, one.conflicts, one.report) == (made.branch, PATH, (), "Fine.")
    review.approve_rule(world.fresh(), "L-8F3K2A")
    assert (
        git(git_repo, "show", "--format=", "--name-only", "-m", "--first-parent", "HEAD")
        == f".ai/reference/{PATH}"
    )
    assert [one.title for one in rule_audit.audit(world.fresh()).taken] == [
        "PUT replaces the workflow"
    ]
    world.close()


def test_on_another_branch_it_is_said_where_the_lesson_went(world: World) -> None:
    propose(world)
    world.git(world.root, "switch", "-q", "-c", "work")
    done = review.approve_rule(world.fresh(), "L-8F3K2A")
    assert done.notes == ("it is on main; here it is found once that is checked out",)
    assert world.git(world.root, "show", f"main:{PATH}").startswith("---")


def test_a_report_brings_no_secret_into_git(world: World) -> None:
    with pytest.raises(InvalidEntry):
        propose(world, report=f"It says glpat-{'aB3dE5gH7jK9mN1pQ3rS'}")
    assert waiting(world) == ()


def test_hostile_branches_stop_nothing_and_write_nothing(world: World) -> None:
    propose(world)
    for number, text in enumerate(
        (b"---\nid: [\n---\n", b"\xff\xfe\x00", b"---\n" + b"[" * 30_000 + b"\n---\n")
    ):
        world.git(world.root, "switch", "-q", "-c", f"proposals/evil-{number}", "main")
        world.committed("p/lessons/evil.md", text)
        world.git(world.root, "switch", "-q", "main")
    world.git(world.root, "switch", "-q", "-c", "proposals/D-AAAAAA-link")
    (world.root / "p").mkdir()
    (world.root / "p/link.md").symlink_to("/etc/passwd")
    world.commit()
    world.git(world.root, "switch", "-q", "--orphan", "proposals/D-BBBBBB-nowhere")
    world.committed("p/docs/x.md", "# X\n")
    world.git(world.root, "switch", "-q", "main")
    hidden(world, "proposals/D-RE1EA5-out", "p/docs/unversioned/../../../../out.md")
    hidden(world, "proposals/S-9XW2RB-git", "git~1/scripts/unversioned/hook")
    found = {one.branch: one.conflicts for one in waiting(world)}
    assert len(found) == 7
    assert "proposals/D-AAAAAA-link" not in found  # a link is no entry
    for branch, conflicts in found.items():
        if branch != BRANCH:
            assert conflicts, branch
            with pytest.raises((Conflict, InvalidEntry, Refused)):
                review.approve_rule(world.fresh(), branch)
    assert (world.status(), sorted(path.name for path in world.root.parent.glob("out*"))) == (
        "",
        [],
    )


def hidden(world: World, branch: str, path: str) -> None:
    """A branch with a path that no honest git would write."""
    blob = world.git(world.root, "hash-object", "-w", "global/docs/unversioned/a.md")
    mode, name = "100644", blob
    for part in reversed(path.split("/")):
        row = f"{mode} {part}\0".encode() + bytes.fromhex(name)
        place = world.root.parent / "tree"
        place.write_bytes(row)
        name = world.git(world.root, "hash-object", "-w", "-t", "tree", "--literally", str(place))
        mode = "40000"
    commit = world.git(world.root, "commit-tree", "-p", "main", "-m", "x", name)
    world.git(world.root, "update-ref", f"refs/heads/{branch}", commit)


def test_a_branch_of_a_thousand_commits_stops_the_review_of_nothing(world: World) -> None:
    propose(world)
    rows = ["reset refs/heads/proposals/L-AAAAAA-long", "from refs/heads/main"]
    for number in range(1001):
        text = lesson(body=f"{number}\n")
        rows += [
            "commit refs/heads/proposals/L-AAAAAA-long",
            f"committer A <a@x> {1_700_000_000 + number} +0000",
        ]
        rows += ["data 1\nx", f"M 100644 inline p/lessons/x.md\ndata {len(text)}", text]
    subprocess.run(
        ["git", "fast-import", "--quiet"],
        cwd=world.root,
        input="\n".join(rows).encode(),
        check=True,
    )
    assert [one.branch for one in waiting(world)] == [BRANCH]
