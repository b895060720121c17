"""The git program, which is required: one function, one question.

Only here git is started; what goes over the network is asked for in `network`.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import GitMissing, StorageFailed, UnsupportedRepository
from ai_lessons.git import processes
from ai_lessons.git.worktree import GIT_VARIABLES, Worktree, is_partial
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# Seconds for a git command that asks no remote: what takes longer hangs
TIMEOUT = 60.0
# Seconds; at a terminal a person types a passphrase
SIGN_TIMEOUT, SIGN_TERMINAL_TIMEOUT = 15.0, 120.0

_NO_PROGRAMS = (
    "--no-pager",
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "i18n.logOutputEncoding=UTF-8"),
    *("-c", "i18n.commitEncoding=UTF-8"),
    *("-c", "diff.orderFile=/dev/null"),  # where the user's names no file, git ends with an error
    *("-c", "submodule.recurse=false"),
    *(
        "-c",
        "diff.ignoreSubmodules=all",
    ),  # git would start itself in a submodule, with the settings of that one
)
# What keeps git from fetching the missing objects of a partial clone.
# Git before 2.45 knows only the second.
OFFLINE: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}

_ONLINE: ContextVar[bool] = ContextVar("online", default=False)
# `check-ignore` refuses --literal-pathspecs, and `config` has to show the user's core.hooksPath
_NOT_LITERAL = frozenset(("check-ignore", "config"))
# a person who asks for a sync sees these as theirs, so their hooks run
_WITH_HOOKS = frozenset(("merge", "push"))


class _Kept(NamedTuple):
    """The settings by git folder, and by that and its flag each `git cat-file` that goes on answering."""

    settings: dict[Path, dict[str, str]]
    readers: dict[tuple[Path, str], subprocess.Popen[bytes]]


_ONCE: ContextVar[_Kept | None] = ContextVar("once", default=None)
# So many names fit into a pipe, so that neither side waits for the other
_ASKED_TOGETHER: Final = 500


class Done(NamedTuple):
    """How a git command ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text, without the last newline."""
        return self.out.decode(errors="replace").rstrip("\n")

    @property
    def names(self) -> list[str]:
        """The names that git ends with a zero byte (`-z`)."""
        names: list[str] = []
        for name in self.out.split(b"\0"):
            if name:
                names.append(os.fsdecode(name))
        return names


def run(
    worktree: Worktree | None,
    *arguments: str,
    cwd: Path | None = None,
    stdin: bytes | None = b"",
    extra: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    terminal: Callable[[bytes], object] | None = None,
) -> Done:
    """Run git on an accepted repository, in its top folder or in `cwd`.

    The exit code is the caller's business.

    `worktree` None: on no repository, in `/` (`init`, `clone`, `--version`). `terminal`: see
    `processes.run`. Raises GitMissing; StorageFailed: not started, or no end within `timeout`
    seconds.
    """
    argv = _argv(worktree, arguments)
    folder = cwd or (worktree.top if worktree else Path("/"))
    env = environment(worktree, extra or {})
    try:
        done = processes.run(
            argv, cwd=folder, stdin=stdin, env=env, timeout=timeout, terminal=terminal
        )
    except subprocess.TimeoutExpired as error:
        raise StorageFailed(
            f"git {_command(arguments)} did not end within {timeout:.0f} seconds"
        ) from error
    except OSError as error:
        raise StorageFailed(f"git could not be started: {error.strerror}") from error
    if _command(arguments) == "config" and (kept := _ONCE.get()):
        kept.settings.clear()
    return Done(done.returncode, done.stdout, done.stderr.decode(errors="replace").strip())


def _argv(worktree: Worktree | None, arguments: Sequence[str]) -> tuple[str, ...]:
    if (program := shutil.which("git")) is None:
        raise GitMissing
    return (program, *fixed(worktree, arguments), *arguments)


@contextmanager
def online() -> Iterator[None]:
    """What is started meanwhile may use the network: clone, fetch, push and what a sync does.

    Nothing else does.
    """
    before = _ONLINE.set(True)
    try:
        yield
    finally:
        _ONLINE.reset(before)


def missing_hint(worktree: Worktree) -> str:
    """What to do where an object is missing.

    A partial clone lacks what nothing fetches in passing.
    """
    return f"git -C {worktree.top} " + (
        "fetch --refetch --no-filter" if is_partial(worktree) else "fsck"
    )


def output(
    worktree: Worktree,
    *arguments: str | bytes,
    stdin: bytes = b"",
    extra: Mapping[str, str] | None = None,
) -> bytes:
    """What a git command prints that reads objects as they are. Raises StorageFailed: it failed."""
    words = [*map(os.fsdecode, arguments)]
    done = run(
        worktree,
        "--no-replace-objects",
        "-c",
        "core.splitIndex=false",
        *words,
        stdin=stdin,
        extra=extra,
    )
    if done.code:
        raise StorageFailed(f"git {words[0]} failed: {done.err}")
    return done.out


def changed_files(worktree: Worktree, *only: str) -> list[tuple[str, str]]:
    """What `git status` lists (of `only` these paths, from the root).

    Its two letters, and the path from the top.
    """
    flags = ("--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", *only)
    files: list[tuple[str, str]] = []
    for row in run(worktree, "status", *flags, cwd=worktree.root).names:
        files.append((row[:2], row[3:]))
    return files


def leave_running(worktree: Worktree, *arguments: str) -> None:
    """Start git in the background for an optional task.

    Raises nothing: the next call tries again.
    """
    with suppress(OSError):
        argv = ["git", *fixed(worktree, arguments), *arguments]
        processes.leave_running(argv, env=environment(worktree, {}), cwd=worktree.top)


def fixed(worktree: Worktree | None, arguments: Sequence[str]) -> tuple[str, ...]:
    """The flags before a git command.

    No programs start that are not the user's choice, and paths are no patterns.
    """
    command = _command(arguments)
    if worktree and (
        command in _NOT_LITERAL or (command in _WITH_HOOKS and not _hooks_are_pulled(worktree))
    ):
        return _NO_PROGRAMS
    # a file may be called `*.md` or `:(top)x.md`
    return (*_NO_PROGRAMS, "--literal-pathspecs", "-c", "core.hooksPath=/dev/null")


def _command(arguments: Sequence[str]) -> str:
    """The name of the git command, which may stand behind flags."""
    words = iter(arguments)
    for word in words:
        if word == "-c":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return arguments[0]


def _hooks_are_pulled(worktree: Worktree) -> bool:
    """Whether the hooks lie among the files of the repository, where the next pull may write them."""
    folder = hooks_folder(worktree)
    inside_git = any(
        folder.is_relative_to(git_dir) for git_dir in (worktree.common_dir, worktree.git_dir)
    )
    return folder.is_relative_to(worktree.top.resolve()) and not inside_git


def hooks_folder(worktree: Worktree) -> Path:
    """Where git looks for hooks: in the folder that the user set, else in that of the clone."""
    setting_of_user = setting(worktree, "core.hooksPath", kind="path")
    return (worktree.top / (setting_of_user or worktree.common_dir / "hooks")).resolve()


def environment(worktree: Worktree | None, extra: Mapping[str, str]) -> dict[str, str]:
    """What git is started with.

    The caller's environment with this repository, no other one in it, and `extra`.
    """
    kept = {}
    for name, value in os.environ.items():
        if name not in GIT_VARIABLES:
            kept[name] = value
    # messages are compared, so they must be English; a question that no person sees would hang us
    kept |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    kept |= {"GIT_PAGER": "cat", "GIT_EDITOR": ":", "GIT_SEQUENCE_EDITOR": ":"}
    # our own hooks are for what people do with git; what we do ourselves was checked before
    kept |= {"AI_LESSONS_NO_HOOKS": "1"}
    if worktree is not None:
        kept["GIT_DIR"] = os.fspath(worktree.git_dir)
        if worktree.top != worktree.git_dir:
            # else a hub, which has no files
            kept["GIT_WORK_TREE"] = os.fspath(worktree.top)
    return {**kept, **({} if _ONLINE.get() else OFFLINE), **extra}


_PEOPLE: Final = (
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
)
_PERSON: Final = expression(r"author\.|committer\.")


def identity(worktree: Worktree, role: str = "COMMITTER") -> str | None:
    """`Name <email>` by git's own rules (includeIf, environment, useConfigOnly).

    None where git would refuse.
    """
    if _ONCE.get():
        kept = settings(worktree)
    else:
        kept = {}
    if kept and not (
        any(name in os.environ for name in _PEOPLE) or any(_PERSON.match(key) for key in kept)
    ):
        # both are the same
        role = "AUTHOR"
    if (person := kept.get(f"var {role}")) is None:
        done = run(worktree, "var", f"GIT_{role}_IDENT")
        if done.code:
            return None
        person = kept[f"var {role}"] = done.text[: done.text.rindex(">") + 1]
    return person


def is_ancestor(worktree: Worktree, ancestor: str, commit: str) -> bool:
    """True if `commit` is or has that ancestor; False also where either is missing."""
    # not by dulwich, which trusts the times of commits: a slow clock may hide an ancestor from it
    return not run(worktree, "merge-base", "--is-ancestor", ancestor, commit).code


def stood(worktree: Worktree, span: str, path: str, blob: str) -> bool:
    """Whether a commit of these gave or took the file at `path` (from the top) this content."""
    flags = (
        "--format=",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--full-history",
        "--diff-merges=separate",
        "-z",
    )
    return blob.encode() in run(worktree, "log", *flags, span, "--", path).out


@contextmanager
def once() -> Iterator[_Kept]:
    """What is asked of git's settings meanwhile is read once, and again after we change one.

    Objects are read by two processes that go on, and not by one for each question. For one job:
    what somebody else sets meanwhile is not seen.
    """
    if outer := _ONCE.get():
        yield outer
        return
    kept = _Kept({}, {})
    before = _ONCE.set(kept)
    try:
        yield kept
    finally:
        _ONCE.reset(before)
        for reader in kept.readers.values():
            _end(reader)


def objects(
    worktree: Worktree, names: Sequence[str], *, contents: bool
) -> list[tuple[list[bytes], bytes]]:
    """The row of `git cat-file` for each of these names, and with `contents` its bytes.

    A row is id, type and size, or why there is none. Raises UnsupportedRepository: git ended, as it
    does at a damaged object. StorageFailed: it could not be started.
    """
    if not names:
        return []
    if contents:
        flag = "--batch"
    else:
        flag = "--batch-check"
    key = (worktree.git_dir, flag)
    with once() as kept, ExitStack() as left_halfway:
        readers = kept.readers
        if key not in readers:
            argv = _argv(worktree, ("--no-replace-objects", "cat-file", flag))
            env, pipe, nothing = environment(worktree, OFFLINE), subprocess.PIPE, subprocess.DEVNULL
            readers[key] = processes.start(
                argv, cwd=worktree.top, env=env, stdin=pipe, stdout=pipe, stderr=nothing
            )
        left_halfway.callback(lambda: _end(readers.pop(key)))
        parts = (names[at : at + _ASKED_TOGETHER] for at in range(0, len(names), _ASKED_TOGETHER))
        try:
            answers = []
            for part in parts:
                for answer in _asked(readers[key], part, contents=contents):
                    answers.append(answer)
        except (OSError, EOFError) as error:
            message = f"the history of {worktree.top} cannot be read: git cat-file ended"
            raise UnsupportedRepository(message, hint=missing_hint(worktree)) from error
        left_halfway.pop_all()
        return answers


def _asked(
    reader: subprocess.Popen[bytes], names: Sequence[str], *, contents: bool
) -> Iterator[tuple[list[bytes], bytes]]:
    """Raises OSError, EOFError: it has ended."""
    if reader.stdin is None or reader.stdout is None:
        raise EOFError
    reader.stdin.write("".join(f"{name}\n" for name in names).encode())
    reader.stdin.flush()
    for _ in names:
        row, data = reader.stdout.readline(), b""
        fields = row.split()
        if contents and len(fields) == 3 and fields[2].isdigit():
            # else "missing", of a name with a space
            data = reader.stdout.read(int(fields[2]) + 1)
        if not (data or row).endswith(b"\n"):
            raise EOFError
        yield fields, data[:-1]


def _end(reader: subprocess.Popen[bytes]) -> None:
    reader.kill()
    reader.communicate()


def settings(worktree: Worktree) -> dict[str, str]:
    """Every setting that applies here, the last of each name: `section.Subsection.key`."""
    kept = _ONCE.get()
    if kept:
        read = kept.settings
    else:
        read = {}
    if worktree.git_dir not in read:
        rows = (row.partition("\n") for row in run(worktree, "config", "--list", "-z").names)
        read[worktree.git_dir] = {
            name: value if newline else "true" for name, newline, value in rows
        }
    return read[worktree.git_dir]


def remotes(worktree: Worktree) -> list[str]:
    """The names of the remotes, as git lists them."""
    keys = (
        key.split(".", 1)[1].rpartition(".")[0]
        for key in settings(worktree)
        if key.startswith("remote.")
    )
    return sorted({name for name in keys if name})


def setting(worktree: Worktree, key: str, *, kind: str | None = None) -> str | None:
    """One setting with everything that applies here, None if unset.

    `kind` as in `git config --type`.
    """
    if _ONCE.get():
        section, _, below = key.partition(".")
        middle, dot, name = below.rpartition(".")
        value = settings(worktree).get(f"{section.lower()}.{middle}{dot}{name.lower()}")
        if value is None or kind is None:
            return value
        if kind == "path" and not value.startswith("%("):
            return os.path.expanduser(value)
    done = run(worktree, "config", *([f"--type={kind}"] if kind else []), "--get", key)
    if done.code == 0:
        return done.text
    return None


def listed(paths: Iterable[str]) -> bytes:
    """Paths as git reads them with `-z` from a pipe.

    There may be more of them than a command line holds.
    """
    entries = []
    for path in paths:
        entries.append(os.fsencode(path) + b"\0")
    return b"".join(entries)


def files_of(worktree: Worktree, commit: str) -> dict[str, str]:
    """The blobs of all plain files of a commit, by path from the top; empty if it cannot be read.

    Fetches nothing.
    """
    arguments = ("--no-replace-objects", "ls-tree", "-r", "-z", "--full-tree", commit)
    rows = run(worktree, *arguments, extra=OFFLINE).out.split(b"\0")
    plain = (row.partition(b"\t") for row in rows if row.startswith(b"100"))
    blobs: dict[str, str] = {}
    for what, _, name in plain:
        blobs[os.fsdecode(name)] = what.split()[2].decode()
    return blobs


def attributes_of(
    worktree: Worktree, paths: Iterable[str], *attributes: str
) -> dict[str, dict[str, str]]:
    """What is stated of these attributes (`set`, `unset`, a value), by path.

    Raises StorageFailed: git did not say.
    """
    done = run(
        worktree, "check-attr", "-z", "--stdin", *attributes, cwd=worktree.root, stdin=listed(paths)
    )
    if done.code:
        raise StorageFailed(f"git does not tell the attributes of files: {done.err}")
    fields = done.out.split(b"\0")[:-1]
    stated = dict[str, dict[str, str]]()
    for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        if value != b"unspecified":
            stated.setdefault(os.fsdecode(path), {})[name.decode()] = os.fsdecode(value)
    return stated


_CONVERSIONS: Final = ("filter", "text", "eol")


@contextmanager
def plain_attributes(
    worktree: Worktree, paths: Iterable[str], *names: str
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Folder and environment in which git knows these attributes of these paths alone.

    The paths are from the root.
    """
    # A filter runs only where the user's own settings define it. By an encoding or `ident`, which a
    # pulled .gitattributes may state as well, git would store other bytes than those that are read
    # and approved.
    stated = attributes_of(worktree, paths, *names)
    words = {"set": "{0}", "unset": "-{0}"}
    with TemporaryDirectory(prefix="ai-lessons-attributes-") as folder:
        lines = (
            _pattern(worktree.prefix + path)
            + "".join(
                f" {words.get(value, '{0}={1}').format(name, value)}"
                for name, value in every.items()
            )
            for path, every in stated.items()
        )
        Path(folder, ".gitattributes").write_bytes(os.fsencode("\n".join(lines)))
        yield (
            Path(folder),
            {"GIT_WORK_TREE": folder, "GIT_INDEX_FILE": os.path.join(folder, "index")},
        )


