"""The git program, which is required: one function, one question.

Every call has a time limit, no terminal to ask on, and an environment without the variables by which a surrounding
git command (we may run inside its hook) would point us at its own repository and index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import GitMissing, StorageFailed
from ai_lessons.repository.running import programs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

TIMEOUT = 60.0
SIGN_TIMEOUT = 15.0

# what `git rev-parse --local-env-vars` lists, less GIT_CONFIG_PARAMETERS and GIT_CONFIG_COUNT: those two carry
# settings that the user gave on purpose (`git -c`), and git itself passes them on
_LOCAL = frozenset(
    (
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    )
)


@dataclass(frozen=True, slots=True)
class Done:
    """How a git command ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text, without the last newline."""
        return self.out.decode(errors="replace").rstrip("\n")


_TRUE = frozenset(("true", "yes", "on", "1"))
"""What git takes for true; any other number but 0 is, too, and nobody writes it."""


def program() -> str | None:
    """Where the git program is."""
    return shutil.which("git")


def run(
    cwd: Path,
    *arguments: str,
    stdin: bytes = b"",
    extra: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> Done:
    """Run git in `cwd`. The exit code is the caller's business.

    Raises:
        GitMissing: there is no git. StorageFailed: it did not end within `timeout` seconds, or could not be started.
    """
    found = program()
    if found is None:
        raise GitMissing
    try:
        done = programs.run([found, *arguments], cwd=cwd, stdin=stdin, env=environment(extra or {}), timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise StorageFailed(f"git {arguments[0]} did not end within {timeout:.0f} seconds") from error
    except OSError as error:
        raise StorageFailed(f"git could not be started: {error.strerror}") from error
    return Done(done.returncode, done.stdout, done.stderr.decode(errors="replace").strip())


def leave_running(cwd: Path, *arguments: str) -> None:
    """Start git in `cwd` for something that nobody waits for or depends on; nothing where there is no git."""
    found = program()
    if found is not None:
        with suppress(OSError):  # no more processes: whoever asks for such a thing asks again
            programs.leave_running([found, *arguments], env=environment({}), cwd=cwd)


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """What git is started with: the caller's environment without another repository in it, and `extra`."""
    kept = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    # messages are compared, so they must be English; a prompt nobody sees would hang us
    kept |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    # our own hooks are for what people do with git; what we do ourselves was checked before
    return kept | {"AI_LESSONS_NO_HOOKS": "1", **extra}


def trusts(top: Path) -> bool:
    """True if git agrees to work on the repository there, which honours `safe.directory`."""
    done = run(top, "rev-parse", "--git-dir")
    return done.code == 0


def identity(cwd: Path, role: str = "COMMITTER") -> str | None:
    """`Name <email>` by git's own rules (includeIf, environment, useConfigOnly); None where git would refuse."""
    done = run(cwd, "var", f"GIT_{role}_IDENT")
    if done.code:
        return None
    return done.text[: done.text.rindex(">") + 1]


def callers(cwd: Path) -> tuple[str | None, str | None, bool]:
    """Author, committer (as `identity` says) and whether commits shall be signed: one question where three would do.

    `git var -l` guesses a name where `git var GIT_AUTHOR_IDENT` refuses, so it is believed only where somebody stated
    name and address.
    """
    done = run(cwd, "var", "-l")
    rows = [line.partition("=") for line in done.text.splitlines()] if not done.code else []
    said = {key.lower(): value if equals else "true" for key, equals, value in rows}
    signs = said.get("commit.gpgsign", "") if rows else setting(cwd, "commit.gpgsign", kind="bool") or ""

    def who(role: str) -> str | None:
        own = role.lower()
        stated = all(
            os.environ.get(f"GIT_{role}_{part.upper()}", said.get(f"{own}.{part}", said.get(f"user.{part}")))
            for part in ("name", "email")
        )
        ident = said.get(f"git_{own}_ident", "")
        whole = ident[: ident.rfind(">") + 1]
        return whole if stated and whole and not whole.startswith(" <") else identity(cwd, role)

    return who("AUTHOR"), who("COMMITTER"), signs.lower() in _TRUE


def setting(cwd: Path, key: str, *, kind: str | None = None) -> str | None:
    """One setting with everything that applies here, None if unset; `kind` as in `git config --type`."""
    done = run(cwd, "config", *([f"--type={kind}"] if kind else []), "--get", key)
    return done.text if done.code == 0 else None


