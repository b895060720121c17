"""An entry on its way to another tier: its files as they are, in their generic form, and as they shall be there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import AiLessonsError, Refused
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import frontmatter, layout, markdown, origins
from ai_lessons.knowledge.bundle import beside
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Entry, Kind, Link, Relation
from ai_lessons.knowledge.evaluation import Names
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.generic import generic, generic_words
from ai_lessons.knowledge.origins import promoted
from ai_lessons.knowledge.yaml_edit import REMOVE
from ai_lessons.library import secret_scan
from ai_lessons.library.options import ENTERPRISE, PROJECT
from ai_lessons.library.running import interpreter_of
from ai_lessons.repository import outside
from ai_lessons.repository.commit_builder import author_here
from ai_lessons.repository.store import Change
from ai_lessons.repository.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from ai_lessons.knowledge.entries import Entry, Light
    from ai_lessons.library.session import RepositorySession

_STAYS = frozenset(
    (
        "id", "kind", "title", "tags", "versions", "confidence", "source", "from", "status", "created", "category",
        "contexts", "applies_to", "pattern", "rationale", "links", "proves", "source_ref", "review_by", "allow_secrets",
    )
)  # fmt: skip
"""Keys that the generic form keeps: what else a frontmatter says, and its comments, no check looks at."""

_LEFT_BEHIND = ("promoted_to", "reason", "reviewed", "scope", "proves", "path")
"""What is said of the original and not of its copy."""


_SOURCE = re.compile(r"^source:[ \t]*\r?\n(?:[ \t]+[^\n]*\n)+", re.MULTILINE)


class Carried(NamedTuple):
    """An entry with the text of the file that holds its frontmatter, and of a script the bytes of its code."""

    entry: Entry
    text: str
    code: bytes | None = None
    executable: bool = False

    @property
    def whole(self) -> str:
        """All its files as one text: what a policy looks at, and what a person releases."""
        return self.text if self.code is None else f"{self.text}\n{self.code.decode('utf-8', 'replace')}"


class Placed(NamedTuple):
    """The copy as it shall be: its files by path, which of them can be run, and the links that are left behind."""

    entry: Entry
    files: Mapping[str, bytes]
    executable: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """What the files say, with empty lines for what we wrote of where it comes from: no author can revise it."""
        file = self.entry.side_path or self.entry.path
        texts = {path: data.decode("utf-8", "replace") for path, data in self.files.items()}
        texts[file] = _SOURCE.sub(lambda found: "\n" * found[0].count("\n"), texts[file], count=1)
        return texts

    @property
    def changes(self) -> list[Change]:
        """What puts them in place."""
        return [
            Change(path, data, executable=path in self.executable or None, expect=None)
            for path, data in self.files.items()
        ]


class Coming(NamedTuple):
    """What is known of the way: tiers by their names, the scope that the original has there, how it stood.

    `start`: alpha and beta with which the copy begins; None: as its author says.
    """

    source: str
    scope: str
    now: datetime
    start: tuple[float, float] | None = None
    allow_secrets: Sequence[tuple[str, str]] = ()


def carried(parts: RepositorySession, light: Light) -> Carried:
    """An entry with its files; of a script that lies outside the repository also the code.

    Raises:
        NotFound, StorageFailed: a file is gone or cannot be read. Refused: the code lies outside and is not trusted.
    """
    entry, text = parts.load(light.id)
    identity = frontmatter.identity(entry) if entry.derived or not text else {}
    text = markdown.edit(text, identity)
    if entry.kind is not Kind.SCRIPT:
        return Carried(entry, text)
    if parts.store.exists(entry.path):
        return Carried(entry, text, parts.store.read(entry.path), parts.executable(entry.path))
    where = outside.expanded(str(entry.fields.get("path") or entry.path))
    code, runs = outside.read(where)
    if not Trust(parts.options.state_dir).knows(code, interpreter_of(entry)):  # a pulled file may name any path
        raise Refused(
            f"{light.handle} names a file outside its repository that this machine does not trust: {where}",
            hint=f"read it, then allow it: ai-lessons admin trust-script {light.handle}",
        )
    return Carried(entry, text, code, runs)


def stripped(one: Carried, names: Names) -> tuple[Carried, tuple[str, ...]]:
    """The generic form, and a line for everything that made way.

    Raises:
        Refused: a script is nothing but code. InvalidEntry: the frontmatter cannot be read.
    """
    if one.entry.kind is Kind.SCRIPT:
        raise Refused(
            f"{one.entry.title!r} is a script, and a script has no form without code",
            hint="promote a lesson that says what it does",
        )
    made = generic(one.text, names)
    found = markdown.parse(made.text)
    said = list(made.replaced)
    fields: dict[str, Any] = {}
    for key, value in found.fields.items():
        if key not in _STAYS:
            said.append(f"{key} -> left out")
        elif isinstance(value, list) and key not in {"links", "proves", "allow_secrets"}:
            fields[key] = [item for item in value if not generic_words(str(item), names).replaced]
            said += [f"{key} {item} -> left out" for item in value if item not in fields[key]]
        else:
            fields[key] = value
    project = GLOBAL_PROJECT if generic_words(one.entry.project, names).replaced else one.entry.project
    if project != one.entry.project:
        said.append(f"project {one.entry.project} -> {project}")
    text = markdown.render({key: value for key, value in fields.items() if value != []}, found.body)
    path = layout.relocated(one.entry.path, project, None)
    path += "" if layout.is_markdown(path) else ".md"
    return Carried(read_entry(path, text.encode()), text), tuple(said)


def placed(
    one: Carried, target: RepositorySession, coming: Coming, original: Light, known: Mapping[str, Light]
) -> Placed:
    """The copy under an id of its own, which says where it comes from. Links lead to what is there; others are named.

    `known` are the entries that the original links, as they are called there. The target's catalog is up to date.
    """
    entry_id, created = frontmatter.new_id(coming.now), frontmatter.stamp(coming.now)
    links, dropped = _links(one.entry, target, original, known)
    said = one.entry.fields
    changes: dict[str, Any] = {key: REMOVE for key in _LEFT_BEHIND if key in said}
    changes |= {"id": entry_id, "kind": one.entry.kind.value, "title": one.entry.title, "created": created}
    changes["source"] = promoted(said.get("source"), original.id, coming.scope, coming.source, coming.start)
    changes["links"] = frontmatter.link_items(links)
    changes |= {"status": "active"} if one.entry.kind is Kind.LESSON else {}
    changes |= secret_scan.fields(coming.allow_secrets, there=said, text=one.whole)
    text = markdown.edit(one.text, changes).encode()
    path = _path(one.entry, target, entry_id, created)
    if one.code is None:
        return Placed(read_entry(path, text), {path: text}, (), dropped)
    side = layout.side_of(path)
    runs = (path,) if one.executable else ()
    return Placed(read_entry(path, one.code, text), {path: one.code, side: text}, runs, dropped)


def _path(entry: Entry, target: RepositorySession, entry_id: str, created: str) -> str:
    """Where new entries of its kind go; a resource to where it lies now, beside what is there."""
    project = entry.project or GLOBAL_PROJECT
    if entry.kind is Kind.LESSON:
        return layout.lesson_path(project, entry.title, entry_id, created)
    if entry.kind is Kind.RULE:
        return layout.rule_path(project, entry.title, entry_id)
    path = entry.path
    if layout.place(path) is None or f"/{entry.kind.folder}/" not in path:
        path = layout.resource_path(entry.kind, project, entry.versions, path.rpartition("/")[2])
    if entry.kind is Kind.DOC and not layout.is_markdown(path):
        path += ".md"  # only Markdown can say where it comes from
    taken = any(map(target.store.exists, (path, layout.side_of(path))))
    return beside(path, entry_id) if taken else path


def _links(
    entry: Entry, target: RepositorySession, original: Light, known: Mapping[str, Light]
) -> tuple[list[Link], tuple[str, ...]]:
    """The links of the copy, the one to its original last, and those that lead nowhere in the target."""
    there = target.catalog.many(link.target for link in entry.links)
    kept, dropped = [], []
    for link in entry.links:
        now = link.target if link.target in there else _copy_of(target, link.target)
        if now is not None and link.target != original.id:
            kept.append(link._replace(target=now))
        elif link.target != original.id:
            light = known.get(link.target)
            dropped.append(
                f"{link.relation} {light.handle} {light.title}" if light else f"{link.relation} {link.target}"
            )
    kept.append(Link(Relation.DERIVED_FROM.value, original.id))
    return list(dict.fromkeys(kept)), tuple(dropped)


def _copy_of(target: RepositorySession, entry_id: str) -> str | None:
    """What was promoted from an entry, in the target."""
    edges = target.catalog.edges(entry_id)
    found = [edge.source for edge in edges if edge.relation == Relation.DERIVED_FROM and edge.target == entry_id]
    return next((one for one in found if target.catalog.many([one])), None)


def scope_of(entry: Entry, tier: str, place: str, person: str, *, generic_form: bool) -> str:
    """The scope that the original has, as groove writes one; the generic form gives no name away."""
    stated = entry.fields.get("scope")
    if generic_form:
        return origins.GLOBAL
    if isinstance(stated, str) and origins.is_scope(stated):
        return stated
    if tier == "project":
        return f"{origins.PROJECT}:{place}"
    return f"{origins.USER}:{person or 'unknown'}" if tier == "user" else origins.GLOBAL


REVISIONS = 10
"""Commits of an entry whose authors are asked for."""

_WHO = re.compile(r"\s*(.*?)\s*<([^<>@\s]*)@[^<>@\s]*>")
_LOGIN = 4
"""Letters from which on the first half of an address is taken for a name."""


def place_of(parts: RepositorySession) -> str:
    """What the code project around a project's repository is called: its top folder."""
    root = parts.store.root
    return (root.parent.parent if root.parent.name == ".ai" else root).name


