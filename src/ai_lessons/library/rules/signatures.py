"""The policy `signed` in one clone: which keys count, and what their signatures put in force.

Keys are those that the user pinned outside the repository. The list inside it is what a first look proposes, and after
that counts only as far as a pinned key signed it. Light to import; judging loads `cryptography`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError
from ai_lessons.repository import repository_name
from ai_lessons.repository.approval.signers import PinnedKeys
from ai_lessons.repository.store import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.library.options import Options
    from ai_lessons.repository.approval.approval_types import BranchView
    from ai_lessons.repository.approval.signers import Signer
    from ai_lessons.repository.worktree import Worktree

COMMAND = "ai-lessons admin trust-keys"


@dataclass(frozen=True, slots=True)
class Trusted:
    """The keys that count for one repository, and why the list inside it does not, if it does not.

    `pinned` is False where the user never said whom to trust; then no key counts.
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

    def stamp(self, ref: str) -> str:
        """Names the keys that count as far as they are outside the repository; `-` where this was never asked.

        Where keys hold only for some time, also the day.

        Raises:
            StorageFailed: the user's list cannot be read.
        """
        name = repository_name.noted(self._worktree, ref)
        if not name:
            return "-"
        pinned = PinnedKeys(self._options.config_dir, name)
        data = pinned.read()
        if data is None:
            # somebody whom we can ask has perhaps not been asked yet, if the last read was by a program
            return "?" if self._may_ask else "-"
        day = f"@{self._options.now():%Y-%m-%d}" if b"valid-" in data else ""
        return pinned.digest() + day

    @property
    def _may_ask(self) -> bool:
        return self._options.ask_keys is not None and not self._options.agent

    def judge(self, view: BranchView) -> BranchView:
        """The view with the verdicts by signatures. The first time it asks whom to trust, where somebody can answer.

        Raises:
            Refused: a shallow clone. StorageFailed: what the user trusts, or the state, cannot be read.
        """
        from ai_lessons.repository.approval.signed import with_signatures

        if view.tip is None:
            return view
        trusted = self.trusted(view)
        if not trusted.pinned and self._ask(view, trusted.repository):
            trusted = self.trusted(view)
        self.notes = tuple(self._notes(view, trusted))
        if not trusted.pinned:
            return view
        return with_signatures(
            self._worktree, view, trusted.signers, repository=trusted.repository, threshold=view.policy.threshold
        )

    def trusted(self, view: BranchView) -> Trusted:
        """The keys that count now for this branch. Asks nobody."""
        from ai_lessons.repository.approval.record_chain import trusted_signers
        from ai_lessons.repository.approval.rule_files import SIGNERS
        from ai_lessons.repository.approval.rule_history import read_blobs
        from ai_lessons.repository.approval.signers import parse_signers

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
        from ai_lessons.repository.approval.rule_files import SIGNERS
        from ai_lessons.repository.approval.signers import parse_signers

        (text,) = self._texts(view, (SIGNERS,))
        return text or b"", parse_signers((text or b"").decode("utf-8", "replace"))[0]

    def pin(self, repository: str, text: bytes) -> str:
        """Trust exactly the keys of this list from now on; the file that says so."""
        pinned = PinnedKeys(self._options.config_dir, repository)
        pinned.pin(text)
        return str(pinned.file)

    def _ask(self, view: BranchView, repository: str) -> bool:
        text, keys = self.proposed(view)
        # whoever rewrote the history down to its first commit would be asked about as somebody new: alarms come first
        if not keys or view.alarms or not self._may_ask or self._asked or self._options.ask_keys is None:
            return False
        self._asked = True
        question = f"{self._worktree.root.name}: rules here need signatures. Trust these keys to approve them?"
        if not self._options.ask_keys(question, described(keys)):
            return False
        self.pin(repository, text)
        return True

    def _notes(self, view: BranchView, trusted: Trusted) -> Iterable[str]:
        from ai_lessons.repository.approval.rule_files import SIGNERS

        if not trusted.pinned:
            listed = self.proposed(view)[1]
            hint = COMMAND if listed else f"list them in {SIGNERS} on the approval branch"
            yield f"approvals have to be signed here, and no keys are trusted yet: no rule is in force ({hint})"
        elif not trusted.signers:
            yield f"approvals have to be signed here, and the list of trusted keys is empty: {COMMAND}"
        elif trusted.reason:
            yield f"{trusted.reason}, so only the keys count that you trusted before ({COMMAND})"

    def _texts(self, view: BranchView, paths: Sequence[str]) -> list[bytes | None]:
        from ai_lessons.repository.approval.rule_history import read_blobs

        blobs = [view.files.get(path) for path in paths]
        found = read_blobs(self._worktree, {blob for blob in blobs if blob})
        if any(blob and blob not in found for blob in blobs):
            raise AiLessonsError(f"{paths[0]} is missing in git", hint="git fsck")
        return [found[blob] if blob else None for blob in blobs]


def described(keys: Iterable[Signer]) -> list[str]:
    """A line for each key, for people: fingerprint, principals, type."""
    from ai_lessons.repository.approval.signers import fingerprint, key_type

    return [f"{fingerprint(one.key)} {one.principals} ({key_type(one.key)})" for one in keys]
