"""The first day at the command line: files, titles and paths where one types them, short forms, hints of errors."""

from pathlib import Path

import pytest

from interfaces.a_terminal import Spawn, finish, reply
from interfaces.world import DOC, LESSON, SCRIPT, Run
from real_world import Git, commit_all, put_file

NOTES = "# Worktrees share one stash\n\nPop by name.\n\n## Why\n\nIt is one list.\n"


@pytest.mark.parametrize("words", [["add"], ["add", "--file"], ["contribute", "add-lesson"]])
def test_a_lesson_from_a_file_has_its_heading_as_title(
    run: Run, knowledge: Path, words: list[str]
) -> None:
    Path("notes.md").write_text(NOTES)
    done = run(*words, "notes.md", "--json")
    assert done.code == 0, done.err
    text = (knowledge / done.json["path"]).read_text()
    assert "title: Worktrees share one stash\n" in text
    assert text.endswith("---\nPop by name.\n\n## Why\n\nIt is one list.\n")


@pytest.mark.parametrize(
    ("name", "text", "title", "body"),
    [
        (
            "a.md",
            "---\ntitle: Stated\ntags: [x, y]\n---\n# Heading\n\nText.\n",
            "Stated",
            "# Heading\n\nText.",
        ),
        ("b.md", "## First\n\nText.\n", "First", "Text."),
        ("c.md", "Text first.\n\n# Later\n\nMore.\n", "Later", "Text first.\n\n# Later\n\nMore."),
        ("no heading.txt", "Text.\n", "no heading", "Text."),
    ],
)
def test_a_title_comes_from_frontmatter_a_heading_or_the_name(
    run: Run, knowledge: Path, name: str, text: str, title: str, body: str
) -> None:
    Path(name).write_text(text)
    done = run("add", name, "--tags", "z", "--json")
    assert done.code == 0, done.err
    shown = run("show", title, "--json").json
    assert (shown["title"], shown["body"].strip()) == (title, body)
    assert shown["tags"] == (["x", "y", "z"] if name == "a.md" else ["z"])


def test_a_pipe_has_a_heading_or_needs_a_title(run: Run, knowledge: Path) -> None:
    assert run("add", "-", text=NOTES).code == 0
    done = run("add", text="No heading.\n")
    assert (done.code, "--title" in done.err) == (2, True)


def test_an_error_names_what_helps(
    run: Run, knowledge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "no-such-editor")
    Path("notes.md").write_text(NOTES)
    Path("rule.md").write_text(f"---\nkind: rule\n---\n{NOTES}")
    for words, hint in (
        (["add", "missing.md"], "--title"),
        (["add", "."], "add-resource --type doc --path . --recursive"),
        (["add", "notes.md", "--file", "notes.md"], "one of FILE"),
        (["add", "rule.md"], "admin import rule.md"),
        (
            ["add", "--title", "T", "--content", "key AKIAIOSFODNN7EXAMPLQ"],
            "--allow-secret f8e02e252e9a=REASON",
        ),
        (["show", "L-8F3K2X"], "L-8F3K2A"),
        (["edit", "L-8F3K2A"], "hint: set EDITOR"),
        (["sync"], "remote add origin"),
    ):
        done = run(*words)
        assert (done.code in {1, 2, 3, 4}, hint in done.err) == (True, True), done


def test_kind_and_type_are_one_option(run: Run, knowledge: Path) -> None:
    for command in (["list"], ["search", "workflow"], ["recall", "search-resources", "workflow"]):
        assert run(*command, "--kind", "script").out == run(*command, "--type", "script").out


