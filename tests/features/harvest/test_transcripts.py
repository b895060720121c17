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

from ai_lessons.errors import StorageFailed
from ai_lessons.features.harvest.calls import happened
from ai_lessons.features.harvest.records import records, records_in
from ai_lessons.features.harvest.statements import statements_of
from ai_lessons.model import agent_hosts, plain
from ai_lessons.model.transcripts import Transcript
from ai_lessons.telling import words
from features.harvest.made_sessions import Session, proposed

RECORDED = Path(__file__).parents[1] / "hosts/transcripts"
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


def test_why_an_end_was_held_is_said_by_nobody() -> None:
    session = Transcript()
    session.add_remark(words.HELD + "\n" + plain.DATA + "\n- R-8F3K2A: Tests come with a change")
    session.add_remark("Make the total two")
    assert [step.text for step in session.steps] == ["Make the total two"]


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
