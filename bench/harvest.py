"""Going through the transcripts of agents: `python -m bench.harvest [--megabytes N]`, 1,024 unless told.

The transcripts are made up in the form of Claude Code: of every session most bytes are files that were read, one
command in eight fails in one of 400 ways, and one failure in three works then in another form. Run three times: with
nothing known, with nothing new, and after one transcript of a thousandth of the whole was added.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

from bench.harness import Bar, Outcome, arguments, machine, number, table, world

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [f"{a}{b}" for a in ("con", "re", "sub", "trans", "over", "de") for b in ("fig", "load", "mit", "port", "vert")]
CALLS, CALL_BYTES, WAYS = 80, 12_000, 400


def session(chance: Random, name: str) -> str:
    """One session as lines of JSON."""
    rows: list[dict[str, Any]] = []
    at = 0

    def row(role: str, content: Any) -> None:
        nonlocal at
        at += 1
        stamp = f"2026-11-{chance.randrange(1, 28):02}T10:{at // 60 % 60:02}:{at % 60:02}Z"
        message = {"role": role, "content": content}
        common = {"sessionId": name, "cwd": f"/code/{name[:1]}", "timestamp": stamp, "version": "2.1.0"}
        rows.append({"type": role, "message": message} | common)

    def call(command: str, output: str, *, failed: bool) -> None:
        ident = f"toolu_{at}"
        row("assistant", [{"type": "tool_use", "id": ident, "name": "Bash", "input": {"command": command}}])
        row("user", [{"type": "tool_result", "tool_use_id": ident, "content": output, "is_error": failed}])

    row("user", "Make it work")
    for _ in range(CALLS):
        if chance.random() > 1 / 8:
            call("cat notes.md", " ".join(chance.choices(WORDS, k=chance.randrange(CALL_BYTES // 4))), failed=False)
            continue
        way = Random(chance.randrange(WAYS))
        program, said = " ".join(way.choices(WORDS, k=2)), " ".join(way.choices(WORDS, k=12))
        call(program, f"Exit code 1\n{program.split()[0]}: error: cannot {said} in '{name}'\n", failed=True)
        if way.random() < 1 / 3:
            call(f"{program} --{way.choice(WORDS)}", "done", failed=False)
    return "".join(json.dumps(one) + "\n" for one in rows)


def write(folder: Path, most: int, seed: int) -> int:
    """Transcripts of so many bytes together; how many bytes there are."""
    chance, size, count = Random(seed), 0, 0
    while size < most:
        name = f"{chance.getrandbits(128):032x}"
        file = folder / f"-code-{name[:1]}" / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = session(chance, name)
        file.write_text(text, encoding="utf-8")
        size, count = size + len(text), count + 1
    print(f"{count} transcripts, {size / (1 << 20):,.0f} MB")
    return size


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--megabytes", type=int, default=1024, help="size of the transcripts")
    given, outcome = parser.parse_args(), Outcome()
    print(machine())
    with world(given.work) as home:
        kept, repo = home.folder / "home/.claude/projects", home.folder / "repo"
        home.program("admin", "init", str(repo))
        whole = given.megabytes << 20
        size = write(kept, whole, 1) / (1 << 20)
        runs = {"the first time": home.ours(repo, "contribute", "harvest", "--json")}
        runs["with nothing new"] = home.ours(repo, "contribute", "harvest", "--json")
        write(kept, whole // 1000, 2)
        runs["with one transcript more"] = home.ours(repo, "contribute", "harvest", "--json")
        found = {name: len(json.loads(one.out)) for name, one in runs.items()}
        rows = [
            [name, number(one.wall), number(size / one.wall), number(one.peak), str(found[name])]
            for name, one in runs.items()
        ]
        print(table("harvest", ["", "seconds", "MB/s", "peak MB", "candidates"], rows))
        first = runs["the first time"].wall * 1024 / size
        outcome.judge(Bar("1 GB of transcripts, the first time", first, 120, "s"))
        again = max(runs["with nothing new"].wall, runs["with one transcript more"].wall)
        outcome.judge(Bar("another run beside the first", again / runs["the first time"].wall, 0.2, "x"))
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