def test_a_script_of_a_person_says_whose_words_it_adds_and_an_agent_cannot(
    run: Run, knowledge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def origin(*words: str) -> str:
        text = (
            knowledge / run("add", "--content", "Text.", "--json", *words).json["path"]
        ).read_text()
        return str(text.partition("\nfrom: ")[2].partition("\n")[0])

    assert origin("--title", "Nobody says whose words these are") == "ai"
    assert origin("--title", "A cron job of mine found this", "--from", "user") == "user"
    monkeypatch.setenv("QWEN_CODE", "1")
    assert origin("--title", "An agent says that it were me", "--from", "user") == "ai"


def test_an_entry_is_named_by_its_title_or_its_path_too(
    run: Run, knowledge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = "jira-api/lessons/2026-11/put-replaces-8F3K2A.md"
    monkeypatch.setenv("HOME", str(knowledge.parent))
    names = [
        ("put /WORKFLOWS replaces  the entire resource", LESSON), (lesson, LESSON), (str(knowledge / lesson), LESSON),
        (f"{knowledge.name}/{lesson}", LESSON), (f"~/{knowledge.name}/{lesson}", LESSON), ("Jira Workflows API", DOC),
        ("update-workflow.sh", SCRIPT),
    ]  # fmt: skip
    for name, entry in names:
        assert run("show", name, "--json").json["id"] == entry, name
    assert run("add", "--title", "Jira workflows API", "--content", "x").code == 0
    done = run("show", "jira workflows api")
    assert (done.code, "one of: " in done.err) == (3, True)


def test_more_than_five_results_come_where_they_are_near_the_best(
    run: Run, git_repo: Path, git: Git
) -> None:
    for n in range(12):
        put_file(git_repo / f"p/docs/unversioned/{n}.md", f"# Page {n}\n\nAbout the zebra.\n")
        giraffes = f"# Sheet {n}\n\nTell of giraffes{' and more words' * 9 * n}.\n"
        put_file(git_repo / f"q/docs/unversioned/{n}.md", giraffes)
    commit_all(git, git_repo, "pages")

    def results(*words: str) -> int:
        done = run("search", *words, "--repo", git_repo, "--json")
        assert done.code == 0, done.err
        return len(done.json["docs"])

    assert results("zebra") == 10, "all are as near"
    assert 5 <= results("giraffes") < 10
    assert results("zebra", "--limit", "12") == 12
    assert results("zebra", "--limit", "2") == 2


def test_init_recommends_what_is_possible_and_says_cloned(
    run: Run, git_repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = run("admin", "init", "mine").out
    assert made.splitlines()[-1].startswith("Next: ai-lessons --repo ")
    assert " add --title " in made
    assert run("--repo", "mine", "add", "--title", "T", "--content", "Text.").code == 0
    cloned = run("admin", "init", "other", "--from", f"{tmp_path}/mine")
    assert cloned.code == 0, cloned.err
    assert cloned.out.startswith(f"Cloned 1 entry of {tmp_path}/mine: {tmp_path}/other\n")
    assert " recall list" in cloned.out


def test_a_rule_is_rejected_on_a_terminal_after_a_question(
    spawn: Spawn, proposal: str, run: Run
) -> None:
    child = spawn("admin", "reject-rule", "get a workflow before you put it")
    child.expect("PUT replaces the whole resource")
    reply(child, r"Reject R-5N1QTC\?", "n")
    code, text = finish(child)
    assert (code, "not rejected; nothing was changed" in text) == (8, True)
    child = spawn("admin", "reject-rule", "R-5N1QTC", "--yes")
    assert finish(child)[0] == 0
    assert run("admin", "pending-rules", "--count").out == "0\n"


def test_undo_takes_a_yes_that_it_does_not_need(run: Run, knowledge: Path) -> None:
    made = run("add", "--title", "Quagga", "--content", "C.", "--json").json["handle"]
    assert run("undo", "--yes").code == 0
    assert run("show", made).code != 0


def test_short_forms_do_what_their_long_ones_do(run: Run, knowledge: Path) -> None:
    long_forms = {
        "approve": ("admin", "approve-rule"),
        "delete": ("contribute", "delete"),
        "conflicts": ("admin", "conflicts"),
        "propose": ("contribute", "propose"),
    }
    shown = " ".join(run("--help").out.partition("Short forms:")[2].split())
    for short, long in long_forms.items():
        assert short in shown
        said = run(short, "--help").out.partition("\nExamples:")[0].partition("\n\n")[2]
        assert said
        assert said in run(*long, "--help").out
    made = run("add", "--title", "Quagga", "--content", "C.", "--json").json["handle"]
    assert run("delete", made, "--yes").code == 0
    assert run("show", made).code != 0
    for short in ("conflicts", "propose"):
        # neither has anything to do here, and each says so in its own words
        assert run(short) == run(*long_forms[short])
