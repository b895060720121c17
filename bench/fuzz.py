"""Feed readers of pulled text with bytes that a coverage-guided fuzzer makes up: `python -m bench.fuzz [--seconds N]`.

Each target reads hostile bytes and may answer only with a value or with the error it documents; anything else, a crash,
a hang of ten seconds or a gigabyte of memory is a finding, and its input is kept in `tests/hostile_inputs/` for
`tests/test_hostile_inputs.py`, which replays that folder. Needs atheris (`pip install atheris`), which is no dependency
of the project; without it hypothesis makes the bytes, blindly.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.approval import signatures
from ai_lessons.errors import AiLessonsError
from ai_lessons.git import commits as git_commits
from ai_lessons.git.files import inside
from ai_lessons.git.journal import Journal
from ai_lessons.model import chunks, events, layout, lessons, markdown
from ai_lessons.model import merge as model_merge
from ai_lessons.model.checks import check_entry
from ai_lessons.model.config import Chunking, parse_config
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.texts import decode
from ai_lessons.search import query_text
from bench.harness import Bar, Outcome, arguments, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "hostile_inputs"
SEEDS = Path(__file__).resolve().parents[1] / "template-repo"
LONGEST = 4096
INSTRUMENTED = """
import sys, atheris
with atheris.instrument_imports(include=["ai_lessons", "yaml", "markdown_it"]):
    import bench.fuzz
atheris.Setup(["fuzz", *sys.argv[2:]], bench.fuzz.TARGETS[sys.argv[1]])
atheris.Fuzz()
"""
"""One target under atheris; leaves with another code than 0 on a finding."""
PLACES = (
    "p/lessons/a.md",
    "p/rules/a.md",
    "p/docs/1.0/a.md",
    "p/docs/shared/a.txt",
    "p/scripts/unversioned/a.sh",
)


def entry(data: bytes) -> None:
    """The first byte chooses where the file lies."""
    path = PLACES[data[0] % len(PLACES)] if data else PLACES[0]
    with contextlib.suppress(AiLessonsError):
        found = read_entry(path, data[1:])
        check_entry(found, decode(data[1:], path))
        chunks.split(found, Chunking(64, 100, 16))
        chunks.sections(found.body)


def side_file(data: bytes) -> None:
    with contextlib.suppress(AiLessonsError):
        read_entry("p/scripts/unversioned/a.sh", b"#!/bin/sh\n", data)


def edit(data: bytes) -> None:
    """What is changed says what it shall say afterwards, and nothing else changes."""
    with contextlib.suppress(AiLessonsError):
        text = decode(data, "a.md")
        before = markdown.parse(text).fields
        after = markdown.parse(
            markdown.edit(text, {"title": "New: title", "tags": ["b", "a"]})
        ).fields
        assert after["title"] == "New: title"
        assert _unchanged(after) == _unchanged(before)


def _unchanged(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What `edit` leaves alone. A file of another program has our keys below `ai-lessons`, too."""
    others = {key: value for key, value in fields.items() if key not in {"title", "tags"}}
    below = others.get("ai-lessons")
    if isinstance(below, dict) and not (below := _unchanged(below)):
        del others["ai-lessons"]
    return others | ({"ai-lessons": below} if below else {})


def merge(data: bytes) -> None:
    base, _, rest = data.partition(b"\xff\xfe")
    ours, _, theirs = rest.partition(b"\xff\xfe")
    with contextlib.suppress(AiLessonsError):
        model_merge.merge_file("p/lessons/a.md", base or None, ours, theirs)


def path(data: bytes) -> None:
    """A path that passes leads nowhere else."""
    text = data.decode("utf-8", "surrogateescape")
    with contextlib.suppress(AiLessonsError):
        layout.place(text)
        layout.check_path(text)
        assert not text.startswith("/")
        assert ".." not in inside(text)


def config(data: bytes) -> None:
    with contextlib.suppress(AiLessonsError):
        parse_config(decode(data, layout.CONFIG_PATH))


def journal(data: bytes) -> None:
    """Notes and outcomes, as a power cut or a stranger may have left them."""
    with tempfile.TemporaryDirectory() as folder:
        for place, name in (
            ("journal", "1.json"),
            ("journal", "2.writing"),
            ("committed", "3.json"),
        ):
            (Path(folder) / place).mkdir(exist_ok=True)
            (Path(folder) / place / name).write_bytes(data)
        book = Journal(Path(folder))
        for intent in (*book.pending(), *book.orphans()):
            assert isinstance(intent.subject, str)
            assert all(isinstance(noted.path, str) for noted in intent.paths)
        book.records()
        book.commit_of("1")


