"""Many proposals taken by one merge: of an import, of a project, or as a pattern names them."""

from pathlib import Path

import pytest

from interfaces.a_terminal import Spawn, finish, reply
from interfaces.world import Run
from real_world import Git, put_file

COUNT = 5


@pytest.fixture
def batch(knowledge: Path, run: Run, tmp_path: Path) -> str:
    """Five rules of the project `shop` that one import proposed; what names them together."""
    rules = tmp_path / "code/.cursor/rules"
    for n in range(COUNT):
        put_file(
            rules / f"topic{n}.mdc",
            f"# Rule {n}: mind topic{n}\n\nDo thing {n}, because of outcome{n}.\n",
        )
    done = run("admin", "import", "--from", "agents-md", str(rules.parents[1]), "--project", "shop")
    assert done.code == 0, done.err
    (pending, *_) = run("admin", "pending-rules", "--json").json
    name = str(pending["batch"])
    assert done.out.endswith(
        f"; all of them with one merge: ai-lessons admin approve-rule --batch {name}\n"
    )
    assert (
        f"all of one import: ai-lessons admin approve-rule --batch {name}\n"
        in run("admin", "pending-rules").out
    )
    return name


def parents(git: Git, root: Path) -> int:
    return len(git(root, "show", "-s", "--format=%P", "HEAD").split())


def test_of_a_large_import_the_first_are_listed_and_the_others_counted(
    run: Run, knowledge: Path, tmp_path: Path
) -> None:
    rows = "".join(f"# Rule {n}: mind topic{n}\n\nDo thing {n}.\n\n" for n in range(13))
    (tmp_path / "AGENTS.md").write_text(rows)
    assert (
        run(
            "admin", "import", "--from", "agents-md", str(tmp_path), "--project", "shop", "--split"
        ).code
        == 0
    )
    told = run("admin", "pending-rules").out
    assert told.count(" new ") == 10
    assert told.count("no reason is stated") == 10
    name = run("admin", "pending-rules", "--json").json[0]["batch"]
    assert f"… and 3 more of import {name}, 3 with something to look at\n" in told


def test_a_trailer_brings_nobody_into_the_batch_of_another(
    run: Run, knowledge: Path, git: Git, batch: str, proposal: str
) -> None:
    mine = git(knowledge, "for-each-ref", "--format=%(refname:short)", "refs/heads/rules").split()
    first = next(name for name in mine if "mind-topic" in name)
    git(knowledge, "switch", "-q", "-c", "rules/R-BBBBBB-x", "main")
    rule = "---\nid: 01M82H56GFBPYC5697MCBBBBBB\nkind: rule\ntitle: B\nrationale: r\n---\nEVIL\n"
    put_file(knowledge / "shop/rules/x.md", rule)
    git(knowledge, "add", "-A")
    who = (
        "-c",
        "user.name=mallory",
        "-c",
        "user.email=mallory@x",
        "-c",
        "core.hooksPath=/dev/null",
    )
    git(knowledge, *who, "commit", "-qm", f"Propose rule: B\n\nBatch: {batch}")
    git(knowledge, "push", "-q", ".", "HEAD:refs/remotes/origin/rules/R-BBBBBB-x")
    git(knowledge, "switch", "-q", first)
    git(knowledge, *who, "commit", "-q", "--allow-empty", "-m", "and I")
    git(knowledge, "switch", "-q", "main")
    git(knowledge, "branch", "-qD", "rules/R-BBBBBB-x")
    done = run("admin", "approve-rule", "--batch", batch, "--yes")
    assert done.code == 0, done.err
    assert f"Approved {COUNT - 1} rules with one merge" in done.out
    assert "EVIL" not in done.out


@pytest.mark.parametrize(
    "chosen",
    [("--batch", ""), ("--project", "shop"), ("shop/rules/*",), ("rules/R-*-mind-topic*",)],
)
def test_one_merge_takes_them_all_and_says_of_each_who_approved_it(
    run: Run, knowledge: Path, git: Git, batch: str, proposal: str, chosen: tuple[str, ...]
) -> None:
    done = run("admin", "approve-rule", *(one or batch.lower() for one in chosen), "--yes")
    assert f"\nApproved {COUNT} rules with one merge: " in done.out, done.err
    assert all(
        f"Rule {n}: mind topic{n}" in done.out.partition("Approved")[0] for n in range(COUNT)
    ), done.out
    assert parents(git, knowledge) == COUNT + 1
    rows = {row["title"]: row for row in run("admin", "audit", "--json").json["rows"]}
    taken = [row for title, row in rows.items() if "mind topic" in title]
    assert [(row["in_force"], row["approved_by"] != "", row["problem"]) for row in taken] == [
        (True, True, "")
    ] * COUNT
    assert [one["handle"] for one in run("admin", "pending-rules", "--json").json] == [proposal]
    assert git(knowledge, "branch", "--list", "rules/*mind-topic*") == ""
    assert git(knowledge, "status", "--porcelain") == ""
    git(knowledge, "fsck", "--strict")


