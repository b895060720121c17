"""Sessions of real agent hosts with a played model: `python -m bench.host_session [--claude P] [--codex P] …`.

The model is a local HTTP server that answers with a script in the protocol of the host. The host is the real one with
our hooks and our server, as `admin hosts --install` writes them into its settings; what reaches the model is read from
the requests. Each host that is found on the path, or named, shows three things: what helps reaches the model after a
failure, and the text of an entry that it asks for; a lesson that harvest kept of earlier sessions is told before the
command; and a wrong lesson stands lower after five sessions. Claude Code is told, too, which line of an edit breaks a
rule, and refuses the edit where the rule says so. Needs `npm install @anthropic-ai/claude-code @openai/codex
@google/gemini-cli`, or one of them; nothing leaves this machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bench.harness import Bar, Outcome, World, arguments, machine, world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Json: TypeAlias = dict[str, Any]
    Step: TypeAlias = (
        str | tuple[str, Json]
    )  # a command, or a tool of our server with its arguments

SAID = "fatal: The current branch {} has no upstream branch."
RIGHT, WRONG = (
    "Set the upstream once: `git push -u origin HEAD`.",
    "Push with force: `git push --force`.",
)
LESSON = "{}\n\n~~~\n$ git push\n" + SAID.format("cart") + "\n~~~\n"
ASKED_FOR = "The rollers turn at 8317 rounds a minute."
FAILS, WORKS = "git -C shop status", "git status"
SECONDS = 240
OWN_TOOLS = {"Bash", "Write"}
CHECK = "{files: '*.py', regex: 'requests[.]get[(]', unless: 'timeout=', bad: 'requests.get(url)', good: 'get(url)'}"
DENY = CHECK.removesuffix("}") + ", enforce: deny}"
CODE = "import requests\nrequests.get(url)\n"


class Call(NamedTuple):
    """One answer of the model in the protocol of a host: the body, and its type."""

    text: str
    kind: str = "text/event-stream"


def claude(n: int, step: Step | None) -> Call:
    """The Messages API of Anthropic."""
    block: Json = {"type": "text", "text": "Done."}
    delta: Json = {"type": "text_delta", "text": "Done."}
    if step is not None:
        name, given = ("Bash", {"command": step}) if isinstance(step, str) else step
        name = name if name in OWN_TOOLS else f"mcp__ai-lessons__{name}"
        block = {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "played",
        "content": [],
        "usage": usage,
    }
    stop = {"stop_reason": "end_turn" if step is None else "tool_use", "stop_sequence": None}
    return events(
        {
            "type": "message_start",
            "message": message | {"stop_reason": None, "stop_sequence": None},
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": block | ({"text": ""} if step is None else {}),
        },
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    )


def codex(n: int, step: Step | None) -> Call:
    """The Responses API of OpenAI, by a model that writes scripts which call tools."""
    item: Json = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Done."}],
    }
    if step is not None:
        run = f"exec_command({json.dumps({'cmd': step})})" if isinstance(step, str) else ""
        ask = (
            f"mcp__ai_lessons__{step[0]}({json.dumps(step[1])})"
            if not isinstance(step, str)
            else ""
        )
        item = {"type": "custom_tool_call", "name": "exec", "call_id": f"call_{n}"}
        item["input"] = f"const r = await tools.{run or ask}; text({'r.output' if run else 'r'});"
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return events(
        {"type": "response.created", "response": {"id": f"resp_{n}"}},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": item | {"id": f"item_{n}"},
        },
        {"type": "response.completed", "response": {"id": f"resp_{n}", "usage": usage}},
    )


def gemini(_: int, step: Step | None) -> Call:
    """The Gemini API."""
    part: Json = {"text": "Done."}
    if isinstance(step, str):
        part = {"functionCall": {"name": "run_shell_command", "args": {"command": step}}}
    elif step is not None:
        part = {"functionCall": {"name": f"mcp_ai-lessons_{step[0]}", "args": step[1]}}
    answer = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return Call(
        f"data: {json.dumps({'candidates': [answer], 'usageMetadata': {'totalTokenCount': 2}})}\r\n\r\n"
    )


def events(*rows: Json) -> Call:
    return Call("".join(f"event: {row['type']}\ndata: {json.dumps(row)}\n\n" for row in rows))


class Model(BaseHTTPRequestHandler):
    """Answers each request with the next step of the script, and in the end with a word."""

    speak: Callable[[int, Step | None], Call]
    steps: Sequence[Step]
    asked: list[Json]

    def do_POST(self) -> None:
        """The next step; a request without tools is for a title, and the like."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        speak = type(self).speak
        if "count_tokens" in self.path or "countTokens" in self.path:
            self.reply(Call(json.dumps({"input_tokens": 1, "totalTokens": 1}), "application/json"))
        elif "tools" not in json.dumps(body) or body.get("tools") == []:
            self.reply(speak(0, None))
        else:
            self.asked.append(body)
            done = len(self.asked) - 1
            self.reply(speak(done, self.steps[done] if done < len(self.steps) else None))

    def do_GET(self) -> None:
        """Nothing."""
        self.reply(Call("{}", "application/json"))

    def reply(self, call: Call) -> None:
        """One whole answer."""
        data = call.text.encode()
        self.send_response(200)
        self.send_header("Content-Type", call.kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Silent."""


class Host(NamedTuple):
    """A host: its id, what it speaks, its folder, files of it to begin with, how it is started, and `{url}` told."""

    id: str
    speak: Callable[[int, Step | None], Call]
    folder: str
    files: dict[str, str]
    argv: tuple[str, ...]
    env: dict[str, str]
    before: bool = True  # what is told before a command reaches the model


CODEX = """model = "gpt-6.1-sol"
model_provider = "played"
[model_providers.played]
name = "played"
base_url = "http://127.0.0.1:1/v1"
env_key = "PLAYED_KEY"
wire_api = "responses"
"""
HOSTS = {
    "claude": Host(
        "claude-code", claude, ".claude", {}, ("-p", "{prompt}", "--allowedTools", "Bash,Write,mcp__ai-lessons"),
        {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "played", "DISABLE_AUTOUPDATER": "1"}
        | {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    ),
    "codex": Host(
        "codex", codex, ".codex", {"config.toml": CODEX},
        (
            "exec", "-c", 'model_providers.played.base_url="{url}/v1"', "-c", "mcp_servers.ai-lessons.required=true",
            "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "{prompt}",
        ),
        {"PLAYED_KEY": "played"},
    ),
    "gemini": Host(
        "gemini", gemini, ".gemini",
        {"settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}, indent=2)},
        ("-m", "gemini-2.5-pro", "--yolo", "-p", "{prompt}"),
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "played", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        before=False,
    ),
}  # fmt: skip


class Place(NamedTuple):
    """A home with our hooks and server in the settings of one host, a code repository, and a knowledge repository."""

    home: World
    host: Host
    program: str
    code: Path
    repo: Path

    def session(self, prompt: str, *steps: Step) -> list[str]:
        """What the host sent to the model in one session: each request as text."""
        handler = type(
            "Handler",
            (Model,),
            {"asked": [], "steps": steps, "speak": staticmethod(self.host.speak)},
        )
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        argv = [
            self.program,
            *(part.replace("{url}", url).replace("{prompt}", prompt) for part in self.host.argv),
        ]
        env = {
            **self.home.env,
            **{key: value.replace("{url}", url) for key, value in self.host.env.items()},
        }
        done = subprocess.run(
            argv,
            cwd=self.code,
            env=env,
            capture_output=True,
            check=False,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
        server.shutdown()
        asked: list[Json] = handler.asked  # type: ignore[attr-defined]
        if len(asked) <= len(steps):
            print(
                f"  {self.host.id} ended after {len(asked)} requests: {done.stderr.decode()[-1000:]}"
            )
        return [json.dumps(body, ensure_ascii=False) for body in asked]

    def branch(self, name: str) -> None:
        """A new branch, which has no upstream."""
        self.home.git(self.code, "checkout", "-q", "-b", name)

    def add(self, title: str, content: str) -> str:
        """The handle of a new lesson."""
        words = [
            "contribute",
            "add-lesson",
            "--title",
            title,
            "--project",
            "git",
            "--content",
            content,
            "--json",
        ]
        return str(json.loads(self.home.ours(self.repo, *words).out)["handle"])

    def usage(self, handle: str) -> Json:
        """How an entry has done."""
        usage: Json = json.loads(self.home.ours(self.repo, "recall", "show", handle, "--json").out)[
            "usage"
        ]
        return usage


def place(cold: World, name: str, host: Host, program: str) -> Place:
    """A place of this name below the world."""
    folder = cold.folder / name
    home, code, remote = folder / "home", folder / "shop", folder / "remote.git"
    (home / host.folder).mkdir(parents=True)
    shutil.copy(cold.folder / "home/.gitconfig", home)
    for file, text in host.files.items():
        (home / host.folder / file).write_text(text, encoding="utf-8")
    made = World(
        folder, {**cold.env, "HOME": str(home), "XDG_CACHE_HOME": str(cold.folder / "home/.cache")}
    )
    made.git(folder, "init", "-q", "--bare", str(remote))
    made.git(folder, "init", "-q", "-b", "till", str(code))
    made.git(code, "remote", "add", "origin", str(remote))
    made.git(code, "commit", "-q", "--allow-empty", "-m", "Start")
    repo = home / ".ai/reference"
    made.program("admin", "init", str(repo))
    made.ours(repo, "admin", "hosts", "--install", host.id, "--yes")
    return Place(made, host, program, code, repo)


def helps(at: Place, outcome: Outcome) -> None:
    """A lesson that helps after the failure is told and credited; an entry that is asked for comes with its text."""
    right, other = (
        at.add("A new branch has no upstream", LESSON.format(RIGHT)),
        at.add("The press", ASKED_FOR),
    )
    asked = (
        at.session(
            "Push this branch",
            "git push",
            "git push -u origin HEAD",
            ("get_resource", {"resource_id": other}),
        )
        + [""] * 4
    )
    judge(
        outcome,
        at,
        "what helps is in the context after the failure",
        right in asked[1] and RIGHT[:20] in asked[1],
    )
    judge(outcome, at, "sessions seen in which it helped", at.usage(right)["seen_helpful"])
    judge(outcome, at, "the text of get_resource reaches the model", ASKED_FOR in asked[3])


def kept(at: Place, outcome: Outcome) -> None:
    """What three sessions teach is kept, and told before the command in the fourth, where the host lets us."""
    for _ in range(3):
        at.session("What is the state?", FAILS, WORKS)
    done = at.home.ours(at.repo, "contribute", "harvest", "--keep", "all", "--yes", expect=None)
    listed = json.loads(at.home.ours(at.repo, "recall", "list", "--json").out)
    print(f"  {at.host.id} kept: {[entry['title'] for entry in listed] or done.err.strip()[-300:]}")
    asked = [*at.session("What is the state?", FAILS, WORKS), "", ""]
    handles = [str(entry["handle"]) for entry in listed if entry["handle"] in asked[1]]
    told = json.loads(
        at.home.ours(at.repo, "recall", "why-told", "--json", expect=None).out or "[]"
    )
    moments = {row["moment"] for row in told if row["handle"] in handles}
    print(f"  {at.host.id} told: {handles} {sorted(moments)}")
    before = "before-tool" in moments
    when = "told before the command" if at.host.before else "told with the command's result"
    judge(
        outcome,
        at,
        f"a lesson kept from sessions is {when}",
        bool(handles) and (before or not at.host.before),
    )


def falls(at: Place, outcome: Outcome) -> None:
    """A wrong lesson that is followed, and fails, stands lower after five sessions."""
    wrong = at.add("A push is refused", LESSON.format(WRONG))
    start = at.usage(wrong)["confidence"]
    for n in range(5):
        at.branch(f"topic-{n}")
        at.session("Push this branch", "git push", "git push --force", "git push -u origin HEAD")
    usage = at.usage(wrong)
    print(f"  {at.host.id} wrong lesson: {start} -> {json.dumps(usage)}")
    judge(
        outcome, at, "a wrong lesson stands lower after five sessions", usage["confidence"] < start
    )


def checks(at: Place, outcome: Outcome) -> None:
    """An edit that breaks a rule is told so with its line; a rule that refuses edits keeps the file as it was."""
    if at.host.id != "claude-code":
        return
    words = [
        "contribute",
        "suggest-rule",
        "--title",
        "Give a timeout",
        "--rationale",
        "It hangs",
        "--check",
        CHECK,
    ]
    handle = str(json.loads(at.home.ours(at.repo, *words, "--json").out)["handle"])
    at.home.ours(at.repo, "admin", "approve-rule", handle, "--yes")
    file = at.code / "pay.py"
    asked = [*at.session("Fetch it", ("Write", {"file_path": str(file), "content": CODE})), "", ""]
    says = f"this edit breaks {handle} at line 2"
    judge(outcome, at, "an edit that breaks a rule is told so", says in asked[1] and file.exists())
    change = json.loads(
        at.home.ours(at.repo, "contribute", "update", handle, "--check", DENY, "--json").out
    )
    at.home.ours(at.repo, "admin", "approve-rule", change["proposed_on"], "--yes")
    file.unlink(missing_ok=True)
    asked = [*at.session("Fetch it", ("Write", {"file_path": str(file), "content": CODE})), "", ""]
    judge(
        outcome,
        at,
        "an edit is refused where the rule says so",
        says in asked[1] and not file.exists(),
    )


def judge(outcome: Outcome, at: Place, what: str, measured: float) -> None:
    outcome.judge(Bar(f"{at.host.id}: {what}", float(measured), 1, "", at_least=True))


def main() -> None:
    parser = arguments((__doc__ or "").replace("%", "%%"))
    for name in HOSTS:
        parser.add_argument(f"--{name}", default=shutil.which(name), help=f"the program of {name}")
    given, outcome = parser.parse_args(), Outcome()
    print(machine())
    with world(given.work) as cold:
        for name, host in HOSTS.items():
            program = getattr(given, name)
            for part in (helps, kept, falls, checks) if program else ():
                part(place(cold, f"{name}-{part.__name__}", host, program), outcome)
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
