"""The program `ai-lessons`.

A command parses, calls the library once, and renders; its group is imported on use.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from typing import TYPE_CHECKING

from ai_lessons.interfaces.cli import ending
from ai_lessons.interfaces.cli.call import Call
from ai_lessons.interfaces.cli.command import LazyGroup, global_options, show_version

if TYPE_CHECKING:
    import click

HERE = "ai_lessons.interfaces.cli"
GROUPS = {
    "contribute": (
        f"{HERE}.contribute:contribute",
        "Write down what was learned: lessons, docs, scripts, links.",
    ),
    "recall": (f"{HERE}.recall:recall", "Find, read and run what is stored."),
    "admin": (f"{HERE}.admin:admin", "Set up, check and maintain the repository."),
}

SHORT = {
    "search": (f"{HERE}.recall:recall", "search"),
    "show": (f"{HERE}.recall:recall", "show"),
    "list": (f"{HERE}.recall:recall", "list"),
    "add": (f"{HERE}.contribute:contribute", "add-lesson"),
    "edit": (f"{HERE}.contribute:contribute", "edit"),
    "undo": (f"{HERE}.admin:admin", "undo"),
    "sync": (f"{HERE}.admin:admin", "sync"),
    "review": (f"{HERE}.admin:admin", "review"),
    "status": (f"{HERE}.admin:admin", "status"),
    "approve": (f"{HERE}.admin:admin", "approve-rule"),
    "delete": (f"{HERE}.contribute:contribute", "delete"),
    "conflicts": (f"{HERE}.admin:admin", "conflicts"),
    "propose": (f"{HERE}.contribute:contribute", "propose"),
}

EVERYDAY = (
    ('search "how do I undo a commit"', "Find entries by meaning."),
    ("show L-8F3K2A", "Read one entry in full."),
    ("add notes.md", "Write down what was learned."),
    ("edit L-8F3K2A", "Change an entry in your editor."),
    ("undo", "Take back what you did last."),
    ("contribute add-resource page.md", "Keep a doc or a script."),
    ("list", "List the entries."),
    ("review", "Look again at what may be out of date."),
    ("sync", "Share it: fetch, merge, push."),
)


ABOUT = "Lessons, rules, docs and scripts for coding agents and people: Markdown files in git, searched by meaning."
root = show_version(
    LazyGroup(
        "ai-lessons",
        help=ABOUT,
        lazy=GROUPS,
        short=SHORT,
        everyday=EVERYDAY,
        params=global_options(),
    )
)


def main(group: click.Group = root) -> None:
    """Run the program and leave with its exit code."""
    # new objects between two garbage collections; Python's own 700 costs 10 % of a list
    gc.set_threshold(1_000_000)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A file name need not be UTF-8, and a terminal need not be able to show every letter.
            stream.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:], group)
    # stdout is flushed in `run`, where a closed pipe is no error
    sys.stderr.flush()
    if code == 0 and threading.active_count() == 1 and "lancedb" not in sys.modules:
        # nothing is open any more, and an orderly exit of Python takes 7 % of a list
        os._exit(0)
    # the collection at exit takes 9 % of a search without the helper
    gc.freeze()
    sys.exit(code)


def run(args: list[str], group: click.Group = root) -> int:
    """Run the program on these arguments and return its exit code."""
    return ending.run(lambda: group.main(args, group.name, standalone_mode=False, obj=Call()), args)
