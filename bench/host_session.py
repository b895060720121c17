"""Sessions of real agent hosts with a played model: `python -m bench.host_session [--claude P] [--codex P] …`.

The model is a local HTTP server that answers with a script in the protocol of the host. The host is the real one with
our hooks and our server, as `admin hosts --install` writes them into its settings; what reaches the model is read from
the requests. Each host that is found on the path, or named, shows three things: what helps reaches the model after a
failure, and the text of an entry that it asks for; a lesson that harvest kept of earlier sessions is told before the
command; and a wrong lesson stands lower after five sessions. Claude Code is told, too, which line of an edit breaks a
rule, and refuses the edit where the rule says so. Every host is held at its end once, by a rule whose check of what was
done is broken; `--only holds` shows that alone. Needs some of `npm install @anthropic-ai/claude-code @openai/codex
@google/gemini-cli @github/copilot @qwen-code/qwen-code opencode-ai @tencent-ai/agent-sdk`, of which the last one has
CodeBuddy Code in `cli/bin`; nothing leaves this machine.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bench.harness import Bar, Outcome, World, arguments, machine, world
from bench.played_hosts import HOSTS, Ask, Edit, Host, Step, play, prepare

if TYPE_CHECKING:
    from pathlib import Path

    Json: TypeAlias = dict[str, Any]

SAID = "fatal: The current branch {} has no upstream branch."
RIGHT, WRONG = (
    "Set the upstream once: `git push -u origin HEAD`.",
    "Push with force: `git push --force`.",
)
LESSON = "{}\n\n~~~\n$ git push\n" + SAID.format("cart") + "\n~~~\n"
ASKED_FOR = "The rollers turn at 8317 rounds a minute."
FAILS, WORKS = "git -C shop status", "git status"
CHECK = "{files: '*.py', regex: 'requests[.]get[(]', unless: 'timeout=', bad: 'requests.get(url)', good: 'get(url)'}"
DENY = CHECK.removesuffix("}") + ", enforce: deny}"
CODE = "import requests\nrequests.get(url)\n"


class Place(NamedTuple):
    """A home with our hooks and server in the settings of one host, a code repository, and a knowledge repository."""

    home: World
    host: Host
    program: str
    code: Path
    repo: Path

    def session(self, prompt: str, *steps: Step, ends: int = 1) -> list[str]:
        """What the host sent to the model in one session: each request as text."""
        env = {
            key: value for key, value in self.home.env.items() if key != "AI_LESSONS_WARM"
        }  # as people have it
        played = play(self.host, self.program, self.code, env, prompt, steps, ends)
        self.home.program("admin", "warm", "stop")
        if len(played.asked) <= len(steps):
            print(
                f"  {self.host.id} ended after {len(played.asked)} requests: {played.err[-1000:]}"
            )
        return played.asked

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
    prepare(home, host)
    shutil.copy(cold.folder / "home/.gitconfig", home)
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
            Ask("get_resource", {"resource_id": other}),
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
    asked = [*at.session("Fetch it", Edit(str(file), CODE)), "", ""]
    says = f"this edit breaks {handle} at line 2"
    judge(outcome, at, "an edit that breaks a rule is told so", says in asked[1] and file.exists())
    change = json.loads(
        at.home.ours(at.repo, "contribute", "update", handle, "--check", DENY, "--json").out
    )
    at.home.ours(at.repo, "admin", "approve-rule", change["proposed_on"], "--yes")
    file.unlink(missing_ok=True)
    asked = [*at.session("Fetch it", Edit(str(file), CODE)), "", ""]
    judge(
        outcome,
        at,
        "an edit is refused where the rule says so",
        says in asked[1] and not file.exists(),
    )


TESTS = {
    "changed": "src/**",
    "unless_changed": "tests/**",
    "bad": "src/a.py",
    "good": ["src/a.py", "tests/a.py"],
}


def holds(at: Place, outcome: Outcome) -> None:
    """An end is held once with the words of a rule whose check of what was done is broken, and then let go."""
    words = [
        "contribute",
        "suggest-rule",
        "--title",
        "Tests come with a change",
        "--rationale",
        "Later nobody does",
    ]
    stated = json.dumps(TESTS | {"enforce": "ask"})
    handle = str(
        json.loads(at.home.ours(at.repo, *words, "--check", stated, "--json").out)["handle"]
    )
    at.home.ours(at.repo, "admin", "approve-rule", handle, "--yes")
    file = (
        "src/new.py" if at.host.id == "codex" else str(at.code / "src/new.py")
    )  # a patch names no absolute path
    asked = at.session("Make the total two", Edit(file, "total = 2\n"), ends=2)
    why = f"{handle}: Tests come with a change: `new.py` changed and no test `tests/**` did"
    held = [number for number, body in enumerate(asked) if why in body]
    judge(
        outcome,
        at,
        "an end is held once with the rule's words, then let go",
        len(asked) == 3 and held == [2],
    )


def judge(outcome: Outcome, at: Place, what: str, measured: float) -> None:
    outcome.judge(Bar(f"{at.host.id}: {what}", float(measured), 1, "", at_least=True))


def main() -> None:
    parser = arguments((__doc__ or "").replace("%", "%%"))
    for name in HOSTS:
        parser.add_argument(f"--{name}", default=shutil.which(name), help=f"the program of {name}")
    parts = {part.__name__: part for part in (helps, kept, falls, checks, holds)}
    parser.add_argument("--only", choices=parts, help="this part alone")
    given, outcome = parser.parse_args(), Outcome()
    chosen = [parts[given.only]] if given.only else list(parts.values())
    print(machine())
    with world(given.work) as cold:
        for name, host in HOSTS.items():
            program = getattr(given, name)
            for part in chosen if program else ():
                part(place(cold, f"{name}-{part.__name__}", host, program), outcome)
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
