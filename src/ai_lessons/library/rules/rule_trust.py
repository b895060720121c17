"""What a person says about trust: whose keys count here, and that the alarms of the approval branch were looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, Refused
from ai_lessons.library.rules.rule_answers import Audit, TrustedKeys
from ai_lessons.library.rules.rule_audit import audit
from ai_lessons.library.rules.signatures import described
from ai_lessons.repository.approval import approval_memory
from ai_lessons.repository.approval.rule_files import SIGNERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.library.opened import Library


def trust_keys(library: Library, ask: Callable[[str, list[str]], bool] | None) -> TrustedKeys:
    """Trust exactly the keys that the list of signers on the approval branch names, once `ask` has shown them.

    Raises:
        NotFound: there is no list, or no key in it. Refused: an agent is calling, or the answer is no.
        StorageFailed: the user's folder cannot be written.
    """
    parts = library.primary
    parts.options.refuse_agents("say whom to trust", "ai-lessons admin trust-keys")
    looks = parts.rules.looks()
    if not looks or looks[-1].tip is None:
        raise NotFound("approval branch in", str(parts.store.root), hint="commit something on a branch called main")
    view = looks[-1]
    text, keys = parts.signatures.proposed(view)
    if not keys:
        raise NotFound("list of signers on the approval branch", SIGNERS, hint="write one, commit it, and try again")
    known = parts.signatures.trusted(view)
    listed, before = described(keys), described(known.signers)
    gone = [one for one in before if one not in listed]
    if ask is None:
        raise Refused("whom to trust is a person's decision, and there is no terminal to ask on", hint="--yes")
    if not ask(_question(parts.store.root.name, gone), listed):
        raise Refused("no key is trusted that was not before; nothing was changed")
    file = parts.signatures.pin(known.repository, text)
    parts.current()
    added = tuple(one for one in listed if one not in before)
    return TrustedKeys(known.repository, file, tuple(listed), added, tuple(gone), tuple(parts.rules.notes))


def _question(where: str, gone: list[str]) -> str:
    less = f" (and these no longer: {', '.join(gone)})" if gone else ""
    return f"{where}: trust these keys to approve rules{less}?"


def acknowledge(library: Library, ask: Callable[[str], bool] | None) -> Audit:
    """Take the approval branch as it is now for what was seen last, once `ask` has shown the alarms about it.

    Raises:
        Refused: an agent is calling, or the answer is no. StorageFailed: the memory cannot be written.
    """
    parts = library.primary
    parts.options.refuse_agents("acknowledge alarms", "ai-lessons admin audit --acknowledge")
    found = audit(library)
    if not found.alarms:
        return found
    if ask is None:
        raise Refused("alarms are looked at by a person, and there is no terminal to ask on", hint="--yes")
    looks = parts.rules.looks()
    if not ask("\n".join(found.alarms)):
        raise Refused("the alarms stay; nothing was changed")
    worktree = parts.store.worktree
    memory = approval_memory.load(worktree.state_dir)
    # what is gone is forgotten; the next look remembers what is there
    approval_memory.save(worktree.state_dir, replace(memory, records={}))
    for view in looks:
        approval_memory.acknowledge(worktree, view, view.said)
    return audit(library)
