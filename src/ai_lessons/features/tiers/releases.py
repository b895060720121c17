"""What the people of an enterprise let go to another tier: exactly one text, by its digest."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from ai_lessons.app import alike_entries, proposal_context
from ai_lessons.approval.proposals import file_at
from ai_lessons.features.tiers import policies
from ai_lessons.features.tiers.policies import Move, PolicyDecision, counting
from ai_lessons.model import layout
from ai_lessons.model.entries import RELEASED

if TYPE_CHECKING:
    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.model.entries import Entry

# Keys of the original that its copy does not get.
LEFT_BEHIND = ("promoted_to", "reason", "reviewed", "scope", "proves", "path", RELEASED)


_OWN = frozenset(
    (*LEFT_BEHIND, "id", "kind", "title", "created", "source", "links", "status", "allow_secrets")
)


def digest(entry: Entry) -> str:
    """A digest of what an entry says, without what a copy says of itself."""
    fields = {}
    for key, value in entry.fields.items():
        if key not in _OWN:
            fields[str(key)] = value
    parts = (entry.kind.value, entry.title, entry.body.strip(), entry.code, fields)
    return sha256(
        json.dumps(parts, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]


def releases_of(entry: Entry) -> dict[str, str]:
    """The tiers that an entry may go to, each with the digest of the text that was meant."""
    rows = entry.fields.get(RELEASED)
    digests: dict[str, str] = {}
    if not isinstance(rows, list):
        return digests
    for row in rows:
        # a person may have written anything there
        if isinstance(row, dict):
            for tier, name in row.items():
                digests[str(tier)] = str(name)
    return digests


def lets_go(entry: Entry, original: Entry, target: str) -> bool:
    """Whether an entry of the enterprise is the same text, and says that this may go to that tier."""
    return digest(original) == digest(entry) == releases_of(entry).get(target)


def released(repo: RepositorySession, original: Entry, target: str) -> bool:
    """Whether the approval branch (and the remote's, if known) has exactly this text and says that it may go there.

    Raises UnsupportedRepository: the history cannot be read.
    """
    branches = counting(repo)
    repo.current()

    def says_so(commit: str, path: str) -> bool:
        files = {}
        # a script's frontmatter is in a file beside it
        for name in (path, layout.side_of(path)):
            data = file_at(repo.store.worktree, commit, name)
            if data is not None:
                files[name] = data
        entry = proposal_context.entry_of(path, files)
        return entry is not None and lets_go(entry, original, target)

    if not branches:
        return False
    for summary in repo.catalog.many(alike_entries.copies(repo, original)).values():
        # what only this clone has merged, the remote's people did not release
        if all(says_so(commit, summary.path) for _, commit in branches):
            return True
    return False


def decide(library: Library, move: Move) -> PolicyDecision:
    """As `policies.decide`, with the releases that stand on approval branches."""
    return policies.decide(library, move, released)
