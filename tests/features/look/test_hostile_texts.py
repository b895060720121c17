"""Texts whose drawing took time with the square of their length, or worse; see `test_growth`."""

from __future__ import annotations

import resource
import subprocess
import sys

SECONDS = 30


def draw_hostile_texts() -> None:
    from ai_lessons.features.look import drawing

    short = "| a " * 180 + "|\n" + "|-" * 180 + "|\n" + "|\n" * 364 + "\n"
    for text in ("[" * 10_000, "<![CDATA[" * 5_000, "*a_ " * 12_000, "> " * 25_000):
        drawing.markdown(text)
    assert drawing.markdown(short * 4).count("<td") < 4 * 180 * 364


def test_hostile_texts_are_drawn_in_time_with_their_length() -> None:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    draw_hostile_texts()
