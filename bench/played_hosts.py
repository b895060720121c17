"""Agent hosts as programs with a played model: what each speaks, how its tools are called, and how it is started.

The model is a local HTTP server that answers with a script in the protocol of the host. Nothing leaves this machine.
"""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Json: TypeAlias = dict[str, Any]

SECONDS = 240
QUIET = 5.0  # Seconds


@dataclass(frozen=True)
class Edit:
    """The model writes a whole file with the tool of its host."""

    path: str
    text: str


@dataclass(frozen=True)
class Ask:
    """The model calls a tool of our server."""

    tool: str
    given: Json


Step: TypeAlias = str | Edit | Ask  # a command, or one of these


class Tools(NamedTuple):
    """How the tools of a host are called: for a command, for a file with its path and text, and those of our server."""

    run: tuple[str, str]
    write: tuple[str, str, str]
    ours: str

    def call(self, step: Step) -> tuple[str, Json]:
        """The tool for a step, and what it is given."""
        if isinstance(step, str):
            name, key = self.run
            return name, {key: step, "description": "What the task asks for"}
        if isinstance(step, Edit):
            name, path, text = self.write
            return name, {path: step.path, text: step.text}
        return f"{self.ours}{step.tool}", step.given


class Call(NamedTuple):
    """One answer of the model in the protocol of a host: the body, and its type."""

    text: str
    kind: str = "text/event-stream"


Speak: TypeAlias = "Callable[[Tools, int, Step | None], Call]"
DONE = "Done."


def messages(tools: Tools, n: int, step: Step | None) -> Call:
    """The Messages API of Anthropic."""
    block: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": DONE}
    if step is not None:
        name, given = tools.call(step)
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
    return _events(
        {
            "type": "message_start",
            "message": message | {"stop_reason": None, "stop_sequence": None},
        },
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    )


def responses(tools: Tools, n: int, step: Step | None) -> Call:
    """The Responses API of OpenAI, by a model that writes scripts which call tools."""
    item: Json = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": DONE}],
    }
    if step is not None:
        item = {"type": "custom_tool_call", "name": "exec", "call_id": f"call_{n}"}
        item["input"] = _script(tools, step)
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return _events(
        {"type": "response.created", "response": {"id": f"resp_{n}"}},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": item | {"id": f"item_{n}"},
        },
        {"type": "response.completed", "response": {"id": f"resp_{n}", "usage": usage}},
    )


