"""What agents do to entries of a person needs that person; what they wrote themselves they may take back."""

from pathlib import Path

import pytest

from interfaces.mcp_world import inside
from interfaces.world import DOC, LESSON, SCRIPT, Run


@pytest.fixture
def as_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AI_LESSONS_AGENT", "robot")


def add(run: Run, title: str) -> str:
    written = run("contribute", "add-lesson", "--title", title, "--content", "Seen.", "--json").json
    return str(written["handle"])


@pytest.mark.parametrize("entry", [LESSON, DOC, SCRIPT])
def test_an_agent_cannot_delete_what_a_person_wrote(
    run: Run, knowledge: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_AGENT", "robot")
    done = run("contribute", "delete", entry, "--yes")
    assert done.code == 8
    assert "ask the user: ai-lessons contribute delete " in done.err
    assert run("recall", "show", entry).code == 0
    monkeypatch.delenv("AI_AGENT")
    assert run("contribute", "delete", entry, "--yes").code == 0


@pytest.mark.plays("lesson_program")
def test_an_agent_cannot_mark_wrong_what_a_person_wrote_by_any_command(
    run: Run, knowledge: Path, as_agent: None, tmp_path: Path
) -> None:
    done = run("contribute", "update", LESSON, "--status", "wrong")
    assert done.code == 8
    assert "lesson wrong L-" in done.err
    with inside(tmp_path / "log") as agent:
        assert "a person wrote" in agent.fails("mark_wrong", id=LESSON)
    assert run("recall", "show", LESSON, "--json").json["status"] == "active"
    assert run("contribute", "update", LESSON, "--add-tags", "x").code == 0, "it may be mended"
    assert run("contribute", "delete", LESSON, "--yes").code == 8, (
        "an agent's edit makes it no entry of the agent"
    )


def test_an_agent_cannot_undo_what_a_person_did(
    run: Run, knowledge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = add(run, "A person saw that the zebra sleeps")
    monkeypatch.setenv("CLAUDECODE", "1")
    done = run("admin", "undo")
    assert done.code == 8
    assert "ask the user: ai-lessons admin undo" in done.err
    assert run("recall", "show", handle).code == 0
    add(run, "An agent saw that the lion runs")
    assert run("admin", "undo").code == 0
    assert run("admin", "undo", "2").code == 8


def test_an_agent_takes_back_marks_wrong_and_deletes_its_own_entries(
    run: Run, knowledge: Path, as_agent: None
) -> None:
    first, second = (
        add(run, "The zebra sleeps at noon"),
        add(run, "A lion has no stripes on its tail"),
    )
    assert run("contribute", "update", first, "--status", "wrong").code == 0
    assert run("contribute", "update", second, "--title", "A lion has no stripes").code == 0
    assert run("contribute", "delete", second, "--yes").code == 0
    assert run("admin", "undo").code == 0


def test_what_a_person_edited_last_is_the_persons(
    run: Run, knowledge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_LESSONS_AGENT", "robot")
    handle = add(run, "The zebra sleeps at noon")
    monkeypatch.delenv("AI_LESSONS_AGENT")
    assert run("contribute", "update", handle, "--title", "The zebra sleeps at two").code == 0
    monkeypatch.setenv("AI_LESSONS_AGENT", "robot")
    assert run("contribute", "delete", handle, "--yes").code == 8
