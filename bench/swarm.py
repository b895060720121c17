"""Ten processes add lessons to one repository, alone and beside a user who works with git in the same folder.

`python -m bench.swarm [--only alone] [--only user] [--only restless] [--check]`. When the user is done and `admin save`
has run, a lesson is *lost* if it is neither in HEAD nor on disk, in a stash of the user's or under `admin recover`. A
write is *refused* if it raised; the user's command *failed* if git left with another code than 0, which none of them
does without us (part `nobody`). `restless` is a user who never pauses. `python -m bench.swarm write …` and `… user …`,
started by the bench in processes of their own, print JSON.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.app import editing, health, sharing
from ai_lessons.app.answers import LessonDraft
from ai_lessons.app.open_repository import Options
from ai_lessons.app.workspace import Library
from ai_lessons.errors import AiLessonsError
from bench.harness import Bar, ChildFailed, Outcome, Running, World, arguments, machine, number, table, world

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARTS = ("alone", "user", "restless", "nobody")
WRITE_BAR = 400.0
PATIENCE = 120.0
"""Seconds that a part may take to settle after the last write."""


@dataclass(frozen=True, slots=True)
class Part:
    """One run: seconds that a writer rests between lessons (a mean), and the user between commands; None: no user."""

    name: str
    writers: int
    lessons: int
    rest: float
    pause: float | None


def write(root: Path, number_: int, lessons: int, rest: float, go: Path) -> None:
    """One writer: what it wrote, what was refused, how long each took (seconds), how many were committed at once."""
    import ai_lessons.app.editing
    import ai_lessons.git.commit  # noqa: F401 - so that no write is measured with the imports of the first one

    told: dict[str, list[object]] = {"paths": [], "refused": [], "seconds": [], "notes": []}
    draw = random.Random(number_)
    with Library(root, options(root)) as library:
        (go.parent / f"ready{number_}").touch()
        while not go.exists():
            time.sleep(0.01)
        for n in range(lessons):
            draft = LessonDraft(f"Writer {number_} saw {n}", f"Text {number_} {n}.\n", project=f"p{number_}")
            start = time.perf_counter()
            try:
                made = editing.add_lesson(library, draft)
            except AiLessonsError as error:
                told["refused"].append(f"{type(error).__name__}: {error.message}")
            else:
                told["paths"].append(made.path)
                told["notes"].append("" if made.commit else " ".join(made.notes))
            told["seconds"].append(time.perf_counter() - start)
            if rest:
                time.sleep(draw.uniform(0.0, 2 * rest))
    print(json.dumps(told))


def options(root: Path) -> Options:
    """Folders beside the repository."""
    folder = root.parent
    return Options(folder / "cache", folder / "state", folder / "config", folder, offline=True)


class User:
    """Works with git in a repository: adds, commits, pulls, merges, rebases, stashes and switches branches."""

    def __init__(self, root: Path, pause: float) -> None:
        self._root, self._pause = root, pause
        self.commands = 0
        self.failed: list[str] = []

    def git(self, *args: str) -> None:
        """One command of the user's, and the pause after it."""
        self.commands += 1
        done = subprocess.run(["git", *args], cwd=self._root, capture_output=True, text=True, check=False)
        if done.returncode:
            self.failed.append(f"git {' '.join(args)}: {' '.join(done.stderr.split())[:200]}")
            self._set_right()
        time.sleep(self._pause)

    def _set_right(self) -> None:
        """What a user does after a failure: give up what is half done, and look where one stands."""
        for half in ("merge", "rebase", "cherry-pick"):
            subprocess.run(["git", half, "--abort"], cwd=self._root, capture_output=True, check=False)
        self.failed[-1] += "  [state: " + " ".join(
            subprocess.run(["git", "status", "-sb"], cwd=self._root, capture_output=True, text=True, check=False)
            .stdout[:160]
            .split("\n")
        )

    def edit(self, name: str) -> str:
        """A line more in a file; its path."""
        path = self._root / "notes" / name
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{time.time_ns()}\n")
        return f"notes/{name}"

    def colleague(self, n: int) -> None:
        """Somebody else pushes; not a command of the user's."""
        other = self._root.parent / "other"
        (other / f"theirs{n}.md").write_text(f"# Theirs {n}\n", encoding="utf-8")
        for args in (
            ("pull", "-q", "--no-rebase", "--no-edit"),
            ("add", "-A"),
            ("commit", "-qm", f"Theirs {n}"),
            ("push", "-q"),
        ):
            subprocess.run(["git", *args], cwd=other, capture_output=True, check=True)

    def round(self, n: int) -> Iterator[Sequence[str]]:
        """The commands of one round, each with the edits that precede it."""
        yield "add", self.edit(f"a{n}.txt")
        yield "commit", "-qm", f"User {n}"
        self.colleague(2 * n)
        yield "pull", "-q", "--no-rebase", "--no-edit"
        yield "push", "-q"
        yield "switch", "-qc", f"topic{n}"
        yield "add", self.edit(f"b{n}.txt")
        yield "commit", "-qm", f"Topic {n}"
        yield "switch", "-q", "main"
        yield "merge", "-q", "--no-edit", f"topic{n}"
        self.edit("log.txt")
        yield "stash", "-q", "-u"
        yield "stash", "pop", "-q"
        yield "commit", "-qam", f"Log {n}"
        yield "switch", "-qc", f"side{n}", "HEAD~1"
        yield "add", self.edit(f"c{n}.txt")
        yield "commit", "-qm", f"Side {n}"
        yield "rebase", "-q", "main"
        yield "switch", "-q", "main"
        yield "merge", "-q", "--no-edit", f"side{n}"
        self.colleague(2 * n + 1)
        yield "pull", "-q", "--rebase"
        yield "push", "-q"


