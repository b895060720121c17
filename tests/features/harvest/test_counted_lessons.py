"""Lessons about commands whose calls were counted: told before a command that fails more often than not."""

from pathlib import Path

import pytest

from ai_lessons.app import editing
from ai_lessons.features.harvest.counts import CallCounts, counts_by_entry
from app.test_statements import MALLORY, ZEBRA_ID, push, words
from app.world import World
from interfaces.agent_host import Host, add
from interfaces.test_command_lessons import before, fails
from interfaces.world import Run

PYTHON = """pattern:
  when: running `python`
  do: use `python3`
  because: "it is Python 2"
seen:
  calls: {calls}
  failures: {failures}
  sessions: {sessions}
"""


INSIDE = """pattern:
  when: inside `Jira_API`, running `cd Jira_API` or `git -C Jira_API`
  do: "run the command without `cd Jira_API`: you are in that folder already"
  because: "no such file or directory: Jira_API"
seen:
  calls: 20
  failures: 19
  sessions: 9
"""


def lesson(
    knowledge: Path,
    project: str = "global",
    calls: int = 40,
    failures: int = 30,
    sessions: int = 12,
) -> None:
    seen = PYTHON.format(calls=calls, failures=failures, sessions=sessions)
    add(knowledge, f"{project}/lessons/py.md", "7PYPYP", "Python is Python 2 here", seen)


def test_it_is_told_whole_before_the_command_once_a_session(host: Host, knowledge: Path) -> None:
    lesson(knowledge)
    told = before(host, "cd src && python report.py")
    assert "WHEN running `python` -> DO use `python3` -> BECAUSE it is Python 2" in told
    assert before(host, "python other.py") == ""
    assert before(host, "python report.py", session="s2") != ""
    assert before(host, "python3 report.py", session="s3") == ""


def test_what_fails_no_more_often_than_not_or_is_of_another_project_is_not_told(
    host: Host, knowledge: Path
) -> None:
    for seen in ({"failures": 19}, {"sessions": 1}, {"calls": 400, "failures": 180}):
        lesson(knowledge, "global", **seen)
        assert before(host, "python report.py") == ""
    (knowledge / "global/lessons/py.md").unlink()
    lesson(knowledge, project="warehouse")
    assert before(host, "python report.py") == ""
    (knowledge / "warehouse/lessons/py.md").unlink()
    lesson(knowledge, project=host.code.name)
    assert before(host, "python report.py", session="s2") != ""
    add(knowledge, "git/lessons/a.md", "7GGGGG", "Push to a topic branch")
    assert before(host, "git push") == "", "that a project is called like a program says nothing"


def test_inside_a_folder_the_command_that_names_it_again_is_warned_of(
    host: Host, knowledge: Path
) -> None:
    add(knowledge, "global/lessons/in.md", "7NSDNS", "The folder is no folder of itself", INSIDE)
    assert host.code.name == "Jira_API"
    assert before(host, "Jira_API/run.sh --all") == ""
    assert "without `cd Jira_API`" in before(host, "cd Jira_API && make")
    assert before(host, "cd Jira_API && make", session="s2", cwd=str(host.code.parent)) == ""
    (host.code / "Jira_API").mkdir()
    assert before(host, "cd Jira_API && make", session="s3") == "", "there is one in it"


def test_what_holds_inside_a_folder_is_told_with_another_lesson_when_a_command_goes_there(
    host: Host, knowledge: Path
) -> None:
    add(knowledge, "global/lessons/in.md", "7NSDNS", "The folder is no folder of itself", INSIDE)
    lesson(knowledge)
    above = str(host.code.parent)
    text = before(host, "cd Jira_API && python report.py", cwd=above)
    assert "use `python3`" in text
    assert "without `cd Jira_API`" in text
    assert before(host, "cd Jira_API && make") == "", "once a session"
    assert "without" not in before(host, "cd other && python report.py", session="s2", cwd=above)
    (host.code / "Jira_API").mkdir()
    assert "without" not in before(host, "cd Jira_API && python report.py", session="s3", cwd=above)


def test_a_command_that_is_run_after_its_warning_and_fails_is_told_once_more(
    host: Host, knowledge: Path
) -> None:
    lesson(knowledge)
    said = "SyntaxError: invalid syntax"
    assert "L-7PYPYP" in before(host, "python report.py")
    assert "L-7PYPYP" in fails(host, "python report.py", said)
    assert fails(host, "python other.py", said) == ""
    assert "L-7PYPYP" in fails(host, "python report.py", said, session="s2")
    assert fails(host, "make", "make: *** No rule to make target 'x'.", session="s3") == ""


def test_a_command_that_works_again_is_no_longer_warned_of(host: Host, knowledge: Path) -> None:
    lesson(knowledge, calls=4, failures=4, sessions=4)
    for n in range(4):
        assert before(host, "python report.py", session=f"s{n}") != ""
        worked = {
            "tool_input": {"command": "python report.py"},
            "tool_response": {"stdout": "3 orders"},
        }
        assert host.hear("make_test_done", session_id=f"s{n}", **worked) == ""
    assert before(host, "python report.py", session="last") == ""


def test_it_is_told_at_the_start_and_once_more_before_its_command(
    host: Host, knowledge: Path
) -> None:
    mine = "from: user\n" + PYTHON.format(calls=9, failures=9, sessions=5)
    add(knowledge, "global/lessons/py.md", "7PYPYP", "Mine", mine)
    add(knowledge, "global/lessons/b.md", "7BBBBB", "Also mine", "from: user\n")
    start = host.hear("session_start")
    assert ("L-7BBBBB" in start, "L-7PYPYP" in start) == (True, True)
    assert "L-7PYPYP" in before(host, "python report.py")


SEEN = "seen:\n  calls: 900\n  failures: 890\n  sessions: 300\n"


def counted(world: World) -> CallCounts:
    opened = world.fresh()
    opened.up_to_date()
    return counts_by_entry(opened.reading)[ZEBRA_ID]


@pytest.mark.parametrize(("who", "counts"), [((), (900, 890, 300)), (MALLORY, (0, 0, 0))])
def test_what_another_claims_to_have_seen_counts_for_nothing_until_a_person_keeps_it(
    world: World, who: tuple[str, ...], counts: tuple[int, int, int]
) -> None:
    push(world, words("ai", more=SEEN), *who)
    assert counted(world) == counts
    push(world, words("ai", more=SEEN.replace("300", "400")), *MALLORY)
    assert counted(world) == (0, 0, 0), "who changes the counts of another claims them"
    editing.keep(world.fresh(), ZEBRA_ID)
    assert counted(world) == (900, 890, 400)


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ("seen: often", "seen is not `calls:`, `failures:`, `sessions:`, one a line"),
        ("seen:\n  calls: 1", "seen is not `calls:`, `failures:`, `sessions:`, one a line"),
        (SEEN.replace("900", "many").rstrip(), "seen holds what is no count"),
        (SEEN.replace("900", "800").rstrip(), "seen has more failures than calls"),
    ],
)
def test_counts_that_are_none_are_named_with_their_line(
    run: Run, knowledge: Path, stated: str, fault: str
) -> None:
    add(knowledge, "global/lessons/py.md", "7PYPYP", "Mine", f"{stated}\n")
    done = run("admin", "validate")
    (row,) = [line for line in done.out.splitlines() if "seen" in line]
    assert row.endswith(fault)
    assert ":9: " in row
