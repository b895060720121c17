"""The policy `signed` in one clone: which keys count, and what their signatures put in force. Loads `cryptography`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.repository import repository_name
from ai_lessons.repository.approval.record_chain import trusted_signers
from ai_lessons.repository.approval.rule_files import SIGNERS
from ai_lessons.repository.approval.rule_history import read_blobs
from ai_lessons.repository.approval.signed import with_signatures
from ai_lessons.repository.approval.signers import PinnedKeys, fingerprint, key_type, parse_signers
from ai_lessons.repository.store import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.library.options import Options
    from ai_lessons.repository.approval.approval_types import BranchView
    from ai_lessons.repository.approval.signers import Signer
    from ai_lessons.repository.worktree import Worktree

COMMAND = "ai-lessons admin trust-keys"


class Trusted(NamedTuple):
    """The keys that count for one repository, and why the list inside it does not, if it does not.

    Where nothing is `pinned` no key counts.
    """

    repository: str
    pinned: bool
    signers: tuple[Signer, ...]
    reason: str = ""


class Signatures:
    """Judges views by signatures. For one thread at a time."""

    def __init__(self, worktree: Worktree, options: Options) -> None:
        self._worktree, self._options = worktree, options
        self._asked = False
        self.notes: tuple[str, ...] = ()

    def judge(self, view: BranchView) -> BranchView:
        """The view with verdicts by signatures; the first time it asks whom to trust. Raises Refused, StorageFailed."""
        if view.tip is None:
            return view
        trusted = self.trusted(view)
        text, keys = (b"", ()) if trusted.pinned else self.proposed(view)
        ask = None if self._options.agent or self._asked else self._options.ask_keys
        # a history that was rewritten down to its first commit would pass for a new repository: alarms come first
        if keys and ask is not None and not view.alarms:
            self._asked = True
            question = f"{self._worktree.root.name}: rules here need signatures. Trust these keys to approve them?"
            if ask(question, described(keys)):
                self.pin(trusted.repository, text)
                trusted = self.trusted(view)
        self.notes = ()
        if not trusted.pinned:
            hint = COMMAND if keys else f"list them in {SIGNERS} on the approval branch"
            note = f"approvals have to be signed here, and no keys are trusted yet: no rule is in force ({hint})"
            self.notes = (note,)
            return view
        if not trusted.signers:
            self.notes = (f"approvals have to be signed here, and the list of trusted keys is empty: {COMMAND}",)
        elif trusted.reason:
            note = f"{trusted.reason}, so only the keys count that you trusted before ({COMMAND})"
            self.notes = (note,)
        return with_signatures(
            self._worktree, view, trusted.signers, repository=trusted.repository, threshold=view.policy.threshold
        )

    def trusted(self, view: BranchView) -> Trusted:
        """The keys that count now for this branch. Asks nobody."""
        name = repository_name.find(self._worktree, view.ref, view.tip or "")
        data = PinnedKeys(self._options.config_dir, name).read()
        if data is None:
            return Trusted(name, pinned=False, signers=())
        pinned, _ = parse_signers(data.decode("utf-8", "replace"))
        lists, signatures = view.signer_lists
        if SIGNERS not in view.files or view.files[SIGNERS] == blob_id(data):
            return Trusted(name, pinned=True, signers=pinned)
        texts = read_blobs(self._worktree, {*lists, *signatures})
        # an older list that is put back was replaced by a newer one, so the newest that is signed counts
        reason = "the list of signers in the repository is not signed"
        for text in (texts[blob] for blob in reversed(lists) if blob in texts):
            listed, _ = parse_signers(text.decode("utf-8", "replace"))
            for armoured in (texts[blob].decode("utf-8", "replace") for blob in signatures if blob in texts):
                at = self._options.now().timestamp()
                signers, reason = trusted_signers(pinned, listed, text, armoured, at=at)
                if not reason:
                    is_tip = view.files[SIGNERS] == blob_id(text)
                    late = "" if is_tip else "the list of signers on the branch is not the newest that is signed"
                    return Trusted(name, pinned=True, signers=signers, reason=late)
        return Trusted(name, pinned=True, signers=pinned, reason=reason)

    def proposed(self, view: BranchView) -> tuple[bytes, tuple[Signer, ...]]:
        """The list inside the repository, as text and as far as it can be read; empty if there is none."""
        blob = view.files.get(SIGNERS)
        found = read_blobs(self._worktree, {blob}) if blob else {}
        if blob and blob not in found:
            raise AiLessonsError(f"{SIGNERS} is missing in git", hint="git fsck")
        text = found[blob] if blob else b""
        return text, parse_signers(text.decode("utf-8", "replace"))[0]

    def pin(self, repository: str, text: bytes) -> str:
        """Trust exactly the keys of this list from now on; the file that says so."""
        pinned = PinnedKeys(self._options.config_dir, repository)
        pinned.pin(text)
        return str(pinned.file)


def described(keys: Iterable[Signer]) -> list[str]:
    """A line for each key, for people: fingerprint, principals, type."""
    return [f"{fingerprint(one.key)} {one.principals} ({key_type(one.key)})" for one in keys]
