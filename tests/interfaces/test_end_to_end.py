"""The wire is connected: real git, real catalog and index, no model (full text alone)."""

import subprocess
from pathlib import Path

import pytest

from interfaces.world import DOC, SCRIPT, Run
from real_world import Git

LIGHT = {"id", "handle", "kind", "title", "project", "tier", "tags", "versions", "path", "snippet"}


def test_lessons_are_listed_by_their_category_and_one_of_the_same_title_is_named(
    run: Run, knowledge: Path
) -> None:
    said = ["--content", "After an hour.", "--category", "solution"]
    first = run("add", "--title", "Carts expire", *said, "--json").json
    second = run("add", "--title", "carts expire", "--content", "After two.")
    command = f"ai-lessons contribute update {first['handle']}"
    assert (
        f"note: [{first['handle']}] has the same title; to change that one: {command}"
        in second.err.splitlines()
    )
    assert [
        one["id"] for one in run("list", "--category", "solution", "--limit", "5", "--json").json
    ] == [first["id"]]
    assert first["handle"] in run("list", "--category", "solution", "--limit", "1").out
    assert run("list", "--category", "nonsense").code == 2


def test_a_lesson_is_added_found_shown_and_listed(run: Run, knowledge: Path, git: Git) -> None:
    added = run(
        "contribute", "add", "--title", "Rebase rewrites ids", "--tags", "git, history", "--confidence", "high",
        "--content", "Never rebase what is pushed.", "--json",
    )  # fmt: skip
    assert added.code == 0, added.err
    assert set(added.json) == {"id", "handle", "path", "commit"}
    assert git(knowledge, "log", "-1", "--format=%H") == added.json["commit"]
    assert git(knowledge, "log", "-1", "--format=%s") == "Add lesson: Rebase rewrites ids"
    found = run("recall", "search", "rebase", "pushed", "--json")
    assert found.json["lessons"][0]["handle"] == added.json["handle"]
    shown = run("recall", "show", added.json["handle"])
    assert "confidence: high | source: observed" in shown.out
    assert "Never rebase what is pushed." in shown.out
    assert added.json["handle"] in run("recall", "list", "--tag", "history").out


@pytest.mark.parametrize("args", [("-",), ("--content", "-"), ("--file", "-"), ()])
def test_the_text_of_a_lesson_may_come_through_a_pipe(
    run: Run, knowledge: Path, args: tuple[str, ...]
) -> None:
    done = run(
        "--json",
        "contribute",
        "add-lesson",
        "--title",
        "Piped",
        *args,
        text="Grüße aus der Röhre\n",
    )
    assert done.code == 0, done.err
    assert "Grüße aus der Röhre" in (knowledge / done.json["path"]).read_text()


@pytest.mark.usefixtures("knowledge")
def test_a_lesson_is_refused_only_where_title_and_text_are_the_same(run: Run) -> None:
    title, text = (
        "Rebase rewrites every id of the branch",
        "Never rebase what was pushed, or others lose their work.",
    )
    first = run("--json", "add", "--title", title, "--content", text).json["handle"]
    for again in (text, text.upper(), f"  {text}\n\n"):
        refused = run("add", "--title", title, "--content", again)
        assert refused.code == 5, again
        assert f"{first} '{title}' says the same, word for word" in refused.err
        assert f"ai-lessons contribute update {first}" in refused.err
    assert run("add", "--title", title, "--content", text, "--anyway").code == 0
    pattern = (
        "--when",
        "merging a branch",
        "--do",
        "pull with rebase=merges",
        "--because",
        "a flat pull drops it",
    )
    assert [run("add", "--title", "Keep merges", *pattern).code for _ in range(2)] == [0, 5]


@pytest.mark.usefixtures("knowledge")
def test_the_same_text_under_another_title_is_named_and_taken(run: Run) -> None:
    first = run(
        "--json", "add", "--title", "Backups", "--content", "Back up the database before a deploy."
    ).json
    other = run(
        "add", "--title", "Deploys", "--content", "back up the **database**: before a deploy"
    )
    assert other.code == 0
    assert f"[{first['handle']}] 'Backups' has the same text: update it?" in other.out + other.err
    backup = "部署之前必须先备份数据库，否则无法回滚。"  # noqa: RUF001
    chinese = run("--json", "add", "--title", "备份", "--content", backup).json
    again = run("add", "--title", "部署", "--content", "部署之前必须先备份数据库, 否则无法回滚")
    assert f"[{chinese['handle']}] '备份' has the same text" in again.out + again.err


ALIKE_BUT_OTHER = [
    ("swarm 1-2", "c 1 2", "swarm 2-1", "c 2 1"),
    ("Order", "Run A before B.", "Order", "Run B before A."),
    ("Flags", "Pass --force to it.", "Flags", "Pass -force to it."),
    ("Bounds", "The limit is x < 5.", "Bounds", "The limit is x > 5."),
    ("Step 1 of the deploy", "Seen in run 1.", "Step 2 of the deploy", "Seen in run 2."),
]


