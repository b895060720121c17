"""The library that every door calls: a module for each topic, a function for each job. Prints nothing, asks nothing.

A job's first argument is the opened `Library`. A module is loaded when it is first named, as in
`library.validating.validate(…)` (PEP 562), because listing must not pay for writing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from ai_lessons.library import agent_hooks as agent_hooks
    from ai_lessons.library import audit as audit
    from ai_lessons.library import browsing as browsing
    from ai_lessons.library import contexts as contexts
    from ai_lessons.library import editing as editing
    from ai_lessons.library import exporting as exporting
    from ai_lessons.library import governing as governing
    from ai_lessons.library import health as health
    from ai_lessons.library import import_bundle as import_bundle
    from ai_lessons.library import importing as importing
    from ai_lessons.library import indexing as indexing
    from ai_lessons.library import lesson_writing as lesson_writing
    from ai_lessons.library import lessons as lessons
    from ai_lessons.library import model as model
    from ai_lessons.library import multi_repository as multi_repository
    from ai_lessons.library import opened as opened
    from ai_lessons.library import pending_count as pending_count
    from ai_lessons.library import policies as policies
    from ai_lessons.library import promoting as promoting
    from ai_lessons.library import proposing as proposing
    from ai_lessons.library import provenance as provenance
    from ai_lessons.library import refreshing as refreshing
    from ai_lessons.library import relating as relating
    from ai_lessons.library import reports as reports
    from ai_lessons.library import restoring as restoring
    from ai_lessons.library import review as review
    from ai_lessons.library import running as running
    from ai_lessons.library import searching as searching
    from ai_lessons.library import secret_gate as secret_gate
    from ai_lessons.library import setup as setup
    from ai_lessons.library import shared_index as shared_index
    from ai_lessons.library import signatures as signatures
    from ai_lessons.library import signing as signing
    from ai_lessons.library import syncing as syncing
    from ai_lessons.library import usage as usage
    from ai_lessons.library import validating as validating
    from ai_lessons.library import warm as warm

if not TYPE_CHECKING:  # else every name would pass for a module

    def __getattr__(name: str) -> ModuleType:
        path = f"{__name__}.{name}"
        try:
            return import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise  # a package that the module needs is not installed
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
