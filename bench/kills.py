"""Kill -9 at every step of every writing command, and look what the next command finds.

`python -m bench.kills [--kills N] [--interrupt] [--check]`. A job runs in a process forked from one that has everything
loaded. The process kills itself at its n-th step, where a step is whatever Python tells of before it happens (opening,
renaming, linking and removing files, statements to SQLite, programs started); n goes over all steps, or over as many as
were asked for. `reindex` and `sync`, which have threads, run as programs and are killed from outside at some moment.

After each kill come one ordinary write and `admin save`. Then nothing that was accepted may be missing, no
lock may be left in git's folder, the user's own `git add` and `git commit` must work, `git fsck --strict` must be
clean, nothing half may lie about, and the catalog must say what the files say. With `--interrupt` it is Ctrl-C in
place of the kill, and no lock may be left even before the next command. `python -m bench.kills SIGKILL FOLDER JOB…` (or
SIGINT), which the tests use, prints JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.app import (
    editing,
    entries,
    pending_rules,
    proposals,
    review,
    sharing,
    validation,
)
from ai_lessons.app.options import Options
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import LessonDraft, RuleDraft
from ai_lessons.git.store import Store
from ai_lessons.model.entries import Kind
from bench import taking_in
from bench.harness import Bar, Outcome, World, arguments, machine, program, table, world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEPS = frozenset(
    ("open", "os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "subprocess.Popen")
)
"""Audit events that count as steps (see sys.audit); writes go to files that were opened, so they lie in between."""

DOCS = 12
INTERRUPTED = 130
FORKED = ("add", "update", "import", "approve", "delete")
STARTED = ("reindex", "sync")


@dataclass(slots=True)
class Place:
    """One repository that is killed in again and again; `accepted`: paths that a job said were written."""

    root: Path
    accepted: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def library(self) -> Library:
        """Opened anew, as the next command would."""
        folder = self.root.parent
        return Library(
            self.root,
            Options(folder / "cache", folder / "state", folder / "config", folder, offline=True),
        )

    def git(self, *args: str) -> subprocess.CompletedProcess[str]:
        """One command of the user's."""
        return subprocess.run(
            ["git", *args], cwd=self.root, capture_output=True, text=True, check=False
        )


def made(folder: Path) -> Place:
    """A new repository with two commits."""
    root = folder / "repo"
    subprocess.run(["git", "init", "-qb", "main", str(root)], check=True)
    place = Place(root)
    for name in ("README.md", "notes.txt"):
        (root / name).write_text("# Knowledge\n", encoding="utf-8")
        place.git("add", "-A")
        place.git("commit", "-qm", f"Add {name}")
    return place


def add(place: Place) -> Callable[[Library], None]:
    draft = LessonDraft(f"Lesson {place.count}", "Text.\n", project="p")
    return lambda library: say(editing.add_lesson(library, draft).path)


def update(place: Place) -> Callable[[Library], None]:
    path = sorted(place.accepted)[0]
    text = f"Changed {place.count}.\n"
    return lambda library: say(editing.update(library, path, content=text).path)


def bring(place: Place) -> Callable[[Library], None]:
    folder = place.root.parent / "pages"
    folder.mkdir(exist_ok=True)
    for n in range(DOCS):
        (folder / f"{n:02}.md").write_text(f"# Page {n}\n\nText {place.count}.\n", encoding="utf-8")
    draft = taking_in.draft(Kind.DOC, [str(folder)], project=f"q{place.count}", recursive=True)
    return lambda library: say(
        *(one.path for one in taking_in.add_resources(library, draft).written)
    )


def approve(place: Place) -> Callable[[Library], None]:
    with place.library() as library:
        waiting = pending_rules.pending_rules(library)
        if not waiting:
            proposals.suggest_rule(
                library, RuleDraft(f"Rule {place.count}", "So that it is tried.", "Do it.\n")
            )
            waiting = pending_rules.pending_rules(library)
    branch = waiting[0].branch
    return lambda library: say(review.approve_rule(library, branch).path)


def delete(place: Place) -> Callable[[Library], None]:
    with place.library() as library:
        path = editing.add_lesson(library, LessonDraft(f"To go {place.count}", project="p")).path
    return lambda library: void(editing.delete(library, [path]))


JOBS: dict[str, Callable[[Place], Callable[[Library], None]]] = {
    "add": add,
    "update": update,
    "import": bring,
    "approve": approve,
    "delete": delete,
}


def void(_: object) -> None:
    """A job that says nothing of what was written."""


