"""What an agent did in a session, as its hooks saw it: prompts, edited files, commands.

Kept on this machine only.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ai_lessons.app import secrets
from ai_lessons.app.agent_sessions import ACTS, file_of, locked
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.checks.done_checks import Succeeded
from ai_lessons.git import external_files, files, plumbing, worktree
from ai_lessons.model.shell import commands_in, program_of
from ai_lessons.model.simple_commands import ANSWERS_BY_FAILING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

# bytes of a session
_LIMIT = 4 << 20
# what is kept of each
_PROMPTS, _PROMPT, _COMMANDS, _COMMAND, _FILES, _SPANS = 50, 4_000, 300, 2_000, 2_000, 500
# bytes of a file whose content is compared; of a larger one size and time are
_LARGEST = 4 << 20
# seconds by which the time of a file may differ from ours
_CLOCK = 0.05
# What git does with files that others wrote.
_MOVES = frozenset({
    "checkout", "switch", "pull", "merge", "rebase", "reset", "restore", "stash", "clone", "cherry-pick", "revert",
    "am", "worktree", "bisect", "submodule",
})  # fmt: skip


class Acts:
    """What a session did so far, as `vars` keeps it.

    `said`: what a person said. `files`: by path a digest of what the file held before the session's
    first edit of it. `base`: the commit of the code before the first command that may write;
    `spans`: when such commands began and ended; `running`: those that did not end yet. `ran`:
    command lines that succeeded, when, and whether that is unsure. `held`, `told` and `noted` name
    what was done about rules already; `waiting`: what the agent is told after a call.
    """

    # a dataclass would cost every hook the import of `inspect`
    def __init__(self, kept: Mapping[str, Any] = MappingProxyType({})) -> None:
        """As `vars` was kept. Raises TypeError, ValueError, AttributeError: that is none."""
        self.said: list[str] = list(kept.get("said", ()))
        self.files: dict[str, str] = dict(kept.get("files", {}))
        self.base: str = kept.get("base", "")
        self.spans: list[tuple[float, float]] = [
            (begin, end) for begin, end in kept.get("spans", ())
        ]
        self.running: dict[str, float] = dict(kept.get("running", {}))
        self.ran: dict[str, tuple[float, bool]] = {
            line: (at, sure) for line, (at, sure) in kept.get("ran", {}).items()
        }
        self.held: list[str] = list(kept.get("held", ()))
        self.told: list[str] = list(kept.get("told", ()))
        self.noted: list[str] = list(kept.get("noted", ()))
        self.waiting: list[str] = list(kept.get("waiting", ()))

    def hear(self, text: str) -> None:
        """A person said this."""
        self.said = [*self.said, secrets.without_suspects(text[:_PROMPT])][-_PROMPTS:]

    def will_edit(self, path: Path) -> None:
        """A call is to edit a file."""
        if str(path) not in self.files and len(self.files) < _FILES:
            self.files[str(path)] = digest(path)

    def will_run(self, line: str, cwd: Path) -> None:
        """A command is to run."""
        if may_write(line):
            self.base = self.base or commit_here(cwd)
            self.running[_key(line)] = time.time()

    def has_run(self, line: str, *, worked: bool, unsure: bool) -> None:
        """A command ended."""
        now = time.time()
        begin = self.running.pop(_key(line), None)
        if begin is not None:
            self.spans = [*self.spans, (begin, now)][-_SPANS:]
        # what worked before anything was edited keeps no rule
        if worked and (self.files or self.spans or self.running):
            kept = secrets.without_suspects(line[:_COMMAND])
            self.ran.pop(kept, None)
            self.ran[kept] = (now, unsure)
            while len(self.ran) > _COMMANDS:
                del self.ran[next(iter(self.ran))]

    def fresh(self, *names: str) -> list[str]:
        """Those of the names that were not noted; from now on they are."""
        new = [name for name in dict.fromkeys(names) if name not in self.noted]
        self.noted += new
        return new

    @property
    def succeeded(self) -> list[Succeeded]:
        """The commands that worked."""
        return [Succeeded(line, at, unsure) for line, (at, unsure) in self.ran.items()]


def opened(state_dir: Path, session: str) -> AbstractContextManager[Acts]:
    """What a session did, locked for this process; changes are saved at the end.

    Raises StorageFailed.
    """
    return locked(file_of(state_dir, session, ACTS), _LIMIT, _parsed)


def read(state_dir: Path, session: str) -> Acts:
    """What a session did, changes to which are not saved; nothing where nothing is known."""
    file = file_of(state_dir, session, ACTS)
    with suppress(AiLessonsError):
        return _parsed(files.read_file(file.parent, file.name, _LIMIT)[0])
    return Acts()


def _parsed(data: bytes) -> Acts:
    """What a file says; nothing where a process was killed while it wrote it."""
    with suppress(ValueError, RecursionError, TypeError, AttributeError):
        return Acts(json.loads(data))
    return Acts()


def _key(line: str) -> str:
    return sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def may_write(line: str) -> bool:
    """Whether a command may write files that are the session's own.

    It does not only look, nor bring what others wrote.

    >>> may_write("sed -i s/1/2/ cart.go"), may_write("git pull")
    (True, False)
    >>> may_write("grep -rn total src 2>/dev/null")
    False
    """
    only_looks = True
    for command in commands_in(line):
        words = [program_of(command.words[0]), *command.words[1:]]
        if words[0] == "git" and not _MOVES.isdisjoint(words[1:]):
            return False
        if words[0] not in ANSWERS_BY_FAILING and " ".join(words[:2]) not in ANSWERS_BY_FAILING:
            only_looks = False
    # where the output goes to a file
    writes_to = line.replace("2>&1", "").replace("2>/dev/null", "").replace(">/dev/null", "")
    return ">" in writes_to or not only_looks


def digest(file: Path) -> str:
    """Names what a file holds; empty where there is none."""
    try:
        status = file.stat()
        if status.st_size > _LARGEST:
            return f"{status.st_size} {status.st_mtime_ns}"
        return sha256(file.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return ""


def commit_here(cwd: Path) -> str:
    """The commit that is checked out around a folder; empty where there is none."""
    top = external_files.top_of(cwd)
    if top is None:
        return ""
    done = plumbing.run(worktree.locate(top), "rev-parse", "--verify", "--quiet", "HEAD")
    return "" if done.code else done.text


def edits_of(acts: Acts, cwd: Path) -> dict[str, float]:
    """The files of the project around a folder that the session changed, with the time at which each last changed.

    Those that its calls wrote, if they hold something else now; and where a command wrote, what git sees changed since,
    if it changed while the command ran.
    """
    top = Path(os.path.realpath(external_files.top_of(cwd) or cwd))
    edits = dict[str, float]()
    for name, before in acts.files.items():
        file = Path(os.path.realpath(name))
        inside = file.is_relative_to(top) and (external_files.top_of(file.parent) or top) == top
        if inside and digest(file) != before:
            edits[file.relative_to(top).as_posix()] = _changed_at(file)
    for name in _seen_by_git(acts, top):
        at = _changed_at(top / name)
        if any(begin - _CLOCK <= at <= end + _CLOCK for begin, end in acts.spans):
            edits.setdefault(name, at)
    return _tracked_or_new(top, edits)


def _seen_by_git(acts: Acts, top: Path) -> list[str]:
    """The files that differ from what they were before the first command that may write, or are new."""
    if not acts.spans or not (top / ".git").exists():
        return []
    git = worktree.locate(top)
    differ = plumbing.run(
        git, "diff", "--name-only", "--no-renames", "-z", acts.base or "HEAD", "--", cwd=top
    )
    new = plumbing.run(git, "ls-files", "-z", "--others", "--exclude-standard", cwd=top)
    names: list[str] = []
    for done in (differ, new):
        if not done.code:
            names += done.names
    return names


def _tracked_or_new(top: Path, edits: dict[str, float]) -> dict[str, float]:
    """Without the files that git ignores."""
    if not edits or not (top / ".git").exists():
        return edits
    names = "\0".join(edits).encode("utf-8", "surrogateescape")
    done = plumbing.run(worktree.locate(top), "check-ignore", "-z", "--stdin", cwd=top, stdin=names)
    # 1: none is ignored
    ignored = set() if done.code else set(done.names)
    return {name: at for name, at in edits.items() if name not in ignored}


def _changed_at(file: Path) -> float:
    """When a file last changed; where it is gone, when its folder did."""
    for place in (file, file.parent):
        with suppress(OSError):
            return place.lstat().st_mtime
    return 0.0
