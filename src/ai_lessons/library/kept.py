"""A library held open for many jobs that read, by whoever keeps running. For one thread at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ai_lessons.errors import AiLessonsError, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.library.opened import Library

T = TypeVar("T")


class Kept:
    """Opens its library when a job first needs it, and again where what it holds was replaced or is broken."""

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
            # what is kept open may be what is broken: the next call begins afresh
            if not isinstance(error, AiLessonsError) or isinstance(error, StorageFailed):
                self.close()
            raise

    def close(self) -> None:
        """Let go of it."""
        kept, self._library = self._library, None
        if kept is not None:
            kept.close()
