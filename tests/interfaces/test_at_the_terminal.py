"""A person at a terminal: editor, questions, colour, pager, Ctrl-C. A real pseudo-terminal, a real repository."""

import shlex
from pathlib import Path

import pexpect
import pytest

from interfaces.a_terminal import Spawn, editor, finish, reply
from interfaces.world import PROGRAM, Run, environment
from real_world import Git


def test_an_entry_is_edited_in_the_users_editor(
    spawn: Spawn, knowledge: Path, tmp_path: Path, git: Git
) -> None:
    child = spawn(
        "contribute", "edit", "L-8F3K2A", EDITOR=editor(tmp_path, 'echo "Added by hand." >> "$1"')
    )
    code, text = finish(child)
    assert (code, "[L-8F3K2A]" in text) == (0, True), text
    assert "+Added by hand." in git(knowledge, "show", "--format=")


def test_an_editor_that_changes_nothing_or_fails_and_a_lesson_that_stays_empty_change_nothing(
    spawn: Spawn, knowledge: Path, tmp_path: Path, git: Git
) -> None:
    for words, script, code, told in (
        (("edit", "L-8F3K2A"), ":", 0, "note: nothing was changed"),
        (("edit", "L-8F3K2A"), "exit 3", 1, "Editing failed"),
        (("add-lesson", "--title", "Empty"), ":", 2, "the lesson has no text"),
    ):
        ended, text = finish(spawn("contribute", *words, EDITOR=editor(tmp_path, script)))
        assert (ended, told in text) == (code, True), text
    assert (
        git(knowledge, "status", "--porcelain"),
        git(knowledge, "rev-list", "--count", "HEAD"),
    ) == ("", "2")


def test_an_invalid_edit_can_be_mended(
    spawn: Spawn, knowledge: Path, tmp_path: Path, git: Git
) -> None:
    script = 'sed -i -e "s/: certain/: low/" -e "s/: high/: certain/" "$1"'
    child = spawn("contribute", "edit", "L-8F3K2A", EDITOR=editor(tmp_path, script))
    child.expect("confidence")
    reply(child, r"Edit again\?", "y")
    code, text = finish(child)
    assert code == 0, text
    assert "+confidence: low" in git(knowledge, "show", "--format=")


def test_an_invalid_edit_that_is_given_up_is_kept(
    spawn: Spawn, knowledge: Path, tmp_path: Path, hermetic: Path, git: Git
) -> None:
    child = spawn(
        "contribute",
        "edit",
        "L-8F3K2A",
        EDITOR=editor(tmp_path, 'sed -i "s/: high/: certain/" "$1"'),
    )
    reply(child, r"Edit again\?", "n")
    code, text = finish(child)
    assert (code, "your text is kept in" in text) == (4, True)
    (kept,) = (hermetic / ".local/state/ai-lessons/edits").iterdir()
    assert "confidence: certain" in kept.read_text()
    assert git(knowledge, "status", "--porcelain") == ""


def test_a_lesson_without_text_is_written_in_the_editor(
    spawn: Spawn, knowledge: Path, tmp_path: Path
) -> None:
    write = editor(tmp_path, 'grep -q "what was observed" "$1" && echo "Seen today." >> "$1"')
    code, text = finish(spawn("contribute", "add-lesson", "--title", "Seen", EDITOR=write))
    assert code == 0, text
    (file,) = (knowledge / "global/lessons").rglob("*.md")
    assert file.read_text().endswith("---\nSeen today.\n")


def test_deleting_asks_a_person(spawn: Spawn, knowledge: Path) -> None:
    child = spawn("contribute", "delete", "L-8F3K2A")
    reply(child, r"Delete L-8F3K2A\? \(git keeps the history\)", "n")
    assert finish(child)[0] == 130
    assert (knowledge / "jira-api/lessons/2026-11/put-replaces-8F3K2A.md").exists()


def test_long_text_goes_through_the_pager(spawn: Spawn, knowledge: Path) -> None:
    (knowledge / "jira-api/notes.md").write_text(
        "# Long\n\n" + "\n".join(f"line {n}" for n in range(60)) + "\n"
    )
    child = spawn("recall", "show", "jira-api/notes.md", PAGER="sed s/^line/paged/")
    assert "paged 59" in finish(child)[1]
    (knowledge / "jira-api/notes.md").write_text("# Short\n\nline 1\n")
    child = spawn("recall", "show", "jira-api/notes.md", PAGER="sed s/^line/paged/")
    assert "line 1" in finish(child)[1]


def test_colour_is_for_terminals_and_can_be_switched_off(
    spawn: Spawn, knowledge: Path, run: Run
) -> None:
    assert "\x1b[36m" in finish(spawn("recall", "list", NO_COLOR=""))[1]
    assert "\x1b[" not in finish(spawn("recall", "list", NO_COLOR="1"))[1]
    assert "\x1b[" not in run("recall", "list").out


def test_a_table_fits_the_terminal(spawn: Spawn, knowledge: Path) -> None:
    lesson = knowledge / "jira-api/lessons/2026-11/put-replaces-8F3K2A.md"
    lesson.write_text(
        lesson.read_text().replace("title: PUT", "title: " + "very long " * 20 + "PUT")
    )
    lines = finish(spawn("recall", "list"))[1].splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("L-8F3K2A") for line in lines)


@pytest.mark.parametrize("streams", ["--content x", "--content x > out", "- < text"])
def test_what_a_person_adds_at_a_terminal_is_theirs_also_where_one_stream_is_a_file(
    knowledge: Path, tmp_path: Path, streams: str
) -> None:
    (tmp_path / "text").write_text("In the river.")
    line = f"{shlex.join(PROGRAM)} add --title Otters --project zoo {streams}"
    child = pexpect.spawn(
        "sh", ["-c", line], cwd=str(tmp_path), env=environment(), encoding="utf-8", timeout=60
    )
    code, text = finish(child)
    (file,) = (knowledge / "zoo/lessons").rglob("*.md")
    assert (code, "\nfrom: user\n" in file.read_text()) == (0, True), text
