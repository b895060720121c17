"""Checks drafted from real fixes: `python -m bench.checks FOLDER… [--fixes N]`, each a clone of some project.

A small fix is a commit whose subject says so (fix, bug, wrong, crash, …), with at most two files of code and twenty
lines that it takes away. Of each repository the newest `--fixes` ones are taken. For each fix a check is drafted as by
`suggest-rule --from-fix`, and tried again here: on the text before, on the text after, and on all other lines of the
same kind of file in all the folders.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound
from ai_lessons.features.checks import fixes
from ai_lessons.features.checks.forms import checks_of, of_texts
from ai_lessons.features.checks.text_checks import matches
from ai_lessons.git import plumbing, worktree
from bench.harness import Bar, Outcome, arguments, machine, number, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.git.worktree import Worktree

SAYS_SO = re.compile(
    r"(?i)\b(?:fix(?:e[sd])?|bug|wrong|correct(?:ly|s|ed)?|crash|prevent|avoid|regression|don't|broken)\b"
)
NO_FIX = re.compile(
    r"(?i)\b(?:docs?|documentation|typos?|changelog|readme|lint|mypy|typing|tests?|ci|grammar|spelling)\b"
)
CODE = frozenset({".py", ".js", ".ts", ".go", ".rs", ".c", ".java", ".rb"})
MOST_FILES, MOST_LINES = 2, 20
FIRED, ALARMS = 0.6, 1.0  # the bars: the share of small fixes, and alarms in 10,000 other lines


def main() -> None:
    """Draft, try and judge."""
    parser = arguments("Checks drafted from real fixes.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--fixes", type=int, default=60, help="of each folder, at most")
    chosen = parser.parse_args()
    print(machine())
    outcome, rows = Outcome(), list[list[str]]()
    total = fired = alarms = lines = 0
    places = [worktree.locate(folder) for folder in chosen.folders]
    for place in places:
        tried = drafted = 0
        for fix, path in small_fixes(place, chosen.fixes):
            tried += 1
            try:
                draft = fixes.draft_from(place, fix)
            except NotFound:
                continue
            check = next(iter(of_texts(checks_of({"check": draft.check}))), None)
            assert check
            before, after = (
                fixes.text_at(place, commit, draft.path) for commit in (f"{fix}^", fix)
            )
            if (
                draft.path == path
                and any(matches(check, before, path))
                and not any(matches(check, after, path))
            ):
                drafted += 1
                for other, text in (
                    pair for folder in places for pair in texts(folder, Path(path).suffix)
                ):
                    if other != f"{place.top}/{path}":
                        alarms += sum(1 for _ in matches(check, text, path))
                        lines += text.count("\n")
        rows.append([place.top.name, f"{tried}", f"{drafted}", number(drafted / max(tried, 1))])
        total, fired = total + tried, fired + drafted
    print(
        table(
            "checks drafted from small fixes",
            ["repository", "fixes", "fire before, silent after", "share"],
            rows,
        )
    )
    outcome.judge(
        Bar("share of small fixes with a check", fired / max(total, 1), FIRED, "", at_least=True)
    )
    outcome.judge(Bar("alarms in 10,000 other lines", 10_000 * alarms / max(lines, 1), ALARMS, ""))
    outcome.finish(check=chosen.check)


def small_fixes(place: Worktree, most: int) -> Iterator[tuple[str, str]]:
    """Commits that mend little, the newest first, each with the file of code that it changes most."""
    done = plumbing.run(
        place, "log", "--no-merges", "--format=%x00%H %s", "--numstat", "-n", "20000", timeout=300
    )
    count = 0
    for record in done.text.split("\0")[1:]:
        head, *rows = record.strip().split("\n")
        commit, _, subject = head.partition(" ")
        changed = [row.split("\t") for row in rows if row.count("\t") == 2]
        code = [(int(gone), path) for _, gone, path in changed if gone.isdigit() and is_code(path)]
        if not SAYS_SO.search(subject) or NO_FIX.search(subject) or not 0 < len(code) <= MOST_FILES:
            continue
        gone = sum(lines for lines, _ in code)
        if 0 < gone <= MOST_LINES and count < most:
            count += 1
            yield commit, max(code)[1]


def is_code(path: str) -> bool:
    """Whether a file is code, and neither a test nor an example; not one that was renamed."""
    return (
        Path(path).suffix in CODE
        and "=>" not in path
        and not re.search(r"(?i)tests?[/_]|_test|examples?/|docs?/", path)
    )


@cache
def texts(place: Worktree, suffix: str) -> tuple[tuple[str, str], ...]:
    """Path and text of all files of a kind in the last commit."""
    names = plumbing.run(place, "ls-files", "-z", "--", f"*{suffix}").out.decode().split("\0")
    files = [place.top / name for name in names if name]
    return tuple(
        (str(file), file.read_text("utf-8", "replace")) for file in files if file.is_file()
    )


if __name__ == "__main__":
    main()