def _script(tools: Tools, step: Step) -> str:
    """What the model of Codex writes to call a tool."""
    if isinstance(step, Edit):
        rows = "".join(f"+{row}\n" for row in step.text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {step.path}\n{rows}*** End Patch"
        return f"text(await tools.apply_patch({json.dumps(patch)}));"
    name, given = tools.call(step)
    given.pop("description", None)
    shown = "r.output" if isinstance(step, str) else "r"
    return f"const r = await tools.{name}({json.dumps(given)}); text({shown});"


def gemini(tools: Tools, _: int, step: Step | None) -> Call:
    """The Gemini API."""
    part: Json = {"text": DONE}
    if step is not None:
        name, given = tools.call(step)
        part = {"functionCall": {"name": name, "args": given}}
    answer = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return Call(
        f"data: {json.dumps({'candidates': [answer], 'usageMetadata': {'totalTokenCount': 2}})}\r\n\r\n"
    )


def completions(tools: Tools, n: int, step: Step | None) -> Call:
    """The Chat Completions API of OpenAI, which most hosts speak with a model of one's own."""
    delta: Json = {"role": "assistant", "content": DONE}
    if step is not None:
        name, given = tools.call(step)
        call = {"name": name, "arguments": json.dumps(given)}
        delta = {"role": "assistant", "content": None}
        delta["tool_calls"] = [
            {"index": 0, "id": f"call_{n}", "type": "function", "function": call}
        ]
    common = {"id": f"chat_{n}", "object": "chat.completion.chunk", "created": 1, "model": "played"}
    end = "stop" if step is None else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    rows: list[Json] = [
        common | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        common | {"choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage},
    ]
    return Call("".join(f"data: {json.dumps(row)}\n\n" for row in rows) + "data: [DONE]\n\n")


def _events(*rows: Json) -> Call:
    return Call("".join(f"event: {row['type']}\ndata: {json.dumps(row)}\n\n" for row in rows))


class Host(NamedTuple):
    """A host: its id, what it speaks, its tools, its folder, files in it to begin with, and how it is started.

    `{url}`, `{port}` and `{prompt}` in what it is started with, in its environment and its files stand for those.
    `before`: what is told before a command reaches the model. `stays`: hands over the prompt to a host that stays open,
    because it takes nothing at an end where it ends by itself; `ends_with_input`: it ends when its input does.
    """

    id: str
    speak: Speak
    tools: Tools
    folder: str
    files: Mapping[str, str]
    argv: tuple[str, ...]
    env: Mapping[str, str]
    before: bool = True
    stays: Callable[[subprocess.Popen[bytes], str, str], None] | None = None
    ends_with_input: bool = False


def _say_to_opencode(child: subprocess.Popen[bytes], prompt: str, port: str) -> None:
    """The prompt by the server that the terminal of opencode talks to."""

    def post(path: str, body: Json) -> Json:
        with closing(HTTPConnection("127.0.0.1", int(port), timeout=SECONDS / 4)) as server:
            server.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            told: Json = json.loads(server.getresponse().read() or b"{}")
            return told

    made: list[Json] = []

    def is_made() -> bool:
        with suppress(OSError):
            made.append(post("/session", {}))
        return bool(made) or child.poll() is not None

    _wait_for(is_made)
    if not made:
        return
    parts = [{"type": "text", "text": prompt}]
    model = {"providerID": "played", "modelID": "played"}
    post(f"/session/{made[0]['id']}/message", {"model": model, "parts": parts})


def _say_to_codebuddy(child: subprocess.Popen[bytes], prompt: str, _: str) -> None:
    """The prompt as a line, after which more could come."""
    content = [{"type": "text", "text": prompt}]
    row = {"type": "user", "message": {"role": "user", "content": content}}
    assert child.stdin is not None
    child.stdin.write(json.dumps(row).encode() + b"\n")
    child.stdin.flush()


CODEX = """model = "gpt-6.1-sol"
model_provider = "played"
[model_providers.played]
name = "played"
base_url = "http://127.0.0.1:1/v1"
env_key = "PLAYED_KEY"
wire_api = "responses"
"""
_OPENCODE = {
    "provider": {
        "played": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": "{url}/v1", "apiKey": "played"},
            "models": {"played": {"name": "played", "tool_call": True}},
        }
    },
    "permission": "allow",
    "autoupdate": False,
    "share": "disabled",
}
_CODEBUDDY = {"models": [{
    "id": "played", "name": "played", "vendor": "OpenAI", "apiKey": "played", "url": "{url}/v1/chat/completions",
    "maxInputTokens": 200_000, "maxOutputTokens": 8_000, "supportsToolCall": True,
}]}  # fmt: skip
HOSTS = {
    "claude": Host(
        "claude-code", messages, Tools(("Bash", "command"), ("Write", "file_path", "content"), "mcp__ai-lessons__"),
        ".claude", {}, ("-p", "{prompt}", "--allowedTools", "Bash,Write,mcp__ai-lessons"),
        {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "played", "DISABLE_AUTOUPDATER": "1"}
        | {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    ),
    "codex": Host(
        "codex", responses, Tools(("exec_command", "cmd"), ("", "", ""), "mcp__ai_lessons__"),
        ".codex", {"config.toml": CODEX},
        (
            "exec", "-c", 'model_providers.played.base_url="{url}/v1"', "-c", "mcp_servers.ai-lessons.required=true",
            "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "{prompt}",
        ),
        {"PLAYED_KEY": "played"},
    ),
    "gemini": Host(
        "gemini", gemini,
        Tools(("run_shell_command", "command"), ("write_file", "file_path", "content"), "mcp_ai-lessons_"), ".gemini",
        {"settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}, indent=2)},
        ("-m", "gemini-2.5-pro", "--yolo", "-p", "{prompt}"),
        {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "played", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        before=False,
    ),
    "copilot": Host(
        "copilot", completions, Tools(("bash", "command"), ("create", "path", "file_text"), "ai-lessons-"),
        ".copilot", {}, ("-p", "{prompt}", "--allow-all"),
        {"COPILOT_PROVIDER_BASE_URL": "{url}/v1", "COPILOT_PROVIDER_API_KEY": "played", "COPILOT_MODEL": "gpt-4.1"}
        | {"COPILOT_AUTO_UPDATE": "false"},
    ),
    "qwen": Host(
        "qwen", completions,
        Tools(("run_shell_command", "command"), ("write_file", "file_path", "content"), "mcp__ai-lessons__"), ".qwen",
        {"settings.json": json.dumps({"security": {"auth": {"selectedType": "openai"}}}, indent=2)},
        ("--yolo", "-p", "{prompt}"),
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "played", "OPENAI_MODEL": "played"},
        before=False,
    ),
    "opencode": Host(
        "opencode", completions, Tools(("bash", "command"), ("write", "filePath", "content"), "ai-lessons_"),
        ".config/opencode", {}, ("serve", "--port", "{port}"),
        {"OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE), "OPENCODE_DISABLE_AUTOUPDATE": "1"}
        | {"OPENCODE_DISABLE_MODELS_FETCH": "1"},
        before=False, stays=_say_to_opencode,
    ),
    "codebuddy": Host(
        "codebuddy", completions, Tools(("Bash", "command"), ("Write", "file_path", "content"), "mcp__ai-lessons__"),
        ".codebuddy", {"models.json": json.dumps(_CODEBUDDY)},
        ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "-y", "--model", "played"),
        {"CODEBUDDY_API_KEY": "played", "CODEBUDDY_BASE_URL": "{url}", "CODEBUDDY_DISABLE_BUILTIN_MODELS": "1"}
        | {"DISABLE_AUTOUPDATER": "1"},
        before=False, stays=_say_to_codebuddy, ends_with_input=True,
    ),
}  # fmt: skip


class _Model(BaseHTTPRequestHandler):
    """Answers each request with the next step of the script, and in the end with a word."""

    host: Host
    steps: Sequence[Step]
    asked: list[Json]

    def do_POST(self) -> None:
        """The next step; a request without tools is for a title, and the like."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
        host = type(self).host
        if "count_tokens" in self.path or "countTokens" in self.path:
            self.reply(Call(json.dumps({"input_tokens": 1, "totalTokens": 1}), "application/json"))
        elif '"tools"' not in json.dumps(body) or body.get("tools") == []:
            self.reply(host.speak(host.tools, 0, None))
        else:
            self.asked.append(body)
            done = len(self.asked) - 1
            self.reply(
                host.speak(host.tools, done, self.steps[done] if done < len(self.steps) else None)
            )

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


class Played(NamedTuple):
    """A session: what the host sent to the model, each request as text, how the host ended, and what it printed."""

    asked: list[str]
    code: int | None
    out: str
    err: str


@contextmanager
def _model(host: Host, steps: Sequence[Step]) -> Iterator[tuple[str, list[Json]]]:
    """The address of a model that plays these steps, and what it is asked."""
    asked: list[Json] = []
    handler = type("Handler", (_Model,), {"asked": asked, "steps": steps, "host": host})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()


def play(
    host: Host,
    program: str,
    code: Path,
    env: Mapping[str, str],
    prompt: str,
    steps: Sequence[Step],
    ends: int = 1,
) -> Played:
    """One session of a host in the folder `code`, with its `HOME` in `env`, in which the model ends so many times.

    A host that stays open until nobody asks any more is let go once the model was asked so often.
    """
    with _model(host, steps) as (url, asked):
        told = {"{url}": url, "{prompt}": prompt, "{port}": str(_free_port())}
        argv = [program, *(_filled(part, told) for part in host.argv)]
        # some hosts take the folder from PWD
        full = {
            **env,
            "PWD": str(code),
            **{key: _filled(value, told) for key, value in host.env.items()},
        }
        for name, text in host.files.items():
            if "{url}" in text:
                (Path(env["HOME"]) / host.folder / name).write_text(
                    _filled(text, told), encoding="utf-8"
                )
        with TemporaryFile() as out, TemporaryFile() as err:
            given = subprocess.PIPE if host.ends_with_input else subprocess.DEVNULL
            child = subprocess.Popen(argv, cwd=code, env=full, stdin=given, stdout=out, stderr=err)
            try:
                if host.stays:
                    host.stays(child, prompt, told["{port}"])
                    _wait_for(lambda: len(asked) >= len(steps) + ends or child.poll() is not None)
                    _wait_for(lambda: _is_quiet(asked))
                    if child.stdin is None:
                        child.terminate()
                    else:
                        child.stdin.close()
                with suppress(subprocess.TimeoutExpired):
                    child.wait(SECONDS)
            finally:
                child.kill()
                child.wait()
            printed = []
            for file in (out, err):
                file.seek(0)
                printed.append(file.read().decode(errors="replace"))
    return Played(
        [json.dumps(body, ensure_ascii=False) for body in asked], child.returncode, *printed
    )


def _wait_for(happened: Callable[[], bool]) -> None:
    """Until it happened, or too long."""
    until = time.monotonic() + SECONDS
    while not happened() and time.monotonic() < until:
        time.sleep(0.2)


def _is_quiet(asked: Sequence[Json]) -> bool:
    """Whether the model was asked nothing for some seconds: a host asks soon where its end is held."""
    before = len(asked)
    time.sleep(QUIET)
    return len(asked) == before


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _filled(text: str, told: Mapping[str, str]) -> str:
    for name, value in told.items():
        text = text.replace(name, value)
    return text


def prepare(home: Path, host: Host) -> None:
    """The host's own folder with the files that it begins with."""
    (home / host.folder).mkdir(parents=True, exist_ok=True)
    for name, text in host.files.items():
        (home / host.folder / name).write_text(text, encoding="utf-8")
