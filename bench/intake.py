"""What is taken in from elsewhere: `python -m bench.intake [--data FOLDER] [--from FORM]`.

FOLDER is what another tool keeps for its agents, such as a clone of a collection of rules; without one, 256 rules of
Cursor are made up. It is imported, approved with one merge and exported for every tool; each file below it has to be
in the report once. Then the docs of 30 packages that are installed beside this program are taken in, without vectors.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections import Counter
from typing import TYPE_CHECKING

from bench.harness import Bar, Outcome, arguments, machine, number, table, world
from bench.harvest import WORDS

if TYPE_CHECKING:
    from pathlib import Path

RULES, PACKAGES = 256, 30
TARGETS = ("cursor", "claude-rules", "copilot", "windsurf", "skills")
_NEVER_ENTERED = {".git", ".hg", "node_modules", "__pycache__", ".venv"}


def made_up(folder: Path) -> Path:
    """Rules of Cursor, each about files of its own."""
    folder.mkdir()
    for n in range(RULES):
        one, other = WORDS[n % len(WORDS)], WORDS[n * 7 // len(WORDS) % len(WORDS)]
        matter = f"---\ndescription: Mind {one} {n}\nglobs: {one}/**/*.{n},{other}/*\n---\n"
        (folder / f"{one}-{n}.mdc").write_text(f"{matter}# {one}\n\nBecause: {other} breaks.\n\n- Say {n}.\n", "utf-8")
    return folder


def files_in(folder: Path) -> int:
    """How many files there are to be accounted for."""
    found = (one for one in folder.rglob("*") if not _NEVER_ENTERED & set(one.relative_to(folder).parts))
    return sum(one.is_file() and not one.is_symlink() for one in found)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--from", dest="form", default="agents-md", help="what the folder is for")
    given, outcome = parser.parse_args(), Outcome()
    print(machine())
    with world(given.work) as home:
        repo = home.folder / "repo"
        home.program("admin", "init", str(repo))
        source = given.data or made_up(home.folder / "made-up")
        taken = home.ours(repo, "admin", "import", str(source), "--from", given.form, "--project", "shop", "--json")
        report = json.loads(taken.out)
        fates = Counter(one["became"] for one in report["seen"])
        names = {one["where"] for one in report["seen"]}
        approved = home.ours(repo, "admin", "approve-rule", "--project", "shop", "--yes") if report["queued"] else None
        runs = {"import": taken} | ({"approve all with one merge": approved} if approved else {})
        for form in TARGETS:
            runs[f"export --to {form}"] = home.ours(
                repo, "admin", "export", str(home.folder / f"for-{form}"), "--to", form
            )
        names_of = sorted({one.metadata["Name"] for one in importlib.metadata.distributions()}, key=str.casefold)
        runs[f"docs of {PACKAGES} packages"] = home.ours(repo, "contribute", "add-package", *names_of[:PACKAGES])
        print(table("what became of the files", ["", "files"], [[fate, str(count)] for fate, count in fates.items()]))
        print(table("intake", ["", "seconds"], [[name, number(run.wall)] for name, run in runs.items()]))
        outcome.judge(Bar("files that the report does not name", files_in(source) - len(names), 0, ""))
        if approved and given.data is None:
            outcome.judge(Bar(f"{RULES} rules approved", approved.wall, 10, "s"))
        outcome.judge(Bar(f"docs of {PACKAGES} packages", runs[f"docs of {PACKAGES} packages"].wall, 60, "s"))
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
