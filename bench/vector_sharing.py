"""Vectors that travel with git: a clone's way to its first search by meaning with them and without, and their size.

`python -m bench.vector_sharing [--passages 5000] [--check]`. One clone computes the vectors of so many short docs and
shares them; two others are made by `admin init --from`, of a hub that has the vectors and of one that has not. Each
searches until all passages have a vector, with a helper. The size of 100,000 passages is that of random vectors.
`python -m bench.vector_sharing size COUNT` prints the bytes of so many as JSON.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import time
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from bench.harness import (
    Bar,
    Outcome,
    World,
    arguments,
    helper_state,
    machine,
    number,
    provide_model,
    table,
    world,
)

if TYPE_CHECKING:
    from pathlib import Path

WITH_BAR, FIRST_BAR, SIZE_BAR = 30.0, 2.0, 45.0
PASSAGES, MANY = 5_000, 100_000
WORDS = """
retry queue deploy cache token branch merge index vector search commit server client timeout header payload table column
schema worker thread socket buffer stream packet kernel module script shell editor parser lexer proxy cluster shard
replica leader follower snapshot backup restore rollback release version upgrade migration feature
"""
QUESTION = "how do I restore a backup after a failed upgrade"


def build(home: World, passages: int) -> Path:
    """A repository with so many docs of one passage, and a hub that has it."""
    chance, root, choices = random.Random(60), home.folder / "first", WORDS.split()
    home.program("--repo", str(root), "admin", "init", str(root), "--no-hooks")
    for doc in range(passages):
        words = " ".join(chance.choices(choices, k=40))
        file = root / f"area{doc % 50}/docs/unversioned/note-{doc:05}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"# Note {doc} on {chance.choice(choices)}\n\n{words.capitalize()}.\n", encoding="utf-8"
        )
    home.git(root, "add", "-A")
    home.git(root, "commit", "-qm", "Add notes")
    home.git(home.folder, "init", "-q", "--bare", "-b", "main", "hub.git")
    home.git(root, "remote", "add", "origin", str(home.folder / "hub.git"))
    return root


def joined(home: World, name: str, hub: Path) -> dict[str, float]:
    """A new user clones the hub and searches until all is found by meaning: the seconds of each step."""
    user = home.folder / name
    (user / ".cache").mkdir(parents=True)
    shutil.copy(home.folder / "home/.gitconfig", user)
    shutil.copytree(
        home.folder / "home/.cache/ai-lessons/models", user / ".cache/ai-lessons/models"
    )
    mine = replace(home, env={**home.env, "HOME": str(user), "AI_LESSONS_WARM": "1"})
    root, begin = user / "repo", time.perf_counter()
    mine.program("admin", "init", str(root), "--from", str(hub), "--no-hooks")
    seconds = {"clone": time.perf_counter() - begin}
    try:
        while True:
            start = time.perf_counter()
            answer = json.loads(mine.ours(root, "recall", "search", QUESTION, "--json").out)
            seconds.setdefault("first search", time.perf_counter() - start)
            if answer.get("coverage", 1.0) == 1.0:
                return seconds | {"by meaning": time.perf_counter() - begin}
            state = helper_state(mine)
            seconds["helper MB"] = max(
                seconds.get("helper MB", 0.0), *(float(str(s["megabytes"])) for s in state), 0.0
            )
            time.sleep(1.0)
    finally:
        mine.program("admin", "warm", "stop")


def size(count: int) -> int:
    """The bytes of packs with so many random vectors, as git keeps them."""
    import zlib

    import numpy as np

    from ai_lessons.search.vector_packs import most_in_a_pack, pack_of

    numbers, total, most = np.random.default_rng(60), 0, most_in_a_pack(384)
    for start in range(0, count, most):
        names = [
            sha256(str(name).encode()).hexdigest()
            for name in range(start, min(start + most, count))
        ]
        vectors = {name: numbers.standard_normal(384).astype("<f2").tobytes() for name in names}
        total += len(zlib.compress(pack_of("bge-small-en-v1.5-int8", 384, vectors), 1))
    return total


def main() -> None:
    """Build, share, clone with and without, print, judge."""
    if sys.argv[1:2] == ["size"]:
        print(json.dumps(size(int(sys.argv[2]))))
        return
    parser = arguments(
        "A clone's way to its first search by meaning, with vectors from git and without."
    )
    parser.add_argument("--passages", type=int, default=PASSAGES)
    asked = parser.parse_args()
    outcome = Outcome()
    print(machine())
    with world(asked.work) as home:
        provide_model(home)
        root, hub = build(home, asked.passages), home.folder / "hub.git"
        computing = home.ours(root, "admin", "reindex").wall
        sharing = home.ours(root, "admin", "sync").wall
        listed = home.git(
            hub, "ls-tree", "-l", "refs/ai-lessons/vectors/bge-small-en-v1-5-int8/packs"
        ).out
        packs = [int(row.split()[3]) for row in listed.splitlines()]
        bare = home.folder / "bare.git"
        home.git(home.folder, "clone", "-q", "--bare", str(hub), str(bare))
        shared, alone = joined(home, "bo", hub), joined(home, "cy", bare)
        many = json.loads(home.python("-m", "bench.vector_sharing", "size", str(MANY)).out) / 1e6
        rows = [
            [what, number(shared.get(what)), number(alone.get(what))]
            for what in ("clone", "first search")
        ]
        rows.append(
            ["clone to all by meaning", number(shared["by meaning"]), number(alone["by meaning"])]
        )
        print(
            table(
                f"{asked.passages:,} passages, wall s",
                ["what", "vectors from git", "without"],
                rows,
            )
        )
        print(f"computed once in {computing:.1f} s, sent in {sharing:.1f} s")
        print(f"packs: {len(packs)}, {sum(packs):,} bytes; 100,000 passages: {many:.1f} MB")
        print(f"the helper that computes takes up to {alone.get('helper MB', 0):.0f} MB")
        outcome.judge(
            Bar("clone to all by meaning, vectors from git", shared["by meaning"], WITH_BAR, "s")
        )
        outcome.judge(
            Bar("first search while nothing is computed", alone["first search"], FIRST_BAR, "s")
        )
        outcome.judge(Bar("100,000 passages", many, SIZE_BAR, "MB"))
    outcome.finish(check=asked.check)


if __name__ == "__main__":
    main()
