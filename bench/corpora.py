"""What the benches measure on: made-up lessons in any number, made-up command pages, the judged sets of a data folder.

Everything made up is the same on every machine (one seed), so two runs differ only by the machine. Lessons are written
as files and committed by git, not by the library: making the corpus is not what is measured.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bench.harness import World

SEED = 20261121
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SCOPE = "tmux"
"""The scope of the lessons with a pattern that do not hold everywhere."""
PROJECTS = tuple(f"project-{n:02}" for n in range(20))
MONTHS = tuple(f"{year}-{month:02}" for year in (2025, 2026) for month in range(1, 13))
TAGS = tuple(f"tag-{n:03}" for n in range(200))
SUBJECTS = (
    "the deployment script", "a nightly backup", "the migration", "an expired token", "the linter", "a flaky test",
    "the message queue", "a stale cache", "the build server", "a symbolic link", "the rate limiter", "a locale setting",
    "the connection pool", "a detached branch", "the certificate", "an orphaned process", "the lock file", "a webhook",
)  # fmt: skip
VERBS = (
    "ignores", "replaces", "retries", "truncates", "rejects", "duplicates", "hides", "reorders", "rewrites", "delays",
    "swallows", "requires", "invalidates", "outlives", "shadows", "blocks",
)  # fmt: skip
OBJECTS = (
    "the time zone of the server", "every second request", "trailing white space", "the environment of the caller",
    "unsigned commits", "the last line of the file", "all headers but the first", "the exit code of a pipe",
    "paths with blanks", "the order of the keys", "errors of the first attempt", "the previous configuration",
    "an open transaction", "the default branch", "empty directories", "the owner of the socket",
)  # fmt: skip
OPTIONS = (
    "--all",
    "--dry-run",
    "--force",
    "--json",
    "--output",
    "--quiet",
    "--recursive",
    "--since",
    "--verbose",
)


@dataclass(frozen=True, slots=True)
class Judged:
    """One judged set: documents (id, title, text), queries by id, and the grades of documents by query id."""

    name: str
    documents: tuple[tuple[str, str, str], ...]
    queries: dict[str, str]
    grades: dict[str, dict[str, int]]


def sentence(dice: random.Random) -> str:
    return f"{dice.choice(SUBJECTS)} {dice.choice(VERBS)} {dice.choice(OBJECTS)}"


def ulid(dice: random.Random) -> str:
    """A well-formed ULID with nothing behind it: first character at most 7."""
    return dice.choice("01234567") + "".join(dice.choices(CROCKFORD, k=25))


def pattern_lesson(dice: random.Random) -> tuple[str, str]:
    """Path and text of one lesson as `lesson add` writes it, about 450 bytes; every other one holds everywhere."""
    identity, month, scope = ulid(dice), dice.choice(MONTHS), dice.choice(("global", SCOPE))
    when, action, because = (sentence(dice) for _ in range(3))
    title = f"{when}: {action}"[:100]
    text = (
        f"---\nid: {identity}\nkind: lesson\ntitle: '{title}'\nconfidence: medium\nsource: observed\n"
        f"from: {dice.choice(('ai', 'ai', 'user'))}\nstatus: active\ncreated: {month}-14T10:00:00Z\n"
        f"pattern:\n  when: {when}\n  do: {action}\n  because: {because}\n---\n"
    )
    return (
        f"{scope}/lessons/{month}/{'-'.join(title.split()[:6])}-{identity[-6:].lower()}.md".replace(
            ":", ""
        ),
        text,
    )


def lesson(dice: random.Random) -> tuple[str, str]:
    """Path and text of one lesson as the library writes it, about 700 bytes."""
    identity, month, project = ulid(dice), dice.choice(MONTHS), dice.choice(PROJECTS)
    title = sentence(dice)
    slug = "-".join(title.split()[:8])
    tags = "\n".join(f"  - {tag}" for tag in sorted(dice.sample(TAGS, 3)))
    body = "\n".join(sentence(dice).capitalize() + "." for _ in range(dice.randint(2, 6)))
    text = (
        f"---\nid: {identity}\nkind: lesson\ntitle: {title}\ntags:\n{tags}\nconfidence: medium\nsource: observed\n"
        f"from: ai\nstatus: active\ncreated: {month}-14T10:00:00Z\n---\n{body}\n"
    )
    return f"{project}/lessons/{month}/{slug}-{identity[-6:].lower()}.md", text


def write_lessons(
    root: Path, count: int, make: Callable[[random.Random], tuple[str, str]] = lesson
) -> None:
    """`count` lessons below `root`, over 24 months, and 20 projects or what `make` chooses."""
    dice = random.Random(SEED)
    for _ in range(count):
        path, text = make(dice)
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def repository(home: World, count: int, *, patterns: bool = False) -> Path:
    """A git repository of `count` lessons, everything committed; taken as it is when it is already there."""
    root = home.folder / f"{'patterns' if patterns else 'lessons'}-{count}"
    if not (root / ".git" / "index").exists():
        root.mkdir(parents=True, exist_ok=True)
        write_lessons(root, count, pattern_lesson if patterns else lesson)
        (root / ".ai-lessons").mkdir(exist_ok=True)
        home.git(root, "init", "-q")
        home.git(root, "add", "-A")
        home.git(root, "commit", "-qm", "Lessons for a bench")
    return root


def command_page(dice: random.Random, number: int) -> tuple[str, str]:
    """Name and text of one page in the manner of short command help, about 600 bytes."""
    name = f"tool-{number:04}"
    uses = "\n".join(
        f"\n- {sentence(dice).capitalize()}:\n\n`{name} {dice.choice(OPTIONS)} {{{{path/to/file}}}}`"
        for _ in range(dice.randint(4, 8))
    )
    return name, f"# {name}\n\n> {sentence(dice).capitalize()}.\n{uses}\n"


def pages(data: Path | None, count: int) -> Iterator[tuple[str, str]]:
    """File name and text of `count` short pages: evenly spaced ones of tldr where there is data, else made up."""
    if data is not None:
        documents = judged(data / "tldr_nl2bash").documents
        step = max(len(documents) / count, 1)
        for n in range(min(count, len(documents))):
            identity, _, text = documents[int(n * step)]
            yield file_name(identity), text
        return
    dice = random.Random(SEED)
    for n in range(count):
        name, text = command_page(dice, n)
        yield name + ".md", text


def file_name(identity: str) -> str:
    """A name that any file system takes and that tells ids apart: what is not plain ASCII is written as its code."""
    return (
        "".join(
            c if c.isascii() and (c.isalnum() or c in "-_") else f"={ord(c):x}=" for c in identity
        )
        + ".md"
    )


def write_pages(folder: Path, data: Path | None, count: int) -> list[str]:
    """The pages as files in `folder`; returns their texts."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = []
    for name, text in pages(data, count):
        (folder / name).write_text(text, encoding="utf-8")
        texts.append(text)
    return texts


def passages(data: Path | None, count: int) -> list[str]:
    """Texts as an index embeds them, short and long by turns: command pages, and notes (made up: several pages)."""
    short = [text for _, text in pages(data, count)]
    if data is not None:
        long = [text for _, _, text in judged(data / "til_jb").documents[:count]]
    else:
        long = ["\n".join(short[n : n + 3]) for n in range(count)]
    return [text for pair in zip(short, long, strict=True) for text in pair][:count]


def read_lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def judged(folder: Path) -> Judged:
    """Read corpus.jsonl, queries.jsonl and qrels.tsv of one set."""
    documents = tuple(
        (d["_id"], d.get("title", ""), d["text"]) for d in read_lines(folder / "corpus.jsonl")
    )
    queries = {q["_id"]: q["text"] for q in read_lines(folder / "queries.jsonl")}
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, score = line.split("\t")
        grades.setdefault(query, {})[document] = int(score)
    return Judged(folder.name, documents, queries, grades)
