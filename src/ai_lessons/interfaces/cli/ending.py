"""The one place that ends a run of the program: exit codes, errors in words, reports of bugs."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

import click

from ai_lessons.errors import (
    EXIT_BUG,
    EXIT_INTERRUPTED,
    AiLessonsError,
    Conflict,
    Interrupted,
    InvalidEntry,
    NotFound,
    Unreachable,
    UsageError,
)
from ai_lessons.interfaces import output
from ai_lessons.interfaces.cli.command import version, walk
from ai_lessons.interfaces.cli.progress import remark
from ai_lessons.interfaces.output import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

# What to do next where an error does not say, by its class; the first that fits.
NEXT_STEPS: Mapping[type[AiLessonsError], str] = {
    NotFound: (
        "look at how it is written; ai-lessons search WORDS finds entries, ai-lessons list "
        "shows what is there"
    ),
    UsageError: "the same command with --help says what it takes",
    InvalidEntry: "nothing was written: mend what is named, then repeat the command",
    Conflict: "look at what is there now (ai-lessons show ID), then try again",
    Unreachable: "look at the connection and the address, then run the command again",
    AiLessonsError: "ai-lessons admin doctor checks everything around the files",
}


def next_step(error: AiLessonsError) -> str:
    """What to do about an error."""
    return error.hint or next(step for kind, step in NEXT_STEPS.items() if isinstance(error, kind))


def in_words(error: AiLessonsError) -> str:
    """The message of an error and, on a line of its own, what to do."""
    return clean(f"{error.message}\nhint: {next_step(error)}")


def run(program: Callable[[], object], args: Sequence[str]) -> int:
    """Call the program.

    Return its exit code, and print an error on stderr, as JSON if `args` have `--json`.
    """
    _open_streams()
    try:
        _refuse_bytes(args)
        code = program()
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except (click.Abort, KeyboardInterrupt):
        return _print_error(Interrupted(), args, EXIT_INTERRUPTED)
    except click.ClickException as error:
        return _print_error(translated(error), args, error.exit_code)
    except AiLessonsError as error:
        return _print_error(error, args, error.exit_code)
    except BrokenPipeError:
        return _forget_output()
    except OSError as error:
        if not _of_output(error):
            return _bug(args)
        _forget_output()
        return _print_error(
            AiLessonsError(f"the output cannot be written: {error.strerror}"), args, 1
        )
    except Exception:  # noqa: BLE001  # the last catch of the program: a bug leaves a report, not a traceback
        return _bug(args)
    if isinstance(code, int):
        return code
    return 0


def _open_streams() -> None:
    """Let a standard stream that was closed (`>&-`) lead nowhere.

    Else the next file that is opened takes its place.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # the lowest number that is free
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _refuse_bytes(args: Sequence[str]) -> None:
    """Raises UsageError: an argument holds bytes that are no UTF-8."""
    for argument in args:
        if any("\ud800" <= sign <= "\udfff" for sign in argument):
            hint = "type it in UTF-8; for a file: rename it"
            raise UsageError(f"the argument {argument!r} is no UTF-8 text", hint=hint)


def _print_error(error: AiLessonsError, args: Sequence[str], code: int) -> int:
    from ai_lessons.settings import is_agent

    if "--json" in takewhile(lambda word: word != "--", args):
        # what follows is for the script
        error.hint = next_step(error)
        click.echo(output.dump(output.error(error)), err=True)
        return code
    if code == EXIT_BUG:
        # a crash is one line
        words = f"error: {clean(error.message)}; {error.hint}"
    else:
        words = f"error: {in_words(error)}"
    if is_agent(os.environ):
        words = output.refused(words)
    remark(words)
    return code


def translated(error: click.ClickException) -> AiLessonsError:
    """An error of click as one of ours."""
    if isinstance(error, click.exceptions.NoSuchCommand) and error.ctx:
        hint = (
            _nearest_command(error.command_name, error.ctx)
            or f"see {error.ctx.command_path} --help"
        )
        return UsageError(f"no command {error.command_name!r}", hint=hint)
    if not isinstance(error, click.UsageError):
        return AiLessonsError(error.format_message())
    if error.ctx:
        hint = f"see {error.ctx.command_path} --help"
    else:
        hint = "see ai-lessons --help"
    if isinstance(error, click.NoSuchOption) and error.ctx and not error.possibilities:
        # a command that takes any number of words may have been meant to take this one
        for parameter in error.ctx.command.params:
            if parameter.nargs == -1:
                word = f"{error.ctx.command_path} -- {error.option_name}"
                return UsageError(_sentence(error), hint=f"as a word: {word}; else {hint}")
    return UsageError(_sentence(error), hint=hint)


def _sentence(error: click.ClickException) -> str:
    return error.format_message().rstrip(".")


# What other programs call what a command does
_OTHER_WORDS = {
    "search": "find query grep ask lookup",
    "show": "get cat view open read",
    "add": "new create remember learn note store",
    "list": "ls all lessons rules docs scripts entries",
    "edit": "modify change",
    "delete": "rm remove del",
    "sync": "pull push fetch",
    "look": "ui web browser serve",
    "undo": "revert rollback",
    "admin save --edits": "commit",
}


def _nearest_command(name: str, ctx: click.Context) -> str:
    """The command that is meant by a word, or has a name near it, as a hint; empty if none is near."""
    if ctx.parent is None:
        for command, words in _OTHER_WORDS.items():
            if name in words.split():
                return f"did you mean: {ctx.command_path} {command}?"
    from difflib import get_close_matches

    program = ctx.find_root()
    if not isinstance(program.command, click.Group):
        return ""
    commands: dict[str, str] = {}
    for path, _ in walk(program.command):
        # each word on the way is a command or a group, which may be what was meant
        for n, word in enumerate(path, 1):
            commands.setdefault(word, " ".join((program.command_path, *path[:n])))
    near = get_close_matches(name, commands, 1)
    if near:
        return f"did you mean: {commands[near[0]]}?"
    return ""


def _forget_output() -> int:
    """Discard the output, which is closed (`| head`) or full, so that the flush at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _of_output(error: OSError) -> bool:
    """Whether it was raised by writing our output.

    Inside `click.echo`, or by the flush in `run`.
    """
    from traceback import walk_tb

    codes = []
    for frame, _ in walk_tb(error.__traceback__):
        codes.append(frame.f_code)
    return click.echo.__code__ in codes or codes[-1] is run.__code__


def _bug(args: Sequence[str]) -> int:
    from traceback import format_exc

    report = format_exc()
    hint = "no report of it can be written on this disk"
    with suppress(OSError, AiLessonsError):
        hint = f"attach this file when you report it: {_save_report(report, args)}"
    message = f"a bug in ai-lessons ({report.strip().splitlines()[-1]})"
    return _print_error(AiLessonsError(message, hint=hint), args, EXIT_BUG)


def _save_report(report: str, args: Sequence[str]) -> Path:
    """Save a report that only the user can read, because arguments may hold private text."""
    import platform

    from ai_lessons.settings import folders

    folder = folders(os.environ).state / "bugs"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"ai-lessons-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}.txt"
    about = f"ai-lessons {version()}, Python {sys.version}, {platform.platform()}"
    with open(
        os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as out:
        out.write(f"{about}\narguments: {list(args)!r}\n\n{report}")
    return file