def commit(data: bytes) -> None:
    """Whatever stands in a commit: its parents are those that git gives, and who made it is said or it is odd."""
    found = git_commits.RawCommit(b"a" * 40 + b" " + b"b" * 40 + b"\n" + data)
    assert found.parents == ("b" * 40,)
    assert found.info.odd or (found.info.author.email and found.info.committer.email)


def keys(data: bytes) -> None:
    signatures.parse_signers(data)


def event_log(data: bytes) -> None:
    """What was read and written once reads back as it is."""
    events.read_lines(data)
    for line in data.decode("utf-8", "replace").split("\n"):
        event = events.read_line(line)
        if event is not None:
            once = events.read_line(events.line_of(event).decode())
            assert once is not None
            assert events.read_line(events.line_of(once).decode()) == once


def words(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(AiLessonsError):
        query_text.parse_query(text)
    with contextlib.suppress(AiLessonsError):
        lessons.parse(text)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "entry": entry,
    "side_file": side_file,
    "edit": edit,
    "merge": merge,
    "path": path,
    "config": config,
    "journal": journal,
    "commit": commit,
    "keys": keys,
    "event_log": event_log,
    "words": words,
}


def corpus(target: str) -> Path:
    """Where inputs for a target are kept."""
    return CORPUS / target


def seeds(target: str, folder: Path) -> None:
    """True files of the template, and what was found before."""
    folder.mkdir(parents=True)
    for n, file in enumerate([*sorted(SEEDS.rglob("*.md")), *sorted(SEEDS.rglob("*.yaml"))]):
        lead = b"\0" if target == "entry" else b""
        (folder / f"seed{n}").write_bytes(lead + file.read_bytes()[:LONGEST])
    for file in corpus(target).glob("*"):
        (folder / file.name).write_bytes(file.read_bytes())


def guided(target: str, seconds: int) -> tuple[int, str]:
    """Inputs tried by atheris in a process of its own, and what it found (empty: nothing)."""
    with tempfile.TemporaryDirectory() as folder:
        seeds(target, Path(folder) / "corpus")
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                INSTRUMENTED,
                target,
                f"{folder}/corpus",
                f"-max_total_time={seconds}",
                f"-max_len={LONGEST}",
                "-timeout=10",
                "-rss_limit_mb=1024",
                "-print_final_stats=1",
                f"-artifact_prefix={folder}/",
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        tried = [
            line.split(":")[-1]
            for line in done.stderr.splitlines()
            if "number_of_executed_units" in line
        ]
        for found in Path(folder).glob("*-*"):
            corpus(target).mkdir(parents=True, exist_ok=True)
            (corpus(target) / found.name[:24]).write_bytes(found.read_bytes())
        return int(tried[-1]) if tried else 0, "" if not done.returncode else done.stderr[-3000:]


def blind(target: str, seconds: int) -> tuple[int, str]:
    """The same with hypothesis, for where there is no atheris."""
    import time

    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    count, until = 0, time.monotonic() + seconds

    @settings(
        max_examples=200_000, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(
        st.one_of(
            st.binary(max_size=LONGEST), st.text(max_size=LONGEST).map(lambda text: text.encode())
        )
    )
    def attempt(data: bytes) -> None:
        nonlocal count
        if time.monotonic() < until:
            count += 1
            TARGETS[target](data)

    try:
        attempt()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what we look for
        return count, f"{type(error).__name__}: {error}"
    return count, ""


def has_atheris() -> bool:
    return not subprocess.run(
        [sys.executable, "-c", "import atheris"], capture_output=True, check=False
    ).returncode


def main() -> None:
    parser = arguments("Fuzz every reader of text that comes from others.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--only", choices=list(TARGETS), action="append")
    asked = parser.parse_args()
    outcome, rows = Outcome(), []
    fuzz = guided if has_atheris() else blind
    print(f"with {'atheris' if fuzz is guided else 'hypothesis, because atheris is not installed'}")
    for target in asked.only or TARGETS:
        tried, found = fuzz(target, asked.seconds)
        rows.append(
            [target, f"{tried:,}", str(asked.seconds), "nothing" if not found else "SOMETHING"]
        )
        if found:
            print(json.dumps({target: found})[:6000].replace("\\n", "\n"))
        outcome.judge(Bar(f"{target}: findings", float(bool(found)), 0, ""))
    print(table("fuzzing", ["target", "inputs", "seconds", "found"], rows))
    outcome.finish(check=asked.check)


if __name__ == "__main__":
    main()
