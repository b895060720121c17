"""What agent hosts keep of their sessions. The transcripts in `transcripts/` were written by the hosts themselves."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app.harvest_drafts import HarvestedLesson, drafts, in_sessions, measured
from ai_lessons.app.quotes import statements_of, without_people
from ai_lessons.errors import StorageFailed
from ai_lessons.git.transcript_files import records, records_in
from ai_lessons.model import agent_hosts, plain
from ai_lessons.model.command_patterns import happened
from ai_lessons.model.transcripts import Transcript
from ai_lessons.telling import words

RECORDED = Path(__file__).parent / "transcripts"
FATAL = "fatal: The current branch till has no upstream branch."
PATHSPEC = "error: pathspec 'a' did not match any file(s) known to git"

Row = dict[str, Any]


def read(file: Path) -> Transcript:
    transcript = Transcript(file.stem, file=file.name)
    for line, record in records(file):
        transcript.take(line, record)
    return transcript.closed()


def taken(*rows: object) -> Transcript:
    transcript = Transcript()
    for line, row in enumerate(rows, 1):
        transcript.take(line, row)
    return transcript


@pytest.fixture(params=["claude-code", "codex", "codex-code-mode", "gemini", "opencode"])
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
    said, failed, worked, *edits = recorded.steps
    assert (said.sort, said.text) == ("said", "Push this branch")
    assert (failed.sort, failed.text, failed.failed) == ("command", "git push", True)
    assert (worked.text, worked.failed) == ("git push -u origin HEAD", False)
    assert recorded.cwd == ("" if recorded.host == "gemini" else "/home/ann/shop")
    assert all(
        step.at.startswith(("2026-11-23T23:01:", "2026-11-25T18:2")) for step in recorded.steps
    )
    assert (recorded.known > 2, recorded.unknown) == (True, 0)
    assert {edit.sort for edit in edits} <= {"edit"}


def test_an_export_of_opencode_is_read_part_by_part_and_what_an_agent_asks_a_subagent_is_said_by_nobody() -> (
    None
):
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    done = {"status": "completed", "input": {"patchText": patch}, "output": "ok"}
    call = {"type": "tool", "callID": "1", "tool": "apply_patch", "state": done}
    messages = [
        {"info": {"role": role, "time": {"created": 1764500000123}}, "parts": [part]}
        for role, part in (("user", {"type": "text", "text": "Use y"}), ("assistant", call))
    ]
    for parent, sorts in (({}, ["said", "edit"]), ({"parentID": "ses_1"}, ["edit"])):
        info = {"id": "ses_2", "directory": "/home/ann/shop", **parent}
        export = json.dumps({"info": info, "messages": [*messages, {}]}, indent=1).encode()
        transcript = taken(*(record for _, record in records_in(export)))
        assert [step.sort for step in transcript.closed().steps] == sorts
        assert (transcript.session, transcript.first_cwd, transcript.host) == (
            "ses_2",
            "/home/ann/shop",
            "opencode",
        )
        assert (transcript.known, transcript.unknown) == (2, 1)
        assert transcript.steps[-1].text == "a.py"
        assert transcript.steps[-1].at.startswith("2025-11-30T10:53:20.123")


def test_what_a_script_did_in_the_code_mode_of_codex_is_read_from_the_items_that_it_left() -> None:
    *_, changed, added = (
        step for step in read(RECORDED / "codex-code-mode.jsonl").steps if step.sort == "edit"
    )
    assert (changed.text, changed.output) == (
        "/home/ann/shop/notes.txt",
        "@@ -1 +1 @@\n-one\n+two\n",
    )
    assert (added.text, added.output) == ("/home/ann/shop/src/new.py", "x = 1\n")


def test_a_patch_of_codex_is_an_edit_of_each_of_its_files_once_and_a_refused_one_is_none() -> None:
    steps = read(RECORDED / "codex-patch.jsonl").steps
    texts = {
        sort: [step.text for step in steps if step.sort == sort] for sort in ("edit", "command")
    }
    assert texts["edit"] == ["/home/ann/shop/notes.txt", "/home/ann/shop/src/new.py"]
    assert texts["command"] == ["git push", "git push | tail -3"]


def test_a_patch_of_several_files_that_left_no_item_is_an_edit_of_each() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b c.py\n+z\n*** End Patch"
    call: Row = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": patch}
    done = {
        "type": "custom_tool_call_output",
        "call_id": "c",
        "output": "Exit code: 0\nOutput:\nSuccess.",
    }
    steps = taken(*({"type": "response_item", "payload": item} for item in (call, done))).steps
    assert [(step.sort, step.text) for step in steps] == [("edit", "a.py"), ("edit", "b c.py")]


def test_a_command_that_runs_on_ends_once_with_what_came_of_it() -> None:
    item = {"type": "CommandExecution", "id": "c", "command": ["bash", "-lc", "make"]}
    call: Row = {
        "type": "function_call",
        "call_id": "c",
        "name": "exec_command",
        "arguments": '{"cmd": "make"}',
    }
    still = "Chunk ID: 1\nProcess running with session ID 7\nOutput:\n"
    transcript = taken(
        {"type": "response_item", "payload": call},
        {
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "c", "output": still},
        },
        {
            "type": "event_msg",
            "payload": {"type": "item_completed", "item": {**item, "exit_code": 2}},
        },
    )
    assert [(step.text, step.failed) for step in transcript.closed().steps] == [("make", True)]


@pytest.mark.parametrize("name", ["compact summary", "old summary", "codex", "cursor"])
def test_a_summary_of_a_compacted_session_is_not_what_the_user_said(name: str) -> None:
    if name == "codex":
        steps = read(RECORDED / "codex-compacted.jsonl").steps
        assert [step.text for step in steps if step.sort == "said"] == ["Push this branch"]
        return
    went, no = Session().runs("npm test"), "No, use pnpm here"
    if name == "compact summary":
        went.says(no, isCompactSummary=True)
    elif name == "old summary":
        went.says(
            f"This session is being continued from a previous conversation that ran out of context.\n{no}"
        )
    else:
        went.says(f"[Previous conversation summary]: {no}")
    assert [step.sort for step in went.transcript.steps] == ["command"]


@pytest.mark.parametrize(
    "payload",
    [
        {
            "type": "custom_tool_call",
            "call_id": "c",
            "name": "exec",
            "input": "await tools.exec_command({cmd: 'ls'})",
        },
        {"type": "quantum_call", "call_id": "c"},
    ],
)
def test_a_record_of_codex_that_may_hold_a_command_and_cannot_be_read_is_counted(
    payload: Row,
) -> None:
    transcript = taken(
        {"type": "response_item", "payload": payload},
        {"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "NewCall"}}},
        {"type": "new_record", "payload": {}},
    )
    assert (transcript.known, transcript.unknown) == (0, 3)


def test_what_a_real_host_kept_gives_one_candidate(recorded: Transcript) -> None:
    (one,) = proposed(recorded)
    assert one.title == f"`git push`: {FATAL}"
    assert (one.sort, one.do, one.sessions) == ("failure", "run `git push -u origin HEAD`", 1)
    assert one.content.startswith(f"~~~\n$ git push\n{FATAL}\n")
    (seen,) = one.evidence
    assert (seen.host, seen.date) == (recorded.host, recorded.steps[0].at[:10])
    assert seen.place.startswith(f"{recorded.file}:")


# --- sessions made up, in the form of Claude Code ---


class Session:
    """A session, as it goes on."""

    def __init__(self, name: str = "s1", day: str = "2026-11-20") -> None:
        self.transcript, self._line = Transcript(name, "/home/ann/shop", f"{name}.jsonl"), 0
        self._at = f"{day}T10:00:00Z"

    def row(self, role: str, content: object, **more: object) -> Session:
        self._line += 1
        message: Row = {
            "message": {"role": role, "content": content},
            "type": role,
            "timestamp": self._at,
        }
        self.transcript.take(self._line, message | more)
        return self

    def call(self, tool: str, given: Row, output: str, *, failed: bool = False) -> Session:
        self.row(
            "assistant", [{"type": "tool_use", "id": str(self._line), "name": tool, "input": given}]
        )
        ended: Row = {
            "type": "tool_result",
            "tool_use_id": str(self._line - 1),
            "content": output,
            "is_error": failed,
        }
        return self.row("user", [ended])

    def runs(self, command: str, output: str = "") -> Session:
        return self.call("Bash", {"command": command}, output, failed=bool(output))

    def edits(self, file: str, new: str = "x = 1", *, failed: str = "") -> Session:
        given = {"file_path": f"/home/ann/shop/{file}", "new_string": new}
        return self.call("Edit", given, failed, failed=bool(failed))

    def says(self, text: str, **more: object) -> Session:
        return self.row("user", text, **more)


def thrice(failed: str, output: str, worked: str) -> list[Session]:
    """Three sessions in which a command failed, and another one then worked."""
    return [Session(f"s{n}").runs(failed, output).runs(worked) for n in range(3)]


def proposed(*of: Session | Transcript) -> list[HarvestedLesson]:
    every = [one.transcript if isinstance(one, Session) else one for one in of]
    ended = [
        row
        for one in every
        for row in happened(one.closed().steps, one.session, "shop", one.host, one.file)
    ]
    return drafts(
        ended, [row for one in every for row in statements_of(one, "shop")], lambda _: False
    )


def test_a_command_that_failed_and_worked_in_another_form_is_one_draft_of_many_sessions() -> None:
    same = thrice("git push", FATAL, "git push -u origin HEAD")
    (one,) = proposed(*same)
    assert (one.sort, one.project, one.seen.sessions, len(one.evidence)) == (
        "failure",
        "shop",
        3,
        3,
    )
    assert (one.do, one.because) == (
        "run `git push -u origin HEAD`",
        "it failed in 3 sessions; this worked in 3",
    )
    assert one.id == proposed(same[0])[0].id


@pytest.mark.parametrize("worked", ["pytest tests/b.py", "git push", "npm ci"])
def test_the_same_form_or_another_thing_is_no_other_form(worked: str) -> None:
    assert proposed(Session().runs("pytest tests/a.py", "1 failed").runs(worked)) == []
    assert proposed(Session().runs("git push", FATAL).runs("git push")) == []


def test_a_failure_that_came_back_in_another_session_is_a_draft_without_an_answer() -> None:
    once = Session("s1").runs("git checkout a", PATHSPEC)
    again = Session("s2", "2026-11-21").runs("git checkout b", PATHSPEC.replace("'a'", "'b'"))
    assert proposed(once) == []
    (one,) = proposed(once, again)
    assert (one.do, one.seen.sessions) == ("", 2)
    assert [seen.date for seen in one.evidence] == ["2026-11-21", "2026-11-20"]


def test_nothing_of_a_task_and_no_text_of_a_file_stands_in_a_draft() -> None:
    output = '  File "secret_plan.py", line 3\n    print(f"{customer}")\n          ^\nSyntaxError: invalid syntax'
    rows = [
        Session(f"s{n}")
        .runs(f"python plans/secret_plan_{n}.py", output)
        .runs(f"python3 plans/secret_plan_{n}.py")
        for n in range(3)
    ]
    (one,) = proposed(*rows)
    assert one.when == "running `python`"
    assert not [
        word
        for word in ("secret_plan", "customer", "print")
        if word in str(one._replace(done=(), evidence=()))
    ]


def test_a_fact_of_the_machine_or_of_several_projects_holds_everywhere() -> None:
    missing = thrice("ruff check", "command not found: ruff", "uv run ruff check")
    assert [one.project for one in proposed(*missing)] == ["global"]


def test_of_a_pipe_the_output_tells_whether_it_failed() -> None:
    went = Session().runs("git push", FATAL)
    went.call("Bash", {"command": "git push origin | tail -3"}, FATAL)
    assert proposed(went) == []
    worked = (
        Session()
        .runs("git push", FATAL)
        .call("Bash", {"command": "git push -u origin | cat"}, "done")
    )
    assert len(proposed(worked)) == 1


def test_what_would_have_changed_most_comes_first_and_counts_only_later_sessions() -> None:
    rows = [
        Session(f"s{n}", f"2026-11-0{n + 1}")
        .runs("python a.py", "SyntaxError: x")
        .runs("python3 a.py")
        for n in range(5)
    ]
    rows[0].says(STATED).edits("tox.ini").runs("git push", FATAL).runs("git push -u origin HEAD")
    first, *others = proposed(*rows)
    assert (first.sort, first.warned, first.told) == ("pattern", 3, 6)
    assert sorted(one.sort for one in others) == ["failure", "stated"]
    ended = [
        row
        for one in rows
        for row in happened(one.transcript.steps, one.transcript.session, "", "", "")
    ]
    effect = measured(in_sessions(ended), [first])
    assert (effect.sessions, effect.failures, effect.met, effect.warned, effect.told) == (
        5,
        6,
        4,
        3,
        6,
    )


STATED = "No, let's use tox instead of make here, because make hides which test failed"


@pytest.mark.parametrize(
    "text",
    [
        STATED,
        "From now on we should never edit a migration that is merged, because it was run in production",
        "Remember that we always run the tests with a database",
        "Nein, wir benutzen hier immer pnpm statt npm, weil sonst die Sperrdatei nicht stimmt",
        "Non, nous devons toujours utiliser pnpm plutôt que npm, parce que sinon le verrou ne correspond pas",
        "No, debemos usar siempre pnpm en lugar de npm, porque si no el archivo no coincide",
        "不要用 npm。我们应该总是使用 pnpm。因为否则锁文件不对",
    ],
)
def test_what_a_person_stated_is_quoted_with_what_was_edited_after(text: str) -> None:
    (one,) = proposed(Session("s1").runs("npm test").says(text).edits("a.py"))
    (quote,) = one.quotes
    assert (one.sort, one.do, quote.session, quote.text, quote.pasted) == (
        "stated",
        "",
        "s1",
        text,
        False,
    )
    assert quote.at.startswith("2026-11-20T")
    assert one.edited == ("a.py",)


def test_what_was_said_in_several_sessions_is_one_draft_and_comes_first() -> None:
    other = "From now on we should never edit a migration that is merged, because it was run"
    every = [Session("s0").says(other).edits("m.sql")]
    every += [
        Session(f"s{n}", f"2026-11-2{n}").says(STATED + "!" * n).edits("a.py") for n in (1, 2)
    ]
    first, second = proposed(*every)
    assert ([quote.session for quote in first.quotes], len(second.quotes)) == (["s2", "s1"], 1)
    assert first.because == "said in 2 sessions"


def test_of_one_session_few_are_quoted_and_a_pasted_comment_is_marked() -> None:
    many = Session()
    for name in "abcd":
        many.says(f"From now on we should never touch {name * 4}, because {name * 5} breaks").edits(
            "a.py"
        )
    assert sum(len(one.quotes) for one in proposed(many)) == 2
    comment = (
        "I got this feedback: we should use `rune` instead, because slicing by byte breaks names"
    )
    ((quote,),) = [one.quotes for one in proposed(Session().says(comment).edits("a.py"))]
    assert quote.pasted
    page = (
        f"See what the page says: {STATED} " + "It is so for each of the tools that we know. " * 15
    )
    ((quote,),) = [one.quotes for one in proposed(Session().says("Look").says(page).edits("a.py"))]
    assert quote.pasted


def test_a_correction_is_sure_and_says_what_the_agent_had_done_before_it() -> None:
    went = Session().says("Round the totals").edits("cart.py").runs("make test", "1 failed")
    went.call("Bash", {"command": "git push"}, REFUSED, failed=True).says(STATED).edits("tox.ini")
    (one,) = proposed(went)
    (quote,) = one.quotes
    assert (one.sure, quote.text, quote.edited) == (True, STATED, ("tox.ini",))
    assert quote.before == (
        "edited cart.py",
        "ran `make test`, which failed",
        "was stopped at `git push`",
    )


def test_a_task_is_sure_in_no_number_of_sessions_and_other_words_of_a_person_are() -> None:
    task = "Fix {}.py, we need it: never change other tests, because all of them should pass"
    tasks = [
        Session(f"s{name}").says(task.format(name)).edits("a.py")
        for name in ("cart", "shop", "till")
    ]
    assert {one.sure for one in proposed(*tasks)} == {False}
    long = Session().says("The totals must be rounded once, not twice. " * 12).edits("a.py")
    assert proposed(long) == [], "it is all that the session was asked"
    again = (
        Session("s2")
        .says("Use tox here instead of make: which test failed make always hides")
        .edits("tox.ini")
    )
    (one,) = proposed(Session("s1").says(STATED).edits("a.py"), again)
    assert (one.sure, one.sessions) == (True, 2)
    assert not proposed(again)[0].sure, "it is the first prompt of its session"


def test_a_session_that_is_kept_twice_is_quoted_once() -> None:
    went = Session().runs("make").says(STATED).edits("a.py").says(STATED).edits("a.py")
    ((quote,),) = [
        one.quotes
        for one in proposed(went, Session("copy").runs("make").says(STATED).edits("a.py"))
    ]
    assert quote.session == "copy"


def test_why_an_end_was_held_is_said_by_nobody() -> None:
    session = Transcript()
    session.add_remark(words.HELD + "\n" + plain.DATA + "\n- R-8F3K2A: Tests come with a change")
    session.add_remark("Make the total two")
    assert [step.text for step in session.steps] == ["Make the total two"]


def test_what_states_nothing_or_is_not_of_the_user_is_none() -> None:
    for text in (
        "Thanks, now the docs",
        "Stop the dev server.",
        f"<command-name>{STATED}</command-name>",
    ):
        assert proposed(Session().runs("npm test").says(text)) == []
    for mark in ("isSidechain", "isMeta"):
        assert proposed(Session().runs("npm test").says(STATED, **{mark: True})) == []


def test_people_are_left_out_of_what_is_quoted() -> None:
    assert without_people("mail ann@example.com or @ann-b, in /home/ann/x and @decorator.py") == (
        "mail … or …, in /home/…/x and ….py"
    )


REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, …"


@pytest.mark.parametrize(
    "output",
    [
        REFUSED,
        f"Error: {REFUSED}",
        "[Request interrupted by user for tool use]",
        "Exit code 137\n[Request interrupted by user for tool use]\n=== RUN   TestCart",
        "Permission to use Bash with command terraform apply has been denied.",
    ],
)
def test_a_call_that_a_person_refused_or_interrupted_is_no_failed_command(output: str) -> None:
    went = Session().runs("terraform apply", output).edits("a.py", failed=output)
    assert [(step.sort, step.text) for step in went.transcript.steps] == [
        ("stopped", "terraform apply"), ("stopped", "/home/ann/shop/a.py"),
    ]  # fmt: skip
    assert proposed(*(Session(f"s{n}").runs("terraform apply", output) for n in range(3))) == []


def test_a_command_that_only_speaks_of_an_interruption_has_failed() -> None:
    for output in (
        "Error: aborted by the server",
        "KeyboardInterrupt: interrupted by user",
        "error: rejected by user",
    ):
        assert [step.sort for step in Session().runs("make test", output).transcript.steps] == [
            "command"
        ]


@pytest.mark.parametrize(
    ("failed", "worked"), [("mise run lint", "mise run test"), ("make lint", "make fmt")]
)
def test_an_unlike_command_is_no_way_out(failed: str, worked: str) -> None:
    drafted = proposed(*thrice(failed, "error: unused variable in the code", worked))
    assert [one.do for one in drafted] in ([], [""])


@pytest.mark.parametrize(
    "text", ["The user doesn't want to proceed with this tool use.", "<tool_use_error>x", "error 2"]
)
def test_what_the_host_says_in_the_place_of_an_output_or_what_says_little_is_no_failure(
    text: str,
) -> None:
    assert proposed(*thrice("git push", text, "git push -u origin")) == []


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
    LEAVES | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
)


@given(st.lists(DATA, max_size=6))
def test_records_of_any_shape_stop_no_reader(rows: list[object]) -> None:
    transcript = taken(*rows)
    assert transcript.known + transcript.unknown == len(rows)
    proposed(transcript)


@given(st.sampled_from(sorted(RECORDED.glob("*.jsonl"))), st.data())
def test_a_record_that_is_cut_off_or_damaged_is_left_and_the_others_are_read(
    file: Path, data: st.DataObject
) -> None:
    lines = file.read_text("utf-8").splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    row = json.loads(lines[at])
    for key in data.draw(st.sets(st.sampled_from(sorted(row)))):
        row[key] = data.draw(DATA)
    transcript = taken(
        *(row if line == at else json.loads(text) for line, text in enumerate(lines))
    )
    assert transcript.known + transcript.unknown == len(lines)
    assert len(transcript.closed().steps) >= 1


def _row(sort: str, **data: object) -> Row:
    return {"type": sort, "data": data, "timestamp": "2026-11-28T03:38:30.223Z"}


def _ended(call: str, content: str) -> Row:
    return _row(
        "tool.execution_complete", toolCallId=call, success=True, result={"content": content}
    )


def _message(sort: str, **part: object) -> Row:
    return {"type": sort, "sessionId": "s", "cwd": "/home/ann/shop", "message": {"parts": [part]}}


def _call(call: str, name: str, **given: str) -> Row:
    return _message("assistant", functionCall={"id": call, "name": name, "args": given})


def _answer(call: str, output: str) -> Row:
    return _message("tool_result", functionResponse={"id": call, "response": {"output": output}})


COPILOT = [
    _row("session.start", sessionId="s", context={"cwd": "/home/ann/shop"}),
    _row("user.message", content="Push this branch"),
    _row(
        "tool.execution_start", toolCallId="a", toolName="bash", arguments={"command": "git push"}
    ),
    _ended("a", f"{FATAL}\n<shellId: 0 completed with exit code 128>"),
    _row(
        "tool.execution_start",
        toolCallId="b",
        toolName="edit",
        arguments={"path": "a.py", "new_str": "x = 1"},
    ),
    _ended("b", "done"),
]
QWEN = [
    _message("user", text="Push this branch"),
    _call("a", "run_shell_command", command="git push"),
    _answer("a", f"Output: {FATAL}\nError: (none)\nExit Code: 128"),
    _call("b", "write_file", file_path="a.py", content="x = 1"),
    _answer("b", "done"),
]


def _item(sort: str, **more: object) -> Row:
    at = {
        "timestamp": 1_795_855_706_857,
        "sessionId": "s",
        "cwd": "/home/ann/shop",
        "message": {"usage": {}},
    }
    return {"type": sort, **at, **more}


def _result(call: str, text: str) -> Row:
    return _item(
        "function_call_result",
        callId=call,
        status="completed",
        output={"type": "text", "text": text},
    )


CODEBUDDY = [
    _item("message", role="user", content=[{"type": "input_text", "text": "Push this branch"}]),
    _item("function_call", callId="a", name="Bash", arguments='{"command": "git push"}'),
    _result(
        "a",
        f"Command: git push\nStdout: (empty)\nStderr: {FATAL}\n\n\nExit Code: 128\nSignal: (none)",
    ),
    _item(
        "function_call",
        callId="b",
        name="Edit",
        arguments='{"file_path": "a.py", "new_string": "x = 1"}',
    ),
    _result("b", "Successfully edited file: a.py"),
]


@pytest.mark.parametrize(
    ("host", "rows"), [("copilot", COPILOT), ("qwen", QWEN), ("codebuddy", CODEBUDDY)]
)
def test_what_other_hosts_keep_is_read_and_another_form_is_counted(
    host: str, rows: list[Row]
) -> None:
    transcript = taken(*rows, {"type": "novel", "data": {"x": 1}})
    remark, failed, edit = transcript.closed().steps
    assert (transcript.host, transcript.cwd, transcript.session) == (host, "/home/ann/shop", "s")
    assert (remark.text, failed.text, failed.output, failed.failed) == (
        "Push this branch",
        "git push",
        FATAL,
        True,
    )
    assert (edit.sort, edit.text, edit.output) == ("edit", "a.py", "x = 1")
    assert (transcript.known, transcript.unknown) == (len(rows), 1)
    assert ("", "2026-11-28")[host != "qwen"] == failed.at[:10]


def _codex(**payload: object) -> Row:
    return {"type": "response_item", "payload": payload}


def _completed(item: Row) -> Row:
    return {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}


_SHELL: Row = {
    "type": "function_call",
    "call_id": "a",
    "name": "exec_command",
    "arguments": '{"cmd": "git push"}',
}
_DONE: Row = {
    "type": "CommandExecution",
    "id": "a",
    "command": ["bash", "-lc", "git push"],
    "cwd": "/home/ann/shop",
}
_ASKED: Row = {
    "id": "a",
    "callID": "a",
    "name": "run_shell_command",
    "tool": "bash",
    "type": "tool",
}
_PUSH = {"command": "git push"}
STOPPED: dict[str, list[Row]] = {
    "claude": [
        {"message": {"content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": _PUSH}]}},
        {"type": "user", "toolUseResult": {"stdout": "", "stderr": "", "interrupted": True},
         "message": {"content": [{"type": "tool_result", "tool_use_id": "a", "content": "", "is_error": False}]}},
    ],
    "codex, refused": [
        _codex(**_SHELL), _codex(type="function_call_output", call_id="a", output="exec command rejected by user"),
    ],
    "codex, interrupted": [
        _codex(**_SHELL),
        _codex(type="function_call_output", call_id="a", output="Wall time: 5.0 seconds\naborted by user"),
    ],
    "codex, item": [_completed(_DONE | {"status": "declined"})],
    "codex, item interrupted": [_completed(_DONE | {"status": "failed", "exit_code": -1})],
    "gemini": [{"type": "gemini", "toolCalls": [_ASKED | {"args": _PUSH, "status": "cancelled"}]}],
    "qwen": [
        _call("a", "run_shell_command", command="git push"),
        _message("tool_result", functionResponse={"id": "a", "response": {
            "error": "[Operation Cancelled] Reason: User denied execution."}}),
    ],
    "copilot": [
        _row("tool.execution_start", toolCallId="a", toolName="bash", arguments=_PUSH),
        _row("tool.execution_complete", toolCallId="a", success=False, error={"code": "rejected", "message": "no"}),
    ],
    "opencode": [
        {"session": "s", "part": _ASKED | {"state": {"status": "error", "input": _PUSH,
         "error": "The user rejected permission to use this specific tool call."}}},
    ],
    "opencode, interrupted": [
        {"session": "s", "part": _ASKED | {"state": {"status": "completed", "input": _PUSH, "metadata": {"exit": None},
         "output": "<bash_metadata>\nUser aborted the command\n</bash_metadata>"}}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("rows", STOPPED.values(), ids=STOPPED)
def test_what_a_person_refused_or_interrupted_is_told_from_a_failure_in_each_host(
    rows: list[Row],
) -> None:
    assert [(step.sort, step.text) for step in taken(*rows).closed().steps] == [
        ("stopped", "git push")
    ]


def test_a_compressed_rollout_is_read_like_the_same_one_unpacked(tmp_path: Path) -> None:
    data = (RECORDED / "codex.jsonl").read_bytes()
    size = len(data).to_bytes(4, "little")
    blocks = [data[at : at + 100_000] for at in range(0, len(data), 100_000)]
    heads = [
        (len(block) << 3 | (n == len(blocks))).to_bytes(3, "little")
        for n, block in enumerate(blocks, 1)
    ]
    frame = (
        b"\x28\xb5\x2f\xfd\xa0"
        + size
        + b"".join(head + block for head, block in zip(heads, blocks, strict=True))
    )
    (tmp_path / "codex.jsonl.zst").write_bytes(frame)  # in raw blocks
    if shutil.which("zstd") is None:
        with pytest.raises(StorageFailed, match="install the program zstd"):
            list(records(tmp_path / "codex.jsonl.zst"))
    else:
        assert list(records(tmp_path / "codex.jsonl.zst")) == list(
            records(RECORDED / "codex.jsonl")
        )


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just([]), st.just({}), st.just([[]]),
    st.just({"type": "text"}), st.just("{"), st.just("[" * 3),
)  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the values in a record stand."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return (
        [at, *(place for key, part in inner for place in places(part, (*at, key)))]
        if at
        else [place for key, part in inner for place in places(part, (key,))]
    )


RECORDS = [
    record
    for name in ("claude-code", "codex", "codex-code-mode", "gemini")
    for _, record in records(RECORDED / f"{name}.jsonl")
]


@given(st.data())
def test_a_value_of_another_sort_anywhere_in_a_record_stops_nothing(data: st.DataObject) -> None:
    record = json.loads(json.dumps(data.draw(st.sampled_from(RECORDS))))
    for _ in range(data.draw(st.integers(1, 3))):
        every = places(record)
        if not every:
            break
        *way, last = data.draw(st.sampled_from(every))
        holder = record
        for key in way:
            holder = holder[key]
        if data.draw(st.booleans()):
            holder[last] = data.draw(ODD)
        elif isinstance(holder, dict):
            del holder[last]
    transcript = taken(record)
    assert transcript.known + transcript.unknown == 1
    list(happened(transcript.closed().steps, "s", "p", "h", "f"))
    statements_of(transcript, "p")


@pytest.mark.parametrize(
    ("host", "rows"), [("copilot", COPILOT), ("qwen", QWEN), ("codebuddy", CODEBUDDY)]
)
def test_a_record_is_of_one_host_alone(host: str, rows: list[Row]) -> None:
    """So the order of the table of hosts says nothing of who wrote a transcript."""
    for name in ("claude-code", "codex", "gemini"):
        _all_of(RECORDED / f"{name}.jsonl", name)
    for row in rows:
        assert [kind.id for kind in agent_hosts.every() if kind.wrote(row)] == [host]


def _all_of(file: Path, host: str) -> None:
    for _, record in records(file):
        assert [kind.id for kind in agent_hosts.every() if kind.wrote(record)] == [host]
