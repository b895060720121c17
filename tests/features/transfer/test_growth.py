"""Instructions and notes of hostile shapes are read in time with their length, as `tests/test_growth.py` has it."""

import resource
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime

from ai_lessons.errors import AiLessonsError
from ai_lessons.features.transfer import instruction_files, notes

SECONDS = 30
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def read() -> None:
    ours = "<!-- >>> ai-lessons >>> -->\n" * 20_000
    globs = f"---\nglobs: {'{' * 60_000}\n---\ntext\n"
    for text in (ours, globs, "[[" * 100_000, "[[a|" * 100_000, "because " * 20_000):
        instruction_files.instructions("AGENTS.md", f"{text}\ntext\n".encode(), split_up=True)
        with suppress(AiLessonsError):
            notes.linked([notes.note("a.md", f"{text}\ntext\n".encode(), None, NOW)])


def test_hostile_instructions_are_read_in_time_with_their_length() -> None:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    read()
