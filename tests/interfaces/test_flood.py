"""Thousands of pushed proposals must not stop the work of others: what is started, read and printed is bounded."""

import subprocess
from pathlib import Path

import pytest

from ai_lessons.app.proposal_context import SHOWN
from interfaces.world import Run
from real_world import Git, put_file

MANY = 3 * SHOWN
A_RULE = "01M82H56GFBPYC5697MC{:06d}"


def push_many(root: Path, many: int, writer: str = "bot", rule: int | None = None) -> None:
    """So many proposals on a remote of that repository, as this clone knows it; all about one rule if it is named."""
    rows = []
    for n in range(many):
        number = n if rule is None else rule
        entry = A_RULE.format(number)
        text = f"---\nid: {entry}\nkind: rule\ntitle: Obey the flood {n}\nrationale: because\n---\nAlways {n}.\n"
        name = f"refs/remotes/origin/rules/R-{entry[-6:]}-{writer}-{n}"
        rows.append(
            f"commit {name}\ncommitter {writer} <{writer}@x> {1790000000 + n} +0000\ndata 1\np\n"
            "from refs/heads/main^0\n"
            f"M 100644 inline global/rules/{entry.lower()}.md\ndata {len(text)}\n{text}\n"
        )
    subprocess.run(
        ["git", "-C", str(root), "fast-import", "--quiet"], input="".join(rows).encode(), check=True
    )


def test_a_list_of_many_is_cut_off_and_what_is_not_listed_is_approved_and_rejected_by_name(
    run: Run, knowledge: Path
) -> None:
    push_many(knowledge, MANY)
    done = run("admin", "pending-rules")
    assert done.code == 0, done.err
    assert f"not listed: {MANY - SHOWN} more of bot <bot@x>" in done.err
    assert len(done.out.splitlines()) <= 2 * SHOWN + 3
    listed = {one["handle"] for one in run("admin", "pending-rules", "--json").json}
    assert len(listed) == SHOWN
    assert run("admin", "pending-rules", "--count").out.strip() == str(MANY)
    first, second = (f"R-{A_RULE.format(number)[-6:]}" for number in (0, 1))
    assert not {first, second} & listed
    assert run("admin", "approve-rule", first, "--yes").code == 0
    assert run("admin", "reject-rule", f"origin/rules/{second}-bot-1").code == 0
    assert run("admin", "pending-rules", "--count").out.strip() == str(MANY - 2)


def test_many_of_one_hide_none_of_another(run: Run, knowledge: Path, proposal: str) -> None:
    push_many(knowledge, MANY)
    push_many(knowledge, 1, "ana", rule=MANY)
    listed = run("admin", "pending-rules", "--json").json
    assert proposal in {one["handle"] for one in listed}
    assert "ana <ana@x>" in {one["suggested_by"] for one in listed}
    assert len(listed) == SHOWN


def test_many_about_one_rule_name_a_few_rivals(run: Run, knowledge: Path) -> None:
    push_many(knowledge, MANY, rule=7)
    done = run("admin", "pending-rules")
    assert len(done.out.splitlines()) <= 2 * SHOWN + 3
    assert done.out.count("proposes something else for this rule") <= 3 * SHOWN
    assert run("admin", "approve-rule", "origin/rules/R-000007-bot-3", "--yes").code == 0


def test_many_start_no_more_programs_than_few(
    run: Run, knowledge: Path, started: Path, tmp_path: Path, git: Git
) -> None:
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(knowledge, "remote", "add", "origin", str(tmp_path / "hub.git"))
    numbers = []
    for many in (2, MANY):
        push_many(knowledge, many)
        git(
            knowledge,
            "push",
            "-q",
            "origin",
            "main",
            "refs/remotes/origin/rules/*:refs/heads/rules/*",
        )
        run("admin", "sync")  # what is remembered from now on is remembered
        started.write_text("")
        assert run("admin", "sync").code == 0
        assert run("admin", "pending-rules").code == 0
        numbers.append(len(started.read_text().splitlines()))
    assert numbers[0] == numbers[1]


def test_a_sync_names_a_few_of_many_that_arrived(
    run: Run, knowledge: Path, tmp_path: Path, git: Git
) -> None:
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    git(knowledge, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(knowledge, "push", "-q", "origin", "main")
    push_many(tmp_path / "hub.git", MANY)
    git(tmp_path / "hub.git", "fetch", "-q", ".", "refs/remotes/origin/rules/*:refs/heads/rules/*")
    done = run("admin", "sync")
    assert done.out.count("proposal arrived") == 10
    assert f"… and {MANY - 10:,} more (--json names them all)" in done.out


# --- globs as people write them: lists with commas, and those that name nothing ---


def test_a_list_with_commas_applies_to_each_and_what_names_nothing_is_said(
    run: Run, knowledge: Path, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("src/a.py", "README.md"):
        put_file(tmp_path / "shop" / name, "")
    git(tmp_path / "shop", "init", "-q")
    monkeypatch.chdir(tmp_path / "shop")
    lesson = ("--project", "shop", "--content", "x", "--title")
    added = run("add", *lesson, "Carts", "--applies-to", "src/**, *.md,lib/**")
    assert (added.code, "applies_to lib/** names no file of shop" in added.err) == (0, True), (
        added.err
    )
    assert "src/**" not in added.err
    file = next(knowledge.glob("shop/lessons/*/carts-*.md"))
    assert '  - src/**\n  - "*.md"\n  - lib/**\n' in file.read_text()
    for path in ("src/a.py", "README.md"):
        assert "Carts" in run("recall", "context", "--path", path).out
    refused = run("add", *lesson, "Boats", "--applies-to", "src/**,!src/a.py")
    assert (refused.code, "none leaves files out" in refused.err) == (4, True)
    updated = run(
        "contribute", "update", "L-" + file.stem[-6:].upper(), "--applies-to", "src/*,doc/**"
    )
    assert "applies_to doc/** names no file of shop" in updated.err
    why = ("--rationale", "why", "--project", "shop")
    proposed = run(
        "contribute",
        "suggest-rule",
        "--title",
        "Ships",
        *why,
        "--content",
        "x",
        "--applies-to",
        "test/**",
    )
    assert "applies_to test/** names no file of shop" in proposed.out
    otters = "---\nkind: lesson\ntitle: Otters\napplies_to:\n  - src/**,*.md\n---\nThey swim.\n"  # of another tool
    put_file(knowledge / "shop/lessons/a.md", otters)
    assert "Otters" in run("recall", "context", "--path", "README.md").out
