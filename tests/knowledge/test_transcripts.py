"""What agent hosts keep of their sessions. The transcripts in `transcripts/` were written by the hosts themselves."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.knowledge.episodes import Candidate, candidates, episodes
from ai_lessons.knowledge.failures import shape
from ai_lessons.knowledge.transcripts import Transcript
from ai_lessons.repository.outside import records

RECORDED = Path(__file__).parent / "transcripts"
FATAL = "fatal: The current branch till has no upstream branch."
PATHSPEC = "error: pathspec 'a' did not match any file(s) known to git"

Row = dict[str, Any]


def read(file: Path) -> Transcript:
    transcript = Transcript(file.stem, file=file.name)
    for line, record in records(file):
        transcript.take(line, record)
    return transcript.closed()


@pytest.fixture(params=["claude-code", "codex", "gemini", "opencode"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Transcript:
    """A session in which `git push` failed and `git push -u origin HEAD` then worked, as this host kept it."""
    host = str(request.param)
    if host != "opencode":
        return read(RECORDED / f"{host}.jsonl")
    db = sqlite3.connect(tmp_path / "opencode.db")
    db.executescript((RECORDED / "opencode.sql").read_text())
    db.close()
    return read(tmp_path / "opencode.db")


def test_what_a_real_host_kept_is_read_as_what_happened(recorded: Transcript) -> None:
    said, failed, worked = recorded.steps
    assert (said.sort, said.text) == ("said", "Push this branch")
    assert (failed.sort, failed.text, failed.failed) == ("command", "git push", True)
    assert (worked.text, worked.failed) == ("git push -u origin HEAD", False)
    assert recorded.cwd == ("" if recorded.host == "gemini" else "/home/ann/shop")
    assert all(step.at.startswith("2026-11-23T23:01:") for step in recorded.steps)
    assert recorded.known > 2


def test_what_a_real_host_kept_gives_one_candidate(recorded: Transcript) -> None:
    (one,) = proposed(recorded)
    assert one.title == f"git push: {FATAL}"
    assert (one.sort, one.do, one.sessions) == ("fixed", "`git push -u origin HEAD`", 1)
    assert one.content.startswith(f"~~~\n$ git push\n{FATAL}\n")
    (seen,) = one.evidence
    assert (seen.host, seen.date) == (recorded.host, "2026-11-23")
    assert seen.place.startswith(f"{recorded.file}:")


# --- sessions made up, in the form of Claude Code ---


class Session:
    """A session, as it goes on."""

    def __init__(self, name: str = "s1", day: str = "2026-11-20") -> None:
        self.transcript, self._line = Transcript(name, "/home/ann/shop", f"{name}.jsonl"), 0
        self._at = f"{day}T10:00:00Z"

    def row(self, role: str, content: object, **more: object) -> Session:
        self._line += 1
        message: Row = {"message": {"role": role, "content": content}, "type": role, "timestamp": self._at}
        self.transcript.take(self._line, message | more)
        return self

    def call(self, tool: str, given: Row, output: str, *, failed: bool = False) -> Session:
        self.row("assistant", [{"type": "tool_use", "id": str(self._line), "name": tool, "input": given}])
        ended: Row = {"type": "tool_result", "tool_use_id": str(self._line - 1), "content": output, "is_error": failed}
        return self.row("user", [ended])

    def runs(self, command: str, output: str = "") -> Session:
        return self.call("Bash", {"command": command}, output, failed=bool(output))

    def edits(self, file: str, new: str = "x = 1", *, failed: str = "") -> Session:
        given = {"file_path": f"/home/ann/shop/{file}", "new_string": new}
        return self.call("Edit", given, failed, failed=bool(failed))

    def says(self, text: str, **more: object) -> Session:
        return self.row("user", text, **more)


def proposed(*of: Session | Transcript, stored: tuple[str, ...] = (), texts: tuple[str, ...] = ()) -> list[Candidate]:
    every = [one.transcript if isinstance(one, Session) else one for one in of]
    found = [episode for one in every for episode in episodes(one.closed())]
    return candidates(found, [shape(one) for one in stored], texts, {"/home/ann/shop": "shop"})


def test_a_command_that_failed_and_worked_in_another_form_is_one_candidate_of_many_sessions() -> None:
    same = [Session(name).runs("git push", FATAL).runs("git push -u origin HEAD") for name in ("s1", "s2", "s3")]
    (one,) = proposed(*same)
    assert (one.project, one.sessions, len(one.evidence)) == ("shop", 3, 3)
    assert one.because == "it worked after that failed, in 3 sessions"
    assert one.id == proposed(same[0])[0].id


@pytest.mark.parametrize("worked", ["pytest tests/b.py", "git push", "npm ci"])
def test_the_same_form_or_another_thing_is_no_other_form(worked: str) -> None:
    assert proposed(Session().runs("pytest tests/a.py", "1 failed").runs(worked)) == []
    assert proposed(Session().runs("git push", FATAL).runs("git push")) == []


def test_a_failure_that_came_back_in_another_session_is_a_candidate_without_an_answer() -> None:
    once = Session("s1").runs("git checkout a", PATHSPEC)
    again = Session("s2", "2026-11-21").runs("git checkout b", PATHSPEC.replace("'a'", "'b'"))
    assert proposed(once) == []
    (one,) = proposed(once, again)
    assert (one.sort, one.do, one.sessions) == ("failed", "", 2)
    assert [seen.date for seen in one.evidence] == ["2026-11-21", "2026-11-20"]


@pytest.mark.parametrize(("command", "said"), [("pytest -q", "E  assert total == 3 in test_sum"), ("make", "error 2")])
def test_a_check_that_fails_in_many_sessions_or_a_message_that_says_little_is_none(command: str, said: str) -> None:
    assert proposed(*(Session(name).runs(command, said) for name in ("s1", "s2", "s3"))) == []


def test_the_same_session_in_two_transcripts_is_one(recorded: Transcript) -> None:
    again = read(RECORDED / f"{recorded.host}.jsonl") if recorded.host != "opencode" else recorded
    again.session = "resumed"
    (one,) = proposed(recorded, again)
    assert one.sessions == 1


def test_of_a_pipe_the_output_tells_whether_it_failed() -> None:
    went = Session().runs("git push", FATAL)
    went.call("Bash", {"command": "git push origin | tail -3"}, FATAL)
    assert proposed(went) == []
    assert (
        len(proposed(Session().runs("git push", FATAL).call("Bash", {"command": "git push -u o | cat"}, "done"))) == 1
    )


def test_what_is_likeliest_a_lesson_comes_first() -> None:
    went = Session().edits("a.py").runs("pytest -q", "E   KeyError: 'total'").edits("a.py").runs("pytest -q")
    went.says("No, use tox").runs("git push", FATAL).runs("git push -u origin HEAD")
    assert [one.sort for one in proposed(went)] == ["fixed", "corrected", "edited"]


@pytest.mark.parametrize("said", ["No, use pnpm here", "don't run the whole suite", "Use make check instead of that"])
def test_a_correction_by_the_user_right_after_an_action_is_a_candidate(said: str) -> None:
    (one,) = proposed(Session().runs("npm test").says(said))
    assert (one.sort, one.title, one.do) == ("corrected", said, said)
    assert one.when == "about to run `npm test`"


def test_what_is_no_correction_or_not_of_the_user_is_none() -> None:
    assert proposed(Session().says("No, use pnpm here")) == []
    assert proposed(Session().runs("npm test").says("Thanks, now the docs")) == []
    assert proposed(Session().runs("npm test").says("no: use pnpm", isSidechain=True)) == []
    assert proposed(Session().runs("npm test").says("no: use pnpm", isMeta=True)) == []
    assert proposed(Session().runs("npm test").says("<command-name>no, clear</command-name>")) == []


def test_a_file_that_was_edited_again_after_its_check_failed_is_a_candidate_about_that_file() -> None:
    went = Session().edits("a.py").runs("pytest -q", "E   KeyError: 'total'").edits("a.py", "x = 2").runs("pytest -q")
    (one,) = proposed(went)
    assert (one.sort, one.applies_to, one.when) == ("edited", ("a.py",), "editing a.py")
    assert "KeyError" in one.title
    assert "x = 2" in one.content


def test_an_edit_that_did_not_happen_or_of_another_file_does_not_count() -> None:
    went = Session().edits("a.py").runs("pytest -q", "E   KeyError: 'total'")
    went.edits("a.py", failed="String to replace not found").edits("b.py").runs("pytest -q")
    assert proposed(went) == []


@pytest.mark.parametrize("text", ["The user doesn't want to proceed with this tool use.", "<tool_use_error>x"])
def test_what_the_host_says_in_the_place_of_an_output_is_no_failure(text: str) -> None:
    assert proposed(Session().runs("git push", text).runs("git push -f")) == []


def test_what_is_stored_is_left_out() -> None:
    went = Session().runs("git push", FATAL).runs("git push -u origin HEAD")
    assert proposed(went, stored=(FATAL.replace("till", "cart"),)) == []
    assert proposed(went, texts=("Set it once: `git push -u origin HEAD`.",)) == []
    assert len(proposed(went, stored=(PATHSPEC,), texts=("Push it.",))) == 1


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
NAMES = st.sampled_from(
    ["type", "message", "payload", "part", "role", "content", "id", "input", "command", "name", "text", "toolCalls",
     "state", "status", "output", "args", "call_id", "arguments", "is_error", "tool_use_id", "timestamp", "sessionId"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["user", "assistant", "tool_use", "tool_result", "text", "response_item", "function_call", "function_call_output",
     "message", "gemini", "tool", "completed", "success", "a", "{}", '{"command": ["bash", "-lc", 3]}']
)  # fmt: skip
DATA = st.recursive(
    LEAVES | WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5)
)


@given(st.lists(DATA, max_size=6))
def test_records_of_any_shape_stop_no_reader(rows: list[object]) -> None:
    transcript = Transcript()
    for line, row in enumerate(rows, 1):
        transcript.take(line, row)
    assert transcript.known + transcript.unknown == len(rows)
    proposed(transcript)


@given(st.sampled_from(sorted(RECORDED.glob("*.jsonl"))), st.data())
def test_a_record_that_is_cut_off_or_damaged_is_left_and_the_others_are_read(file: Path, data: st.DataObject) -> None:
    lines = file.read_text("utf-8").splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    row = json.loads(lines[at])
    for key in data.draw(st.sets(st.sampled_from(sorted(row)))):
        row[key] = data.draw(DATA)
    transcript = Transcript()
    for line, text in enumerate(lines):
        transcript.take(line, row if line == at else json.loads(text))
    assert transcript.known + transcript.unknown == len(lines)
    assert len(transcript.closed().steps) >= 1
