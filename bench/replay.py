"""Do past sessions help later ones? `python -m bench.replay [--data FOLDER]`, else the transcripts of Claude Code here.

The lessons that `contribute harvest` drafts from the first 60 % of the sessions, oldest first, are kept unedited;
`recall replay` then measures what they would have changed in these sessions (those that taught them counted apart) and
in the later ones. A failure counts as warned of where its command is one that the session was told of before, and as
helped where the entry told at it holds a command that worked next. Transcripts are only read, and nothing leaves the
machine.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import (
    Bar,
    Outcome,
    World,
    arguments,
    machine,
    number,
    provide_model,
    table,
    world,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

EARLIER = 0.6
RIGHT_BAR, CHARACTERS_BAR = 0.85, 1500.0
STAMP = re.compile(r'"timestamp": ?"([^"]+)"')


def began(file: Path) -> str:
    """When a session began: the first timestamp of its transcript."""
    stamp = STAMP.search(file.read_text(encoding="utf-8", errors="replace"))
    return stamp[1] if stamp else ""


def copy(files: Sequence[Path], folder: Path) -> Path:
    """Copy transcripts into a folder; a relative working folder in them is taken as one below `code` beside it."""
    folder.mkdir()
    for order, file in enumerate(files):
        text = file.read_text(encoding="utf-8", errors="replace")
        text = re.sub(r'"cwd": ?"\./', f'"cwd": "{folder.parent}/code/', text)
        (folder / f"{order:05}-{file.name}").write_text(text, encoding="utf-8")
    return folder


def figures(home: World, repo: Path, folder: Path) -> dict[str, float]:
    """Counts and shares of `recall replay` on the transcripts of a folder."""
    played = json.loads(home.ours(repo, "recall", "replay", str(folder), "--json").out)

    def share(part: str, whole: str) -> float:
        return float(played[part] / max(played[whole], 1))

    return {
        "sessions": played["sessions"],
        "commands": played["calls"],
        "failures": played["failures"],
        "told before a command, times a session": share("before", "sessions"),
        "of these before one that failed": share("before_right", "before"),
        "failures warned of": share("warned", "failures"),
        "failures at which something is told": share("at_failures", "failures"),
        "of these with what worked next": share("at_failures_right", "at_failures"),
        "failures warned of or helped": share("helped", "failures"),
        "characters a session": share("characters", "sessions"),
        "sessions that taught a lesson, counted apart": played["sessions_apart"],
        "failures there": played["failures_apart"],
        "of these warned of or helped": share("helped_apart", "failures_apart"),
    }


def main() -> None:
    given, outcome = arguments(__doc__ or "").parse_args(), Outcome()
    folder = given.data or Path.home() / ".claude/projects"
    files = list(folder.rglob("*.jsonl"))
    if not files:
        sys.exit(f"no sessions (*.jsonl) below {folder}; an archive must be unpacked first")
    files.sort(key=lambda file: (began(file), file))
    cut = int(len(files) * EARLIER)
    print(machine())
    with world(given.work) as home:
        provide_model(home)
        repo, earlier = home.folder / "repo", copy(files[:cut], home.folder / "earlier")
        later = copy(files[cut:], home.folder / "later")
        home.program("admin", "init", str(repo))
        home.ours(repo, "contribute", "harvest", str(earlier), "--keep", "all", "--yes")
        home.ours(repo, "admin", "reindex")
        lessons = len(json.loads(home.ours(repo, "recall", "list", "--limit", "0", "--json").out))
        taught, held_back = figures(home, repo, earlier), figures(home, repo, later)
        rows = [[name, number(taught[name]), number(held_back[name])] for name in taught]
        print(
            table(
                f"replay, {lessons} lessons of the earlier sessions", ["", "earlier", "later"], rows
            )
        )
        right = held_back["of these before one that failed"]
        outcome.judge(
            Bar("told before a command that failed", right, RIGHT_BAR, "of tellings", at_least=True)
        )
        outcome.judge(
            Bar("told", held_back["characters a session"], CHARACTERS_BAR, "characters a session")
        )
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
