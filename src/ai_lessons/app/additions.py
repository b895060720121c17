"""What features add to an entry that is written, and to one of which a person says that it holds."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.model.entries import Entry, EntrySummary, Kind


class NewText(NamedTuple):
    """An entry on its way into a file.

    `text`: all that it says; empty where only its keys change. `options`: what options of features
    hold, by their names.
    """

    kind: Kind
    project: str
    text: str = ""
    options: Mapping[str, Any] = MappingProxyType({})


class Addition(NamedTuple):
    """Keys of frontmatter with their values (an empty one: without the key), and notes for the writer.

    `globs`: belong into `applies_to`, beside those that are there.
    """

    fields: Mapping[str, Any] = MappingProxyType({})
    globs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Renewed(NamedTuple):
    """What a new look at an entry found.

    `fields`: keys that have another value by now (an empty one: without the key). `changed`: what
    changed since the last look, old and new. `outdated`: what the text still states of the old.
    """

    fields: Mapping[str, Any] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


def additions(repo: RepositorySession, new_text: NewText) -> Addition:
    """What the features add to an entry that is written.

    Raises what they raise where an option cannot be understood.
    """
    fields: dict[str, Any] = {}
    globs: list[str] = []
    notes: list[str] = []
    for _, writing in extensions.added("writing"):
        addition_of: Callable[[RepositorySession, NewText], Addition] = writing
        addition = addition_of(repo, new_text)
        fields |= addition.fields
        globs += addition.globs
        notes += addition.notes
    return Addition(fields, tuple(globs), tuple(notes))


def renewed(repo: RepositorySession, summary: EntrySummary, entry: Entry) -> Renewed:
    """What the features find at a new look at an entry."""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    changed: list[str] = []
    outdated: list[str] = []
    for _, renewal in extensions.concerning("renewal", entry.fields):
        look_again: Callable[[RepositorySession, EntrySummary, Entry], Renewed] = renewal
        found_again = look_again(repo, summary, entry)
        fields |= found_again.fields
        notes += found_again.notes
        changed += found_again.changed
        outdated += found_again.outdated
    return Renewed(fields, tuple(notes), tuple(changed), tuple(outdated))


def evidence(repo: RepositorySession, summary: EntrySummary, reason: str) -> str:
    """What shows a feature's reason to look at an entry again, as a diff; empty if nothing does."""
    place = extensions.named("evidence").get(reason)
    if place is None:
        return ""
    diff_of: Callable[[RepositorySession, EntrySummary], str] = extensions.load(place)
    return diff_of(repo, summary)
