"""A program on a real pseudo-terminal, and what a person does there."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pexpect

from real_world import put_program

Child: TypeAlias = "pexpect.spawn[str]"
Spawn: TypeAlias = Callable[..., Child]


def reply(child: Child, question: str, answer: str) -> None:
    """Wait for a question (a regular expression), and type a line."""
    child.expect(question)
    child.sendline(answer)


def finish(child: Child) -> tuple[int | None, str]:
    """Exit code and what was printed since the last expectation."""
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus, str(child.before).replace("\r\n", "\n")


def interrupt(child: Child) -> tuple[int | None, str]:
    """Press Ctrl-C; again if nothing happens: a signal just before Python's `input` blocks waits for the next key."""
    text = ""
    for _ in range(10):
        child.sendcontrol("c")
        ended = child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=3) == 0
        text += str(child.before)
        if ended:
            break
    child.close()
    return child.exitstatus, text


def editor(folder: Path, script: str) -> str:
    """An editor that does what the shell script says to the file `$1`."""
    return str(put_program(folder / "editor.sh", f"#!/bin/sh\n{script}\n"))