def test_on_a_terminal_all_are_shown_and_one_question_is_asked(
    spawn: Spawn, run: Run, batch: str
) -> None:
    for answer, code, left in (("n", 8, COUNT), ("y", 0, 0)):
        child = spawn("admin", "approve-rule", "--batch", batch, PAGER="cat")
        child.expect(r"Approve all 5 with one merge\? \[y/N\]: ")
        assert all(f"Do thing {n}" in str(child.before) for n in range(COUNT))
        child.sendline(answer)
        assert finish(child)[0] == code
        assert run("admin", "pending-rules", "--count").out == f"{left}\n"


def test_one_that_cannot_be_taken_leaves_all_where_they_are(
    run: Run, knowledge: Path, git: Git, batch: str
) -> None:
    before = git(knowledge, "rev-parse", "main")
    branch, *_ = git(
        knowledge, "branch", "--list", "--format=%(refname:short)", "rules/*mind-topic3*"
    ).splitlines()
    git(knowledge, "switch", "-q", branch)
    (knowledge / "notes.md").write_text("# Something else\n")
    git(knowledge, "add", "-A")
    git(knowledge, "commit", "-qm", "More")
    git(knowledge, "switch", "-q", "main")
    done = run("admin", "approve-rule", "--batch", batch, "--yes")
    assert (
        done.code,
        f"{branch} is not only about its rule: it also changes notes.md" in done.err,
    ) == (8, True)
    assert git(knowledge, "rev-parse", "main") == before
    assert run("admin", "pending-rules", "--count").out == f"{COUNT}\n"


def test_where_somebody_else_has_to_approve_a_batch_of_ones_own_is_refused(
    run: Run, knowledge: Path, git: Git, batch: str
) -> None:
    assert run("admin", "config", "set", "approval.distinct", "true").code == 0
    done = run("admin", "approve-rule", "--batch", batch, "--yes")
    assert (done.code, "asks for another person to approve it" in done.err) == (8, True)
    git(knowledge, "config", "user.name", "Bob")
    git(knowledge, "config", "user.email", "bob@example.com")
    assert run("admin", "approve-rule", "--batch", batch, "--yes").code == 0
    rows = run("admin", "audit", "--json").json["rows"]
    assert [(row["in_force"], row["approved_by"]) for row in rows] == [
        (True, "Bob <bob@example.com>")
    ] * COUNT


def test_without_a_terminal_or_for_an_agent_there_is_no_batch_and_what_names_nothing_says_so(
    run: Run, batch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        "a person, who is asked on a terminal" in run("admin", "approve-rule", "--batch", batch).err
    )
    for words, code, said in (
        (("--batch", "ZZZZZZ"), 3, "no open proposal of a rule 'ZZZZZZ'"),
        (("--project", "nowhere"), 3, "no open proposal of a rule 'nowhere'"),
        (("*nothing*",), 3, "no open proposal of a rule '*nothing*'"),
        ((), 2, "nothing to approve is given"),
        (("R-5N1QTC", "shop/*"), 2, "cannot be given together"),
    ):
        done = run("admin", "approve-rule", *words, "--yes")
        assert (done.code, said in done.err) == (code, True), done.err
    monkeypatch.setenv("AI_LESSONS_AGENT", "helper")
    done = run("admin", "approve-rule", "--batch", batch, "--yes")
    assert (done.code, "an agent cannot decide" in done.err) == (8, True)
    assert run("admin", "pending-rules", "--count").out == f"{COUNT}\n"


def test_what_only_describes_stays_together_as_one_rule(
    run: Run, knowledge: Path, tmp_path: Path
) -> None:
    described = (
        "# Shop\n\nA Django project of 2019.\n\n## Layers\n\nThe web layer talks to services.\n"
    )
    (tmp_path / "AGENTS.md").write_text(
        f"{described}\n## Money\n\n- Amounts are whole cents, never floats\n"
    )
    for fresh in ("2 rules proposed", "2 here already"):
        done = run("admin", "import", str(tmp_path / "AGENTS.md"), "--project", "shop", "--split")
        assert fresh in done.out
    pending = {rule["title"]: rule["body"] for rule in run("admin", "pending-rules", "--json").json}
    assert pending == {
        "Amounts are whole cents, never floats": "## Money\n\n- Amounts are whole cents, never floats\n",
        "AGENTS.md of shop": described,
    }


