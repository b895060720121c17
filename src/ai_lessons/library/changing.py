"""Changing and removing entries of one repository: the new text of a file, where it moves, and the job that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.knowledge import drafts, layout, markdown, origins
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library import importing
from ai_lessons.library.checking import checked, project_name
from ai_lessons.library.relating import refuse_wrong_kinds
from ai_lessons.repository.store import Applied, Change, blob_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.index.catalog import Catalog
    from ai_lessons.knowledge.entries import Entry, Light
    from ai_lessons.library.parts import Parts
    from ai_lessons.library.writes import Written


def change(
    parts: Parts,
    light: Light,
    changes: Mapping[str, Any],
    subject: str,
    *,
    content: str | None = None,
    project: str | None = None,
    versions: Sequence[str] | None = None,
) -> Written:
    """Change keys of the frontmatter, the body (None: as it is), project or versions, which move the file."""
    entry, text = parts.load(light.id)
    identity: dict[str, Any] = drafts.identity(entry) if entry.derived else {}
    if "source" in changes:
        changes = {**changes, "source": origins.with_word(entry.fields.get("source"), changes["source"])}
    body = None if content is None else drafts.body_of(content)
    if body is not None and text:
        parts.keep_edits([entry.file])
    new_text = markdown.edit(text, {**identity, **changes}, body)
    moved = layout.relocated(entry.path, project_name(project) if project else None, versions)
    return rewrite(parts, entry, text, new_text, moved, subject)


def rewrite(parts: Parts, entry: Entry, text: str, new_text: str, path: str, subject: str) -> Written:
    """Put the new text of an entry's frontmatter file in place, under another path if it moves.

    Of a rule a proposal is made: what is in force changes only by a person's hand.
    """
    if entry.kind is Kind.RULE:
        if new_text == text and path == entry.path:
            return parts.written_one(entry, Applied(None), ("nothing changed",))
        from ai_lessons.library.rules.suggesting import propose_text

        return propose_text(parts, entry, path, new_text)
    is_script = entry.kind is Kind.SCRIPT
    old_file, new_file = entry.file, layout.side_of(path) if is_script else path
    code = parts.store.read(entry.path) if is_script and entry.code else b""
    data = new_text.encode()
    written = checked(path, code if is_script else data, data if is_script else None, was=entry)
    refuse_wrong_kinds(parts, written.kind, (link[:2] for link in written.links if link not in entry.links))
    has_file = bool(text) or not is_script
    expect = blob_id(text.encode()) if has_file else None  # of what was read, not of what is there by now
    changes = []
    if new_file != old_file:
        changes.append(Change(new_file, data, expect=None))
        if has_file:
            changes.append(Change(old_file, None, expect=expect))
        if is_script and entry.code:
            changes.append(Change(path, code, executable=parts.executable(entry.path), expect=None))
            changes.append(Change(entry.path, None, expect=blob_id(code)))
    elif new_text != text:
        changes.append(Change(new_file, data, expect=expect))
    applied = parts.write(subject, changes, [("Entry", written.id)])
    return parts.written_one(written, applied, () if changes else ("nothing changed",))


def delete(parts: Parts, refs: Sequence[str]) -> tuple[Written, ...]:
    """Remove entries in one commit; the removal of a rule is a proposal."""
    catalog = parts.current()
    every = list({light.id: light for light in map(parts.resolve, refs)}.values())
    lights = [light for light in every if light.kind is not Kind.RULE]
    rules = tuple(_removal(parts, light) for light in every if light.kind is Kind.RULE)
    return (*rules, *(_delete(parts, catalog, lights) if lights else ()))


def _removal(parts: Parts, rule: Light) -> Written:
    from ai_lessons.library.rules.suggesting import removal, told

    return told(removal(parts, rule.id))


def _delete(parts: Parts, catalog: Catalog, lights: Sequence[Light]) -> tuple[Written, ...]:
    files = [
        path
        for place in catalog.locations([light.id for light in lights])
        for path, there in ((place.path, place.hash), (place.side_path, place.side_hash))
        if path and there
    ]
    what = f"{lights[0].kind}: {lights[0].title}" if len(lights) == 1 else f"{len(lights)} entries"
    trailers = [("Entry", light.id) for light in lights]
    files = list(dict.fromkeys(files))
    parts.keep_edits(files)
    applied = parts.write(f"Delete {what}", [Change(path, None) for path in files], trailers)
    return importing.told(lights, applied)
