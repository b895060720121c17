"""The library that every door calls: a module for each topic, a function for each job. Prints nothing, asks nothing.

A module is loaded when it is first named, as in `library.validating.validate(…)`: listing must not pay for writing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    # isort: off
    from ai_lessons.library import (
        agent_hooks as agent_hooks, audit as audit, browsing as browsing, comparing as comparing, contexts as
        contexts, editing as editing, exporting as exporting, gate as gate, governing as governing, harvest as
        harvest, health as health, import_sources as import_sources, importing as importing, indexing as indexing,
        lessons as lessons, model as model, multi_repository as multi_repository, opened as opened, packages as
        packages, promoting as promoting, proposal_context as proposal_context, proposing as proposing, provenance as
        provenance, refreshing as refreshing, relating as relating, replay as replay, reports as reports, review as
        review, running as running, search_index as search_index, searching as searching, secret_scan as secret_scan,
        setup as setup, signing as signing, syncing as syncing, telling as telling, transfer as transfer, usage as
        usage, validating as validating, warm as warm,
    )  # fmt: skip

if not TYPE_CHECKING:  # else every name would pass for a module

    def __getattr__(name: str) -> ModuleType:
        path = f"{__name__}.{name}"
        try:
            return import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise  # a package that the module needs is not installed
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