def test_a_reason_that_nobody_stated_is_asked_for_and_told_to_no_agent(
    run: Run, knowledge: Path, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text(
        "# Tests\n\nRun them all.\n\n# Types\n\nCheck them.\n\nBecause they drift.\n"
    )
    assert (
        run(
            "admin", "import", "--from", "agents-md", str(tmp_path), "--project", "shop", "--split"
        ).code
        == 0
    )
    assert run("admin", "pending-rules").out.count("no reason is stated: edit it and say why") == 1
    assert run("admin", "approve-rule", "--project", "shop", "--yes").code == 0
    listed = {
        one["title"]: one["rationale"]
        for one in run("recall", "list", "--type", "rule", "--json").json
    }
    assert listed == {"Tests: Run them all.": "", "Types: Check them.": "they drift."}
    for words in (
        ("recall", "context", "--project", "shop"),
        ("recall", "search", "run tests", "--json"),
    ):
        assert "does not say why" not in run(*words).out
    (tmp_path / "out").mkdir()
    exported = tmp_path / "out/out.md"  # in a folder whose AGENTS.md does not say it already
    assert run("admin", "export", str(exported), "--to", "agents-md", "--project", "shop").code == 0
    assert exported.read_text().count("Because: ") == 1


@pytest.fixture
def without_a_reason(run: Run, knowledge: Path, tmp_path: Path) -> str:
    """The handle of an imported rule that states none."""
    (tmp_path / "AGENTS.md").write_text("- Never push to main\n")
    assert run("admin", "import", str(tmp_path / "AGENTS.md"), "--project", "shop").code == 0
    (pending,) = run("admin", "pending-rules", "--json").json
    assert pending["rationale"] == ""
    return str(pending["handle"])


def test_a_reason_is_given_with_the_approval_else_the_rule_counts_without(
    run: Run, knowledge: Path, tmp_path: Path, without_a_reason: str
) -> None:
    refused = run(
        "admin", "approve-rule", "--project", "shop", "--rationale", "Two did it", "--yes"
    )
    assert (refused.code, "a reason is that of one rule" in refused.err) == (2, True)
    done = run("admin", "approve-rule", without_a_reason, "--rationale", "Two did it", "--yes")
    assert (done.code, "rationale: Two did it" in done.out) == (0, True), done.err
    (tmp_path / "AGENTS.md").write_text("- Pin each version\n")
    assert run("admin", "import", str(tmp_path / "AGENTS.md"), "--project", "shop").code == 0
    done = run("admin", "approve-rule", "--project", "shop", "--yes")
    assert "warning: no reason is stated" in done.out
    listed = {
        rule["title"]: rule["rationale"]
        for rule in run("recall", "list", "--type", "rule", "--json").json
    }
    assert listed == {"Never push to main": "Two did it", "Pin each version": ""}
    report = run("admin", "validate")
    assert report.code == 0
    assert "no reason is stated (rationale): shop/rules/pin-each-version" in report.out + report.err


def test_a_review_asks_for_the_reason_that_is_not_stated(
    run: Run, spawn: Spawn, without_a_reason: str
) -> None:
    child = spawn("admin", "review-rules", PAGER="cat")
    child.expect(r"\[b\]atch, .*: |\[s\]kip, .*: ")
    child.send("a")
    reply(child, "Why is it so .*: ", "Two did it")
    code, text = finish(child)
    assert (code, "1 approved" in text) == (0, True), text
    (rule,) = run("recall", "list", "--type", "rule", "--json").json
    assert rule["rationale"] == "Two did it"


def test_a_review_takes_all_of_one_import_with_one_key_but_what_something_else_was_chosen_for(
    spawn: Spawn, run: Run, batch: str
) -> None:
    child = spawn("admin", "review-rules", PAGER="cat")
    child.expect(r"\[b\]atch, .*: ")
    child.send("r")
    reply(child, "Reason .*: ", "Too broad")
    child.expect(r"\[b\]atch, .*: ")
    child.send("b")
    reply(child, r"Approve all 4 with one merge\? \[y/N\]: ", "y")
    code, text = finish(child)
    assert (code, "4 approved, 1 rejected" in text) == (0, True), text
    assert run("admin", "pending-rules", "--count").out == "0\n"
