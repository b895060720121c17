"""Whether what sessions show makes hooks tell the right lessons: `python -m bench.loop --data FOLDER`.

Real failures, real hooks, in this process; only what the agent does next is played: a third of the lessons are wrong
(they have the failures of another lesson's program). What is told is done: of a right lesson that works, but for one
in ten; of a wrong one the same failure comes again, and one in four works all the same. Shown are
the share of what is told that is right, and the right lessons that learning has silenced, with learning and without.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from statistics import mean
from typing import TYPE_CHECKING

from ai_lessons.interfaces import agent_hook
from bench.harness import Bar, Outcome, World, arguments, machine, number, table, world
from bench.moment import rows, write_lessons

if TYPE_CHECKING:
    from collections.abc import Sequence

SESSIONS, FAILURES, BLOCK = 300, 3, 50
WRONG_BY_CHANCE, RIGHT_BY_CHANCE = 0.1, 0.25
RIGHT_BAR, SILENCED_BAR = 0.90, 0.05
SEEDS, ASKED = (1, 2, 3, 4), 3


class Played:
    """Sessions of one agent with one repository."""

    def __init__(self, home: World, data: Path, seed: int, *, learns: bool) -> None:
        self.dice, self.home, self.asked = Random(seed), home, 0
        lessons = rows(data / "lessons.jsonl")
        self.wrong = {one["_id"] for one in self.dice.sample(lessons, len(lessons) // 3)}
        self.events = [one for one in rows(data / "events.jsonl") if one["lesson"]]
        self.names = [one["_id"] for one in lessons]
        self.repo = home.folder / f"loop-{seed}-{learns}"
        home.program("admin", "init", str(self.repo), "--no-hooks")
        folder = self.repo / "global/lessons/2026-01"
        write_lessons(folder, lessons)
        for one in lessons:
            file = folder / f"{one['_id']}.md"
            text = file.read_text("utf-8").replace("\n---\n", f"\n---\nDo `fix-{one['_id']} --now`. ", 1)
            file.write_text(text, encoding="utf-8")
        os.environ.update(
            {**home.env, "AI_LESSONS_REPO": str(self.repo), "AI_LESSONS_CONFIG": str(self.repo) + ".toml"}
        )
        Path(f"{self.repo}.toml").write_text(f"[agents]\noutcomes = {str(learns).lower()}\n", encoding="utf-8")

    def hear(self, session: int, name: str, command: str, **more: object) -> str:
        """What is told at one event."""
        given = {
            "hook_event_name": name,
            "session_id": f"{self.repo.name}-{session}",
            "cwd": str(self.home.folder),
            "tool_name": "Bash",
        }
        data = json.dumps(given | {"tool_input": {"command": command}} | more).encode()
        said = agent_hook.run(data=data)
        return str(json.loads(said)["hookSpecificOutput"]["additionalContext"]) if said else ""

    def session(self, number_: int) -> list[tuple[str, bool]]:
        """The lessons that are told in one session, each with whether it is right."""
        told = []
        for event in self.dice.sample(self.events, FAILURES):
            failed = {"error": f"Exit code 1\n{event['output']}"}
            text = self.hear(number_, "PostToolUseFailure", event["command"], **failed)
            names = [name for name in self.names if f"] {name}: " in text]
            right = event["lesson"] in names and event["lesson"] not in self.wrong
            told += [(name, name == event["lesson"] and right) for name in names]
            chance = self.dice.random()
            for name in names:
                if chance >= WRONG_BY_CHANCE if right else chance < RIGHT_BY_CHANCE:
                    self.hear(number_, "PostToolUse", f"fix-{name} --now")
                else:
                    self.hear(number_, "PostToolUseFailure", f"fix-{name} --now", **failed)
        return told

    def silenced(self) -> set[str]:
        """The right lessons that come in none of a few sessions at the failure that they are about."""
        asked = {one["lesson"]: one for one in self.events if one["lesson"] not in self.wrong}
        return {name for name, one in asked.items() if not any(self.comes(name, one) for _ in range(ASKED))}

    def comes(self, name: str, event: dict[str, str]) -> bool:
        """Whether a lesson is told in a new session. One in fifty is left out on purpose."""
        self.asked += 1
        failed = {"error": f"Exit code 1\n{event['output']}"}
        return f"] {name}: " in self.hear(-self.asked, "PostToolUseFailure", event["command"], **failed)


def sessions(home: World, data: Path, seed: int, *, learns: bool) -> tuple[list[float], float]:
    """The share that is right by blocks of sessions, and that of the right lessons which are silent afterwards."""
    played = Played(home, data, seed, learns=learns)
    before = played.silenced()
    curve = shares([played.session(n) for n in range(SESSIONS)])
    gone = len(played.silenced() - before) / (len(played.names) - len(played.wrong))
    print(f"seed {seed}, learning {learns}: {', '.join(map(number, curve))}; silenced {number(gone)}", flush=True)
    return curve, gone


def shares(told: Sequence[list[tuple[str, bool]]]) -> list[float]:
    """The share that is right, by blocks of sessions."""
    blocks = [[right for one in told[at : at + BLOCK] for _, right in one] for at in range(0, len(told), BLOCK)]
    return [sum(block) / max(len(block), 1) for block in blocks]


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="which lessons are wrong, and what happens")
    given, outcome = parser.parse_args(), Outcome()
    if given.data is None:
        parser.error("real failures are needed: --data FOLDER")
    print(machine())
    curves, gone = {}, {}
    with world(given.work) as home:
        for learns in (True, False):
            played = [sessions(home, given.data / "failures", seed, learns=learns) for seed in given.seeds]
            curves[learns] = [mean(block) for block in zip(*(curve for curve, _ in played), strict=True)]
            gone[learns] = mean(share for _, share in played)
    heads = [f"{at + 1}-{at + BLOCK}" for at in range(0, SESSIONS, BLOCK)]
    names = {True: "with learning", False: "without"}
    print(
        table(
            f"share of what is told that is right, a third of the lessons wrong, mean of {len(given.seeds)} runs",
            ["sessions", *heads, "right lessons silenced"],
            [[names[one], *map(number, curve), number(gone[one])] for one, curve in curves.items()],
        )
    )
    outcome.judge(Bar("told that is right, at the end", curves[True][-1], RIGHT_BAR, "share", at_least=True))
    outcome.judge(Bar("right lessons that were silenced", gone[True], SILENCED_BAR, "share"))
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
