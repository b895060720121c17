"""What a call took, for features that count calls. Where none does, nothing is loaded or timed."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ai_lessons import extensions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    # Words and numbers of a call, by what they are; never what a person wrote or named
    Figures = dict[str, str | int]


@contextmanager
def measured(
    operation: str,
    environ: Mapping[str, str],
    began: float | None = None,
    *,
    failures: bool = True,
) -> Iterator[Figures | None]:
    """Take the time of a call. What is given is filled in meanwhile; None: nobody asks for it.

    `began`: on the monotonic clock, if before now. `failures`: a call that raises counts, too. What
    goes wrong in a feature is its own.
    """
    recorders = extensions.measuring(environ)
    if not recorders:
        yield None
        return
    start = began or time.monotonic()
    figures: Figures = {}
    counts = failures
    try:
        yield figures
        counts = True
    except BaseException as error:
        figures["error"] = type(error).__name__
        raise
    finally:
        seconds = time.monotonic() - start
        for record in recorders if counts else ():
            with suppress(Exception):
                record(operation, seconds, figures, environ)
