"""Notes of other tools as entries: Markdown, concepts of OKF, memories, skills, and solutions.

Each reads the bytes of files, and writes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ai_lessons.app.write_checks import noting
from ai_lessons.errors import InvalidEntry, Problem, UsageError
from ai_lessons.features.transfer.arriving import Item, made, made_id, moment
from ai_lessons.features.transfer.instruction_files import matter_of
from ai_lessons.features.transfer.rule_files import SOLUTION_KEYS
from ai_lessons.model import expression, frontmatter, layout, lessons, markdown
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    Category,
    Kind,
    Relation,
    Status,
    stated_id,
)
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.lessons import project_of
from ai_lessons.model.sections import sections
from ai_lessons.model.texts import decode, one_line, split
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from ai_lessons.model.entries import Entry

SKILL = "SKILL.md"
_WIKI_LINK = expression(r"\[\[([^\[\]|#\n]+)(?:[|#][^\[\]\n]*)?\]\]")


# --- Markdown ---


def note(name: str, data: bytes, project: str | None, now: datetime) -> Item:
    """A file, `name` below its folder, as an entry with the same text.

    Raises InvalidEntry: it cannot be read.
    """
    text = _unix(name, data)
    file = name.rpartition("/")[2]
    entry = read_entry(f"{GLOBAL_PROJECT}/docs/unversioned/{file}", text.encode())
    if entry.kind is Kind.SCRIPT:
        raise InvalidEntry(
            [Problem(name, "describes a script, which is no Markdown: import that file")]
        )
    entry_id = stated_id(entry.fields.get("id")) or made_id("markdown", name, text)
    written = moment(entry.fields.get("created") or entry.fields.get("date"))
    created = frontmatter.stamp(written or now)
    title = one_line(entry.title) or one_line(name)
    changes: dict[str, Any] = {
        "id": entry_id,
        "kind": entry.kind.value,
        "title": title,
        "created": created,
    }
    for key, words in (("tags", entry.tags), ("versions", entry.versions)):
        # other tools state them as one text: `tags: a, b`
        if key in entry.fields and not isinstance(entry.fields[key], list):
            changes[key] = sorted(words) or REMOVE
    where = project or project_of(entry.fields.get("project") or GLOBAL_PROJECT)
    if entry.kind is Kind.DOC:
        path = layout.resource_path(Kind.DOC, where, entry.versions, name)
    else:
        path = layout.new_path(entry.kind, where, title, entry_id, created)
    return Item(name, path, markdown.edit(text, changes).encode())


def _unix(name: str, data: bytes) -> str:
    """The text of a file, with the line ends of ours. Raises InvalidEntry: it is none."""
    return decode(data.replace(b"\r\n", b"\n"), name)


def concept(name: str, data: bytes, project: str | None, now: datetime) -> Item | None:
    """A concept of the Open Knowledge Format (0.1, 0.2) as an entry with the same text.

    None for an index or a log.

    What other tools wrote is a doc, whatever its `type`. Raises InvalidEntry: it cannot be read.
    """
    if name.rpartition("/")[2] in {"index.md", "log.md"}:
        return None
    text = _unix(name, data)
    fields = read_entry(f"{GLOBAL_PROJECT}/docs/unversioned/a.md", text.encode()).fields
    changes = {}
    generated = fields.get("generated")
    # 0.2 says it with who did, 0.1 in a key of its own
    at = fields.get("timestamp")
    if isinstance(generated, dict):
        at = generated.get("at")
    written = moment(at)
    if "created" not in fields and written:
        changes["created"] = frontmatter.stamp(written)
    if fields.get("kind") == Kind.LESSON.value and fields.get("status") == "stable":
        changes["status"] = Status.ACTIVE.value
    until = moment(fields.get("stale_after"))
    if until and "review_by" not in fields:
        changes["review_by"] = f"{until:%Y-%m-%d}"
    return note(name, markdown.edit(text, changes).encode(), project, now)


def linked(items: Sequence[Item]) -> list[Item]:
    """Notes of basic-memory, linked as `[[Title]]` links them."""
    entries = [read_entry(item.path, item.data) for item in items]
    named = {}
    for entry in entries:
        for name in (entry.fields.get("permalink"), entry.title):
            if name:
                named[str(name).casefold()] = entry.id
    result = []
    for item, entry in zip(items, entries, strict=True):
        targets = _targets(entry, named)
        if not targets or entry.links:
            result.append(item)
            continue
        links = [{Relation.RELATED_TO.value: target} for target in targets]
        text = markdown.edit(item.data.decode(), {"links": links})
        result.append(item._replace(data=text.encode()))
    return result


def _targets(entry: Entry, named: Mapping[str, str]) -> list[str]:
    """The ids of the notes that a note links to, each once."""
    targets: dict[str, None] = {}
    for title in _WIKI_LINK.findall(entry.body):
        target = named.get(title.strip().casefold())
        if target is not None and target != entry.id:
            targets[target] = None
    return list(targets)


# --- memories ---

# A row of the list of an agent's other files
_INDEX = expression(r"^[ \t]*[-*][ \t]+\[[^\]]*\]\([^)\s]+\.md\)")


def memory(name: str, data: bytes, project: str | None, now: datetime) -> list[Item]:
    """What an agent wrote down for itself, as a lesson; none where it only lists its other files.

    Raises InvalidEntry: not text.
    """
    matter, body = split(_unix(name, data))
    rows = []
    for row in body.split("\n"):
        if row.strip() and not row.lstrip().startswith("#"):
            rows.append(row)
    if all(map(_INDEX.match, rows)):
        return []
    stated = {}
    for key, values in matter_of(matter or "").items():
        if values:
            stated[key] = values[0]
    title = stated.get("description") or stated.get("name") or _heading(body)
    if not title:
        stem = name.rpartition("/")[2].removesuffix(".md")
        title = stem.replace("_", " ").replace("-", " ")
    tags = []
    if "type" in stated:
        tags.append(stated["type"])
    return [remembered(name, title, body, project or GLOBAL_PROJECT, now, tags=tags)]


def _heading(body: str) -> str:
    """The first heading that a text has; else empty."""
    for part in sections(body):
        if part.title:
            return part.title
    return ""


def remembered(
    where: str, title: str, body: str, project: str, created: datetime, of: str = "", **stated: Any
) -> Item:
    """A memory as a lesson of an agent.

    `of`: whose it is; two people may have the same one.
    """
    identity = [" ".join(body.split())]
    if of:
        identity.append(of)
    fields = frontmatter.lesson_fields(
        made_id("memory", *identity),
        frontmatter.stamp(created),
        title=one_line(title) or one_line(where),
        origin="ai",
        **stated,
    )
    return made(where, Kind.LESSON, project, body.strip("\n"), fields)


# --- skills ---


class SkillReader:
    """Reads one skill: a doc with its scripts and further docs.

    `items` are what it makes, its own doc first; `other_files` are neither Markdown nor a script,
    and `damaged` those that cannot be read, with the reason.
    """

    def __init__(self, name: str, project: str | None, now: datetime) -> None:
        """`name`: of the skill's folder."""
        self._name, self._project, self._now = name, project or GLOBAL_PROJECT, now
        self._links: list[dict[str, str]] = []
        self.items: list[Item] = []
        self.other_files: list[str] = []
        self.damaged: list[tuple[str, str]] = []

    def read(self, files: Mapping[str, tuple[bytes, bool]]) -> None:
        """Take in all files.

        Content and whether it is executable, by the path below the skill's folder; one is
        `SKILL.md`.
        """
        for file, (data, runs) in files.items():
            if file != SKILL:
                self._take(file, data, runs=runs)
        with noting(f"{self._name}/{SKILL}", self.damaged):
            self.items.insert(0, self._first(files[SKILL][0]))

    def _take(self, file: str, data: bytes, *, runs: bool) -> None:
        name = f"{self._name}/{file}"
        # no entry is hidden
        if "/." in f"/{file}":
            self.other_files.append(name)
        elif layout.is_markdown(file):
            with noting(name, self.damaged):
                doc = note(name, data, self._project, self._now)
                self.items.append(doc)
                self._links.append({Relation.HAS_DOC.value: read_entry(doc.path, doc.data).id})
        elif b"\0" not in data and (runs or data.startswith(b"#!") or file.startswith("scripts/")):
            self._take_script(file, data, runs=runs)
        else:
            self.other_files.append(name)

    def _take_script(self, file: str, data: bytes, *, runs: bool) -> None:
        name = f"{self._name}/{file}"
        entry_id = made_id("skill", name, data.decode("utf-8", "replace"))
        stamp = frontmatter.stamp(self._now)
        fields = frontmatter.script_fields(entry_id, stamp, title=f"{self._name}: {file}")
        description = frontmatter.body_of(frontmatter.description(data))
        side = markdown.render(fields, description).encode()
        path = layout.resource_path(Kind.SCRIPT, self._project, (), name)
        self.items.append(Item(name, path, data, side, runs))
        self._links.append({Relation.HAS_SCRIPT.value: entry_id})

    def _first(self, data: bytes) -> Item:
        """The doc that a skill's own file makes. Raises InvalidEntry: it is not text."""
        file = f"{self._name}/{SKILL}"
        text = _unix(file, data)
        matter, body = split(text)
        stated = matter_of(matter or "")
        changes: dict[str, Any] = {"title": one_line(_value(stated, "name") or self._name)}
        if self._links:
            changes["links"] = self._links
        about = _value(stated, "description")
        if about and about not in body:
            # what a host reads of a skill before it opens it
            body = f"{about}\n\n{body.lstrip()}"
        item = note(file, text.encode(), self._project, self._now)
        whole = markdown.edit(item.data.decode(), changes, frontmatter.body_of(body))
        return item._replace(data=whole.encode())


