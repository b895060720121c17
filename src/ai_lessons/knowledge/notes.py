"""Notes, skills and memories that other tools keep, as entries: lessons and docs, a skill with its scripts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.knowledge import frontmatter, layout, markdown, origins
from ai_lessons.knowledge.agent_rules import matter_of, sections
from ai_lessons.knowledge.bundle import Bundle, Item, made, made_id, moment, noting
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind, Relation, stated_id
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.markdown import REMOVE
from ai_lessons.knowledge.origins import project_of
from ai_lessons.knowledge.texts import decode, one_line, split

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

SKILL, MEMORY = "SKILL.md", "MEMORY.md"
_TEXT_OF_MEMORY = ("memory", "text", "content", "data")
_WIKI_LINK = re.compile(r"\[\[([^\[\]|#\n]+)(?:[|#][^\[\]\n]*)?\]\]")
_INDEX = re.compile(r"^[ \t]*[-*][ \t]+\[[^\]]*\]\([^)\s]+\.md\)", re.M)


def note(name: str, data: bytes, project: str | None, now: datetime) -> Item:
    """A file, `name` below its folder, as an entry with the same text. Raises InvalidEntry: it cannot be read."""
    text = decode(data.replace(b"\r\n", b"\n"), name)
    entry = read_entry(f"{GLOBAL_PROJECT}/docs/unversioned/{name.rpartition('/')[2]}", text.encode())
    if entry.kind is Kind.SCRIPT:
        raise InvalidEntry([Problem(name, "describes a script, which is no Markdown: import that file")])
    entry_id = stated_id(entry.fields.get("id")) or made_id("markdown", name, text)
    created = frontmatter.stamp(moment(entry.fields.get("created") or entry.fields.get("date")) or now)
    title = one_line(entry.title) or one_line(name)
    changes: dict[str, Any] = {"id": entry_id, "kind": entry.kind.value, "title": title, "created": created}
    for key, words in (("tags", entry.tags), ("versions", entry.versions)):
        if key in entry.fields and not isinstance(entry.fields[key], list):
            changes[key] = sorted(words) or REMOVE
    where = project or project_of(entry.fields.get("project") or GLOBAL_PROJECT)
    path = layout.new_path(entry.kind, where, title, entry_id, created)
    if entry.kind is Kind.DOC:
        path = layout.resource_path(Kind.DOC, where, entry.versions, name)
    return Item(name, path, markdown.edit(text, changes).encode())


def linked(items: Sequence[Item]) -> list[Item]:
    """Notes of basic-memory, linked as `[[Title]]` links them."""
    entries = [read_entry(item.path, item.data) for item in items]
    names = ((name, entry.id) for entry in entries for name in (entry.fields.get("permalink"), entry.title))
    named = {str(name).casefold(): entry_id for name, entry_id in names if name}
    result = []
    for item, entry in zip(items, entries, strict=True):
        targets = (named.get(title.strip().casefold()) for title in _WIKI_LINK.findall(entry.body))
        links = [
            {Relation.RELATED_TO.value: target} for target in dict.fromkeys(targets) if target not in (None, entry.id)
        ]
        text = markdown.edit(item.data.decode(), {"links": links}) if links and not entry.links else ""
        result.append(item._replace(data=text.encode()) if text else item)
    return result


def memory(name: str, data: bytes, project: str | None, now: datetime) -> list[Item]:
    """What an agent wrote down for itself, as a lesson; none where it only lists its other files.

    Raises InvalidEntry: not text.
    """
    text = decode(data.replace(b"\r\n", b"\n"), name)
    matter, body = split(text)
    rows = [row for row in body.split("\n") if row.strip() and not row.lstrip().startswith("#")]
    if not rows or all(map(_INDEX.match, rows)):
        return []
    matter_fields = {key: values[0] for key, values in matter_of(matter or "").items() if values}
    stem = name.rpartition("/")[2].removesuffix(".md").replace("_", " ").replace("-", " ")
    heading = next((part.title for part in sections(body) if part.title), "")
    title = matter_fields.get("description") or matter_fields.get("name") or heading or stem
    tags = [matter_fields["type"]] if "type" in matter_fields else []
    return [_lesson(name, title, body, project or GLOBAL_PROJECT, now, tags=tags)]


def _lesson(where: str, title: str, body: str, project: str, created: datetime, **stated: Any) -> Item:
    entry_id, stamp = made_id("memory", " ".join(body.split())), frontmatter.stamp(created)
    fields = frontmatter.lesson_fields(entry_id, stamp, title=one_line(title) or one_line(where), origin="ai", **stated)
    return made(where, Kind.LESSON, project, body.strip("\n"), fields)


def memories(text: str, name: str, project: str | None, now: datetime) -> Bundle:
    """The memories of an export of mem0, as JSON or JSON lines, as lessons; those of a user keep him as their scope.

    Raises InvalidEntry: not such an export.
    """
    try:
        records = json.loads(text)
    except (ValueError, RecursionError):
        try:
            records = [json.loads(row) for row in text.split("\n") if row.strip()]
        except (ValueError, RecursionError) as error:
            raise InvalidEntry([Problem(name, "neither JSON nor JSON lines")]) from error
    for key in ("results", "memories"):
        records = records.get(key, records) if isinstance(records, dict) else records
    if not isinstance(records, list):
        raise InvalidEntry([Problem(name, "no list of memories")])
    items: list[Item] = []
    damaged: list[tuple[str, str]] = []
    for number, record in enumerate(records, 1):
        where = f"{name}: memory {number}"
        texts = (record.get(key) for key in _TEXT_OF_MEMORY) if isinstance(record, dict) else ()
        content = next((text for text in texts if isinstance(text, str) and text.strip()), None)
        if content is None:
            damaged.append((where, "it says nothing"))
            continue
        with noting(where, damaged):
            user = f"{origins.USER}:{record['user_id']}" if record.get("user_id") else None
            place = origins.place_of(user if user and origins.is_scope(user) else project)
            tags = record.get("categories") or []
            items.append(_lesson(
                where, content.strip().split("\n")[0], content, place.project, moment(record.get("created_at")) or now,
                scope=place.stated, tags=[str(tag) for tag in tags] if isinstance(tags, list) else [],
            ))  # fmt: skip
    return Bundle(items, damaged)


def skill(
    name: str, files: Mapping[str, tuple[bytes, bool]], project: str | None, now: datetime
) -> tuple[list[Item], list[str]]:
    """A skill as a doc with its scripts and further docs, and the files that are neither.

    `files`: content and whether it is executable, by the path below the skill's folder `name`; one is `SKILL.md`.
    Raises InvalidEntry: that one is not text.
    """
    items, other_files, links = [], [], []
    where = project or GLOBAL_PROJECT
    for file, (data, runs) in files.items():
        if file == SKILL:
            continue
        if layout.is_markdown(file):
            doc = note(f"{name}/{file}", data, where, now)
            items.append(doc)
            links.append({Relation.HAS_DOC.value: read_entry(doc.path, doc.data).id})
        elif b"\0" not in data and (runs or data.startswith(b"#!") or file.startswith("scripts/")):
            entry_id = made_id("skill", f"{name}/{file}", data.decode("utf-8", "replace"))
            fields = frontmatter.script_fields(entry_id, frontmatter.stamp(now), title=f"{name}: {file}")
            side = markdown.render(fields, frontmatter.body_of(frontmatter.description(data))).encode()
            path = layout.resource_path(Kind.SCRIPT, where, (), f"{name}/{file}")
            items.append(Item(f"{name}/{file}", path, data, side, runs))
            links.append({Relation.HAS_SCRIPT.value: entry_id})
        else:
            other_files.append(f"{name}/{file}")
    text = decode(files[SKILL][0].replace(b"\r\n", b"\n"), f"{name}/{SKILL}")
    matter, body = split(text)
    about = next(iter(matter_of(matter or "").get("description", [])), "")
    first = note(f"{name}/{SKILL}", text.encode(), where, now)
    changes: dict[str, Any] = {"title": one_line(next(iter(matter_of(matter or "").get("name", [])), name))}
    changes |= {"links": links} if links else {}
    description = body if not about or about in body else f"{about}\n\n{body.lstrip()}"
    whole = markdown.edit(first.data.decode(), changes, frontmatter.body_of(description)).encode()
    return [first._replace(data=whole), *items], other_files
