"""`features.checks.runner`: which rules look at which files and lines, what is allowed, known, or about an edit."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app.answers import ContextQuery
from ai_lessons.errors import NotFound, Refused, UsageError
from ai_lessons.features.checks import edits as checked_edits
from ai_lessons.features.checks import runner
from ai_lessons.features.checks.edits import Broken
from ai_lessons.features.checks.findings import CheckReport
from ai_lessons.model.edits import Edit
from ai_lessons.model.markdown import render
from ai_lessons.telling import context
from app.world import World
from real_world import Git, commit_all, put_file

PRINT = {"files": ["*.py"], "regex": r"\bprint\(", "bad": "print(1)", "good": "log(1)"}
IDS = [f"01JD3Z8QK5W7M2X9V4T68F3K{n:02}" for n in range(10, 30)]


def text_of(number: int, check: dict[str, Any]) -> str:
    stated = {key: value for key, value in (PRINT | check).items() if value is not None}
    fields = {
        "id": IDS[number],
        "kind": "rule",
        "title": f"Rule {number}",
        "rationale": "R",
        "check": stated,
    }
    return render(fields, "")


def rule(world: World, number: int = 0, project: str = "global", **check: Any) -> str:
    """A rule in force with a check, as a merge has approved it; its id."""
    branch = f"rules/R-{IDS[number][-6:]}-x"
    world.git(world.root, "switch", "-qc", branch)
    world.committed(f"{project}/rules/r{number}.md", text_of(number, check))
    world.git(world.root, "switch", "-q", "main")
    world.git(world.root, "merge", "-q", "--no-ff", "-m", f"Merge branch '{branch}'", branch)
    return IDS[number]


@pytest.fixture
def code(world: World, git: Git, tmp_path: Path) -> Path:
    """A code repository with one commit, in which the caller stands."""
    folder = tmp_path / "shop"
    put_file(folder / "src/a.py", "x = 1\nprint(x)\n")
    put_file(folder / "src/b.txt", "print(x)\n")
    put_file(folder / ".gitignore", "build/\n")
    put_file(folder / "build/c.py", "print(1)\n")
    git(folder, "init", "-q")
    commit_all(git, folder, "first")
    world.options = world.options._replace(cwd=folder)
    return folder


def look(world: World, *paths: str, **how: Any) -> CheckReport:
    return runner.check(world.fresh(), paths, **how)


def places(report: CheckReport) -> list[str]:
    return [f"{finding.path}:{finding.line}" for finding in report.findings]


def test_rules_in_force_name_the_lines_that_break_them(world: World, code: Path) -> None:
    rule_id = rule(world)
    report = look(world)
    assert places(report) == ["src/a.py:2"]
    (finding,) = report.findings
    assert (finding.id, finding.level, finding.message, finding.text) == (
        rule_id,
        "warning",
        "Rule 0",
        "print(x)",
    )
    assert (report.broken, report.rules, report.files) == (True, 1, 3)


def test_only_what_is_in_force_checks(world: World, code: Path, git: Git) -> None:
    world.write("global/rules/r0.md", text_of(0, {}))
    assert look(world).rules == 0, "it is only in the folder"
    git(world.root, "switch", "-qc", "rules/R-1")
    world.commit()
    git(world.root, "switch", "-q", "main")
    assert look(world).rules == 0, "it is only proposed"


def test_rules_of_another_project_do_not_look(world: World, code: Path) -> None:
    rule(world, 0, "billing")
    rule(world, 1, "Shop", regex="x = 1", bad="x = 1")
    assert places(look(world)) == ["src/a.py:1"]
    assert places(look(world, projects=["billing"])) == ["src/a.py:2"]


def test_paths_narrow_what_is_looked_at(world: World, code: Path) -> None:
    rule(world, files=["*.py", "*.txt"])
    assert places(look(world, "src/b.txt")) == ["src/b.txt:1"]
    assert places(look(world, "src", "build/c.py")) == ["src/a.py:2", "src/b.txt:1"], (
        "git ignores build"
    )
    world.options = world.options._replace(cwd=code / "src")
    assert places(look(world, "a.py")) == ["src/a.py:2"]
    with pytest.raises(NotFound):
        look(world, "missing.py")
    with pytest.raises(UsageError):
        look(world, str(world.root))


UNSEEN = {
    "binary": (b"print(1)\0\xff\n" * 9, "binary"),
    "large": (b"print(1)\n" * 200_000, "more than 1 MiB, 1.8 MB"),
    "large and binary": (b"\0\xff" * 600_000, "binary, 1.2 MB"),
    "in LFS": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        "its content is in Git LFS",
    ),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_a_file_that_cannot_be_looked_at_is_a_finding(
    world: World, code: Path, git: Git, name: str
) -> None:
    rule(world)
    (code / "src/a.py").unlink()
    commit_all(git, code, "clean")
    data, why = UNSEEN[name]
    put_file(code / "odd.py", data)
    put_file(code / "other.png", data)
    (report, since) = look(world), look(world, since="HEAD")
    for each in (report, since, look(world, "odd.py")):
        (finding,) = each.findings
        assert (finding.path, finding.id, finding.message) == (
            "odd.py",
            "",
            f"not looked at: {why}",
        )
        assert each.broken
    assert report.files == 3
    assert look(world, baseline="known.json", write_baseline=True).in_baseline == 1
    assert look(world, baseline="known.json").findings == ()


def test_a_rule_for_all_files_asks_for_no_pictures(
    world: World, code: Path, tmp_path: Path
) -> None:
    rule(world, files=None, enforce="deny")
    put_file(code / "src/a.py", "x = 1\n")
    put_file(code / "src/b.txt", "x = 1\n")
    put_file(code / "logo.png", b"\x89PNG\0\xff")
    put_file(code / "Makefile", "a:\n\tprint(1)\n".encode("utf-16"))
    (code / "elsewhere").symlink_to(tmp_path / "world")
    put_file(code / "data.csv", "1,2\n" * 300_000)
    report = look(world)
    assert places(report) == ["Makefile:2", "data.csv:1"]
    assert [finding.level for finding in report.findings] == ["error", "error"]


def test_text_is_looked_at_in_whatever_form_it_is(world: World, code: Path, git: Git) -> None:
    rule(world, regex=r"^print\(")
    for coding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1"):
        put_file(code / "src/a.py", "print(1)\nx = 1\n".encode(coding))
        commit_all(git, code, "odd")
        assert places(look(world)) == ["src/a.py:1"], coding
        put_file(code / "src/a.py", "print(1)\nx = 1\nprint('é')\n".encode(coding))
        assert places(look(world, since="HEAD")) == ["src/a.py:3"], coding


def test_a_zero_byte_hides_no_line(world: World, code: Path) -> None:
    rule(world, regex=r"^print\(")
    put_file(code / "src/a.py", b"\xef\xbb\xbfprint(1)\n#\0\nprint(y)\n")
    assert places(look(world)) == places(look(world, since="HEAD")) == ["src/a.py:1", "src/a.py:3"]


def test_a_link_is_looked_at_by_its_name_inside_of_the_project(
    world: World, code: Path, tmp_path: Path
) -> None:
    rule(world)
    put_file(tmp_path / "secret.py", "print(1)\n")
    (code / "out.py").symlink_to(tmp_path / "secret.py")
    (code / "b.py").symlink_to("src/b.txt")
    (code / "again.py").symlink_to("src/a.py")
    (code / "dangling.py").symlink_to("gone.py")
    (code / "folder.py").symlink_to("src")
    report = look(world)
    assert places(report) == ["b.py:1", "out.py:1", "src/a.py:2"]
    assert report.findings[1].message == "not looked at: a link out of the project"


def test_a_line_behind_many_allowed_ones_is_found(world: World, code: Path) -> None:
    rule_id = rule(world)
    comment = f"# ai-lessons: allow R-{rule_id[-6:]} because it is shown"
    put_file(code / "src/a.py", f"print(1)  {comment}\n" * 1_500 + "print(2)\n")
    report = look(world)
    assert (places(report), report.allowed) == (["src/a.py:1501"], 1_500)
    put_file(code / "src/a.py", "print(1)\n" * 1_500)
    report = look(world)
    assert report.findings[-1].message.endswith(
        f"was not checked to the end: {len(report.findings) - 1:,} findings"
    )


def test_files_that_are_not_checked_out_are_named(world: World, code: Path, git: Git) -> None:
    rule(world)
    git(code, "branch", "base")
    put_file(code / "lib/a.py", "print(1)\n")
    put_file(code / "lib/b.py", "print(1)\n")
    commit_all(git, code, "lib")
    git(code, "sparse-checkout", "set", "src")
    assert not (code / "lib").exists()
    messages = {finding.path: finding.message for finding in look(world).findings}
    assert messages == {
        "src/a.py": "Rule 0",
        "lib/a.py": "not looked at: not checked out, like 1 others",
    }
    assert {finding.path for finding in look(world, since="base").findings} == {
        "lib/a.py",
        "lib/b.py",
    }
    assert places(look(world, "src")) == ["src/a.py:2"]


@pytest.fixture
def nested(world: World, code: Path, git: Git, tmp_path: Path) -> Path:
    """The folder of a submodule of the code, with a file that is clean."""
    put_file(tmp_path / "lib/a.py", "x = 1\n")
    git(tmp_path / "lib", "init", "-q")
    commit_all(git, tmp_path / "lib", "first")
    git(
        code,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(tmp_path / "lib"),
        "vendor/lib",
    )
    put_file(code / "src/a.py", "x = 1\n")
    commit_all(git, code, "with a submodule")
    return code / "vendor/lib"


def test_a_submodule_is_looked_into_or_named(
    world: World, code: Path, git: Git, nested: Path
) -> None:
    rule(world)
    assert look(world).findings == look(world, since="HEAD").findings == ()
    put_file(nested / "a.py", "x = 1\nprint(1)\n")
    assert places(look(world, since="HEAD")) == places(look(world)) == ["vendor/lib/a.py:2"], (
        "not committed there"
    )
    commit_all(git, nested, "break it")
    commit_all(git, code, "take it")
    assert places(look(world)) == ["vendor/lib/a.py:2"]
    assert places(look(world, since="HEAD~")) == ["vendor/lib/a.py:2"]
    put_file(code / ".gitmodules", (code / ".gitmodules").read_text() + "\tignore = all\n")
    git(code, "config", "diff.submodule", "log")
    assert places(look(world, since="HEAD~")) == ["vendor/lib/a.py:2"]
    git(code, "submodule", "deinit", "-q", "-f", "vendor/lib")
    for report in (look(world), look(world, since="HEAD~"), look(world, "vendor")):
        (finding,) = report.findings
        assert (finding.path, finding.message) == (
            "vendor/lib",
            "not looked at: a submodule that is not here",
        )
    assert look(world, "src").findings == ()


def test_attributes_of_the_repository_hide_no_line(world: World, code: Path, git: Git) -> None:
    rule(world)
    for attribute in ("-diff", "binary", "working-tree-encoding=UTF-16", "diff=x", "-text"):
        put_file(code / "src/a.py", "x = 1\nprint(x)\n")
        put_file(code / ".gitattributes", f"# {attribute}\n")
        commit_all(git, code, f"before {attribute}")
        put_file(code / ".gitattributes", f"*.py {attribute}\n")
        put_file(code / "src/a.py", "x = 1\nprint(x)\nprint(3)\n")
        assert places(look(world, since="HEAD")) == ["src/a.py:3"], attribute


def test_a_line_that_moved_breaks_no_rule(world: World, code: Path, git: Git) -> None:
    rule(world)
    text = "".join(f"x{n} = {n}\n" for n in range(20)) + "print(x)\n"
    put_file(code / "src/a.py", text)
    commit_all(git, code, "second")
    git(code, "branch", "base")
    git(code, "mv", "src/a.py", "moved.py")
    commit_all(git, code, "move")
    assert (
        look(world, since="base").findings == look(world, "moved.py", since="base").findings == ()
    )
    put_file(code / "moved.py", f"{text}print(2)\n")
    assert places(look(world, since="base")) == ["moved.py:22"]
    commit_all(git, code, "and change")
    assert places(look(world, since="base")) == ["moved.py:22"]
    (code / "moved.py").rename(code / "other.py")
    assert look(world, since="HEAD").findings == (), "git was not told"
    (code / "deep").mkdir()
    (code / "other.py").rename(code / "deep/moved.py")
    put_file(code / "deep/moved.py", f"{text}print(2)\nprint(3)\n")
    assert places(look(world, since="HEAD")) == ["deep/moved.py:23"]


def test_a_line_taken_away_from_a_statement_is_a_change_of_it(
    world: World, code: Path, git: Git
) -> None:
    rule(world, regex=r"get\(", unless="timeout=", bad="get(1)", good="get(\n  1,\n  timeout=2,\n)")
    put_file(code / "src/a.py", "get(\n  1,\n  timeout=2,\n)\nget(3)\n")
    commit_all(git, code, "kept")
    put_file(code / "src/a.py", "get(\n  1,\n)\nget(3)\n")
    assert places(look(world, since="HEAD")) == ["src/a.py:1"]
    assert breaks(world, code, ("src/a.py", "  1,\n", "")) == [("Rule 0", 1)]


def test_a_baseline_is_written_through_no_link(world: World, code: Path, tmp_path: Path) -> None:
    rule(world)
    put_file(tmp_path / "profile", "precious")
    (tmp_path / "home").mkdir()
    (code / "known.json").symlink_to(tmp_path / "profile")
    (code / "folder").symlink_to(tmp_path / "home")
    for name in ("known.json", "folder/known.json"):
        with pytest.raises((UsageError, Refused)):
            look(world, baseline=name, write_baseline=True)
    assert (tmp_path / "profile").read_text() == "precious"
    assert list((tmp_path / "home").iterdir()) == []
    look(world, baseline=str(tmp_path / "home/known.json"), write_baseline=True)
    assert (tmp_path / "home/known.json").exists()


def test_outside_git_the_files_of_the_folder_are_looked_at(world: World, tmp_path: Path) -> None:
    rule(world)
    put_file(tmp_path / "plain/a.py", "print(1)\n")
    put_file(tmp_path / "plain/.venv/b.py", "print(1)\n")
    world.options = world.options._replace(cwd=tmp_path / "plain")
    assert places(look(world)) == ["a.py:1"]
    with pytest.raises(UsageError):
        look(world, since="HEAD")


def test_the_entries_that_hold_rules_are_no_code(world: World) -> None:
    rule(world, files=["*"])
    world.committed("tool.py", "print(1)\n")
    world.options = world.options._replace(cwd=world.root)
    assert places(look(world)) == ["tool.py:1"]


def test_since_a_commit_only_changed_lines_are_looked_at(
    world: World, code: Path, git: Git
) -> None:
    rule(world)
    git(code, "branch", "base")
    put_file(code / "src/a.py", "x = 1\nprint(x)\nprint(2)\n")
    put_file(code / "src/na me é.py", "print(3)\n")
    commit_all(git, code, "second")
    put_file(code / "new.py", "print(4)\n")
    assert places(look(world, since="base")) == ["new.py:1", "src/a.py:3", "src/na me é.py:1"]
    assert places(look(world, "src/a.py", since="base")) == ["src/a.py:3"]
    assert places(look(world, since="HEAD")) == ["new.py:1"]
    for name in ("missing", "--output=x"):
        with pytest.raises(NotFound):
            look(world, since=name)
    put_file(code / "src/a.py", "x = 1\n")
    commit_all(git, code, "take a line away")
    git(code, "switch", "-qc", "feature", "base")
    put_file(code / "mine.py", "print(1)\n")
    commit_all(git, code, "mine")
    assert places(look(world, since="main")) == ["mine.py:1"], "since the branch was left"


def test_settings_of_git_change_nothing_in_what_changed(world: World, code: Path, git: Git) -> None:
    rule(world)
    for key, value in (
        ("noprefix", "true"),
        ("external", "false"),
        ("mnemonicPrefix", "true"),
        ("renames", "copies"),
    ):
        git(code, "config", f"diff.{key}", value)
    git(code, "config", "color.ui", "always")
    git(code, "mv", "src/a.py", "src/moved.py")
    put_file(code / "src/moved.py", "x = 1\nprint(x)\n++ b/c.py\n")
    assert places(look(world, since="HEAD")) == []
    commit_all(git, code, "moved")
    put_file(code / "src/moved.py", "x = 1\nprint(x)\n++ b/other.py\nprint(2)\n")
    assert places(look(world, since="HEAD")) == ["src/moved.py:4"]


COMMENTS = {
    "print(1)  # ai-lessons: allow R-{end} because a person reads it": True,
    "# ai-lessons: allow {id} because a person reads it\nprint(1)": True,
    "/* ai-lessons: allow r-{end} because it is a test */\nprint(1)": True,
    "x = 1  # ai-lessons: allow R-{end} because of this line\nprint(1)": False,
    "print(1)  # ai-lessons: allow R-XXXXXX because of another rule": False,
    "print(1)  # ai-lessons: allow R-{end}": False,
    "print(1)  # ai-lessons: allow R-{end} because …": False,
    "print(1)  # ai-lessons: allow R-K10": False,
}


def test_a_comment_with_a_reason_allows_a_line_and_is_counted(world: World, code: Path) -> None:
    rule_id = rule(world)
    for comment, allowed in COMMENTS.items():
        put_file(code / "src/a.py", comment.format(end=rule_id[-6:], id=rule_id) + "\n")
        report = look(world)
        assert (len(report.findings), report.allowed) == (int(not allowed), int(allowed)), comment
        if comment.endswith("{end}"):
            assert "without a reason" in report.findings[0].message


def test_known_findings_are_left_out_wherever_their_lines_move(world: World, code: Path) -> None:
    rule(world)
    with pytest.raises(NotFound, match="baseline"):
        look(world, baseline="known.json")
    assert look(world, baseline="known.json", write_baseline=True).in_baseline == 1
    report = look(world, baseline="known.json")
    assert (report.findings, report.in_baseline, report.broken) == ((), 1, False)
    put_file(code / "src/a.py", "y = 2\n\nprint(x)\nprint(x)\nprint(y)\n")
    report = look(world, baseline="known.json")
    assert (places(report), report.in_baseline) == (["src/a.py:4", "src/a.py:5"], 1)
    assert json.loads((code / "known.json").read_text())["version"] == 1
    put_file(code / "known.json", '{"version": 9}')
    for more in ({}, {"write_baseline": True, "since": "HEAD"}):
        with pytest.raises(UsageError):
            look(world, baseline="known.json", **more)
    assert (code / "known.json").read_text() == '{"version": 9}'


def test_a_rule_whose_engine_is_missing_is_named_and_asks_where_it_is_enforced(
    world: World, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule(world, regex=None, pattern="print($A)")
    monkeypatch.setitem(sys.modules, "ast_grep_py", None)
    report = look(world)
    (finding,) = report.findings
    assert (finding.path, report.rules, report.broken) == ("src/a.py", 0, True)
    assert "was not checked: pattern needs ast-grep" in finding.message
    put_file(code / "src/a.py", "")
    assert decided(world, code, ("src/a.py", "", "x")) == {}, "it is told as a rule without a check"
    rule(world, 1, regex=None, pattern="print($A)", enforce="deny")
    (why,) = decided(world, code, ("src/a.py", "", "x = 2"))
    assert why.startswith("R could not look at this edit: pattern needs ast-grep")
    assert decided(world, code, ("src/b.txt", "", "x = 2")) == {}


def broken(world: World, code: Path, *edits: tuple[str, str, str]) -> list[Broken]:
    repo = world.fresh().reading
    repo.current()
    given = [Edit(str(code / path), old, new) for path, old, new in edits]
    return checked_edits.broken_by(repo, given, code, ())[0]


def breaks(world: World, code: Path, *edits: tuple[str, str, str]) -> list[tuple[str, int]]:
    return [
        (rule.summary.title, int(rule.why.rpartition(" ")[2]))
        for rule in broken(world, code, *edits)
    ]


def decided(world: World, code: Path, *edits: tuple[str, str, str]) -> dict[str, str]:
    return {
        rule.why.replace(rule.summary.handle, "R"): rule.enforce
        for rule in broken(world, code, *edits)
    }


def test_an_edit_is_looked_at_as_the_file_will_be(world: World, code: Path) -> None:
    rule_id = rule(world)
    assert breaks(world, code, ("src/a.py", "x = 1", "x = 2")) == [], (
        "what was broken before is not this edit"
    )
    assert breaks(world, code, ("src/a.py", "x = 1", "x = 1\nprint(y)")) == [("Rule 0", 2)]
    assert breaks(world, code, ("src/a.py", "print(x)\n", "print(x)\ny = 2\n")) == []
    assert breaks(world, code, ("src/a.py", "", "x = 1\nprint(x)\nz\nprint(z)\n")) == [
        ("Rule 0", 4)
    ]
    assert breaks(world, code, ("src/new.py", "", "a\nprint(1)\n")) == [("Rule 0", 2)]
    assert breaks(world, code, ("src/b.txt", "", "print(1)\n")) == []
    two = ("src/a.py", "x = 1", "x = 3"), ("src/a.py", "print(x)", "if x:\n    print(x, x)")
    assert breaks(world, code, *two) == [("Rule 0", 3)]
    assert breaks(world, code, ("src/a.py", "not there", "a\nprint(9)")) == [("Rule 0", 2)], (
        "it does not fit the file"
    )
    assert breaks(world, code, ("src/a.py", "gone", "print(x)")) == [("Rule 0", 2)], (
        "it is made already"
    )
    comment = f"# ai-lessons: allow R-{rule_id[-6:]} because it is shown"
    assert breaks(world, code, ("src/a.py", "x = 1", f"print(1)  {comment}")) == []


@pytest.mark.parametrize(("enforce", "asked"), [("ask", "ask"), ("deny", "ask or deny")])
def test_an_edit_does_not_free_itself_of_a_rule_that_is_enforced(
    world: World, code: Path, enforce: str, asked: str
) -> None:
    rule_id = rule(world, enforce=enforce)
    comment = f"# ai-lessons: allow R-{rule_id[-6:]} because I say so"
    itself = "this edit allows itself at line 1 to break R"
    assert decided(world, code, ("src/a.py", "x = 1", f"print(1)  {comment}")) == {itself: asked}
    assert decided(world, code, ("src/a.py", "x = 1", comment)) == {itself: asked}, (
        "for the edit after this one"
    )
    both = ("src/a.py", "x = 1", f"print(1)  {comment}\nprint(2)")
    assert decided(world, code, both) == {"this edit breaks R at line 2": enforce}
    put_file(code / "src/a.py", f"print(1)  {comment}\nx = 2\n")
    assert decided(world, code, ("src/a.py", "x = 2", "x = 3")) == {}, "a person let it in"
    assert decided(world, code, ("src/a.py", "x = 2", f"x = 2\nprint(1)  {comment}")) == {
        "this edit allows itself at line 3 to break R": asked
    }
    large = ("src/new.py", "", "print(1)\n" + "#" * (1 << 20))
    assert decided(world, code, large) == {"R could not look at this edit: more than 1 MiB": asked}
    (code / "link.txt").symlink_to("src/a.py")
    assert decided(world, code, ("link.txt", "x = 2", "print(2)")) == {
        "this edit breaks R at line 2": enforce
    }


def test_a_file_that_is_renamed_into_the_scope_of_a_rule_is_new_to_that_rule_alone(
    world: World, code: Path, git: Git
) -> None:
    rule(world, 0, files=["lib/**"])
    rule(world, 1)
    (code / "lib").mkdir()
    git(code, "mv", "src/a.py", "lib/a.py")
    assert [(f.path, f.line, f.message) for f in look(world, since="HEAD").findings] == [
        ("lib/a.py", 2, "Rule 0")
    ]
    git(code, "mv", "lib/a.py", "src/c.py")
    assert places(look(world, since="HEAD")) == []
    git(code, "reset", "-q", "--hard")
    (code / "src/a.py").rename(code / "lib/new.py")
    assert places(look(world, since="HEAD")) == ["lib/new.py:2"], (
        "git does not know yet that it was renamed"
    )


def test_a_known_finding_that_was_mended_hides_no_other_one_and_code_that_moves_stays_known(
    world: World, code: Path
) -> None:
    rule(world)
    rows = [f"line {n}" for n in range(1, 41)]
    rows[9] = rows[19] = "print(1)"

    def written(new: list[str]) -> CheckReport:
        put_file(code / "src/a.py", "\n".join(new) + "\n")
        return look(world, baseline="known.json")

    put_file(code / "src/a.py", "\n".join(rows) + "\n")
    assert look(world, baseline="known.json", write_baseline=True).in_baseline == 2
    assert places(written(["above", *rows])) == [], "lines above move it"
    assert places(written([*rows[20:], *rows[:20]])) == [], "it moves with what is around it"
    mended = [*rows[:9], "log(1)", *rows[10:]]
    assert places(written(mended)) == []
    assert places(written([*mended[:29], "print(1)", *mended[30:]])) == ["src/a.py:30"]
    assert places(written([*rows[:8], "other", *rows[9:]])) == [], "one of its neighbours changed"
    assert places(written([*rows[:8], "other", rows[9], "another", *rows[11:]])) == [], (
        "both are gone"
    )
    old = json.loads((code / "known.json").read_text())
    for row in old["findings"]:
        del row["near"]
    put_file(code / "known.json", json.dumps(old))
    assert places(written([*mended[:29], "print(1)", *mended[30:]])) == [], (
        "one of an older program counts"
    )


def test_a_link_to_a_file_or_folder_has_the_rules_of_what_it_leads_to(
    world: World, code: Path
) -> None:
    rule(world, files=["src/**"], enforce="deny")
    lesson = "01JD3Z8QK5W7M2X9V4T68F3K99"
    fields = {
        "id": lesson,
        "kind": "lesson",
        "title": "Of src",
        "applies_to": ["src/**"],
        "confidence": "high",
    }
    world.committed("global/lessons/2026-11/l.md", render(fields, "Seen."))
    (code / "link").symlink_to("src")
    (code / "one.py").symlink_to("src/a.py")
    (code / "out").symlink_to(code.parent)
    for name in ("src", "src/a.py", "link", "link/a.py", "one.py", "./link/../src/a.py"):
        assert "src/a.py:2" in places(look(world, name)), name
    assert "src/a.py:2" not in places(look(world, "out"))
    for name in ("src/a.py", "link/a.py", "one.py"):
        assert breaks(world, code, (name, "x = 1", "print(7)")) != [], name
        told = context.find_context(world.fresh(), ContextQuery(paths=[name])).entries
        assert [entry.id for entry in told] == [lesson], name
