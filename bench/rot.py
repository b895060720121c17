"""Whether entries know that their code changed: `python -m bench.rot FOLDER...`, over the history of git repositories.

At commits all over a history anchors are made of symbols of Python, and looked at again at later commits. What Python's
own parser says of both commits decides who is right. After an alert the anchor is made anew, as `contribute keep` does.
Then a hook is asked about a file of which 500 lessons speak, with their anchors and without.
"""

from __future__ import annotations

import ast
import gc
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

from ai_lessons.app import setup
from ai_lessons.app.additions import NewText
from ai_lessons.app.options import Options
from ai_lessons.app.project_code import ProjectCode
from ai_lessons.app.workspace import Library
from ai_lessons.features.anchors.anchors import Anchor, anchors_of
from ai_lessons.features.anchors.code_folder import CodeFolder
from ai_lessons.features.anchors.fingerprints import CodeVerdict
from ai_lessons.features.anchors.writing import addition
from ai_lessons.model.entries import ABOUT, GLOBAL_PROJECT, Kind
from ai_lessons.telling import offers
from bench.harness import Bar, Outcome, machine, number, table

BASES, STEPS, SYMBOLS = (
    8,
    10,
    12,
)  # Commits at which anchors are made, looks at each, anchors of each
LESSONS, ROUNDS, WARM = 500, 40, 5  # Of the hook; the first rounds do not count
PRECISION, RECALL, ALERTS, HOOK = 0.95, 0.90, 1.1, 0.020


class Counts(NamedTuple):
    """Looks at anchors: alerts (changed or gone), right ones, and changes that there were."""

    looks: int
    alerts: int
    right: int
    changes: int