def _pattern(path: str) -> str:
    """The pattern of attributes that means this path from the top and no other."""
    sign = re.sub(r"([\\*?\[])", r"\\\1", path)
    return '"/' + re.sub(r'(["\\])', r"\\\1", sign).replace("\n", "\\n") + '"'


def cleaned(worktree: Worktree, path: str, data: bytes) -> Done:
    """Store a file at a path (from the root) out of its filter, with its line ends as git has them.

    Its blob.
    """
    command = ("hash-object", "-w", "--stdin", f"--path={worktree.prefix}{path}")
    with plain_attributes(worktree, [path], *_CONVERSIONS) as (folder, extra):
        return run(worktree, *command, cwd=folder, stdin=data, extra=extra)


def checked_out(worktree: Worktree, path: str, blob: str) -> Done:
    """What a checkout of a blob at a path (from the root) would write.

    Out of its filter, with its line ends.
    """
    command = ("cat-file", "--filters", f"--path={worktree.prefix}{path}", blob)
    with plain_attributes(worktree, [path], *_CONVERSIONS) as (folder, extra):
        return run(worktree, *command, cwd=folder, extra=extra)


def smudged(worktree: Worktree, paths: Mapping[str, str]) -> dict[str, bytes]:
    """What a checkout would write for blobs (each with its path from the root), lines ended by LF.

    Downloads nothing.

    Raises UnsupportedRepository: a filter failed, or git said no.
    """
    if not paths:
        return {}
    # git states the size before the filter, so a name that no object has marks the end
    mark = f"end-{secrets.token_hex(16)}"
    names = "".join(f"{blob} {worktree.prefix}{path}\n{mark}\n" for blob, path in paths.items())
    flags = ("-c", "core.autocrlf=false", "-c", "core.eol=lf", "--no-replace-objects", "cat-file")
    extra = {"GIT_LFS_SKIP_SMUDGE": "1", **OFFLINE}
    with plain_attributes(worktree, paths.values(), "filter") as (folder, plain):
        command = (*flags, "--batch", "--filters", "--buffer")
        done = run(worktree, *command, cwd=folder, stdin=os.fsencode(names), extra=extra | plain)
    if done.code:
        raise UnsupportedRepository(f"a git filter failed: {done.err}")
    parts = (part.partition(b"\n") for part in done.out.split(f"\n{mark} missing\n".encode()))
    contents: dict[str, bytes] = {}
    for head, newline, data in parts:
        if newline:
            contents[head[:40].decode()] = data
    return contents


def unmerged(worktree: Worktree) -> frozenset[str]:
    """The paths (relative to `top`) that are in conflict in git's index."""
    paths = []
    for row in run(worktree, "ls-files", "-u", "-z").names:
        paths.append(row.partition("\t")[2])
    return frozenset(paths)


def signed_commit(
    worktree: Worktree,
    tree: str,
    parents: Iterable[str],
    message: bytes,
    people: Mapping[str, str],
    *,
    ask: bool = False,
) -> Done:
    """Make a commit object, signed as git is configured; `people` is GIT_AUTHOR_NAME and its like.

    `ask`: the user at the terminal may be asked for a passphrase or a touch.
    """
    flags = ["-S", tree, *(flag for parent in parents for flag in ("-p", parent))]
    seconds, stdin = (SIGN_TERMINAL_TIMEOUT, None) if ask else (SIGN_TIMEOUT, b"")
    with NamedTemporaryFile(prefix="ai-lessons-message-") as file:
        # ssh-keygen asks on the terminal itself
        file.write(message)
        file.flush()
        command = ("commit-tree", *flags, "-F", file.name)
        terminal = None
        if ask:
            terminal = len
        return run(
            worktree, *command, stdin=stdin, extra=people, timeout=seconds, terminal=terminal
        )
