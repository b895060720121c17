"""An entry on its way to another tier: its files as they are, and as they shall be there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import Refused
from ai_lessons.knowledge import frontmatter, layout, markdown, origins
from ai_lessons.knowledge.bundle import beside
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Entry, Kind, Link, Relation
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.origins import promoted
from ai_lessons.knowledge.yaml_edit import REMOVE
from ai_lessons.library import secret_scan
from ai_lessons.library.options import ENTERPRISE, PROJECT, USER
from ai_lessons.library.running import interpreter_of
from ai_lessons.repository import outside
from ai_lessons.repository.commit import author_here
from ai_lessons.repository.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.knowledge.entries import Entry, Light
    from ai_lessons.library.session import RepositorySession

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


def carried(parts: RepositorySession, light: Light) -> Carried:
    """An entry with its files, also the code outside. Raises NotFound, StorageFailed; Refused: that is not trusted."""
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


def placed(
    one: Carried,
    source: RepositorySession,
    target: RepositorySession,
    start: tuple[float, float] | None,
    allow_secrets: Sequence[tuple[str, str]],
) -> Placed:
    """The copy under an id of its own, which says where it comes from. Links lead to what is there; others are named.

    `start`: alpha and beta with which it begins; None: as its author says. The target's catalog is up to date.
    """
    now = source.options.now()
    entry_id, created = frontmatter.new_id(now), frontmatter.stamp(now)
    links, dropped = _links(one.entry, source, target)
    said = one.entry.fields
    changes: dict[str, Any] = {key: REMOVE for key in _LEFT_BEHIND if key in said}
    changes |= {"id": entry_id, "kind": one.entry.kind.value, "title": one.entry.title, "created": created}
    changes["source"] = promoted(
        said.get("source"), one.entry.id, scope_of(source, one.entry), source.options.tier, start
    )
    changes["links"] = frontmatter.link_items(links)
    changes |= {"status": "active"} if one.entry.kind is Kind.LESSON else {}
    changes |= secret_scan.fields(allow_secrets, there=said, text=one.whole)
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


def _links(entry: Entry, source: RepositorySession, target: RepositorySession) -> tuple[list[Link], tuple[str, ...]]:
    """The links of the copy, the one to its original last, and those that lead nowhere in the target."""
    there, known = (one.catalog.many(link.target for link in entry.links) for one in (target, source))
    kept, dropped = [], []
    for link in entry.links:
        now: str | None = link.target
        if link.target not in there:  # what was promoted from it, in the target
            copies = (e for e in target.catalog.edges(link.target) if e.relation == Relation.DERIVED_FROM)
            found = [edge.source for edge in copies if edge.target == link.target]
            now = next((one for one in found if target.catalog.many([one])), None)
        if now is not None and link.target != entry.id:
            kept.append(link._replace(target=now))
        elif link.target != entry.id:
            light = known.get(link.target)
            dropped.append(
                f"{link.relation} {light.handle} {light.title}" if light else f"{link.relation} {link.target}"
            )
    kept.append(Link(Relation.DERIVED_FROM.value, entry.id))
    return list(dict.fromkeys(kept)), tuple(dropped)


def scope_of(parts: RepositorySession, entry: Entry) -> str:
    """The scope that the original has, as groove writes one."""
    stated, tier = entry.fields.get("scope"), parts.options.tier
    if isinstance(stated, str) and origins.is_scope(stated):
        return stated
    if tier == PROJECT:
        return f"{origins.PROJECT}:{place_of(parts)}"
    person = author_here(parts.store.worktree).partition(" <")[0]
    return f"{origins.USER}:{person or 'unknown'}" if tier == USER else origins.GLOBAL


def place_of(parts: RepositorySession) -> str:
    """What the code project around a project's repository, or the enterprise of a tier, is called; else empty."""
    root, tier = parts.store.root, parts.options.tier
    if tier == PROJECT:
        return (root.parent.parent if root.parent.name == ".ai" else root).name
    return tier.removeprefix(ENTERPRISE) if tier.startswith(ENTERPRISE) else ""
