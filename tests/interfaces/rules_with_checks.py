"""Rules in force with a check, and sessions of hosts in which they are kept or broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from interfaces.agent_host import Host
from interfaces.world import Run, run_inside
from real_world import Git, commit_all, put_file

CHECK = '{files: ["**/workflows/*.py"], regex: requests\\.put\\(, unless: status, bad: requests.put(1), good: get(1)}'
HANDLE = "R-5N1QTC"
MISE = {
    "command": "go test",
    "unless": "mise run",
    "instead": "mise run test",
    "bad": "go test",
    "good": "mise run test",
}
HOSTS: dict[str, dict[str, Any]] = {
    "claude": {}, "codex": {"turn_id": "1"}, "qwen": {"transcript_path": "/h/.qwen/projects/x/chats/s.jsonl"},
    "gemini": {"transcript_path": "/h/.gemini/tmp/x/chats/s.jsonl"}, "copilot": {}, "vscode": {},
    "cursor": {"cursor_version": "2"}, "codebuddy": {"transcript_path": "/h/.codebuddy/projects/x/s.jsonl"},
}  # fmt: skip
GEMINI = {
    "UserPromptSubmit": "BeforeAgent",
    "PreToolUse": "BeforeTool",
    "PostToolUse": "AfterTool",
    "PostToolUseFailure": "AfterTool",
    "Stop": "AfterAgent",
}


@pytest.fixture
def checked(host: Host, proposal: str, run: Run, knowledge: Path, git: Git) -> Host:
    """A host whose code one rule in force checks, though it names the files by their globs, too."""
    git(knowledge, "switch", "-q", "rules/R-5N1QTC-get-before-put")
    (file,) = knowledge.glob("jira-api/rules/*.md")
    lines = "check:\n  regex: requests\\.put\\(\n  unless: status\n  bad: requests.put(1)\n  good: get(1)\n"
    file.write_text(file.read_text().replace("created:", f"{lines}created:"))
    commit_all(git, knowledge, "with a check")
    git(knowledge, "switch", "-q", "main")
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    return host


def enforced(host: Host, run: Run, word: str) -> None:
    check = CHECK.removesuffix("}") + f", enforce: {word}}}"
    made = run("contribute", "update", HANDLE, "--check", check, "--json")
    assert made.code == 0, made.err
    assert run("admin", "approve-rule", made.json["proposed_on"], "--yes").code == 0


@pytest.fixture
def rules(host: Host, run: Run, git: Git) -> Any:
    put_file(host.code / "src/a.go", "package a\n")
    put_file(host.code / ".gitignore", "build/\n")
    commit_all(git, host.code, "first")

    def add(title: str, *checks: dict[str, Any]) -> str:
        stated = json.dumps(checks[0] if len(checks) == 1 else checks)
        words = (
            "--title",
            title,
            "--rationale",
            "It hurt",
            "--project",
            "jira-api",
            "--check",
            stated,
        )
        made = run("contribute", "suggest-rule", *words, "--json")
        assert made.code == 0, made.err
        assert run("admin", "approve-rule", made.json["branch"], "--yes").code == 0
        handle: str = made.json["handle"]
        return handle

    return add


class Session:
    """A session of a host of this make in its code."""

    def __init__(self, host: Host, make: str = "claude", name: str = "s") -> None:
        self.code, self.make, self.name = host.code, make, name

    def hear(self, event: str, **fields: object) -> dict[str, Any]:
        """What the host is answered."""
        if self.make == "gemini":
            event = GEMINI[event]
        if self.make == "cursor":
            event = event[0].lower() + event[1:]
        key = "hookEventName" if self.make == "vscode" else "hook_event_name"
        session = "sessionId" if self.make == "vscode" else "session_id"
        data = {session: self.name, key: event, "cwd": str(self.code), **HOSTS[self.make], **fields}
        agent = {"AI_LESSONS_AGENT": "copilot"} if self.make == "copilot" else {}
        done = run_inside(["admin", "agent-hook"], self.code, json.dumps(data), **agent)
        assert (done.code, done.err) == (0, "")
        answer: dict[str, Any] = json.loads(done.out) if done.out else {}
        return answer

    def before(self, command: str) -> dict[str, Any]:
        return self.hear("PreToolUse", tool_name="Bash", tool_input={"command": command})

    def after(self, command: str, *, worked: bool = True) -> dict[str, Any]:
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        if worked:
            return self.hear(
                "PostToolUse", **call, tool_response={"stdout": "", "stderr": "", "exit_code": 0}
            )
        return self.hear("PostToolUseFailure", **call, error="Exit code 1")

    def call(self, command: str, *, worked: bool = True) -> None:
        self.before(command)
        self.after(command, worked=worked)

    def edit(self, name: str, text: str) -> None:
        file = self.code / name
        edit = {
            "file_path": str(file),
            "old_string": file.read_text() if file.exists() else "",
            "new_string": text,
        }
        self.hear("PreToolUse", tool_name="Edit", tool_input=edit)
        put_file(file, text)

    def stop(self, **fields: object) -> dict[str, Any]:
        return self.hear("Stop", **fields)