def names_of(
    parts: RepositorySession, target: RepositorySession, entry: Entry, more: Sequence[str] = (), *, strict: bool = False
) -> Names:
    """Who wrote the entry and works here, and the code project or enterprise that it comes from.

    `strict`, for a text without names: also the project of the entry, unless the target knows one of that
    name. `more` are names that the caller knows.
    """
    tier = parts.options.tier
    who = [author_here(parts.store.worktree), *_authors(parts, entry)]
    found = [match for match in map(_WHO.match, dict.fromkeys(who)) if match]
    projects = [*more]
    projects += [place_of(parts)] if tier == PROJECT else []
    projects += [tier.removeprefix(ENTERPRISE)] if tier.startswith(ENTERPRISE) else []
    if strict and entry.project not in {"", GLOBAL_PROJECT}:
        known = target.catalog.select(Filter(project=entry.project, status=None, limit=1))
        projects += [] if known else [entry.project]
    people = [match[1] for match in found if " " in match[1]] + [match[2] for match in found if _is_login(match[2])]
    return Names(tuple(dict.fromkeys(people)), tuple(dict.fromkeys(projects)))


def _is_login(word: str) -> bool:
    return len(word) >= _LOGIN and not word.isdecimal() and "+" not in word


def _authors(parts: RepositorySession, entry: Entry) -> list[str]:
    try:
        return [f"{one.author} <{one.email}>" for one in parts.history.log(entry.file, REVISIONS)]
    except AiLessonsError:
        return []
