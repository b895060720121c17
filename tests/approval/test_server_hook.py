"""What a bare hub takes of a push, and what not: two tables; some rows are pushed to it with the hook installed."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_lessons.app import scaffold
from ai_lessons.approval import push_check
from ai_lessons.approval.push_check import Update, parse_updates, refused_files
from ai_lessons.errors import Refused
from ai_lessons.git.hooks import carry_out_on_server
from ai_lessons.model.approval import APPROVES, ApprovalLine
from approval import approval_situations as at
from approval import approval_world
from approval.approval_world import AGENT, BRANCH, HUMAN, OTHER_PATH, PATH, RULE, Clone, World, text
from interfaces.world import program_in
from real_world import put_file, put_program

Prepare = Callable[[World, Clone], tuple[str, ...] | None]

CONFIG = ".ai-lessons/config.yaml"
REJECTED = ".ai-lessons/rejected/2026/01K0000000000000000000000A-use-x.md"


@pytest.fixture
def plain(tmp_path: Path) -> tuple[World, Clone]:
    """Without the hook: a push is judged in this process, before git carries it out."""
    return approval_world.world(tmp_path)


@pytest.fixture
def hub(
    plain: tuple[World, Clone], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[World, Clone]:
    """With the hook, and our program on the path."""
    monkeypatch.setenv("PATH", f"{program_in(tmp_path / 'bin')}:{os.environ['PATH']}")
    install(plain[0].folder / "hub.git")
    return plain


def moves_to_an_empty_hub(clone: Clone, name: str, *options: str) -> Path:
    place = clone.root.with_name(name)
    clone.run("init", "-q", "--bare", *options, str(place))
    clone.run("remote", "set-url", "origin", str(place))
    return place


def install(git_dir: Path) -> str:
    return "\n".join(carry_out_on_server(git_dir, scaffold.hooks_dir(), "install"))


def hub_of(clone: Clone) -> Path:
    return Path(clone.run("remote", "get-url", "origin"))


def judged(clone: Clone, *what: str) -> str:
    """What the hook would say to this push: git names the refs, and the hub reads the objects where they are."""
    hub, updates = hub_of(clone), []
    for row in clone.run(
        "push", "--dry-run", "--porcelain", "--force", "origin", *what
    ).splitlines()[1:-1]:
        source, _, ref = row.split("\t")[1].rpartition(":")
        old = clone.run("-C", str(hub), "rev-parse", "-q", "--verify", ref, ok=False)
        updates.append(Update(ref, old or None, clone.head(source) if source else None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_QUARANTINE_PATH", str(clone.root / ".git/objects"))
        return "\n".join(push_check.check(hub, updates))


def push(clone: Clone, *what: str) -> str:
    """Nothing if the push was taken, else what the hub said; the hub then has nothing of it."""
    what = what or ("main",)
    if not (hub_of(clone) / "hooks/pre-receive").exists() and (refused := judged(clone, *what)):
        return refused
    before = clone.run("ls-remote", "origin")
    command = ["git", "push", "origin", *what]
    said = subprocess.run(
        command, cwd=clone.root, stderr=subprocess.PIPE, text=True, check=False
    ).stderr
    if clone.run("ls-remote", "origin") != before:
        return ""
    assert said, "nothing to push"
    return said


# --- plain work


def a_lesson(w: World, mine: Clone) -> None:
    mine.other_work(by=AGENT)


def a_pull_merge(w: World, mine: Clone, own: Prepare = a_lesson) -> None:
    other = w.clone("other")
    other.other_work()
    assert push(other) == ""
    own(w, mine)
    mine.run("pull", "-q", "--no-rebase", "--no-edit")


# --- rules that somebody took


def a_merged_proposal(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH)


def a_direct_commit(w: World, mine: Clone) -> None:
    mine.commit("tidy", {PATH: text("Use X")}, AGENT)


def a_pull_request_mirrored_from_a_forge(w: World, mine: Clone) -> None:
    mine.commit("Use X (#7)", {PATH: text("Use X")}, by=AGENT, committer=approval_world.GITHUB)


# --- rules that nobody took


def a_direct_commit_hidden_in_a_pull_merge(w: World, mine: Clone) -> None:
    a_pull_merge(w, mine, a_direct_commit)


def a_proposal_copied_to_main_by_its_own_author(w: World, mine: Clone) -> tuple[str, ...]:
    mine.propose(by=AGENT)
    mine.commit("Add rule", {PATH: text("Use X")}, by=AGENT)
    return ("main", BRANCH)


def a_rule_hidden_in_the_proposal_of_another(w: World, mine: Clone) -> None:
    mine.propose({PATH: text("Use X"), OTHER_PATH: text("Evil", approval_world.OTHER)})
    mine.merge(BRANCH)


# --- the branch, the settings, the records


def a_rewrite(w: World, mine: Clone) -> tuple[str, ...]:
    mine.run("reset", "-q", "--hard", "HEAD~1")
    mine.other_work()
    return ("+main",)


def another_branch_rewritten(w: World, mine: Clone) -> tuple[str, ...]:
    mine.propose()
    assert push(mine, BRANCH) == ""
    mine.run("branch", "-D", BRANCH)
    mine.propose({PATH: text("Use Y")})
    return ("+" + BRANCH,)


def a_replacement_of_commits(w: World, mine: Clone) -> tuple[str, ...]:
    mine.run("replace", "HEAD", "HEAD~1")
    return (f"refs/replace/{mine.run('rev-parse', 'HEAD')}",)


def settings(w: World, mine: Clone, **approval: str) -> None:
    rows = "".join(f"  {key}: {value}\n" for key, value in approval.items())
    mine.commit("Set", {CONFIG: f"format: 1\napproval:\n{rows}" if rows else "format: 1\n"})


def a_weaker_policy(w: World, mine: Clone) -> None:
    settings(w, mine, distinct="true")
    assert push(mine) == ""
    settings(w, mine)


def the_settings_removed(w: World, mine: Clone) -> None:
    settings(w, mine, distinct="true")
    assert push(mine) == ""
    mine.commit("tidy", {CONFIG: None})


def a_self_merge_where_two_are_asked_for(w: World, mine: Clone) -> None:
    settings(w, mine, distinct="true")
    mine.propose(by=HUMAN)
    mine.merge(BRANCH)


def a_direct_commit_where_the_branch_is_protected(w: World, mine: Clone) -> None:
    mine.run("-C", "../hub.git", "config", "ai-lessons.allowPolicyChange", "true")
    settings(w, mine, require="forge")
    assert push(mine) == ""
    mine.run("-C", "../hub.git", "config", "--unset", "ai-lessons.allowPolicyChange")
    a_direct_commit(w, mine)


def an_unsigned_merge_where_signatures_are_asked_for(w: World, mine: Clone) -> None:
    settings(w, mine, require="signed")
    a_merged_proposal(w, mine)


def a_signed_merge_where_signatures_are_asked_for(w: World, mine: Clone) -> None:
    settings(w, mine, require="signed")
    mine.has_key()
    mine.propose()
    mine.run("merge", "-q", "--no-ff", "--no-commit", BRANCH)
    line = ApprovalLine("kb/main", RULE, PATH, mine.run("rev-parse", f":{PATH}"))
    mine.run("commit", "-q", "-m", f"Approve rule: Use X\n\n{APPROVES}: {line}")


def signatures_asked_for_where_rules_are_in_force(w: World, mine: Clone) -> None:
    a_merged_proposal(w, mine)
    assert push(mine) == ""
    settings(w, mine, require="signed")


def a_rejection(w: World, mine: Clone) -> None:
    mine.commit("Reject rule: Use X", {REJECTED: "# Use X\n"})


def a_rejection_removed(w: World, mine: Clone) -> None:
    a_rejection(w, mine)
    assert push(mine) == ""
    mine.commit("tidy", {REJECTED: None})


# --- files that no clone should be given


def files(*paths: str, content: str = "x\n") -> Prepare:
    def prepare(_: World, mine: Clone) -> None:
        mine.commit("Add", dict.fromkeys(paths, content))

    return prepare


def executable(path: str) -> Prepare:
    def prepare(_: World, mine: Clone) -> None:
        mine.write(path, "#!/bin/sh\n")
        (mine.root / path).chmod(0o755)
        mine.commit("Add", {})

    return prepare


def a_link(w: World, mine: Clone) -> None:
    (mine.root / "jira" / "link.md").symlink_to("/etc/passwd")
    mine.commit("Add", {})


def a_link_on_a_branch_of_its_own(w: World, mine: Clone) -> tuple[str, ...]:
    mine.run("switch", "-qc", "topic")
    a_link(w, mine)
    return ("topic",)


def a_submodule(w: World, mine: Clone) -> None:
    mine.run("update-index", "--add", "--cacheinfo", f"160000,{mine.head()},vendor")
    mine.run("commit", "-qm", "Add")


def settings_that_are_a_folder(w: World, mine: Clone) -> None:
    mine.run("rm", "-q", "--ignore-unmatch", CONFIG)
    files(f"{CONFIG}/x.yaml")(w, mine)


def a_proposal_that_is_too_long(w: World, mine: Clone) -> tuple[str, ...]:
    mine.run("checkout", "-qb", "rules/R-8F3K2A-long")
    files("jira/rules/long.md", content="x" * 1_100_000)(w, mine)
    return ("rules/R-8F3K2A-long",)


TAKEN: dict[str, Prepare] = {
    "a lesson": a_lesson, "a pull merge": a_pull_merge, "a merged proposal": a_merged_proposal,
    "a pull request mirrored from a forge": a_pull_request_mirrored_from_a_forge,
    "an approved rule moved inside its project": at.renamed, "another branch rewritten": another_branch_rewritten,
    "a stricter policy": lambda *of: settings(*of, distinct="true"), "a rejection": a_rejection,
    "signed: a signed merge": a_signed_merge_where_signatures_are_asked_for,
    "signed: asked for where rules are in force": signatures_asked_for_where_rules_are_in_force,
    "an executable script": executable("jira/scripts/unversioned/run.sh"),
    "a name with spaces and umlauts": files("jira/docs/\u00dcber uns (2).md"),
}  # fmt: skip

REFUSED: dict[str, tuple[Prepare, str]] = {
    "a direct commit by an agent": (a_direct_commit, "committed without a proposal"),
    "a direct commit by a person": (
        files(PATH, content=text("Use X")),
        "ai-lessons contribute propose",
    ),
    "a direct commit hidden in a pull merge": (
        a_direct_commit_hidden_in_a_pull_merge,
        "without a proposal",
    ),
    "an edit of an approved rule": (at.edited_after_approval, "committed without a proposal"),
    "a removal of an approved rule": (at.deleted_straight_from_main, f"the removal of {PATH}"),
    "an approved rule moved to another project": (
        at.moved_to_another_project,
        "github/rules/use-x-8f3k2a.md",
    ),
    "a proposal copied to main by its author": (
        a_proposal_copied_to_main_by_its_own_author,
        "without a proposal",
    ),
    "a rule in the proposal of another": (
        a_rule_hidden_in_the_proposal_of_another,
        "this merge brings two rules",
    ),
    "distinct: a self-merge": (
        a_self_merge_where_two_are_asked_for,
        "a person who worked on the proposal",
    ),
    "forge: a direct commit": (
        a_direct_commit_where_the_branch_is_protected,
        "committed without a proposal",
    ),
    "signed: an unsigned merge": (
        an_unsigned_merge_where_signatures_are_asked_for,
        "no approval of it is signed",
    ),
    "a rewrite": (a_rewrite, "cannot be rewritten"),
    "a deletion": (lambda *_: (":main",), "cannot be deleted"),
    "a branch that is main on a Mac": (lambda *_: ("main:refs/heads/Main",), "'Main' is 'main'"),
    "a replacement of commits": (
        a_replacement_of_commits,
        "other commits than those that were approved",
    ),
    "a weaker policy": (a_weaker_policy, "became merge; here it stays merge by another person"),
    "another policy": (lambda *of: settings(*of, require="forge"), "merge became forge"),
    "the settings removed": (the_settings_removed, "merge by another person became merge"),
    "settings that cannot be read": (files(CONFIG, content="approval: [\n"), "cannot be read"),
    "a rejection removed": (a_rejection_removed, "never removed"),
    "settings that are a folder": (settings_that_are_a_folder, "a file, not a folder"),
    "settings of a later format": (files(CONFIG, content="format: 99\n"), "cannot be read"),
    "settings that are too long": (
        files(CONFIG, content="#" * 1_100_000),
        "longer than 1,048,576 bytes",
    ),
    "a rule that is too long": (
        files("jira/rules/long.md", content="x" * 1_100_000),
        "longer than 1,048,576 bytes",
    ),
    "a proposal that is too long": (a_proposal_that_is_too_long, "longer than 1,048,576 bytes"),
    "a link": (a_link, "symbolic links"),
    "a link on a branch of its own": (a_link_on_a_branch_of_its_own, "symbolic links"),
    "a submodule": (a_submodule, "submodules"),
    "an executable outside scripts": (
        executable("jira/lessons/run.md"),
        "only files below scripts/",
    ),
    "names that differ by case": (files("jira/docs/A.md", "jira/docs/a.md"), "capitals"),
    "folders that differ by case": (files("Jira/docs/other.md"), "'jira'"),
    "names that differ by composition": (
        files("jira/docs/\u00fc.md", "jira/docs/u\u0308.md"),
        "systems",
    ),
    "a Windows device": (files("jira/docs/con.md"), "Windows"),
    "a Windows character": (files("jira/docs/a:b.md"), "Windows"),
    "a name that ends in a dot": (files("jira/docs/a."), "Windows"),
    "a bidirectional override": (files("jira/docs/x\u202egpj.md"), "turns text around"),
    "a control character": (files("jira/docs/x\x1b[31m.md"), "invisible"),
    "a line break": (files("jira/docs/x\ny.md"), "invisible"),
    "another name of git's folder": (files("jira/.g\u200cit/x.md"), "invisible"),
}


@pytest.mark.parametrize("prepare", TAKEN.values(), ids=TAKEN)
def test_the_hub_takes(plain: tuple[World, Clone], prepare: Prepare) -> None:
    what = prepare(*plain)
    assert push(plain[1], *(what or ())) == ""


@pytest.mark.parametrize(("prepare", "because"), REFUSED.values(), ids=REFUSED)
def test_the_hub_refuses(plain: tuple[World, Clone], prepare: Prepare, because: str) -> None:
    what = prepare(*plain)
    assert because in push(plain[1], *(what or ()))


BY_GIT = ("signed: a signed merge", "a control character")
"""Rows for which git itself runs the hook, besides what follows."""


@pytest.mark.parametrize("name", BY_GIT)
def test_git_hears_the_same_from_the_hook(hub: tuple[World, Clone], name: str) -> None:
    prepare, because = REFUSED[name] if name in REFUSED else (TAKEN[name], "")
    said = push(hub[1], *(prepare(*hub) or ()))
    assert because in said if because else said == ""


def test_what_was_there_before_the_hook_is_not_held_against_a_push(
    plain: tuple[World, Clone],
) -> None:
    w, mine = plain
    a_direct_commit(w, mine)
    a_link(w, mine)
    mine.run("push", "-q", "origin", "main")
    mine.other_work()
    assert push(mine) == ""


def test_the_first_push_of_all_is_taken_but_for_its_files(hub: tuple[World, Clone]) -> None:
    w, mine = hub
    install(moves_to_an_empty_hub(mine, "empty.git"))
    a_direct_commit(w, mine)
    assert push(mine) == ""
    moves_to_an_empty_hub(mine, "another.git")
    a_link(w, mine)
    assert "symbolic links" in push(mine)


def test_whoever_runs_the_hub_can_permit_a_weaker_policy_once(plain: tuple[World, Clone]) -> None:
    w, mine = plain
    a_weaker_policy(w, mine)
    assert "ai-lessons.allowPolicyChange" in push(mine)
    mine.run("-C", "../hub.git", "config", "ai-lessons.allowPolicyChange", "true")
    assert push(mine) == ""
    mine.run("-C", "../hub.git", "config", "--unset", "ai-lessons.allowPolicyChange")
    mine.propose(by=HUMAN)
    mine.merge(BRANCH, by=HUMAN)
    assert push(mine) == ""


def test_an_approval_branch_of_another_name_is_protected(plain: tuple[World, Clone]) -> None:
    w, mine = plain
    moves_to_an_empty_hub(mine, "other.git", "-b", "trunk")
    settings(w, mine, branch="trunk")
    assert push(mine, "main:trunk") == ""
    a_direct_commit(w, mine)
    assert "without a proposal" in push(mine, "main:trunk")
    assert "cannot be deleted" in push(mine, ":trunk")


def test_a_push_that_is_refused_leaves_nothing_in_the_memory_of_the_hub(
    plain: tuple[World, Clone],
) -> None:
    w, mine = plain
    a_direct_commit(w, mine)
    assert push(mine) != ""
    a_merged = w.clone("other")
    a_merged.propose()
    a_merged.merge(BRANCH)
    assert push(a_merged) == ""


def test_nobody_can_push_where_the_program_is_missing_unless_the_hub_names_it(
    hub: tuple[World, Clone], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, (program, *without) = hub[1], os.environ["PATH"].split(":")
    monkeypatch.setenv(
        "PATH", ":".join(part for part in without if not os.path.exists(f"{part}/ai-lessons"))
    )
    mine.other_work()
    assert "does not find ai-lessons" in push(mine)
    mine.run("-C", "../hub.git", "config", "ai-lessons.program", f"{program}/ai-lessons")
    assert push(mine) == ""


class TestTheHookFile:
    @pytest.fixture
    def folder(self, hub: tuple[World, Clone], tmp_path: Path) -> Path:  # noqa: ARG002  # the hub has to be there
        carry_out_on_server(tmp_path / "hub.git", scaffold.hooks_dir(), "uninstall")
        return tmp_path / "hub.git" / "hooks"

    def test_lets_the_hook_that_was_there_read_the_same_and_have_its_say(
        self, folder: Path, hub: tuple[World, Clone]
    ) -> None:
        mine = hub[1]
        text = (
            f"#!/bin/sh -e\nread old new ref\necho $ref >{folder}/seen\n[ ! -e {folder}/closed ]\n"
        )
        put_file(folder / "pre-receive", text).chmod(0o750)
        assert install(folder.parent) == "pre-receive: installed"
        mine.other_work()
        assert push(mine) == ""
        assert (folder / "seen").read_text() == "refs/heads/main\n"
        (folder / "closed").touch()
        mine.other_work()
        assert "pre-receive hook declined" in push(mine)
        carry_out_on_server(folder.parent, scaffold.hooks_dir(), "uninstall")
        assert (folder / "pre-receive").read_text() == text
        assert (folder / "pre-receive").stat().st_mode & 0o777 == 0o750

    def test_leaves_a_hook_alone_that_is_no_shell_script(self, folder: Path) -> None:
        put_program(folder / "pre-receive", "#!/usr/bin/env python3\n")
        assert "not a shell script that git runs: have it run, with its standard input" in install(
            folder.parent
        )

    def test_is_not_put_where_hooks_of_other_repositories_lie(
        self, folder: Path, hub: tuple[World, Clone]
    ) -> None:
        hub[1].run("-C", str(folder.parent), "config", "core.hooksPath", "/srv/hooks")
        assert "left alone, core.hooksPath is /srv/hooks" in install(folder.parent)


class TestTheDecisionAlone:
    def test_reads_what_git_says_and_nothing_else(self) -> None:
        zero, one = "0" * 40, "1" * 40
        assert parse_updates([f"{zero} {one} refs/heads/main", ""]) == (
            Update("refs/heads/main", None, one),
        )
        assert parse_updates([f"{one} {zero} refs/heads/x"]) == (Update("refs/heads/x", one, None),)
        for lines in ([], [""], ["hello"], [f"{zero} {one}"]):
            with pytest.raises(Refused):
                parse_updates(lines)

    def test_names_the_file_that_came_and_not_the_one_that_was_there(self) -> None:
        said = list(
            refused_files(
                "refs/heads/main", [(0o100644, "a/B.md")], ["a/B.md", "a/b.md", "c/D.md", "c/d.md"]
            )
        )
        assert len(said) == 1
        assert said[0].startswith("main: 'a/B.md': it is the same as 'a/b.md'")
