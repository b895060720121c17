"""What jobs that write take and give. Frozen values, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.knowledge.entries import Kind, Light
    from ai_lessons.library.answers import Usage


@dataclass(frozen=True, slots=True)
class Written:
    """One entry that was written. `commit` is None while the write waits for one; `tier` is of which repository."""

    id: str
    handle: str
    kind: Kind
    title: str
    path: str
    commit: str | None
    notes: tuple[str, ...] = ()
    tier: str = ""


@dataclass(frozen=True, slots=True)
class LessonDraft:
    """What a new lesson says. `when`, `do` or `dont`, and `because` come together or not at all."""

    title: str
    content: str = ""
    tags: Sequence[str] = ()
    project: str = ""
    confidence: str = "medium"
    source: str = "observed"
    origin: str = "user"
    category: str | None = None
    contexts: Sequence[str] = ()
    applies_to: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    when: str | None = None
    do: str | None = None
    dont: str | None = None
    because: str | None = None
    allow_secrets: Sequence[tuple[str, str]] = ()
    """(fingerprint, reason) of what looks like a secret and may be kept; see `secret_gate`."""


@dataclass(frozen=True, slots=True)
class ResourceDraft:
    """What to import: `paths` are files, folders (with `recursive`) or globs of the caller's file system."""

    kind: Kind
    paths: Sequence[str]
    title: str | None = None
    versions: Sequence[str] = ()
    project: str | None = None
    tags: Sequence[str] = ()
    recursive: bool = False
    in_place: bool = False
    allow_secrets: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did. `skipped` names files left alone, each with the reason."""

    written: tuple[Written, ...]
    unchanged: int
    skipped: tuple[tuple[str, str], ...]
    commit: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PassagePreview:
    """How one passage of a file would be cut: its heading path, size in estimated tokens and first words."""

    path: str
    heading: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class Refreshed:
    """One doc looked at again. `changed` says its file was rewritten; `diff` is a unified diff of the body."""

    handle: str
    title: str
    path: str
    changed: bool
    old_ref: str | None
    new_ref: str | None
    added: int = 0
    removed: int = 0
    diff: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What was said of an entry, and how it stands with that."""

    entry: Light
    outcome: str
    usage: Usage
    notes: tuple[str, ...] = ()
