"""Texts that took time with the square of their length, or worse: each reader gets them all within 30 seconds of CPU.

What reads them in time with their length needs two or three. A reader runs in a process of its own, which the system
ends when its seconds are over, so that nothing depends on how busy the machine is.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from ai_lessons.approval.verdicts import judge
from ai_lessons.approval.walk import ApprovalHistory
from ai_lessons.errors import AiLessonsError
from ai_lessons.git.commits import RawCommit
from ai_lessons.model import (
    chunks,
    failures,
    lessons,
    markup,
    simple_commands,
    versions,
)
from ai_lessons.model import merge as model_merge
from ai_lessons.model.approval import NO_SIGNERS, ApprovalPolicy, PathChange
from ai_lessons.model.config import Chunking
from ai_lessons.model.frontmatter import read_entry

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 30
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def markdown() -> None:
    texts = [f"## {pump * 50_000}\n\ntext\n" for pump in ("[", "![", "<", "\\[")]
    short = "| a " * 180 + "|\n" + "|-" * 180 + "|\n" + "|\n" * 364 + "\n"
    texts += [
        "".join(f"## h{n}\n\ntext\n\n" for n in range(16_000)),
        short,
        "\n" * 500_000 + "- a\n" * 60_000,
    ]
    for text in texts:
        entry = read_entry("p/docs/1.0/a.md", text.encode())
        assert chunks.split(entry, Chunking(256, 400, 128))
    assert len(chunks.sections(texts[4])) > 10_000


def merge() -> None:
    lines = [f"line {n}\n" for n in range(20_000)]
    ours = [f"{line}ours\n" if n % 4 == 0 else line for n, line in enumerate(lines)]
    theirs = [f"{line}theirs\n" if n % 4 == 2 else line for n, line in enumerate(lines)]
    found = model_merge.merge_lines(*map("".join, (lines, ours, theirs)))
    assert found is not None
    assert found.count("ours\n") == found.count("theirs\n") == 5_000
    for unit, other in (("a\nb\n", "b\n\nb\na\n"), ("a\n", "a\nc\n"), ("\n", "x\n\n")):
        texts = (unit * 100_000, f"0\n{other * 60_000}", f"{other * 50_000}1\n{unit * 9}")
        model_merge.merge_file("p/lessons/a.md", *(text.encode() for text in texts))


def diff() -> None:
    from ai_lessons.git.history import unified

    lines = [f"line {n}\n" for n in range(40_000)]
    changed = [line if n % 2 else f"new {n}\n" for n, line in enumerate(lines)]
    found = unified("a", "".join(lines).encode(), "".join(changed).encode())
    assert found.count("\n-") == found.count("\n+") - 1 == 20_000


def approval() -> None:
    """Many proposals, merges and pulls of many rules, which a push can bring: 20,000 commits, 2,000 rules."""

    def commit(
        node: int, parents: list[int], message: str, *sides: tuple[PathChange, ...]
    ) -> RawCommit:
        names = [f"{parent:040x}" for parent in parents]
        head = "".join(f"parent {name}\n" for name in names)
        who = f"A <a{node % 7}@x> {node} +0000"
        record = f"{node:040x} {' '.join(names)}\ntree {'0' * 40}\n{head}author {who}\ncommitter {who}\n\n    {message}\n"
        made = RawCommit(record.encode())
        made.changes = sides or ((),)
        return made

    commits, texts, tip = [commit(1, [], "start")], dict[str, str](), 1
    for event in range(8_000):
        rule, new = f"01M82H56GFBPYC5697M{event % 2000:07d}", f"{event:040x}"
        change = (PathChange(f"p/rules/{rule}.md", texts.get(rule), new),)
        texts[rule], side = new, commits[-1].id
        node = int(side, 16) + 1
        commits.append(commit(node, [tip], "Propose rule", change))
        commits.append(
            commit(node + 1, [tip, node], f"Merge branch 'rules/R-{rule[-6:]}-x'", change, ())
        )
        if event % 3 == 0:
            commits.append(commit(node + 2, [tip], "note", ()))
            commits.append(
                commit(node + 3, [node + 2, node + 1], "Merge branch 'main' of hub", change, ())
            )
        tip = int(commits[-1].id, 16)
    history = ApprovalHistory(commits, lambda path, _: path[8:34], "main", "main")
    verdicts = judge(history, ApprovalPolicy(), NO_SIGNERS)
    assert len(verdicts) == 2000
    assert all(verdict.in_force and not verdict.unapproved for verdict in verdicts.values())


def others() -> None:
    from ai_lessons.connectors import manifests

    for text in (
        "*a " * 100_000,
        "----\n" + "".join(f"{'-' * (n % 2000 + 5)}\n" for n in range(4_000)),
        "```a\n" * 100_000,
    ):
        markup.rst(text)
        markup.adoc(text)
    with pytest.raises(ValueError, match="parts"):
        manifests.direct("pyproject.toml", f"{'a.' * 500_000}b = 1\n")
    for command in (
        "1" * 100_000,
        "<<a " * 500_000,
        "<<a\n" + "\n" * 300_000,
        '"' + '\\"' * 100_000,
        "'" * 100_001,
    ):
        simple_commands.programs(command)
    simple_commands.adds_a_lesson("ai-lessons " * 100_000)
    versions.listed(f"1{' ' * 500_000}2")
    for body in (
        "`" * 300_000,
        "```\n$ a\n" * 30_000,
        "".join(f"{'`' * n}\n$ a\n" for n in range(1_000, 3, -1)),
    ):
        list(failures.recorded(read_entry("p/lessons/a.md", body.encode())))
    with suppress(AiLessonsError):
        lessons.parse(f"WHEN {'[' * 50_000}{']' * 50_000} -> DO a -> BECAUSE b")


READERS: dict[str, Callable[[], None]] = {
    one.__name__: one for one in (markdown, merge, diff, approval, others)
}


@pytest.mark.parametrize("reader", READERS)
def test_hostile_texts_are_read_in_time_with_their_length(reader: str) -> None:
    done = subprocess.run(
        [sys.executable, __file__, reader], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    READERS[sys.argv[1]]()
