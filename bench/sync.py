"""Clones that edit the same entries, lists and logs at once and share them through one hub: is anything lost?

`python -m bench.sync [--clones 4] [--rounds 25] [--check]`. In every round each clone adds a lesson, adds a tag to one
lesson that all share, changes a key of its own in it (the keys stand one below the other), changes a paragraph of its
own, adds a line to one event log that all share, and syncs. An edit is *lost* if it is not in every clone at the end.
`python -m bench.sync clone …`, started by the bench in processes of their own, print JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.git.commit import Committer
from ai_lessons.git.store import Change, Job, Store
from ai_lessons.git.sync import sync
from ai_lessons.model.markdown import edit, parse
from bench.harness import Bar, Outcome, Running, World, arguments, machine, number, table, world

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARED = "shop/lessons/2026-11/shared-8f3k2a.md"
EVENTS = ".ai-lessons/events/shared/2026-11.jsonl"
PATIENCE = 900.0


def text(clones: int) -> str:
    """The lesson that all share: a key and a paragraph for each clone."""
    keys = "".join(f"clone{n}: 0\n" for n in range(clones))
    paragraphs = "\n".join(f"Clone {n} saw 0.\n" for n in range(clones))
    return (
        "---\nid: 01JD3Z8QK5W7M2X9V4T68F3K2A\nkind: lesson\ntitle: What all clones know\ntags:\n  - shared\n"
        f"{keys}---\n{paragraphs}"
    )


def git(where: Path, *words: str) -> str:
    """What git prints."""
    return subprocess.run(
        ["git", *words], cwd=where, capture_output=True, text=True, check=True
    ).stdout.strip()


def work(root: Path, mine: int, rounds: int, go: Path) -> None:
    """One clone: its edits, and a sync after each round."""
    (go.parent / f"ready{mine}").touch()
    while not go.exists():
        time.sleep(0.01)
    told = {"merged": 0, "torn": 0}
    seconds = []
    store = Store(root, committing=Committer)
    for n in range(1, rounds + 1):
        change(store, mine, n)
        start = time.perf_counter()
        done = sync(store)
        seconds.append(time.perf_counter() - start)
        told["merged"] += len(done.merged)
        told["torn"] += len(done.conflicts)
    print(json.dumps(told | {"seconds": seconds}))


def change(store: Store, mine: int, n: int) -> None:
    """The edits of one round."""
    old = store.read(SHARED).decode()
    found = parse(old)
    body = found.body.replace(f"Clone {mine} saw {n - 1}.", f"Clone {mine} saw {n}.")
    tags = [*found.fields["tags"], f"tag-{mine}-{n}"]
    shared = edit(old, {"tags": tags, f"clone{mine}": n}, body)
    events = store.read(EVENTS) + json.dumps({"id": f"{mine}-{n}"}).encode() + b"\n"
    store.apply(
        Job("Edit what all share", [Change(SHARED, shared.encode()), Change(EVENTS, events)])
    )
    lesson = f"---\ntitle: Clone {mine} in round {n}\n---\nSeen.\n".encode()
    store.apply(Job("Add lesson", [Change(f"shop/lessons/2026-11/clone-{mine}-{n}.md", lesson)]))


def prepare(folder: Path, clones: int) -> list[Path]:
    """A hub, and the clones of it."""
    git(folder, "init", "-q", "--bare", "hub.git")
    made = []
    for n in range(clones):
        git(folder, "clone", "-q", "hub.git", f"clone{n}")
        made.append(folder / f"clone{n}")
        git(made[-1], "config", "user.name", f"Clone {n}")
        git(made[-1], "config", "user.email", f"clone{n}@example.com")
        if n == 0:
            store = Store(made[0], committing=Committer)
            store.apply(Job("Begin", [Change(SHARED, text(clones).encode()), Change(EVENTS, b"")]))
            sync(store)
    return made


def lost(root: Path, clones: int, rounds: int) -> list[str]:
    """What one clone lacks of all that was done."""
    found = parse((root / SHARED).read_text(encoding="utf-8"))
    events = {
        json.loads(line)["id"] for line in (root / EVENTS).read_text(encoding="utf-8").splitlines()
    }
    missing = []
    for mine in range(clones):
        if (
            found.fields[f"clone{mine}"] != rounds
            or f"Clone {mine} saw {rounds}." not in found.body
        ):
            missing.append(f"the last edit of clone {mine}")
        for n in range(1, rounds + 1):
            missing += [f"tag {mine}-{n}"] if f"tag-{mine}-{n}" not in found.fields["tags"] else []
            missing += [f"event {mine}-{n}"] if f"{mine}-{n}" not in events else []
            missing += (
                [f"lesson {mine}-{n}"]
                if not (root / f"shop/lessons/2026-11/clone-{mine}-{n}.md").exists()
                else []
            )
    return missing


def settle(clones: Sequence[Path]) -> None:
    """Sync everybody until all have what all have done."""
    for _ in range(2):
        for root in clones:
            store = Store(root, committing=Committer)
            sync(store)


def play(home: World, clones: int, rounds: int) -> dict[str, Any]:
    """Run it; the figures, summed over the clones."""
    made = prepare(home.folder, clones)
    go = home.folder / "go"
    start = time.perf_counter()
    children = [
        Running(
            [sys.executable, "-m", "bench.sync", "clone", str(root), str(n), str(rounds), str(go)],
            Path(),
            home.env,
        )
        for n, root in enumerate(made)
    ]
    while sum(1 for n in range(clones) if (home.folder / f"ready{n}").exists()) < clones:
        time.sleep(0.01)
    go.touch()
    told = [json.loads(child.wait(0).out) for child in children]
    spent = time.perf_counter() - start
    settle(made)
    trees = {git(root, "rev-parse", "HEAD^{tree}") for root in made}
    return {
        "lost": [what for root in made for what in lost(root, clones, rounds)],
        "torn": sum(one["torn"] for one in told),
        "merged": sum(one["merged"] for one in told),
        "seconds": sorted(second for one in told for second in one["seconds"]),
        "spent": spent,
        "trees": len(trees),
        "markers": sum("<<<<" in (root / SHARED).read_text(encoding="utf-8") for root in made),
        "broken": sum(
            "error" in git(root, "fsck", "--strict") for root in (*made, home.folder / "hub.git")
        ),
    }


def main() -> None:
    """Print the table, and judge."""
    parser = arguments(
        "Clones that edit the same entries at once and share them: what is lost, and how long a sync takes."
    )
    parser.add_argument("--clones", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=25)
    asked = parser.parse_args()
    outcome = Outcome()
    print(machine())
    with world(asked.work) as home:
        done = play(home, asked.clones, asked.rounds)
    seconds = done["seconds"]
    row = [
        str(asked.clones), str(asked.rounds), str(done["merged"]), str(len(done["lost"])),
        number(seconds[len(seconds) // 2]), number(seconds[-1]), number(done["spent"]),
    ]  # fmt: skip
    head = [
        "clones",
        "rounds",
        "files merged",
        "edits lost",
        "sync p50 s",
        "longest s",
        "all s",
    ]
    print(table("Sharing", head, [row]))
    for what in done["lost"][:20]:
        print("lost:", what)
    outcome.judge(Bar("edits lost", len(done["lost"]), 0, ""))
    outcome.judge(Bar("files that needed a person", done["torn"], 0, ""))
    outcome.judge(Bar("different trees at the end", done["trees"], 1, ""))
    outcome.judge(Bar("conflict markers", done["markers"], 0, ""))
    outcome.judge(Bar("repositories that git fsck --strict complains about", done["broken"], 0, ""))
    outcome.finish(check=asked.check)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["clone", root_, which, count, barrier]:
            work(Path(root_), int(which), int(count), Path(barrier))
        case _:
            main()