@pytest.mark.parametrize(("title", "text", "other_title", "other_text"), ALIKE_BUT_OTHER)
@pytest.mark.usefixtures("knowledge")
def test_what_has_the_same_words_in_another_order_or_with_other_signs_is_another_lesson(
    run: Run, title: str, text: str, other_title: str, other_text: str
) -> None:
    for one, content in ((title, text), (other_title, other_text)):
        assert run("add", "--title", one, "--content", content).code == 0


ADD = ("contribute", "add-lesson", "--title", "T")
WRONG: list[tuple[tuple[str, ...], int, str]] = [
    ((*ADD, "--content", "a", "--file", "b"), 2, "given twice"),
    ((*ADD, "--file", "missing.md"), 2, "missing.md: No such file"),
    (ADD, 2, "has no text"),
    ((*ADD, "--content", "c", "--confidence", "sure"), 2, "not one of 'very-low', 'low', 'medium'"),
    ((*ADD, "--content", "c", "--link", "L-NOSUCH"), 3, "L-NOSUCH"),
    ((*ADD, "--content", "c", "--link", "likes=L-1"), 2, "not one of"),
    ((*ADD, "--content", "c", "--when", "w"), 4, "pattern"),
    (("contribute", "update", "L-8F3K2A"), 2, "nothing to change"),
    (("contribute", "delete", "L-8F3K2A"), 8, "nothing was deleted"),
    (("contribute", "delete-resource", "D-4T7QZM"), 8, "--yes"),
    (("contribute", "refresh-resource"), 2, "hint: "),
    (("contribute", "refresh-resource", "--all", "D-4T7QZM"), 2, "hint: "),
    (("recall", "search", "  "), 2, "hint: "),
    (("--repo", "none", "recall", "list"), 3, "admin init"),
]


def test_what_is_wrong_is_said_and_changes_nothing(run: Run, knowledge: Path, git: Git) -> None:
    for words, code, said in WRONG:
        done = run(*words)
        assert (done.code, said in done.err) == (code, True), (words, done.err)
    done = run(*ADD, "-", text=b"\xff\xfe")
    assert (done.code, "standard input" in done.err, "not UTF-8 text" in done.err) == (
        4,
        True,
        True,
    )
    assert (
        git(knowledge, "status", "--porcelain"),
        git(knowledge, "rev-list", "--count", "HEAD"),
    ) == ("", "2")


def test_a_link_between_wrong_kinds_is_refused_with_what_is_right(
    run: Run, knowledge: Path
) -> None:
    done = run("contribute", "link", "L-8F3K2A", "D-4T7QZM", "--relation", "has_script")
    assert done.code == 2
    assert (
        "has_script leads from any entry to a script, not from a lesson to a doc (D-4T7QZM)"
        in done.err
    )
    assert "what fits: has_doc" in done.err
    done = run(
        "contribute", "add", "--title", "T", "--content", "C", "--link", "has_script=D-4T7QZM"
    )
    assert (done.code, "to a script" in done.err) == (2, True)


def test_what_is_no_resource_is_refused_by_the_commands_for_resources(
    run: Run, knowledge: Path
) -> None:
    for command, *more in (("update-resource", "--title", "T"), ("delete-resource", "--yes")):
        done = run("contribute", command, "L-8F3K2A", *more)
        assert (done.code, "L-8F3K2A is a lesson, neither a doc nor a script" in done.err) == (
            2,
            True,
        )
        assert f"ai-lessons contribute {command.removesuffix('-resource')} L-8F3K2A" in done.err
        assert run("contribute", command, "D-4T7QZM", *more).code == 0


def test_a_delete_names_the_links_that_it_breaks(run: Run, knowledge: Path) -> None:
    done = run("contribute", "delete", "D-4T7QZM", "--yes")
    assert (
        "note: L-8F3K2A 'PUT /workflows replaces the entire resource' links to D-4T7QZM: related to\n"
        in done.err
    )
    assert "links to" not in run("contribute", "delete", "L-8F3K2A", "--yes").err


def test_an_update_takes_the_fields_of_the_kind_and_no_others(run: Run, knowledge: Path) -> None:
    pattern = ("--when", "w", "--do", "d", "--because", "b")
    handle = run("contribute", "add", "--title", "T", *pattern, "--json").json["handle"]
    assert run("contribute", "update", handle, "--dont", "wait").code == 0
    stated = run("recall", "show", handle, "--json").json["frontmatter"]["pattern"]
    assert stated == {"when": "w", "dont": "wait", "because": "b"}
    assert (
        "lesson: only a rule has a rationale"
        in run("contribute", "update", handle, "--rationale", "r").err
    )
    assert (
        "doc: only a lesson has a confidence"
        in run("contribute", "update", "D-4T7QZM", "--confidence", "low").err
    )


