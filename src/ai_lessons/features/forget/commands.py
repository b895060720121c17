"""The command `admin forget`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from ai_lessons import settings
from ai_lessons.errors import EXIT_BUG, AiLessonsError, Refused
from ai_lessons.features.forget import texts
from ai_lessons.interfaces.cli import text_input
from ai_lessons.interfaces.cli.command import Command
from ai_lessons.interfaces.output import is_terminal

if TYPE_CHECKING:
    from ai_lessons.features.forget.jobs import Asked, Forgetting
    from ai_lessons.interfaces.cli.call import Call

_AS_ARGUMENT = (
    "the text stood on the command line, which other users of this machine and the history of the "
    "shell may have seen; with - it is read from standard input"
)
_HOW = "ai-lessons admin forget, at a terminal"


@click.command(
    "forget",
    cls=Command,
    examples=["L-8F3K2A --plan", "L-8F3K2A", "- --plan < text.txt"],
)
@click.argument("what", metavar="HANDLE|TEXT|-")
@click.option("--plan", is_flag=True, help="Only say where it is, and what removes it from there.")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
def forget(call: Call, /, what: str, *, plan: bool, yes: bool) -> None:
    """Say where an entry or a text still is, and remove it from what is ours.

    Ours are caches, the index with its old versions, vectors, and what was kept of sessions. For
    history and what others have, it prints the commands. A text has at least six characters; - reads
    it from standard input.
    """
    if not plan:
        call.options().refuse_agents("forget texts", _HOW)
        if not yes and not (call.can_ask and is_terminal(sys.stdout)):
            raise Refused(
                "a text is forgotten by a person, who is asked on a terminal",
                hint="see --plan, then repeat the command with --yes",
            )
    try:
        answer = _answer(call, what, plan=plan, yes=yes)
    except AiLessonsError:
        raise
    except Exception as error:  # noqa: BLE001  # the report of a bug would hold the text
        where = _place_of(error)
        message = f"a bug in ai-lessons ({type(error).__name__} in {where})"
        raise _Bug(
            message, hint="report it with this line; no file says more, for the text's sake"
        ) from None
    call.answer(answer, texts.forgetting)


class _Bug(AiLessonsError):
    exit_code = EXIT_BUG


def _place_of(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "?"
    return f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"


def _typed() -> str:
    """The text that comes by standard input; at a terminal it is asked for, and not shown."""
    if not is_terminal(sys.stdin):
        return text_input.read_input()
    text: str = click.prompt("The text (it is not shown)", hide_input=True, err=True)
    return text


def _answer(call: Call, what: str, *, plan: bool, yes: bool) -> Forgetting:
    # help and completion do without
    from ai_lessons.features.forget import jobs, target, traces

    if what == "-":
        meant = target.of_text(_typed())
    else:
        meant = traces.target_of(call.library, what)
        if not meant.entry:
            call.note([_AS_ARGUMENT])
    where = settings.where(os.environ, call.settings.cwd)
    folders = tuple(call.settings.folders_of_features.values())
    asked = jobs.Asked(meant, where, folders)
    if plan or not _confirmed(call, asked, yes=yes):
        return jobs.plan(call.library, asked)
    return jobs.forget(call.library, asked)


def _confirmed(call: Call, asked: Asked, *, yes: bool) -> bool:
    """Show what is there and ask once. Raises Refused: the answer is no."""
    if yes:
        return True
    from ai_lessons.features.forget import jobs
    from ai_lessons.interfaces.cli.prompts import confirm

    before = jobs.plan(call.library, asked)
    if not before.ours:
        return False
    call.say(call.view.fit(texts.forgetting(before, call.view)))
    ours, every = len(before.ours), len(before.places)
    if not confirm(f"\nRemove it from what is ours ({ours} of {every} places)?"):
        raise Refused("nothing was removed", hint="see it again: --plan")
    return True