def use(root: Path, pause: float, stop: Path) -> None:
    """The user's loop, in whole rounds, until there is a file `stop`."""
    user, n = User(root, pause), 0
    while not stop.exists():
        for args in user.round(n):
            user.git(*args)
        n += 1
    print(json.dumps({"commands": user.commands, "failed": user.failed, "rounds": n}))


def prepare(home: World, folder: Path) -> Path:
    """A shared repository, the user's clone of it, and a colleague's."""
    home.git(folder, "init", "-q", "--bare", "up.git")
    home.git(folder, "clone", "-q", "up.git", "mine")
    root = folder / "mine"
    for name in ("README.md", "notes/log.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("# Knowledge\n", encoding="utf-8")
    home.git(root, "add", "-A")
    home.git(root, "commit", "-qm", "Start")
    home.git(root, "push", "-q", "-u", "origin", "main")
    home.git(folder, "clone", "-q", "up.git", "other")
    return root


@dataclass(slots=True)
class Result:
    """What a part came to.

    `seconds` of each write, `notes` why a write was not committed at once, `left_out` of HEAD, of these `swept` away by
    the user's git and under `admin recover`, `moves` batches.
    """

    part: Part
    paths: list[str]
    refused: list[str]
    seconds: list[float]
    notes: Counter[str]
    user: dict[str, object]
    lost: list[str]
    left_out: int
    swept: int
    pending: int
    fsck: int
    moves: int
    took: float

    def p99(self) -> float | None:
        """Milliseconds."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] if ordered else None


def play(home: World, part: Part) -> Result:
    """Run one part to its end and look at what is left."""
    folder = Path(tempfile.mkdtemp(prefix=part.name, dir=home.folder))
    root, begun = prepare(home, folder), time.perf_counter()
    go, stop = folder / "go", folder / "stop"
    start = partial(Running, cwd=folder, env=home.env)
    me = [sys.executable, "-m", "bench.swarm"]
    writers = [
        start([*me, "write", str(root), str(n), str(part.lessons), str(part.rest), str(go)])
        for n in range(part.writers)
    ]
    while sum(1 for _ in folder.glob("ready*")) < part.writers:
        time.sleep(0.05)
    go.touch()
    user = None if part.pause is None else start([*me, "user", str(root), str(part.pause), str(stop)])
    told = [json.loads(writer.wait().out) for writer in writers]
    stop.touch()
    done = json.loads(user.wait().out) if user else {"commands": 0, "failed": []}
    paths = [path for one in told for path in one["paths"]]
    pending = settle(root)
    left_out = set(paths) - set(home.git(root, "ls-tree", "-r", "--name-only", "HEAD").out.splitlines())
    swept = left_out & recoverable(root)
    fsck = home.git(root, "fsck", "--strict", "--no-dangling")
    return Result(
        part,
        paths,
        [refusal for one in told for refusal in one["refused"]],
        [seconds for one in told for seconds in one["seconds"]],
        Counter(note for one in told for note in one["notes"] if note),
        done,
        sorted(path for path in left_out - swept - stashed(home, root) if not (root / path).exists()),
        len(left_out),
        len(swept),
        pending,
        len([line for line in (fsck.out + fsck.err).splitlines() if line]),
        batches(root),
        time.perf_counter() - begun,
    )


def stashed(home: World, root: Path) -> set[str]:
    """The paths that a stash of the user's holds."""
    found: set[str] = set()
    for stash in home.git(root, "stash", "list", "--format=%H").out.split():
        for tree in (stash, f"{stash}^3"):
            with suppress(ChildFailed):
                found |= set(home.git(root, "ls-tree", "-r", "--name-only", tree).out.splitlines())
    return found


def recoverable(root: Path) -> set[str]:
    """The paths that `admin recover` brings back."""
    with Library(root, options(root)) as library:
        return {one.path for one in sharing.recover(library, only_list=True).kept}


def batches(root: Path) -> int:
    """How often the branch was moved for our jobs: one line of the reflog for all that shared a move."""
    lines = (root / ".git/logs/refs/heads/main").read_text(encoding="utf-8").splitlines()
    return sum("\tcommit: Add lesson: " in line for line in lines)


def settle(root: Path) -> int:
    """`admin save` until nothing waits; what waits still."""
    deadline = time.monotonic() + PATIENCE
    with Library(root, options(root)) as library:
        while True:
            sharing.save(library)
            pending = health.stats(library).pending
            if not pending or time.monotonic() > deadline:
                return pending
            time.sleep(0.2)


def report(results: Sequence[Result]) -> None:
    rows = []
    for r in results:
        ordered = sorted(r.seconds) or [0.0]
        failed = r.user["failed"]
        assert isinstance(failed, list)
        rows.append(
            [
                r.part.name,
                f"{len(r.paths):,}",
                str(len(r.refused)),
                str(len(r.lost)),
                str(r.left_out),
                str(r.swept),
                f"{sum(r.notes.values()):,}",
                str(r.moves),
                number(1000 * ordered[len(ordered) // 2]),
                number(r.p99()),
                number(1000 * ordered[-1]),
                f"{len(failed)} of {r.user['commands']}",
                "clean" if not r.fsck else f"{r.fsck} lines",
                number(r.took),
            ]
        )
    head = [
        "part",
        "written",
        "refused",
        "lost",
        "not in HEAD",
        "of these under recover",
        "waited for a later commit",
        "batches",
        "p50 ms",
        "p99 ms",
        "max ms",
    ]
    print(table("swarm", [*head, "user's commands failed", "git fsck --strict", "s"], rows))
    for r in results:
        details(r)


def details(r: Result) -> None:
    failed = r.user["failed"]
    assert isinstance(failed, list)
    for text, lines in (("refused", Counter(r.refused)), ("waited", r.notes), ("failed", Counter(failed))):
        for line, count in Counter(lines).most_common(12):
            print(f"{r.part.name}: {text} {count}: {line}")
    for path in r.lost[:10]:
        print(f"{r.part.name}: lost {path}")


def judge(outcome: Outcome, r: Result) -> None:
    name = r.part.name
    failed = r.user["failed"]
    assert isinstance(failed, list)
    outcome.judge(Bar(f"{name}: lessons that are lost", len(r.lost) + r.pending, 0, ""))
    outcome.judge(Bar(f"{name}: writes refused", len(r.refused), 0, ""))
    outcome.judge(Bar(f"{name}: git fsck --strict, lines", r.fsck, 0, ""))
    outcome.judge(Bar(f"{name}: commands of the user that failed", len(failed), 0, ""))
    if name == "alone":  # nobody's git can sweep a write away
        outcome.judge(Bar(f"{name}: lessons not in HEAD", r.left_out, 0, ""))
        outcome.judge(Bar(f"{name}: p99 of a write", r.p99(), WRITE_BAR, "ms"))


def main() -> None:
    parser = arguments("Many writers and a user in one repository: lost, refused, failed, and how long a write takes.")
    parser.add_argument("--only", choices=PARTS, action="append", help="run this part; may be given several times")
    parser.add_argument("--writers", type=int, default=10)
    parser.add_argument("--lessons", type=int, default=100)
    parser.add_argument("--rest", type=float, default=1.2, help="seconds between two lessons of a writer beside a user")
    asked = parser.parse_args()
    parts = {
        "alone": Part("alone", asked.writers, asked.lessons, 0.0, None),
        "user": Part("user", asked.writers, asked.lessons, asked.rest, 3.0),
        "restless": Part("restless", asked.writers, asked.lessons, asked.rest / 4, 0.0),
        "nobody": Part("nobody", 0, 0, 0.0, 0.0),
    }
    outcome, results = Outcome(), []
    print(machine())
    with world(asked.work) as home:
        for name in asked.only or PARTS:
            try:
                results.append(play(home, parts[name]))
            except ChildFailed as error:
                print(f"\nthe part `{name}` broke off: {error}")
                outcome.judge(Bar(f"the part `{name}` runs to its end", None, 1, ""))
            else:
                judge(outcome, results[-1])
    report(results)
    outcome.finish(check=asked.check)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", root_, which, count, resting, barrier]:
            write(Path(root_), int(which), int(count), float(resting), Path(barrier))
        case ["user", root_, pausing, stopping]:
            use(Path(root_), float(pausing), Path(stopping))
        case _:
            main()