def git(folder: Path, *arguments: str) -> str:
    """What git prints."""
    argv = ["git", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", *arguments]
    return subprocess.run(
        argv, cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def symbols(file: Path) -> dict[str, str] | None:
    """What Python's parser says of each function, class, method and constant of a file; None: it cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError, OSError):
        return None if file.exists() else {}
    trees: dict[str, str] = {}
    for node in ast.walk(tree):  # a docstring is no code
        if isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ) and ast.get_docstring(node):
            node.body = node.body[1:]

    def visit(nodes: list[ast.stmt], within: str) -> None:
        for node in nodes:
            names = [getattr(node, "name", None)]
            if isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names = [node.target.id]
            for name in filter(None, names):
                trees[within + name] = trees.get(within + name, "") + ast.dump(node).replace(
                    ", kind='u'", ""
                )
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{within}{node.name}.")
            for key in (
                ("body", "orelse", "finalbody")
                if isinstance(node, ast.If | ast.Try | ast.With)
                else ()
            ):
                visit(getattr(node, key, []), within)
            for handler in node.handlers if isinstance(node, ast.Try) else ():
                visit(handler.body, within)

    visit(tree.body, "")
    return trees


def everywhere(top: Path) -> Counter[str]:
    """How often each tree stands in the code, whatever file it is in."""
    trees = Counter[str]()
    for file in top.rglob("*.py"):
        trees.update((symbols(file) or {}).values())
    return trees


def replay(folder: Path, home: Path, chance: random.Random) -> Counts:
    """The counts of one repository."""
    top = Path(tempfile.mkdtemp(dir=home)) / "code"
    git(home, "clone", "-q", "--no-local", str(folder), str(top))
    commits = git(top, "rev-list", "--first-parent", "--reverse", "HEAD").split()
    stride = max(len(commits) // (BASES * STEPS), 1)
    total = Counter[str]()
    for base in range(BASES):
        start = len(commits) * (base + 1) // (BASES + 2)
        git(top, "checkout", "-q", "-f", commits[start])
        claims = dict(_claims(top, home, chance))
        for step in range(1, STEPS + 1):
            at = start + step * stride
            if at < len(commits):
                git(top, "checkout", "-q", "-f", commits[at])
                claims = _look(top, home, claims, total)
    return Counts(*(total[name] for name in Counts._fields))


def _claims(top: Path, home: Path, chance: random.Random) -> list[tuple[Anchor, str]]:
    library = Library(home / "knowledge", options(home, top))
    places = [
        (file.relative_to(top).as_posix(), name)
        for file in sorted(top.rglob("*.py"))
        for name in sorted(symbols(file) or {})
    ]
    claims = []
    with library:
        for path, name in chance.sample(places, min(SYMBOLS, len(places))):
            stated = {"about": [f"{path}::{name}"]}
            new_text = NewText(Kind.LESSON, GLOBAL_PROJECT, options=stated)
            fields = addition(library.primary, new_text).fields
            claims.append((anchors_of(fields[ABOUT])[0], (symbols(top / path) or {})[name]))
    return claims


def _look(
    top: Path, home: Path, claims: dict[Anchor, str], total: Counter[str]
) -> dict[Anchor, str]:
    """Look at all claims, count, and renew those that gave an alert."""
    code, kept, trees = CodeFolder(ProjectCode(top), top, home / "state"), dict[Anchor, str](), None
    for anchor, tree in claims.items():
        now = symbols(top / anchor.path)
        row = code.look(anchor, "global")
        if now is None:
            kept[anchor] = tree
            continue
        right = now.get(anchor.symbol) == tree
        if not right and anchor.symbol not in now:
            place, _, name = row.place.partition("::")
            trees = trees or everywhere(top)
            there = (symbols(top / place) or {}).get(name) if place else None
            right = tree == there or trees[tree] == 1  # it moved
        alert = row.verdict in {CodeVerdict.CHANGED, CodeVerdict.GONE}
        total.update(looks=1, alerts=alert, right=alert and not right, changes=not right)
        if alert == right:
            print(
                f"  {'alert' if alert else 'missed'}: {anchor} {row.verdict} {row.detail}",
                file=sys.stderr,
            )
        if row.verdict is CodeVerdict.MOVED and row.place:
            path, _, symbol = row.place.partition("::")
            kept[anchor._replace(path=path, symbol=symbol)] = tree
        elif row.verdict is CodeVerdict.HOLDS and right:
            kept[anchor] = tree
        elif anchor.symbol in now:
            state = code.state(anchor.path, anchor.symbol)
            kept[anchor._replace(seen=state.fingerprint if state else "")] = now[anchor.symbol]
    code.close()
    return kept


def options(home: Path, cwd: Path) -> Options:
    """Everything below one folder, called in the code."""
    places = {name: home / name for name in ("cache", "state", "config")}
    return Options(places["cache"], places["state"], places["config"], cwd, offline=True)


def hook_times(home: Path) -> dict[str, list[float]]:
    """CPU seconds of what a hook asks before an edit, with anchors and without, of libraries that are opened anew."""
    top, times = home / "project", dict[str, list[float]]()
    top.mkdir()
    git(top, "init", "-q")
    (top / "shop.py").write_text(
        "".join(f"def f{n}(a):\n    return a + {n}\n\n\n" for n in range(LESSONS))
    )
    for name in ("without", "with"):
        root = home / f"{name}-anchors"
        setup.init_repository(root, options(home, top))
        for n in range(LESSONS):
            about = f"about:\n  - code: shop.py::f{n}\n    in: project\n" if name == "with" else ""
            text = f"---\nid: 01JD3Z8QK5W7M2X9V4T6{n:06d}\nkind: lesson\ntitle: Lesson {n}\n{about}"
            file = root / "global/lessons" / f"{n}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}applies_to:\n  - shop.py\n---\nText {n}.\n")
    for _ in range(ROUNDS + WARM):
        for name in ("without", "with"):
            gc.collect()  # a hook is a process of its own: it never pays for the rounds before it
            began = time.process_time()
            with Library(home / f"{name}-anchors", options(home, top)) as library:
                context = offers.before_a_tool(library, [str(top / "shop.py")], "", [str(top)], ())
            times.setdefault(name, []).append(time.process_time() - began)
            assert context.entries
    return {name: rows[WARM:] for name, rows in times.items()}


def main(folders: list[str]) -> None:
    """Replay, ask, print, judge; the exit code is 1 where a bar is missed."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        setup.init_repository(home / "knowledge", options(home, home))
        rows, sums = [], Counter[str]()
        for folder in folders:
            counts = replay(Path(folder), home, random.Random(1))
            sums.update(counts._asdict())
            rows.append(
                [
                    "/".join(Path(folder).resolve().parts[-2:]),
                    *map(str, counts),
                    *map(number, _rates(counts)),
                ]
            )
        whole = Counts(*(sums[name] for name in Counts._fields))
        precision, recall, alerts = _rates(whole)
        rows.append(["all", *map(str, whole), *map(number, _rates(whole))])
        head = ["repository", *Counts._fields, "precision", "recall", "alerts a catch"]
        print(table("anchors over history", head, rows))
        times = {name: quantiles(seconds, n=20)[-1] for name, seconds in hook_times(home).items()}
        print(
            table(
                f"hook, {LESSONS} lessons",
                ["anchors", "p95 ms CPU"],
                [[x, number(y * 1000)] for x, y in times.items()],
            )
        )
        outcome.judge(Bar("rot: precision", precision, PRECISION, "", at_least=True))
        outcome.judge(Bar("rot: recall", recall, RECALL, "", at_least=True))
        outcome.judge(Bar("rot: alerts a catch", alerts, ALERTS, ""))
        outcome.judge(
            Bar(
                "rot: hook p95, with anchors and without",
                times["with"] - times["without"],
                HOOK,
                "s",
            )
        )
    print(machine())
    outcome.finish(check=True)


def _rates(counts: Counts) -> tuple[float, float, float]:
    right = counts.right or 1
    return (
        counts.right / (counts.alerts or 1),
        counts.right / (counts.changes or 1),
        counts.alerts / right,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
