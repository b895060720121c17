"""What the shell offers after TAB: real ids, projects, tags and versions of the repository that the line names.

A completion never complains: whatever goes wrong, the shell gets nothing. Values that a shell would take apart or
obey (blanks, quotes, `$(…)`) are never offered, since they come from files that anybody may have written.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from typing import TYPE_CHECKING

from ai_lessons import library
from ai_lessons.doors.terminal import line

if TYPE_CHECKING:
    from collections.abc import Callable

    import click
    from click.shell_completion import CompletionItem

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]

HARMLESS = re.compile(r"[\w./@:+-]+")


def offer(what: str, *, listed: bool = False) -> Completer:
    """A completer for ids, projects, tags or versions; `listed` completes the part after the last comma."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if listed else ("", "", incomplete)
        found = [(value, help_) for value, help_ in _known(ctx, what, last) if HARMLESS.fullmatch(value)]
        return [CompletionItem(before + comma + value, help=line(help_) or None) for value, help_ in found]

    return complete


def _known(ctx: click.Context, what: str, prefix: str) -> list[tuple[str, str]]:
    from ai_lessons import settings
    from ai_lessons.doors.opening import options
    from ai_lessons.library.opened import Library

    given = ctx.find_root().params
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            chosen = settings.load(os.environ, repo=given.get("repo"), tier=given.get("tier"))
            with Library(chosen.repo, options(chosen)) as opened:
                return list(library.browsing.complete(opened, prefix, what))
    except Exception:  # noqa: BLE001  # a word on stderr would land in the middle of the line that is being typed
        return []
