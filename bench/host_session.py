"""One session of a real agent host, Claude Code, with a played model: `python -m bench.host_session [--claude P]`.

The model is a local HTTP server that answers with a script: it pushes, fails, and pushes again in the way that the
lesson says. The host is the real one with our hooks; what its hooks got into the model's context is read from the
requests. Printed: what was told, and what `recall show` says of the lesson afterwards. Needs `npm install
@anthropic-ai/claude-code`; nothing leaves this machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from bench.harness import ROOT, Bar, Outcome, World, arguments, machine, program, world

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = ("git push", "git push -u origin HEAD")
TITLE, DOES = "A new branch has no upstream", "Set the upstream once: `git push -u origin HEAD`."
LESSON = f"{DOES}\n\n~~~\n$ git push\nfatal: The current branch cart has no upstream branch.\n~~~\n"


class Model(BaseHTTPRequestHandler):
    """Answers each request with the next command of the script, and in the end with a word."""

    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        """The next step of the script."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        if "count_tokens" in self.path:
            self.reply(json.dumps({"input_tokens": 1}), "application/json")
            return
        if not body.get("tools"):  # a title for the session, and the like
            self.reply(events({"type": "text", "text": "ok"}, "end_turn"), "text/event-stream")
            return
        self.asked.append(body)
        done = len(self.asked) - 1
        if done < len(COMMANDS):
            call = {"type": "tool_use", "id": f"toolu_{done}", "name": "Bash", "input": {"command": COMMANDS[done]}}
            self.reply(events(call, "tool_use"), "text/event-stream")
        else:
            self.reply(events({"type": "text", "text": "Pushed."}, "end_turn"), "text/event-stream")

    def do_GET(self) -> None:
        """Nothing."""
        self.reply("{}", "application/json")

    def reply(self, text: str, kind: str) -> None:
        """One whole answer."""
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Silent."""


def events(block: dict[str, Any], stop: str) -> str:
    """One answer of the model as the stream of events that hosts read."""
    empty: dict[str, Any] = block | ({"input": dict[str, str]()} if block["type"] == "tool_use" else {"text": ""})
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if block["type"] == "tool_use"
        else {"type": "text_delta", "text": block["text"]}
    )
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg", "type": "message", "role": "assistant", "model": "played", "content": [], "usage": usage}
    rows: list[dict[str, Any]] = [
        {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {row['type']}\ndata: {json.dumps(row)}\n\n" for row in rows)


def session(home: World, claude: str, code: Path) -> list[dict[str, Any]]:
    """What the host asked the model in one session."""
    handler = type("Handler", (Model,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {**home.env, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}", "ANTHROPIC_API_KEY": "played"}
    env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    argv = [claude, "-p", "Push this branch", "--settings", str(code / "hooks.json"), "--allowedTools", "Bash"]
    done = subprocess.run(
        argv, cwd=code, env=env, capture_output=True, check=False, text=True, timeout=180, stdin=subprocess.DEVNULL
    )
    server.shutdown()
    print(done.stdout.strip())
    asked: list[dict[str, Any]] = handler.asked  # type: ignore[attr-defined]
    return asked


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--claude", default=shutil.which("claude") or "claude", help="the program of Claude Code")
    given, outcome = parser.parse_args(), Outcome()
    print(machine())
    with world(given.work) as cold:
        place = str(program()[0]).rpartition("/")[0]
        home = replace(cold, env={**cold.env, "PATH": f"{place}:{cold.env['PATH']}"})
        remote, code, repo = (home.folder / name for name in ("remote.git", "shop", "home/.ai/reference"))
        home.git(home.folder, "init", "-q", "--bare", str(remote))
        home.git(home.folder, "init", "-q", "-b", "till", str(code))
        home.git(code, "remote", "add", "origin", str(remote))
        home.git(code, "commit", "-q", "--allow-empty", "-m", "Start")
        hooks = json.loads((ROOT / "hooks/claude-code/hooks/hooks.json").read_text("utf-8"))
        (code / "hooks.json").write_text(json.dumps({"hooks": hooks["hooks"]}), encoding="utf-8")
        home.program("admin", "init", str(repo))
        added = ["contribute", "add-lesson", "--title", TITLE, "--project", "git", "--content", LESSON, "--json"]
        handle = json.loads(home.ours(repo, *added).out)["handle"]
        asked = session(home, given.claude, code)
        after = json.dumps(asked[1:2])
        told = [line for line in after.encode().decode("unicode_escape").splitlines() if handle in line]
        print("told at the failure:", *told, sep="\n  ")
        shown = json.loads(home.ours(repo, "recall", "show", handle, "--json").out)
        print("recall show:", json.dumps(shown["usage"]))
        pushed = home.git(remote, "for-each-ref", "--format=%(refname)").out.strip()
        outcome.judge(Bar("the lesson is in the context after the failure", float(bool(told)), 1, "", at_least=True))
        outcome.judge(Bar("sessions seen in which it helped", shown["usage"]["seen_helpful"], 1, "", at_least=True))
        outcome.judge(Bar("branches pushed", float(len(pushed.splitlines())), 1, "", at_least=True))
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
