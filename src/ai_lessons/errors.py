"""All errors: a message, a hint with the next command, and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

# EX_SOFTWARE of sysexits.h
EXIT_BUG = 70
# 128 and the number of SIGINT, as shells have it
EXIT_INTERRUPTED = 130


class AiLessonsError(Exception):
    """Root of the tree. `message` is one sentence; `hint` is the next command to try, or empty."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(AiLessonsError):
    """Missing, contradictory or malformed arguments."""

    exit_code = 2


class NotFound(AiLessonsError):
    """Something that was named does not exist."""

    exit_code = 3

    def __init__(
        self, what: str, name: str, *, suggestions: Sequence[str] = (), hint: str = ""
    ) -> None:
        self.what, self.name, self.suggestions = what, name, tuple(suggestions)
        if suggestions:
            near = f"did you mean {', '.join(suggestions)}?"
        else:
            near = ""
        super().__init__(f"no {what} {name!r}", hint=hint or near)


class AmbiguousName(NotFound):
    """More than one entry has this name."""

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        super().__init__(
            "single entry for",
            name,
            suggestions=candidates,
            hint="one of: " + ", ".join(candidates),
        )


class NoRepository(NotFound):
    """No knowledge repository at this path."""

    def __init__(self, path: str) -> None:
        super().__init__(
            "knowledge repository at", path, hint=f"make one: ai-lessons --repo {path} admin init"
        )


class Problem(NamedTuple):
    """A problem of a file; `line` is 1-based, 0 for the whole file.

    `fixable` by `admin validate --fix`.
    """

    path: str
    message: str
    line: int = 0
    fixable: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line or 1}: {self.message}"


class InvalidEntry(AiLessonsError):
    """Entries that break the format, with all their problems."""

    exit_code = 4

    def __init__(self, problems: Sequence[Problem], *, hint: str = "") -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, problems)), hint=hint)


class Conflict(AiLessonsError):
    """The current state is not what the change was based on, or the name is taken."""

    exit_code = 5


class UnsavedEdits(AiLessonsError):
    """The job would lose edits that are in no commit."""

    exit_code = 6


class Unreachable(AiLessonsError):
    """A remote or a model source did not answer."""

    exit_code = 7


class Refused(AiLessonsError):
    """A policy or a safety rule forbids it."""

    exit_code = 8


class StorageFailed(AiLessonsError):
    """The disk or the operating system failed.

    Full, read-only, not permitted, too many open files.
    """


class Interrupted(AiLessonsError):
    """Ctrl-C; `where` names the job and its progress."""

    exit_code = EXIT_INTERRUPTED

    def __init__(self, where: str = "") -> None:
        hint = (
            "what was already written is kept, nothing is half done; run the command again to go on"
        )
        super().__init__(f"interrupted{where}", hint=hint)


class GitMissing(AiLessonsError):
    """There is no git program; only reading entries works without it."""

    def __init__(self) -> None:
        super().__init__(
            "there is no git program", hint="install git: https://git-scm.com/downloads"
        )


class UnsupportedRepository(AiLessonsError):
    """A repository format or state that is not supported; nothing was changed."""
