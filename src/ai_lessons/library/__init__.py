"""The library that every door calls: a module for each topic, a function for each job. Prints nothing, asks nothing.

A job's first argument is the opened `Library`. A module is loaded when it is first named, as in
`library.validating.validate(…)` (PEP 562), because listing must not pay for writing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from ai_lessons.library import browsing as browsing
    from ai_lessons.library import contexts as contexts
    from ai_lessons.library import editing as editing
    from ai_lessons.library import health as health
    from ai_lessons.library import importing as importing
    from ai_lessons.library import indexing as indexing
    from ai_lessons.library import lesson_log as lesson_log
    from ai_lessons.library import lesson_writing as lesson_writing
    from ai_lessons.library import lessons as lessons
    from ai_lessons.library import migrating as migrating
    from ai_lessons.library import model as model
    from ai_lessons.library import multi_repository as multi_repository
    from ai_lessons.library import opened as opened
    from ai_lessons.library import provenance as provenance
    from ai_lessons.library import refreshing as refreshing
    from ai_lessons.library import relating as relating
    from ai_lessons.library import reports as reports
    from ai_lessons.library import restoring as restoring
    from ai_lessons.library import running as running
    from ai_lessons.library import searching as searching
    from ai_lessons.library import setup as setup
    from ai_lessons.library import shared_index as shared_index
    from ai_lessons.library import syncing as syncing
    from ai_lessons.library import usage as usage
    from ai_lessons.library import validating as validating
    from ai_lessons.library.governance import enforced as enforced
    from ai_lessons.library.governance import governing as governing
    from ai_lessons.library.porting import import_bundle as import_bundle
    from ai_lessons.library.porting import porting_export as porting_export
    from ai_lessons.library.promotion import promoting as promoting
    from ai_lessons.library.rules import rule_audit as rule_audit
    from ai_lessons.library.rules import rule_count as rule_count
    from ai_lessons.library.rules import rule_review as rule_review
    from ai_lessons.library.rules import rule_signing as rule_signing
    from ai_lessons.library.rules import rule_trust as rule_trust
    from ai_lessons.library.rules import suggesting as suggesting
    from ai_lessons.library.secrets import secret_gate as secret_gate

FOLDERS = {
    "enforced": "ai_lessons.library.governance.enforced",
    "governing": "ai_lessons.library.governance.governing",
    "import_bundle": "ai_lessons.library.porting.import_bundle",
    "porting_export": "ai_lessons.library.porting.porting_export",
    "promoting": "ai_lessons.library.promotion.promoting",
    "rule_audit": "ai_lessons.library.rules.rule_audit",
    "rule_count": "ai_lessons.library.rules.rule_count",
    "rule_review": "ai_lessons.library.rules.rule_review",
    "rule_signing": "ai_lessons.library.rules.rule_signing",
    "rule_trust": "ai_lessons.library.rules.rule_trust",
    "secret_gate": "ai_lessons.library.secrets.secret_gate",
    "suggesting": "ai_lessons.library.rules.suggesting",
}
"""The modules that lie in a folder below this one."""


if not TYPE_CHECKING:  # else every name would pass for a module

    def __getattr__(name: str) -> ModuleType:
        try:
            return import_module(FOLDERS.get(name, f"{__name__}.{name}"))
        except ModuleNotFoundError as error:
            raise AttributeError(name) from error