def _value(stated: Mapping[str, Sequence[str]], key: str) -> str:
    """The first value of a key; else empty."""
    return next(iter(stated.get(key, ())), "")


# --- solutions of the compound-engineering plugin ---

# older versions of the plugin wrote only some of them
_SIGNS = {"problem_type", "category", "module", "component"}
# The sections that say what to do and why, in either of its two templates
_WHAT_TO_DO = ("solution", "guidance", "fix")
_WHY = ("why this works", "why this matters", "root cause")


def solution(name: str, data: bytes, project: str | None, now: datetime) -> Item | None:
    """A solution of the plugin as a lesson with the same text; None where a file holds none.

    Its keys stay as they are, and where it says when, what and why, those are the lesson's pattern.
    Raises InvalidEntry: it cannot be read.
    """
    text = _unix(name, data)
    file = name.rpartition("/")[2]
    entry = read_entry(f"{GLOBAL_PROJECT}/lessons/2000-01/{file}", text.encode())
    if not _SIGNS & entry.fields.keys():
        return None
    stated = {}
    for key in SOLUTION_KEYS:
        value = entry.fields.get(key)
        if value not in (None, "", []):
            stated[key] = value
    title = one_line(str(entry.fields.get("title") or ""))
    title = title or one_line(entry.title) or one_line(name)
    body = entry.body.strip("\n")
    fields = frontmatter.lesson_fields(
        made_id("solution", title, " ".join(body.split())),
        frontmatter.stamp(moment(entry.fields.get("date")) or now),
        title=title,
        origin="ai",
        category=Category.SOLUTION.value,
        tags=sorted(entry.tags),
        **_pattern_of(entry, stated),
    )
    first, _, after = body.partition("\n")
    if first.startswith("# ") and first[2:].strip() == title:
        body = after.strip("\n")
    return made(name, Kind.LESSON, project or GLOBAL_PROJECT, body, fields | stated)


def _pattern_of(entry: Entry, stated: Mapping[str, Any]) -> Mapping[str, str]:
    """When, what and why, as far as a solution says all three in a sentence each."""
    listed = stated.get("symptoms") or stated.get("applies_when") or ()
    when = str(listed)
    if isinstance(listed, list | tuple):
        when = "; ".join(map(str, listed))
    parts = {}
    for part in sections(entry.body):
        heading = part.title.rpartition(": ")[2]
        parts[heading.casefold()] = part.body
    do = _first_lines(_first_of(parts, _WHAT_TO_DO))
    because = _first_lines(_first_of(parts, _WHY))
    with suppress(UsageError):
        # it lacks one of the three, or says one in more than a sentence
        return lessons.build(when, do, None, because).parts
    return {}


def _first_of(parts: Mapping[str, str], names: Sequence[str]) -> str:
    """The first section that has one of these names; else empty."""
    for name in names:
        if name in parts:
            return parts[name]
    return ""


def _first_lines(text: str) -> str:
    """The first paragraph, but for a list or code."""
    paragraph = text.strip().partition("\n\n")[0]
    if paragraph.startswith(("- ", "* ", "1.", "```", "|", "#")) or paragraph.endswith(":"):
        return ""
    return paragraph
