"""Whose signatures approve rules, pinned on this machine; a person agrees to each change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.pending_rules import judged_branch
from ai_lessons.approval import state
from ai_lessons.approval.signatures import COMMAND, LIMIT, PinnedSigners, parse_signers
from ai_lessons.errors import Refused, UsageError
from ai_lessons.git import external_files
from ai_lessons.model.entries import Kind, handle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ai_lessons.app.workspace import Library, RepositorySession


class PinnedList(NamedTuple):
    """Whose signatures approve rules, pinned in `file`.

    `keys` has a line for each: fingerprint, principals, type.
    """

    file: str
    keys: tuple[str, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _named_in(data: bytes, file: Path | None) -> list[str]:
    """The signers that a list names. Raises UsageError: none."""
    named = [str(signer) for signer in parse_signers(data)]
    if not named:
        # an empty list would put every rule out of force
        hint = "a line each: ADDRESS and the public key, or ADDRESS openpgp FINGERPRINT"
        raise UsageError(f"{file} names no signer", hint=hint)
    return named


def signers(
    library: Library,
    file: Path | None,
    ask: Callable[[str, list[str]], bool] | None,
    *,
    copy: bool = False,
    name: str = "",
) -> PinnedList:
    """Whose signatures approve rules here; with a `file` those on it alone, if `ask` agrees.

    `copy`: this is a copy of the repository that a list is for, so its address finds that list from
    now on. `name`: what the lines of approval here call the list, where that was made at another
    address. Raises NotFound, Refused, UsageError, StorageFailed.
    """
    repo = library.primary
    ref = repo.approval_ref()
    pinned = repo.rules.signers(ref)
    present, by_address = pinned.matching()
    before = [str(signer) for signer in pinned.read() or ()]
    if file is None and not copy:
        return PinnedList(str(pinned.file()), tuple(before))
    repo.options.refuse_agents("say whose signatures count", f"{COMMAND} FILE")
    if file is None and (present is None or by_address):
        raise UsageError(
            "no list of another address was found for this repository, so there is "
            "nothing to add it to"
        )
    data = b""
    if file is not None:
        data, _ = external_files.read(repo.options.cwd / file, LIMIT)
    elif present:
        data = present.data
    listed = _named_in(data, file)
    gone: list[str] = []
    # a list of another address stays beside this one
    if present and (by_address or copy):
        gone = [signer for signer in before if signer not in listed]
    changes: list[str] = []
    # to say what changes is to judge all history again: only for a person who is asked
    if gone and ask:
        changes = list(_what_changes(repo, ref, pinned, data))
    _ask_for_trust(ask, repo.store.root.name, listed, gone, changes)
    pinned.pin(data, copy=copy, name=name)
    repo.current()
    added = tuple(signer for signer in listed if signer not in before)
    if changes:
        changes.append(
            "to keep what was served, look at these and sign them again: ai-lessons admin "
            "review-rules"
        )
    file_now = str(repo.rules.signers(ref).file())
    return PinnedList(file_now, tuple(listed), added, tuple(gone), (*changes, *repo.rules.notes))


def _ask_for_trust(
    ask: Callable[[str, list[str]], bool] | None,
    name: str,
    listed: list[str],
    gone: list[str],
    changes: list[str],
) -> None:
    """Ask the person whether these keys approve rules, with what that changes.

    Raises Refused: no.
    """
    if ask is None:
        raise Refused(
            "whom to trust is a person's decision, and there is no terminal to ask on", hint="--yes"
        )
    if gone:
        less = f" (and these no longer: {', '.join(gone)})"
    else:
        less = ""
    if changes:
        consequences = f"; {'; '.join(changes)}"
    else:
        consequences = ""
    if not ask(f"{name}: trust these keys to approve rules{less}{consequences}?", listed):
        raise Refused("no key is trusted that was not before; nothing was changed")


def _what_changes(
    repo: RepositorySession, ref: str, pinned: PinnedSigners, data: bytes
) -> Iterator[str]:
    """The rules that another list of signers would change."""
    before = judged_branch(repo)
    after = state.derive(repo.store.worktree, ref, pinned.with_data(data), only_look=True)
    for rule, verdict in sorted(before.verdicts.items()):
        now = after.verdicts.get(rule)
        if verdict.in_force and (now is None or now.blob != verdict.blob):
            if now and now.in_force:
                goes = "goes back to an earlier text"
            else:
                goes = "is not in force any more"
            yield f"{handle(Kind.RULE, rule)} {verdict.path} {goes}"
