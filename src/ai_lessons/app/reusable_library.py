"""A library that stays open between jobs, as long as its files are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.app.workspace import Library, T


class ReusableLibrary:
    """A library held open for many jobs that read, for one thread at a time.

    Opens its library when a job first needs it, and again where what it holds was replaced or is
    broken.
    """

    def __init__(self, make: Callable[[], Library]) -> None:
        self._make = make
        self._library: Library | None = None

    def do(self, job: Callable[[Library], T]) -> T:
        """Do a job on it."""
        if self._library is not None and self._library.replaced:
            self.close()
        try:
            self._library = self._library or self._make()
            return job(self._library)
        except BaseException as error:
            # whatever it is, Ctrl-C too: what is kept open may be what is broken or half done, so
            # the next call begins afresh
            if not isinstance(error, AiLessonsError) or isinstance(error, StorageFailed):
                self.close()
            raise

    def close(self) -> None:
        """Close the library."""
        kept, self._library = self._library, None
        if kept is not None:
            kept.close()