def test_several_deletions_are_one_commit(run: Run, knowledge: Path, git: Git) -> None:
    before = git(knowledge, "rev-list", "--count", "HEAD")
    done = run("contribute", "delete-resource", "D-4T7QZM", "S-9XW2RB", "--yes", "--json")
    assert {one["id"] for one in done.json} == {DOC, SCRIPT}
    assert int(git(knowledge, "rev-list", "--count", "HEAD")) == int(before) + 1


def test_sections_of_a_doc_lead_to_each_other(run: Run, knowledge: Path) -> None:
    whole = run("recall", "show-resource", "D-4T7QZM")
    assert "Sections:\n    1  Workflows API\n    2    Limits\n    3    Errors\n" in whole.out
    part = run("recall", "show-resource", "D-4T7QZM", "--heading", "Limits")
    assert "At most 100 statuses" in part.out
    assert "409" not in part.out
    assert "Next: ai-lessons recall show D-4T7QZM --section 3" in part.out
    assert run("recall", "show-resource", "D-4T7QZM", "--section", "99").code == 3


def test_raw_text_goes_into_a_pipe_byte_for_byte_and_a_diff_in_a_pipe_can_be_applied(
    run: Run, knowledge: Path
) -> None:
    file = knowledge / "jira-api/notes.md"
    before = file.read_text()
    file.write_text(before + "New line.\n")
    done = run("recall", "diff", "jira-api/notes.md")
    assert "+New line." in done.out
    file.write_text(before)
    subprocess.run(["git", "apply"], input=done.out, text=True, cwd=knowledge, check=True)
    assert file.read_text().endswith("New line.\n")
    file.write_text("# Raw \x1b[31m\n\ntrailing  \n\n\n")
    assert run("recall", "show", "jira-api/notes.md", "--raw").out == file.read_text()
    assert "\x1b" not in run("recall", "show", "jira-api/notes.md").out


DATA = """
recall search workflow; recall search workflow --explain --context-tags jira-api=1.5 --version v3;
recall search-resources workflow --type doc; recall show L-8F3K2A; recall show-resource S-9XW2RB; recall list;
recall tags; recall versions; recall projects; recall related L-8F3K2A --depth 2; recall log L-8F3K2A;
recall diff L-8F3K2A; admin validate; admin doctor; admin stats; admin save; admin reindex;
admin reindex-resources; admin reindex-resource D-4T7QZM; admin list-stale; admin config get;
admin config set git.autocommit true; admin hooks install; admin hooks status; admin hooks uninstall;
admin adopt jira-api/notes.md; admin model status; admin completion bash
"""


def test_every_data_command_speaks_json_and_text(run: Run, knowledge: Path) -> None:
    for command in DATA.split(";"):
        args = command.split()
        done = run(*args, "--json")
        assert done.code in {0, 1, 4}, (command, done.err)
        assert (done.json is not None, done.out.isascii()) == (True, True), command
        text = run(*args)
        assert text.code in {0, 1, 4, 3}, (command, text.err)
        assert "bug in ai-lessons" not in text.err


def test_json_has_the_shapes_of_the_interface(run: Run, knowledge: Path) -> None:
    search = run("recall", "search", "workflow", "--json", "--explain").json
    assert set(search) == {
        "query",
        "order",
        "rules",
        "scripts",
        "lessons",
        "docs",
        "prompt",
        "notes",
        "coverage",
    } | {
        "bar",
        "below",
    }
    assert set(search["lessons"][0]) == LIGHT | {
        "score",
        "heading",
        "factors",
        "confidence",
        "source",
        "status",
    }
    assert set(search["docs"][0]) == LIGHT | {"score", "heading", "factors"}
    listed = run("recall", "list", "--json").json
    assert {entry["kind"] for entry in listed} == {"lesson", "doc", "script"}
    assert set(next(e for e in listed if e["kind"] == "doc")) == LIGHT
    shown = run("recall", "show", "S-9XW2RB", "--json").json
    assert set(shown) >= LIGHT | {"body", "frontmatter", "related", "sections"}
    assert shown["frontmatter"]["title"] == "update-workflow.sh"


def test_a_broken_file_is_left_out_named_and_noted(run: Run, knowledge: Path) -> None:
    (knowledge / "jira-api/lessons/bad.md").write_text("---\nid: [\n---\n")
    listed = run("recall", "list")
    assert listed.code == 0
    assert "note: 1 file is left out as unreadable" in listed.err
    assert run("-q", "recall", "list").err == ""
    report = run("admin", "validate")
    assert report.code == 4
    assert "jira-api/lessons/bad.md:" in report.out
