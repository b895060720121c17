"""The place that ends the program: errors as text or JSON, exit codes, reports of bugs."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

import click

from ai_lessons import settings
from ai_lessons.doors import encode
from ai_lessons.doors.cli.command_context import remark
from ai_lessons.doors.cli.commands import walk
from ai_lessons.doors.terminal import clean
from ai_lessons.errors import (
    EXIT_BUG,
    EXIT_INTERRUPTED,
    AiLessonsError,
    Conflict,
    Interrupted,
    NotFound,
    Unreachable,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

NEXT_STEPS: Mapping[type[AiLessonsError], str] = {
    NotFound: "look at how it is written; ai-lessons search WORDS finds entries, ai-lessons list shows what is there",
    UsageError: "the same command with --help says what it takes",
    Conflict: "look at what is there now (ai-lessons show ID), then try again",
    Unreachable: "look at the connection and the address, then run the command again",
    AiLessonsError: "ai-lessons admin doctor checks everything around the files",
}
"""What to do next where an error does not say, by its class; the first that fits."""


def next_step(error: AiLessonsError) -> str:
    """What to do about an error."""
    return error.hint or next(step for kind, step in NEXT_STEPS.items() if isinstance(error, kind))


def in_words(error: AiLessonsError) -> str:
    """The message of an error and, on a line of its own, what to do."""
    return clean(f"{error.message}\nhint: {next_step(error)}")


def run(program: Callable[[], object], args: Sequence[str]) -> int:
    """Call the program; return its exit code, and print an error on stderr, as JSON if `args` have `--json`."""
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
        return _print_error(AiLessonsError(f"the output cannot be written: {error.strerror}"), args, 1)
    except Exception:  # noqa: BLE001  # the last catch of the program: a bug leaves a report, not a traceback
        return _bug(args)
    return code if isinstance(code, int) else 0


def _refuse_bytes(args: Sequence[str]) -> None:
    """Raises UsageError: an argument holds bytes that are no UTF-8."""
    for argument in args:
        if any("\ud800" <= sign <= "\udfff" for sign in argument):
            hint = "type it in UTF-8; for a file: rename it"
            raise UsageError(f"the argument {argument!r} is no UTF-8 text", hint=hint)


def _print_error(error: AiLessonsError, args: Sequence[str], code: int) -> int:
    if "--json" in takewhile(lambda word: word != "--", args):  # what follows is a script's
        error.hint = next_step(error)
        click.echo(encode.dump(encode.error(error)), err=True)
        return code
    # a crash is one line
    remark("error: " + (f"{clean(error.message)}; {error.hint}" if code == EXIT_BUG else in_words(error)))
    return code


def translated(error: click.ClickException) -> AiLessonsError:
    """An error of click as one of ours."""
    if isinstance(error, click.exceptions.NoSuchCommand) and error.ctx:
        hint = _near(error.command_name, error.ctx) or f"see {error.ctx.command_path} --help"
        return UsageError(f"no command {error.command_name!r}", hint=hint)
    if not isinstance(error, click.UsageError):
        return AiLessonsError(error.format_message())
    hint = f"see {error.ctx.command_path} --help" if error.ctx else "see ai-lessons --help"
    if isinstance(error, click.NoSuchOption) and error.ctx and not error.possibilities:
        words = any(parameter.nargs == -1 for parameter in error.ctx.command.params)
        hint = f"as a word: {error.ctx.command_path} -- {error.option_name}; else {hint}" if words else hint
    return UsageError(error.format_message().rstrip("."), hint=hint)


def _near(name: str, ctx: click.Context) -> str:
    """The command of any group with a name near this one, as a hint; empty if none is near."""
    from difflib import get_close_matches

    commands: dict[str, str] = {}
    program = ctx.find_root()
    for path, _ in walk(program.command) if isinstance(program.command, click.Group) else ():
        for n, word in enumerate(path, 1):
            commands.setdefault(word, " ".join((program.command_path, *path[:n])))
    near = get_close_matches(name, commands, 1)
    return f"did you mean: {commands[near[0]]}?" if near else ""


def _forget_output() -> int:
    """Discard the output, which is closed (`| head`) or full, so that the flush at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _of_output(error: OSError) -> bool:
    """Whether it was raised by writing our output: inside `click.echo`, or by the flush in `run`."""
    from traceback import walk_tb

    codes = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
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
    import time
    from importlib.metadata import version

    folder = settings.folders(os.environ).state / "bugs"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"ai-lessons-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}.txt"
    about = f"ai-lessons {version('ai-lessons')}, Python {sys.version}, {platform.platform()}"
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(f"{about}\narguments: {list(args)!r}\n\n{report}")
    return file