def say(*paths: str) -> None:
    """Tell the process outside what was accepted: these jobs had their answer."""
    os.write(3, "".join(path + "\n" for path in paths).encode())


def run(place: Place, name: str, at: int, how: signal.Signals) -> tuple[bool, int]:
    """One job in a process that ends itself before its step `at` (from 1); whether it did, and its steps so far."""
    place.count += 1
    job = JOBS[name](place)
    steps_read, steps_write = os.pipe()
    said_read, said_write = os.pipe()
    child = os.fork()
    if child == 0:
        _child(place, job, at, how, steps_write, said_write)
    os.close(steps_write)
    os.close(said_write)
    steps, said = _all(steps_read), _all(said_read).decode()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in {0, -signal.SIGKILL, INTERRUPTED}:
        raise AssertionError(f"{name} at {at} left with {code}")
    for path in said.splitlines():
        place.accepted[path] = name
    return code != 0, len(steps)


def _all(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as file:
        return file.read()


def _child(
    place: Place,
    job: Callable[[Library], None],
    at: int,
    how: signal.Signals,
    steps: int,
    said: int,
) -> None:
    """Never returns."""
    done = 0
    os.dup2(said, 3)

    def step(event: str, _: object) -> None:
        nonlocal done
        if event in STEPS:
            done += 1
            os.write(steps, b".")
            if done == at:
                os.kill(os.getpid(), how)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have us ignore it
    try:
        with place.library() as library:
            sys.addaudithook(step)
            job(library)
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    except BaseException:  # noqa: BLE001 - the parent learns it by the exit code
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def after(place: Place) -> list[str]:
    """What is wrong when the next command has run; empty if all is well."""
    wrong = []
    with place.library() as library:
        made_ = editing.add_lesson(library, LessonDraft(f"After {place.count}", project="after"))
        place.accepted[made_.path] = "after"
        sharing.save(library)  # the user commits so often here that our commits keep out of the way
    left = Store(place.root).pending()
    if left:
        wrong.append(f"{len(left)} jobs still wait")
    wrong += [f"a lock is left: {lock}" for lock in locks(place.root)]
    in_head = set(place.git("ls-tree", "-r", "--name-only", "HEAD").stdout.splitlines())
    wrong += [
        f"{path} ({job}) is not on disk"
        for path, job in place.accepted.items()
        if not (place.root / path).exists()
    ]
    wrong += [
        f"{path} ({job}) is not in HEAD"
        for path, job in place.accepted.items()
        if path not in in_head
    ]
    status = place.git("status", "--porcelain", "-uall").stdout
    if status:
        wrong.append("something half lies about: " + " ".join(status.split()))
    fsck = place.git("fsck", "--strict", "--no-dangling")
    if fsck.returncode or fsck.stdout or fsck.stderr:
        wrong.append("git fsck: " + " ".join((fsck.stdout + fsck.stderr).split())[:300])
    return wrong + user(place) + catalog(place)


def at_once(place: Place, how: signal.Signals) -> list[str]:
    """What is wrong before the next command has run. After a kill nobody was there to tidy up."""
    return (
        [f"Ctrl-C left a lock: {lock}" for lock in locks(place.root)]
        if how is signal.SIGINT
        else []
    )


def locks(root: Path) -> list[str]:
    """Lock files in git's folder that are not our own."""
    return [
        str(p)
        for p in (root / ".git").rglob("*.lock")
        if "ai-lessons" not in p.relative_to(root / ".git").parts
    ]


def user(place: Place) -> list[str]:
    """The user's own git goes on."""
    (place.root / "notes.txt").write_text(f"{place.count}\n", encoding="utf-8")
    done = place.git("commit", "-qam", f"User {place.count}")
    return [] if not done.returncode else [f"the user's git commit: {done.stderr.strip()}"]


def catalog(place: Place) -> list[str]:
    """What is listed is what is there."""
    with place.library() as library:
        listed = {
            summary.path
            for summary in entries.list_entries(library).entries
            if summary.kind is not Kind.RULE
        }
        problems = [problem.message for problem in validation.validate(library).problems]
    there = {
        path.relative_to(place.root).as_posix()
        for folder in ("p", "after", *(f.name for f in place.root.glob("q*")))
        for path in (place.root / folder).rglob("*.md")
    }
    wrong = [f"listed, and not there: {path}" for path in sorted(listed - there) if "/" in path]
    wrong += [f"there, and not listed: {path}" for path in sorted(there - listed)]
    return wrong + [f"validate: {problem}" for problem in problems]


def steps(
    place: Place, name: str, kills: int, how: signal.Signals
) -> Iterator[tuple[int, list[str]]]:
    """Kill `kills` times, spread over all steps of the job; each with what was wrong after it."""
    died, total = run(place, name, 0, how)
    assert not died
    yield 0, after(place)
    chosen = range(1, total + 1)
    if kills < total:
        chosen = sorted(random.Random(len(name)).sample(chosen, kills))  # type: ignore[assignment]  # any row of numbers
    for at in chosen:
        run(place, name, at, how)
        yield at, [*at_once(place, how), *after(place)]


def harness(how: signal.Signals, folder: Path, wanted: dict[str, int]) -> None:
    """Print how many kills each job had, and what was wrong, as JSON."""
    place = made(folder)
    run(place, "add", 0, how)
    told: dict[str, dict[str, object]] = {}
    for name, kills in wanted.items():
        results = list(steps(place, name, kills, how))
        wrong = [f"{name}, step {at}: {line}" for at, lines in results for line in lines]
        told[name] = {"kills": len(results) - 1, "wrong": wrong}
    print(json.dumps(told))


def started(
    home: World, folder: Path, name: str, kills: int, how: signal.Signals
) -> tuple[int, list[str]]:
    """Kill a program from outside at random moments of its run."""
    folder.mkdir()
    place, draw = made(folder), random.Random(7)
    place.git("init", "-q", "--bare", str(folder / "up.git"))
    place.git("remote", "add", "origin", str(folder / "up.git"))
    place.git("push", "-qu", "origin", "HEAD")
    command = [*program(), "--repo", str(place.root), "admin", name]
    wrong: list[str] = []
    begun = time.perf_counter()
    subprocess.run(command, env=dict(home.env), capture_output=True, check=True)
    usual = time.perf_counter() - begun
    for n in range(kills):
        place.count += 1
        child = subprocess.Popen(
            command,
            env=dict(home.env),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(draw.uniform(0.3, 1.1) * usual)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, how)
        child.wait()
        wrong += [f"{name}, kill {n}: {line}" for line in (*at_once(place, how), *after(place))]
    subprocess.run(command, env=dict(home.env), capture_output=True, check=True)
    found = home.ours(place.root, "recall", "search", f"After {place.count}").out
    if f"After {place.count}" not in found:
        wrong.append(f"{name}: the last lesson is not found after it ran to its end")
    return kills, wrong


def main() -> None:
    parser = arguments(
        "Kill -9 at every step of writing commands: nothing accepted is lost, nothing is left behind."
    )
    parser.add_argument(
        "--kills", type=int, default=60, help="at most so many kills for each command"
    )
    parser.add_argument("--only", choices=(*FORKED, *STARTED), action="append")
    parser.add_argument("--interrupt", action="store_true", help="Ctrl-C in place of kill -9")
    asked = parser.parse_args()
    how = signal.SIGINT if asked.interrupt else signal.SIGKILL
    outcome, rows = Outcome(), []
    print(machine())
    with world(asked.work) as home:
        names = asked.only or (*FORKED, *STARTED)
        forked = [f"{name}={asked.kills}" for name in names if name in FORKED]
        told: dict[str, dict[str, object]] = {}
        if forked:
            (home.folder / "forked").mkdir()
            done = home.python("-m", "bench.kills", how.name, str(home.folder / "forked"), *forked)
            told = json.loads(done.out.splitlines()[-1])
        for name in names:
            if name in STARTED:
                kills, wrong = started(
                    home, home.folder / name, name, max(10, asked.kills // 3), how
                )
                told[name] = {"kills": kills, "wrong": wrong}
        for name, result in told.items():
            lines = result["wrong"]
            assert isinstance(lines, list)
            rows.append([name, str(result["kills"]), str(len(lines))])
            for line, count in Counter(lines).most_common(10):
                print(f"{count} x {line}")
            outcome.judge(Bar(f"{name}: things wrong after a kill", len(lines), 0, ""))
        total = sum(int(str(result["kills"])) for result in told.values())
    print(table("kills", ["command", "kills", "wrong"], [*rows, ["all", str(total), ""]]))
    outcome.finish(check=asked.check)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["SIGKILL" | "SIGINT" as how_, place_, *wishes]:
            jobs = {name: int(n) for name, _, n in (wish.partition("=") for wish in wishes)}
            harness(signal.Signals[how_], Path(place_), jobs)
        case _:
            main()