def listed(paths: Iterable[str]) -> bytes:
    """Paths as git reads them with `-z` from a pipe, where there may be more of them than a command line holds."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def ignored(cwd: Path, paths: Iterable[str]) -> frozenset[str]:
    """Those paths (relative to `cwd`) that somebody has told git to leave alone."""
    asked = listed(paths)
    out = run(cwd, "check-ignore", "--stdin", "-z", stdin=asked).out if asked else b""
    return frozenset(map(os.fsdecode, out.split(b"\0")[:-1]))


def filtered(cwd: Path, paths: Iterable[str]) -> frozenset[str]:
    """Those paths whose content git would change on its way in by an attribute other than line endings."""
    names = tuple(paths)
    asked = ("filter", "ident", "working-tree-encoding")
    done = run(cwd, "check-attr", "-z", "--stdin", *asked, stdin=listed(names))
    if done.code:
        return frozenset()
    fields = done.out.split(b"\0")[:-1]
    triples = zip(fields[::3], fields[2::3], strict=True)
    return frozenset(os.fsdecode(path) for path, value in triples if value not in {b"unspecified", b"unset"})


def blobs_of(cwd: Path, paths: Iterable[str]) -> dict[str, bytes]:
    """Store files as git would on `git add` (line endings, filters); object ids by path, empty where git said no."""
    names = tuple(paths)
    done = run(cwd, "hash-object", "-w", "--stdin-paths", stdin=b"".join(_quoted(name) + b"\n" for name in names))
    ids = done.out.split() if not done.code else []
    return dict(zip(names, ids, strict=True)) if len(ids) == len(names) else {}


def _quoted(path: str) -> bytes:
    """A path for a line of its own: git unquotes what begins with a quotation mark."""
    raw = os.fsencode(path)
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"' if raw.startswith(b'"') else raw


def unmerged(cwd: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths (relative to `cwd`) that are in conflict in git's index."""
    done = run(cwd, "ls-files", "-u", "-z")
    wanted = frozenset(paths)
    if not done.out:
        return ()
    found = {os.fsdecode(row.partition(b"\t")[2]) for row in done.out.split(b"\0")[:-1]}
    return tuple(sorted(found & wanted))


def staged(cwd: Path, paths: Iterable[str]) -> dict[str, tuple[int, str, int]]:
    """Mode, blob id and stage of those paths (relative to `cwd`) that git's index holds; stage 0: not in conflict."""
    names = tuple(sorted(paths))
    done = run(cwd, "ls-files", "-s", "-z", "--", *names, extra={"GIT_LITERAL_PATHSPECS": "1"})
    found = {}
    for row in done.out.split(b"\0")[:-1]:
        entry, _, path = row.partition(b"\t")
        mode, blob, stage = entry.split(b" ")
        found[os.fsdecode(path)] = (int(mode, 8), blob.decode(), int(stage))
    return {path: found[path] for path in names if path in found}


def left_out(cwd: Path, paths: Iterable[str]) -> frozenset[str]:
    """Those paths (relative to `cwd`) that a sparse checkout leaves out of the working tree."""
    names = tuple(sorted(paths))
    if not names:
        return frozenset()
    done = run(cwd, "ls-files", "-t", "-z", "--", *names, extra={"GIT_LITERAL_PATHSPECS": "1"})
    rows = done.out.split(b"\0")[:-1]
    return frozenset(os.fsdecode(row[2:]) for row in rows if row.startswith(b"S "))


def checked_out(cwd: Path, path: str, blob: str) -> bytes | None:
    """A blob as git would write it to `path` (line endings, filters); None where git said no."""
    done = run(cwd, "cat-file", "--filters", f"--path={path}", blob)
    return done.out if not done.code else None


def update_index(cwd: Path, index: Path, rows: bytes) -> Done:
    """Apply `--index-info` rows to an index file that is not git's own (a copy)."""
    return run(
        cwd,
        "-c",
        "core.fsmonitor=false",
        "update-index",
        "--add",
        "--replace",
        "-z",
        "--index-info",
        stdin=rows,
        extra={"GIT_INDEX_FILE": str(index)},
    )


def signed_commit(cwd: Path, tree: str, parents: Iterable[str], message: bytes, people: Mapping[str, str]) -> Done:
    """Make a commit object signed by whatever the user configured; `people` is GIT_AUTHOR_NAME and its like."""
    flags = [flag for parent in parents for flag in ("-p", parent)]
    return run(cwd, "commit-tree", "-S", tree, *flags, stdin=message, extra=people, timeout=SIGN_TIMEOUT)
