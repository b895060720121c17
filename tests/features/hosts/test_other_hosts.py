"""The hooks as other hosts than Claude Code call them.

Events of Cursor and VS Code follow their documentation, the rest is real but for a subagent of Copilot and edits of
Qwen Code.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ai_lessons.interfaces import agent_hook
from ai_lessons.model.edits import Edit
from ai_lessons.model.entries import Moment
from ai_lessons.telling.pipeline import AgentEvent
from interfaces.agent_host import EVENTS, Host, add
from interfaces.world import run_inside

if TYPE_CHECKING:
    from pathlib import Path

SAID = """fatal: No configured push destination.
Either specify the URL from the command-line or configure a remote repository using

    git remote add <name> <url>

and then push using the remote name

    git push <name>
"""
PUSH = f"~~~\n$ git push\n{SAID}~~~\nAdd a remote first.\n"


def parsed(host: Host, name: str, **changes: object) -> AgentEvent:
    named = "copilot" if name.startswith(("copilot", "vscode")) else ""
    event = agent_hook.parse(host.event(name, **changes).encode(), host.code, named)
    assert event is not None
    return event


def said(host: Host, name: str, **changes: object) -> dict[str, Any]:
    environ = {"AI_LESSONS_AGENT": "copilot"} if name.startswith(("copilot", "vscode")) else {}
    out = run_inside(["admin", "agent-hook"], host.code, host.event(name, **changes), **environ).out
    answer: dict[str, Any] = json.loads(out) if out else {}
    return answer


def test_an_event_of_every_host_is_understood_with_its_session_and_folder(host: Host) -> None:
    for name in (file.stem for file in EVENTS.glob("*_*.json")):
        event = parsed(host, name)
        assert (event.cwd, event.session == "unnamed") == (host.code, False), name
        host_of = name.partition("_")[0]
        if host_of in {"codex", "gemini", "cursor", "qwen", "copilot", "codebuddy", "vscode"}:
            assert event.host == {"gemini": "gemini-cli", "qwen": "qwen-code"}.get(host_of, host_of)
    assert parsed(host, "gemini_search_failed").tool == "mcp__ai-lessons__search", (
        "called the same on every host"
    )
    assert parsed(host, "cursor_write", tool_name="MCP:add_lesson").tool.endswith("__add_lesson")


def test_a_patch_of_codex_also_one_that_a_command_writes_is_about_each_of_its_files(
    host: Host, knowledge: Path
) -> None:
    event = parsed(host, "codex_patch")
    assert event.paths == (str(host.code / "notes.txt"), str(host.code / "src/new.py"))
    assert (event.command, [edit.new for edit in event.edits]) == ("", ["two", "x = 1"])
    add(knowledge, "python/lessons/c.md", "7BBBBB", "Mind the gap", 'applies_to:\n  - "src/*.py"\n')
    assert "[L-7BBBBB] Mind the gap" in host.hear("codex_patch")
    assert host.hear("codex_patch") == ""
    heredoc = (
        "cd src && apply_patch <<'E'\n*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch\nE"
    )
    written = parsed(host, "codex_patch", tool_name="Bash", tool_input={"command": heredoc})
    assert (written.paths, written.moment) == ((str(host.code / "a.py"),), event.moment)


def test_what_helps_comes_at_a_failure_on_every_host(
    host: Host, knowledge: Path, tmp_path: Path
) -> None:
    add(knowledge, "git/lessons/c.md", "7BBBBB", "A remote is missing", body=PUSH)
    for name in ("codex", "gemini", "cursor", "qwen", "copilot", "codebuddy"):
        changes = {"transcript_path": rollout(tmp_path, 128)} if name == "codex" else {}
        event = parsed(host, f"{name}_git_push_failed", **changes)
        assert (event.moment, event.command) == (Moment.TOOL_FAILED, "git push")
        assert event.text.startswith("fatal: No configured push destination.")
        answer = said(host, f"{name}_git_push_failed", **changes)
        assert len(answer) == 1
        assert "[L-7BBBBB] A remote is missing" in json.dumps(
            answer.get("hookSpecificOutput", answer)
        ), name
        assert said(host, f"{name}_git_push_failed", **changes) == {}


def rollout(folder: Path, code: int | None) -> str:
    """A transcript of Codex that says how the call of the recorded event ended, behind another call and a torn line."""
    call = json.loads((EVENTS / "codex_git_push_failed.json").read_text())["tool_use_id"]
    items = [
        {"type": "CommandExecution", "id": name, "exit_code": end}
        for name, end in ((call, code), ("other", 0))
    ]
    rows = [
        {"type": "event_msg", "payload": {"type": "item_completed", "item": item}} for item in items
    ]
    (folder / "rollout.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows) + f'{{"exit_code": "{call[:9]}'
    )
    return str(folder / "rollout.jsonl")


def test_how_a_command_of_codex_ended_stands_in_its_transcript(host: Host, tmp_path: Path) -> None:
    for code, moment in (
        (128, Moment.TOOL_FAILED),
        (0, Moment.TOOL_DONE),
        (None, Moment.TOOL_DONE),
    ):
        event = parsed(host, "codex_git_push_failed", transcript_path=rollout(tmp_path, code))
        assert event.moment is moment, code
    assert (
        parsed(host, "codex_git_push_failed", transcript_path="/nowhere").moment is Moment.TOOL_DONE
    )


def test_a_command_that_worked_is_no_failure(host: Host) -> None:
    for name in ("gemini", "cursor", "qwen", "copilot", "codebuddy"):
        event = parsed(host, f"{name}_git_status_done")
        assert (event.moment, event.text, event.command) == (
            Moment.TOOL_DONE,
            "",
            "git status --short",
        ), name
        assert said(host, f"{name}_git_status_done") == {}


def test_gemini_says_in_the_text_for_the_model_how_a_command_ended(host: Host) -> None:
    for content, shown, failed in (
        ("<untrusted_context>\nOutput: (empty)\nSignal: 9\n", "terminated", True),
        ("Output: x\nExit Code: 1\n", "x", True),
        ("Output: x\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)", "x", False),
        ("Output: Exit code", "Exit code", False),
        ("Output: a\nExit Code: 1\nError: b\nc\nProcess Group PGID: 7\n", "a", False),
        ([{"text": "x"}], "x", False),
    ):
        event = parsed(
            host,
            "gemini_git_push_failed",
            tool_response={"llmContent": content, "returnDisplay": shown},
        )
        assert event.moment is (Moment.TOOL_FAILED if failed else Moment.TOOL_DONE), content
    response = {"llmContent": "x", "returnDisplay": {"a": 1}, "error": {"message": "x"}}
    assert (
        parsed(host, "gemini_git_push_failed", tool_response=response).moment is Moment.TOOL_FAILED
    )


def test_where_nothing_is_told_before_a_tool_the_text_about_a_file_comes_with_its_result(
    host: Host, knowledge: Path
) -> None:
    add(
        knowledge,
        "python/lessons/c.md",
        "7BBBBB",
        "Mind the notes",
        'applies_to:\n  - "notes.txt"\n',
    )
    for name, event in (
        ("gemini", "AfterTool"),
        ("qwen", "PostToolUse"),
        ("codebuddy", "PostToolUse"),
    ):
        assert said(host, f"{name}_before_edit") == {}
        told = said(host, f"{name}_edit")["hookSpecificOutput"]
        assert told["hookEventName"] == event
        assert "[L-7BBBBB] Mind the notes" in told["additionalContext"]


def test_gemini_goes_on_at_a_stop_for_a_reason(host: Host) -> None:
    failed = {"tool_response": {"llmContent": "Output: E\nExit Code: 2", "returnDisplay": "E"}}
    assert said(host, "gemini_git_push_failed", tool_input={"command": "make test"}, **failed) == {}
    assert said(host, "gemini_git_status_done", tool_input={"command": "make test"}) == {}
    answer = said(host, "gemini_stop")
    assert (answer.pop("decision"), "add-lesson" in answer.pop("reason"), answer) == (
        "block",
        True,
        {},
    )
    assert said(host, "gemini_stop", stop_hook_active=True) == {}


LESSON = "L-8F3K2A"


def test_a_session_and_an_edit_of_cursor_get_the_text_under_its_own_key(
    host: Host, approved: str
) -> None:
    assert f"[{LESSON}]" in said(host, "cursor_session_start")["additional_context"]
    answer = said(host, "cursor_write", session_id="another", conversation_id="another")
    assert set(answer) == {"additional_context"}, (
        "anything else would allow, refuse or block the tool"
    )
    assert f"[{approved}]" in answer["additional_context"]


def test_gemini_is_told_again_on_resume_because_it_keeps_nothing_of_what_hooks_said(
    host: Host,
) -> None:
    for source in ("startup", "resume"):
        assert (
            LESSON
            in said(host, "gemini_session_start", source=source)["hookSpecificOutput"][
                "additionalContext"
            ]
        )
    ours = "<hook_context>This machine has rules.\n</hook_context>\n\n"
    for name in ("gemini_prompt", "copilot_prompt"):
        assert parsed(host, name, prompt=ours + ours + "Push <b>").text == "Push <b>", (
            "what we told is no part of it"
        )


def test_qwen_which_takes_no_text_at_a_start_begins_with_the_first_prompt(host: Host) -> None:
    told = said(host, "qwen_prompt")["hookSpecificOutput"]
    assert (told["hookEventName"], LESSON in told["additionalContext"]) == (
        "UserPromptSubmit",
        True,
    )
    assert said(host, "qwen_prompt") == {}
    assert said(host, "qwen_prompt", session_id="another", prompt="") == {}, "a turn of the model"
    assert LESSON in str(said(host, "qwen_prompt", session_id="another"))


def test_qwen_and_copilot_go_on_at_a_stop_for_a_reason_and_once(host: Host) -> None:
    for name in ("qwen", "copilot"):
        assert said(host, f"{name}_git_push_failed") == {}
        done = {
            "tool_response": {"llmContent": "ok\nExit Code: 0", "returnDisplay": "ok"},
            "tool_result": {},
        }
        assert said(host, f"{name}_git_push_failed", **done) == {}
        answer = said(host, f"{name}_stop")
        assert (answer.pop("decision"), "add-lesson" in answer.pop("reason"), answer) == (
            "block",
            True,
            {},
        )
        assert said(host, f"{name}_stop") == {}


def test_codebuddy_which_ends_without_a_terminal_is_asked_when_a_command_worked(host: Host) -> None:
    assert said(host, "codebuddy_git_push_failed") == {}
    fixed = {"tool_input": {"command": "git push -u origin HEAD"}}
    told = said(host, "codebuddy_git_status_done", **fixed)["hookSpecificOutput"]
    assert (told["hookEventName"], "add-lesson" in told["additionalContext"]) == (
        "PostToolUse",
        True,
    )
    assert said(host, "codebuddy_git_status_done", **fixed) == {}


def test_cursor_goes_on_at_a_stop_once_and_not_where_the_user_ended_it(host: Host) -> None:
    assert said(host, "cursor_git_push_failed") == {}
    assert (
        said(host, "cursor_git_status_done", tool_input={"command": "git push -u origin HEAD"})
        == {}
    )
    assert (
        said(host, "cursor_stop", status="aborted") == said(host, "cursor_stop", loop_count=1) == {}
    )
    answer = said(host, "cursor_stop")
    assert (list(answer), "add-lesson" in answer["followup_message"]) == (
        ["followup_message"],
        True,
    )
    assert said(host, "cursor_stop") == {}


def test_copilot_has_names_of_its_own(host: Host) -> None:
    start = said(host, "copilot_session_start")
    assert (set(start), LESSON in start["additionalContext"]) == ({"additionalContext"}, True)
    event = parsed(host, "copilot_edit")
    assert (event.paths, event.edits) == (
        (str(host.code / "notes.txt"),), (Edit(str(host.code / "notes.txt"), "one", "two"),)
    )  # fmt: skip
    assert parsed(host, "copilot_write").edits[0].new == "two\n"
    assert parsed(host, "copilot_search_done").tool == "mcp__ai-lessons__search"


def test_vs_code_which_reads_the_hooks_of_copilot_is_answered_in_its_own_form(
    host: Host, knowledge: Path
) -> None:
    assert LESSON in said(host, "vscode_session_start")["hookSpecificOutput"]["additionalContext"]
    add(
        knowledge,
        "python/lessons/c.md",
        "7BBBBB",
        "Mind the notes",
        'applies_to:\n  - "notes.txt"\n',
    )
    assert "L-7BBBBB" in said(host, "vscode_edit")["hookSpecificOutput"]["additionalContext"]
    assert (
        said(
            host, "vscode_session_start", hookEventName="UserPromptSubmit", prompt="Mind the notes"
        )
        == {}
    )
    push = {
        "tool_name": "run_in_terminal",
        "tool_input": {"command": "git push"},
        "hookEventName": "PostToolUse",
    }
    assert said(host, "vscode_edit", **push, tool_response="Exit code: 1\nfatal: no upstream") == {}
    assert said(host, "vscode_edit", **push, tool_response="pushed") == {}
    ended = said(host, "vscode_session_start", hookEventName="Stop", stop_hook_active=False)[
        "hookSpecificOutput"
    ]
    assert (ended["decision"], "add-lesson" in ended["reason"]) == ("block", True)


def test_a_subagent_of_copilot_is_told_and_neither_asks_nor_stops_as_the_user_does(
    host: Host,
) -> None:
    event = host.event("copilot_subagent_start")
    assert agent_hook.parse(event.encode(), host.code) == parsed(host, "copilot_subagent_start"), (
        "it says no host"
    )
    assert LESSON in said(host, "copilot_subagent_start")["additionalContext"]
    for name in ("copilot_prompt", "copilot_stop"):
        of_subagent = host.event(name, agent_id="agent-1", parent_agent_id="a").encode()
        assert agent_hook.parse(of_subagent, host.code, "copilot") is None
