"""The jobs: a module for each topic, a function for each job. Prints nothing and asks nothing.

A module is loaded when it is first named, as in `app.editing.add_lesson(…)`: a list must not pay
for writing. Begin with `workspace` (what is open), then `answers` (what jobs take and give).
Imports all packages but `interfaces`. What a module uses of another counts as an import of it, and
no circle is among them (`tests/test_architecture.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import submodules

if TYPE_CHECKING:
    # isort: off
    from ai_lessons.app import (
        additions as additions, agent_sessions as agent_sessions, alike_entries as alike_entries,
        answers as answers, arrivals as arrivals, asking as asking, authorship as authorship,
        counted_elsewhere as counted_elsewhere, daemon_client as daemon_client,
        edited_files as edited_files, editing as editing, effects as effects, entries as entries,
        events as events, gathering as gathering, health as health,
        history_of_entries as history_of_entries, hit_pieces as hit_pieces,
        index_places as index_places, index_upkeep as index_upkeep, judging as judging,
        kept_files as kept_files, learned as learned, lessons as lessons,
        link_effects as link_effects, linking as linking,
        merged_proposals as merged_proposals, migration as migration, notes as notes,
        open_repository as open_repository, options as options, outdated as outdated,
        overview as overview, pending as pending, pending_rules as pending_rules,
        pinned_signers as pinned_signers, program_hooks as program_hooks,
        project_code as project_code, proposal_context as proposal_context, proposals as proposals,
        quoting as quoting, repeated_docs as repeated_docs, repetitions as repetitions,
        repository_settings as repository_settings, reusable_library as reusable_library,
        review as review, rule_audit as rule_audit, rules_here as rules_here,
        rules_in_force as rules_in_force, scaffold as scaffold, search as search,
        search_index as search_index, secrets as secrets, setup as setup, sharing as sharing,
        trust as trust, validation as validation, vector_progress as vector_progress,
        vector_sharing as vector_sharing,
        versions_asked as versions_asked, workspace as workspace, write_checks as write_checks,
        written as written,
    )  # fmt: skip

if not TYPE_CHECKING:
    # else every name would pass for a module
    __getattr__ = submodules(__name__)
