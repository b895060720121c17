"""Which file or folder of which tool is read how: notes, skills, memories, exports.

Follows and writes nothing.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from contextlib import suppress
from datetime import timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ai_lessons.app.write_checks import noting
from ai_lessons.errors import InvalidEntry, NotFound, Problem, UsageError
from ai_lessons.features.transfer import exporters, found_files, instruction_files
from ai_lessons.features.transfer.exporters import (
    JOINED,
    OTHER,
    SKIPPED,
    Bundle,
    Item,
    made,
    made_id,
    moment,
    word_of,
)
from ai_lessons.features.transfer.instruction_files import (
    AGENTS,
    HOSTS,
    InstructionReader,
    matter_of,
)
from ai_lessons.features.transfer.lenient import mended
from ai_lessons.git import databases, external_files
from ai_lessons.git.files import translated
from ai_lessons.model import expression, frontmatter, layout, lessons, markdown
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    UNVERSIONED,
    Category,
    Kind,
    Relation,
    Source,
    Status,
    stated_id,
)
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import project_name
from ai_lessons.model.lessons import CONFIDENCE, place_of, project_of
from ai_lessons.model.sections import sections
from ai_lessons.model.texts import decode, one_line, split
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from ai_lessons.features.transfer.found_files import FoundFile

    Reading = Callable[[Sequence[FoundFile]], Iterable[FoundFile]]

SKILL, MEMORY = "SKILL.md", "MEMORY.md"
_TEXT_OF_MEMORY = ("memory", "text", "content", "data")
_READ_OF_MEM0 = frozenset(
    (*_TEXT_OF_MEMORY, "id", "user_id", "categories", "created_at", "hash", "score")
)
_WIKI_LINK = expression(r"\[\[([^\[\]|#\n]+)(?:[|#][^\[\]\n]*)?\]\]")
_INDEX = expression(r"^[ \t]*[-*][ \t]+\[[^\]]*\]\([^)\s]+\.md\)", re.M)


def note(name: str, data: bytes, project: str | None, now: datetime) -> Item:
    """A file, `name` below its folder, as an entry with the same text.

    Raises InvalidEntry: it cannot be read.
    """
    text = decode(data.replace(b"\r\n", b"\n"), name)
    entry = read_entry(
        f"{GLOBAL_PROJECT}/docs/unversioned/{name.rpartition('/')[2]}", text.encode()
    )
    if entry.kind is Kind.SCRIPT:
        raise InvalidEntry(
            [Problem(name, "describes a script, which is no Markdown: import that file")]
        )
    entry_id = stated_id(entry.fields.get("id")) or made_id("markdown", name, text)
    created = frontmatter.stamp(
        moment(entry.fields.get("created") or entry.fields.get("date")) or now
    )
    title = one_line(entry.title) or one_line(name)
    changes: dict[str, Any] = {
        "id": entry_id,
        "kind": entry.kind.value,
        "title": title,
        "created": created,
    }
    for key, words in (("tags", entry.tags), ("versions", entry.versions)):
        if key in entry.fields and not isinstance(entry.fields[key], list):
            changes[key] = sorted(words) or REMOVE
    where = project or project_of(entry.fields.get("project") or GLOBAL_PROJECT)
    path = layout.new_path(entry.kind, where, title, entry_id, created)
    if entry.kind is Kind.DOC:
        path = layout.resource_path(Kind.DOC, where, entry.versions, name)
    return Item(name, path, markdown.edit(text, changes).encode())


def concept(name: str, data: bytes, project: str | None, now: datetime) -> Item | None:
    """A concept of the Open Knowledge Format (0.1, 0.2) as an entry with the same text.

    None for an index or a log.

    What other tools wrote is a doc, whatever its `type`. Raises InvalidEntry: it cannot be read.
    """
    if name.rpartition("/")[2] in {"index.md", "log.md"}:
        return None
    text = decode(data.replace(b"\r\n", b"\n"), name)
    fields = read_entry(f"{GLOBAL_PROJECT}/docs/unversioned/a.md", text.encode()).fields
    generated = fields.get("generated")
    if isinstance(generated, dict):
        at = generated.get("at")
    else:
        at = fields.get("timestamp")
    if "created" in fields or not moment(at):
        changes = {}
    else:
        changes = {"created": frontmatter.stamp(moment(at) or now)}
    if fields.get("kind") == Kind.LESSON.value and fields.get("status") == "stable":
        changes["status"] = Status.ACTIVE.value
    until = moment(fields.get("stale_after"))
    if until and "review_by" not in fields:
        changes |= {"review_by": f"{until:%Y-%m-%d}"}
    return note(name, markdown.edit(text, changes).encode(), project, now)


def linked(items: Sequence[Item]) -> list[Item]:
    """Notes of basic-memory, linked as `[[Title]]` links them."""
    entries = [read_entry(item.path, item.data) for item in items]
    names = (
        (name, entry.id)
        for entry in entries
        for name in (entry.fields.get("permalink"), entry.title)
    )
    named = {}
    for name, entry_id in names:
        if name:
            named[str(name).casefold()] = entry_id
    result = []
    for item, entry in zip(items, entries, strict=True):
        targets = (named.get(title.strip().casefold()) for title in _WIKI_LINK.findall(entry.body))
        links = []
        for target in dict.fromkeys(targets):
            if target not in (None, entry.id):
                links.append({Relation.RELATED_TO.value: target})
        if links and not entry.links:
            text = markdown.edit(item.data.decode(), {"links": links})
        else:
            text = ""
        result.append(item._replace(data=text.encode()) if text else item)
    return result


def memory(name: str, data: bytes, project: str | None, now: datetime) -> list[Item]:
    """What an agent wrote down for itself, as a lesson; none where it only lists its other files.

    Raises InvalidEntry: not text.
    """
    text = decode(data.replace(b"\r\n", b"\n"), name)
    matter, body = split(text)
    rows = []
    for row in body.split("\n"):
        if row.strip() and not row.lstrip().startswith("#"):
            rows.append(row)
    if not rows or all(map(_INDEX.match, rows)):
        return []
    matter_fields = {}
    for key, values in matter_of(matter or "").items():
        if values:
            matter_fields[key] = values[0]
    stem = name.rpartition("/")[2].removesuffix(".md").replace("_", " ").replace("-", " ")
    heading = next((part.title for part in sections(body) if part.title), "")
    title = matter_fields.get("description") or matter_fields.get("name") or heading or stem
    if "type" in matter_fields:
        tags = [matter_fields["type"]]
    else:
        tags = []
    return [_lesson(name, title, body, project or GLOBAL_PROJECT, now, tags=tags)]


def _lesson(
    where: str, title: str, body: str, project: str, created: datetime, of: str = "", **stated: Any
) -> Item:
    """`of`: whose memory it is; two people may have the same one."""
    entry_id = made_id("memory", " ".join(body.split()), *([of] if of else []))
    stamp = frontmatter.stamp(created)
    fields = frontmatter.lesson_fields(
        entry_id, stamp, title=one_line(title) or one_line(where), origin="ai", **stated
    )
    return made(where, Kind.LESSON, project, body.strip("\n"), fields)


def memories(text: str, name: str, project: str | None, now: datetime) -> Bundle:
    """The memories of an export of mem0, as JSON or JSON lines, as lessons.

    Those of a user keep him as their scope.

    Raises InvalidEntry: not such an export.
    """
    items, first = list[Item](), dict[tuple[str, str], str]()
    damaged, like = list[tuple[str, str]](), list[tuple[str, str, str]]()
    other_keys: dict[str, None] = {}
    for number, record in enumerate(_records(text, name), 1):
        where = f"{name}: memory {number}"
        texts = (record.get(key) for key in _TEXT_OF_MEMORY) if isinstance(record, dict) else ()
        content = next((text for text in texts if isinstance(text, str) and text.strip()), None)
        if content is None:
            damaged.append((where, "it says nothing"))
            continue
        with noting(where, damaged):
            other_keys |= dict.fromkeys(
                key for key, value in record.items() if key not in _READ_OF_MEM0 and value
            )
            user = f"{lessons.USER}:{record['user_id']}" if record.get("user_id") else None
            user = user if user and lessons.is_scope(user) else None
            place = lessons.place_of(user or project)
            said_by = " ".join(content.split()), user or ""
            if first.setdefault(said_by, where) != where:
                like.append((where, JOINED, first[said_by]))
                continue
            tags = record.get("categories") or []
            items.append(_lesson(
                where, content.strip().split("\n")[0], content, place.project, moment(record.get("created_at")) or now,
                of=user or "", scope=place.stated, tags=[str(tag) for tag in tags] if isinstance(tags, list) else [],
            ))  # fmt: skip
    notes = [f"{name}: keys that are not taken over: {', '.join(other_keys)}"] if other_keys else []
    return Bundle(items, damaged, left=like, notes=notes)


def _records(text: str, name: str) -> list[Any]:
    """The memories in an export of mem0: a list, or an object that has one.

    Raises InvalidEntry: it is neither.
    """
    try:
        records = json.loads(text)
    except (ValueError, RecursionError):
        try:
            records = []
            for row in text.split("\n"):
                if row.strip():
                    records.append(json.loads(row))
        except (ValueError, RecursionError) as error:
            raise InvalidEntry([Problem(name, "neither JSON nor JSON lines")]) from error
    for key in ("results", "memories"):
        if isinstance(records, dict):
            records = records.get(key, records)
    if not isinstance(records, list):
        raise InvalidEntry([Problem(name, "no list of memories")])
    return records


def skill(
    name: str, files: Mapping[str, tuple[bytes, bool]], project: str | None, now: datetime
) -> tuple[list[Item], list[str], list[tuple[str, str]]]:
    """A skill as a doc with its scripts and further docs, the files that are neither, and those that cannot be read.

    `files`: content and whether it is executable, by the path below the skill's folder `name`; one is `SKILL.md`.
    """
    items, other_files, links = list[Item](), list[str](), list[dict[str, str]]()
    damaged = list[tuple[str, str]]()
    where = project or GLOBAL_PROJECT
    for file, (data, runs) in files.items():
        if file == SKILL:
            continue
        if f"/{file}".count("/."):
            # no entry is hidden
            other_files.append(f"{name}/{file}")
        elif layout.is_markdown(file):
            with noting(f"{name}/{file}", damaged):
                doc = note(f"{name}/{file}", data, where, now)
                items.append(doc)
                links.append({Relation.HAS_DOC.value: read_entry(doc.path, doc.data).id})
        elif b"\0" not in data and (runs or data.startswith(b"#!") or file.startswith("scripts/")):
            entry_id = made_id("skill", f"{name}/{file}", data.decode("utf-8", "replace"))
            fields = frontmatter.script_fields(
                entry_id, frontmatter.stamp(now), title=f"{name}: {file}"
            )
            side = markdown.render(
                fields, frontmatter.body_of(frontmatter.description(data))
            ).encode()
            path = layout.resource_path(Kind.SCRIPT, where, (), f"{name}/{file}")
            items.append(Item(f"{name}/{file}", path, data, side, runs))
            links.append({Relation.HAS_SCRIPT.value: entry_id})
        else:
            other_files.append(f"{name}/{file}")
    with noting(f"{name}/{SKILL}", damaged):
        items.insert(0, _first_of_skill(name, files[SKILL][0], where, now, links))
    return items, other_files, damaged


def _first_of_skill(
    name: str, data: bytes, where: str, now: datetime, links: list[dict[str, str]]
) -> Item:
    """The doc that a skill's own file makes. Raises InvalidEntry: it is not text."""
    text = decode(data.replace(b"\r\n", b"\n"), f"{name}/{SKILL}")
    matter, body = split(text)
    about = next(iter(matter_of(matter or "").get("description", [])), "")
    first = note(f"{name}/{SKILL}", text.encode(), where, now)
    changes: dict[str, Any] = {
        "title": one_line(next(iter(matter_of(matter or "").get("name", [])), name))
    }
    if links:
        changes |= {"links": links}
    if not about or about in body:
        description = body
    else:
        description = f"{about}\n\n{body.lstrip()}"
    whole = markdown.edit(first.data.decode(), changes, frontmatter.body_of(description)).encode()
    return first._replace(data=whole)


def solution(name: str, data: bytes, project: str | None, now: datetime) -> Item | None:
    """A solution of the compound-engineering plugin as a lesson with the same text.

    None where a file holds none.

    Its keys stay as they are, and where it says when, what and why, those are the lesson's pattern.
    Raises InvalidEntry: it cannot be read.
    """
    text = decode(data.replace(b"\r\n", b"\n"), name)
    entry = read_entry(f"{GLOBAL_PROJECT}/lessons/2000-01/{name.rpartition('/')[2]}", text.encode())
    if not _SIGNS & entry.fields.keys():
        return None
    parts = {}
    for part in sections(entry.body):
        parts[part.title.rpartition(": ")[2].casefold()] = part.body
    stated = {
        key: value
        for key in exporters.SOLUTION_KEYS
        if (value := entry.fields.get(key)) not in (None, "", [])
    }
    listed = stated.get("symptoms") or stated.get("applies_when") or ()
    if isinstance(listed, list):
        when = "; ".join(map(str, listed))
    else:
        when = str(listed)
    do, because = (
        next((parts[key] for key in keys if key in parts), "") for keys in _SOLUTION_PARTS
    )
    pattern: Mapping[str, str] = {}
    with suppress(UsageError):
        # it lacks one of the three, or says one in more than a sentence
        pattern = lessons.build(when, _first_lines(do), None, _first_lines(because)).parts
    title = (
        one_line(str(entry.fields.get("title") or "")) or one_line(entry.title) or one_line(name)
    )
    body = entry.body.strip("\n")
    first, _, after = body.partition("\n")
    created = moment(entry.fields.get("date")) or now
    fields = frontmatter.lesson_fields(
        made_id("solution", title, " ".join(body.split())), frontmatter.stamp(created), title=title, origin="ai",
        category=Category.SOLUTION.value, tags=sorted(entry.tags), **pattern,
    )  # fmt: skip
    if first.startswith("# ") and first[2:].strip() == title:
        body = after.strip("\n")
    return made(name, Kind.LESSON, project or GLOBAL_PROJECT, body, fields | stated)


# older versions of the plugin wrote only some of them
_SIGNS = {"problem_type", "category", "module", "component"}
_SOLUTION_PARTS = (
    ("solution", "guidance", "fix"),
    ("why this works", "why this matters", "root cause"),
)
"""The sections of a solution that say what to do and why, in either of its two templates."""


def _first_lines(text: str) -> str:
    """The first paragraph, but for a list or code."""
    paragraph = text.strip().partition("\n\n")[0]
    if paragraph.startswith(("- ", "* ", "1.", "```", "|", "#")) or paragraph.endswith(":"):
        return ""
    return paragraph


MARKDOWN, BASIC_MEMORY, MEM0, SKILLS = "markdown", "basic-memory", "mem0", "skills"
COMPOUND, OKF = "compound", "okf"
FORMS = (*HOSTS, SKILLS, MARKDOWN, BASIC_MEMORY, MEM0, COMPOUND, OKF)
_NOTES = {MARKDOWN: note, BASIC_MEMORY: note, COMPOUND: solution, OKF: concept}
_NAMED = {
    MARKDOWN: "Markdown",
    BASIC_MEMORY: "Markdown",
    SKILLS: "skill",
    COMPOUND: "solution",
    OKF: "concept",
}
_EXPORTED = "an export wrote it"
# Bytes of an export that we read
LIMIT = 512 * 1024 * 1024


def read_files(
    places: Sequence[Path],
    form: str,
    project: str | None,
    now: datetime,
    reading: Reading,
    *,
    split_up: bool,
    here: Collection[str] = (),
) -> Bundle:
    """What the files hold, and all files below the folders.

    A file that is named is taken for what `form` says.

    Raises InvalidEntry: there is nothing of that form in them.
    """
    files = [(place.name, place, True) for place in places if not place.is_dir()]
    left_out = list[tuple[str, str, str]]()
    for place in places:
        if place.is_dir():
            files += [(name, path, False) for name, path in found_files.below(place, left_out)]
    files = found_files.each_once(
        files, lambda path: form not in HOSTS or _is_of_form(path, form), left_out
    )
    if form == MEM0:
        return _memories(places, project, now)
    if form in _NOTES:
        bundle = _notes(files, form, project, now, reading)
    elif form == SKILLS:
        bundle = _skills(files, places, project, now, reading)
    else:
        bundle = _instructions(files, form, project, now, reading, split_up=split_up, here=here)
    bundle = bundle._replace(left=[*bundle.left, *left_out])
    if not (bundle.items or bundle.damaged or any(fate != OTHER for _, fate, _ in bundle.left)):
        fault = Problem(
            ", ".join(map(str, places)), f"no {_NAMED.get(form, 'instructions for agents')} in it"
        )
        hint = f"looked at {len(bundle.left):,} files; name files or a quoted glob to take them as they are"
        raise InvalidEntry([fault], hint=hint)
    return bundle


def _memories(places: Sequence[Path], project: str | None, now: datetime) -> Bundle:
    texts = (
        (place.name, external_files.read(place, LIMIT)[0].decode("utf-8", "replace"))
        for place in places
    )
    parts = []
    for name, text in texts:
        parts.append(memories(text.removeprefix("\ufeff"), name, project, now))
    return Bundle(
        [item for part in parts for item in part.items],
        [bad for part in parts for bad in part.damaged],
        left=[like for part in parts for like in part.left],
        notes=[note_text for part in parts for note_text in part.notes],
    )


def _notes(
    files: Sequence[FoundFile], form: str, project: str | None, now: datetime, reading: Reading
) -> Bundle:
    items: list[Item] = []
    notes = list[str]()
    damaged, left = list[tuple[str, str]](), list[tuple[str, str, str]]()
    for name, path, named in reading(files):
        if any(part.startswith(".") for part in name.split("/")) and not named:
            continue
        if not layout.is_markdown(name) and not named:
            left.append((name, OTHER, "not Markdown"))
            continue
        with noting(name, damaged):
            data = _understood(name, external_files.read(path)[0], notes)
            ours = exporters.is_exported_rule(data)
            item = None
            if not ours:
                item = _NOTES[form](name, data, project, now)
            if form == COMPOUND and item is not None:
                notes += _keys_left_out(name, data, exporters.SOLUTION_KEYS + _READ_OF_SOLUTION)
            if item is not None:
                items.append(item)
            else:
                left.append(
                    (name, SKIPPED, _EXPORTED) if ours else (name, OTHER, f"no {_NAMED[form]}")
                )
    return Bundle(linked(items) if form == BASIC_MEMORY else items, damaged, left=left, notes=notes)


_READ_OF_SOLUTION = ("title", "date", "tags", "category")
_READ_OF_MEMORY = ("name", "description", "type")
# what Cursor and Copilot write there is no YAML, and is meant so
_GLOBS = ("`globs`", "`paths`", "`applyTo`")


def _understood(name: str, data: bytes, notes: list[str]) -> bytes:
    """The bytes of a file with frontmatter that can be read; a note for what was mended in it."""
    try:
        text = decode(data, name)
    except InvalidEntry:
        # whoever reads it says so
        return data
    result = mended(text)
    repairs = []
    for repair in result.repairs:
        if not any(key in repair for key in _GLOBS):
            repairs.append(repair)
    if repairs:
        notes.append(f"{name}: its frontmatter was mended: {'; '.join(repairs)}")
    if result.repairs:
        return result.text.encode()
    return data


def _keys_left_out(name: str, data: bytes, keys: Sequence[str]) -> list[str]:
    """A note on the keys of a file that are not taken over, if there are any."""
    matter, _ = split(decode(data.replace(b"\r\n", b"\n"), name))
    other_keys = []
    for key in matter_of(matter or ""):
        if key not in keys:
            other_keys.append(key)
    if other_keys:
        return [f"{name}: keys that are not taken over: {', '.join(other_keys)}"]
    return []


def _instructions(
    files: Sequence[FoundFile],
    form: str,
    project: str | None,
    now: datetime,
    reading: Reading,
    *,
    split_up: bool,
    here: Collection[str],
) -> Bundle:
    items: list[Item] = []
    damaged, left = list[tuple[str, str]](), list[tuple[str, str, str]]()
    chosen, unread = _of_form(files, form)
    stating = [file for file, is_memory in chosen if not is_memory]
    reader, notes = InstructionReader(stating, project, here, split_up=split_up), list[str]()
    by_path = {file.path: file for file, _ in chosen}
    for _, path, is_memory in reading(
        [(file.name, file.path, is_memory) for file, is_memory in chosen]
    ):
        file = by_path[path]
        with noting(file.name, damaged):
            data = external_files.read(path)[0]
            if is_memory:
                data = _understood(file.name, data, notes)
                if exporters.is_exported_rule(data):
                    lessons = []
                else:
                    lessons = memory(file.name, data, project, now)
                items += lessons
                if lessons:
                    notes += _keys_left_out(file.name, data, _READ_OF_MEMORY)
                says = bool(lessons)
            else:
                _understood(file.name, data, notes)
                says = reader.read(file, data)
            if not says:
                left.append((file.name, SKIPPED, "it says nothing of its own"))
    left += [
        (below, OTHER, reader_of) for below, reader_of in unread if below not in reader.imported
    ]
    left += [(what, SKIPPED, reason) for what, reason in reader.left_out]
    kept, like = instruction_files.joined(reader.rules)
    left += [(where, JOINED, other) for where, other in like]
    for place, stated in enumerate(kept):
        # of equal ones the newest is told and listed first: so they keep the order of their file
        items.append(instruction_files.rule(stated, project, now - timedelta(seconds=place)))
    return Bundle(items, damaged, left=left, notes=[*notes, *reader.notes], stating=reader.stating)


def _is_of_form(path: Path, form: str) -> bool:
    """Whether a file holds instructions of a form, by its path."""
    host_file = instruction_files.host_of(path.absolute().as_posix())
    return host_file is not None and form in {host_file[0], AGENTS}


def _of_form(
    files: Sequence[FoundFile], form: str
) -> tuple[list[tuple[instruction_files.FoundFile, bool]], list[tuple[str, str]]]:
    """The files that hold instructions of a form, and whether it is a memory.

    Others by name, with who reads them.
    """
    chosen, unread = list[tuple[instruction_files.FoundFile, bool]](), list[tuple[str, str]]()
    homes = {path.parent for _, path, _ in files if path.name == MEMORY}
    for below, path, named in files:
        host_file = instruction_files.host_of(path.absolute().as_posix())
        of_qwen = host_file is not None and "team-memory/" in host_file[1]
        is_memory = of_qwen or (path.parent in homes and layout.is_markdown(path.name))
        if is_memory and not of_qwen:
            host_file = ("claude", below)
        if not named and (host_file is None or form not in {host_file[0], AGENTS}):
            unread.append((below, f"--from {host_file[0]} reads it" if host_file else ""))
            continue
        # a folder such as .claude/rules may itself be what was named
        if host_file and not instruction_files.host_of(below):
            name = host_file[1]
        else:
            name = below
        chosen.append((instruction_files.FoundFile(name, path.absolute(), below), is_memory))
    return chosen, unread


def _skills(
    files: Sequence[FoundFile],
    places: Sequence[Path],
    project: str | None,
    now: datetime,
    reading: Reading,
) -> Bundle:
    items: list[Item] = []
    damaged, left = list[tuple[str, str]](), list[tuple[str, str, str]]()
    homes = {path.parent: path.parent.name for _, path, _ in files if path.name == SKILL}
    notes = list[str]()
    for place in places:
        if place.parent in homes and not place.is_dir():
            # the file was named: all of the skill
            files = [
                *files,
                *(
                    (name, path, False)
                    for name, path in found_files.below(place.parent, left)
                    if path != place
                ),
            ]
    contents: dict[Path, dict[str, tuple[bytes, bool]]] = {home: {} for home in homes}
    for name, path, _ in reading(files):
        home = next((folder for folder in path.parents if folder in homes), None)
        if home is None:
            left.append((name, OTHER, f"in no folder with a {SKILL}"))
            continue
        with noting(name, damaged):
            data, runs = external_files.read(path)
            below = path.relative_to(home).as_posix()
            if layout.is_markdown(name):
                data = _understood(f"{homes[home]}/{below}", data, notes)
            contents[home][below] = data, runs
    for home, of_skill in contents.items():
        if SKILL not in of_skill:
            # it cannot be read, which is said
            continue
        if exporters.is_exported_rule(of_skill[SKILL][0]):
            left.append((f"{homes[home]}/{SKILL}", SKIPPED, _EXPORTED))
            continue
        made, ignored, unread = skill(homes[home], of_skill, project, now)
        items += made
        damaged += unread
        left += [
            (path, OTHER, "hidden" if f"/{path}".count("/.") else "neither Markdown nor a script")
            for path in ignored
        ]
    return Bundle(items, damaged, left=left, notes=notes)


GROOVE, LOG, SQLITE = "groove", "lessons-jsonl", "ai-lessons-sqlite"

Row = dict[str, Any]


def read_source(
    files: Sequence[Path],
    form: str,
    project: str | None,
    now: datetime,
    reading: Reading,
    *,
    split_up: bool = False,
    here: Collection[str] = (),
) -> Bundle:
    """What files or folders hold, each part of it as far as it can be read.

    `split_up`: a rule for each section.

    A file of instructions of which most is `here`, by ids, comes the way it came before.
    `reading` passes the files through as they are read, such as to show progress.

    Raises NotFound: nothing there. InvalidEntry: not of that form. UsageError: a project that it
    does not take.
    UnsupportedRepository: of a newer version.
    """
    if project:
        project_name(project)
    for file in files:
        if not file.exists():
            raise NotFound("file", str(file), hint="name the file or folder to import")
    if form in FORMS:
        return read_files(files, form, project, now, reading, split_up=split_up, here=here)
    if project:
        raise UsageError(
            f"{form} says itself which project an entry belongs to", hint="leave --project out"
        )
    if len(files) > 1:
        raise UsageError(f"{form} is one file", hint="import them one by one")
    file = files[0]
    if form == GROOVE:
        return exporters.read(decode(external_files.read(file, LIMIT)[0], str(file)), str(file))
    if form == LOG:
        # bytes that are no UTF-8 damage their line alone
        return read_log(
            external_files.read(file, LIMIT)[0].decode("utf-8", "replace").removeprefix("\ufeff"),
            file.name,
        )
    return read_database(file, now)


# --- the log of another tool: an append-only `lessons.jsonl`, in which the latest entry of an id
# wins ---

_STATUS = {
    "active": Status.ACTIVE,
    "promoted": Status.PROMOTED,
    "deleted": Status.WRONG,
    "wrong": Status.WRONG,
}
_SAME = ("created", "when", "action", "do", "because", "scope")
"""The keys of the first row of an id from which we make ours.

A log that has grown gives the same entries again.
"""


def read_log(text: str, name: str) -> Bundle:
    """The lessons of a log in the order in which they came; lines that are none are damaged."""
    rows: dict[str, tuple[int, Row, Row]] = {}
    damaged: list[tuple[str, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        entry_key = None
        if isinstance(entry, dict):
            entry_key = entry.get("id")
        if not isinstance(entry_key, str | int) or not str(entry_key).strip():
            damaged.append((f"{name}:{number}", "no JSON object with an id"))
            continue
        start, first, last = rows.get(str(entry_key), (number, entry, {}))
        rows[str(entry_key)] = (start, first, {**last, **entry})
    items = []
    for number, first, last in rows.values():
        where = f"{name}:{number}"
        with noting(where, damaged):
            items.append(_logged(where, first, last))
    return Bundle(items, damaged)


def _logged(where: str, first: Row, last: Row) -> Item:
    """One lesson: its first entry, and all its entries laid over each other."""
    status = _STATUS.get(str(last.get("status") or "active"))
    if status is None:
        raise UsageError(f"no status {last['status']!r}")
    if isinstance(last.get("pattern"), str) and not last.get("when"):
        # the one text that some logs have
        pattern = lessons.parse(last["pattern"])
    else:
        parts = {}
        for key in ("when", "do", "dont", "because"):
            if last.get(key) is not None:
                parts[key] = str(last[key])
        action = parts.get("dont", parts.get("do"))
        negative = "dont" in parts or str(last.get("action")) in {"dont", "don't", "do not"}
        do, dont = (None, action) if negative else (action, None)
        pattern = lessons.build(parts.get("when"), do, dont, parts.get("because"))
    stated_date = first.get("created") or last.get("created")
    created = moment(stated_date)
    if created is None:
        raise UsageError(f"created {stated_date!r} is not a date")
    if last.get("from") == "user":
        origin = "user"
    else:
        origin = "ai"
    at = place_of(str(last.get("scope") or ""))
    entry_id = made_id(str(first.get("id")), *(first.get(key) for key in _SAME), created=created)
    fields = frontmatter.lesson_fields(
        entry_id, frontmatter.stamp(created), title=lessons.title_of(pattern), scope=at.stated,
        confidence=CONFIDENCE[origin], origin=origin, status=status.value, **pattern.parts,
    )  # fmt: skip
    fields |= {
        key: " ".join(str(last[key]).split()) for key in ("reason", "promoted_to") if last.get(key)
    }
    return made(where, Kind.LESSON, project_name(at.project), "", fields)


# --- the SQLite database of the predecessor: a foreign file, of which a copy is opened ---

_MAIN = ("lessons", "rules", "resources")
_LISTS = {"tags": "tag", "contexts": "context", "versions": "version"}
"""What has a table of its own for each main table (`lesson_tags`), and the column of it."""

_TABLES = (
    *_MAIN,
    "edges",
    "rule_links",
    *(f"{table[:-1]}_{name}" for table in _MAIN for name in _LISTS),
)


def read_database(file: Path, now: datetime) -> Bundle:
    """The lessons, rules, docs and scripts of a database, with their tags, versions and links.

    Raises InvalidEntry: it is no such database, or damaged.
    """
    with translated(str(file)), TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy.write_bytes(external_files.read(file, LIMIT)[0])
        log = file.with_name(file.name + "-wal")
        if log.exists():
            copy.with_name("copy.db-wal").write_bytes(
                external_files.read(log, LIMIT, within=file.parent)[0]
            )
        try:
            tables = defaultdict(list, _tables(copy))
        except sqlite3.Error as error:
            raise InvalidEntry(
                [Problem(str(file), f"the database cannot be read: {error}")]
            ) from error
    if not tables.keys() & set(_MAIN):
        names = ", ".join(_MAIN)
        raise InvalidEntry(
            [Problem(str(file), f"no database of ai-lessons: it has none of the tables {names}")]
        )
    rows = [(table, row, str(row.get("id"))) for table in _MAIN for row in tables[table]]
    ids = {
        key: stated_id(key)
        or made_id("ai-lessons", table, key, created=moment(row.get("created_at")))
        for table, row, key in rows
    }
    links, damaged = _links(
        file.name, tables, ids, {key for table, row, key in rows if row.get("type") == Kind.SCRIPT}
    )
    lists: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for table, name in product(_MAIN, _LISTS):
        # tags, contexts and versions
        for row in tables[f"{table[:-1]}_{name}"]:
            value = _text(row.get(_LISTS[name])).strip()
            if value:
                lists[table, str(row.get(f"{table[:-1]}_id")), name] += [value]
    items = []
    for table, row, key in rows:
        where = f"{file.name}: {table} {key[:60]}"
        with noting(where, damaged):
            values = row | {name: lists[table, key, name] for name in _LISTS}
            items.append(_entry(where, table, values, ids[key], now, links[key]))
    return Bundle(items, damaged)


def _tables(file: Path) -> dict[str, list[Row]]:
    """All rows of the tables that we know, with lower-case columns, in the order of their ids."""
    rows_of = dict[str, list[Row]]()
    with databases.foreign(file) as db:
        for table, (quoted, columns) in databases.tables(db).items():
            if table in _TABLES and columns:
                rows = db.execute(f"SELECT {', '.join(columns.values())} FROM {quoted}")  # noqa: S608 - quoted
                every = [dict(zip(columns, row, strict=True)) for row in rows]
                rows_of[table] = sorted(every, key=lambda row: str(row.get("id")))
    return rows_of


def _links(
    name: str, tables: Mapping[str, list[Row]], ids: Mapping[str, str], scripts: set[str]
) -> tuple[Mapping[str, list[Row]], list[tuple[str, str]]]:
    """The edges of the graph and the links of rules, each once, by the id that they start from.

    And damaged ones.
    """
    links: dict[str, list[Row]] = defaultdict(list)
    damaged = []
    for row in (*tables["edges"], *tables["rule_links"]):
        start, end = (
            _text(row.get("from_id", row.get("rule_id"))),
            _text(row.get("to_id", row.get("target_id"))),
        )
        relation = (
            _text(row.get("relation"))
            or (Relation.HAS_SCRIPT if end in scripts else Relation.RELATED_TO).value
        )
        if start not in ids or end not in ids or start == end or relation not in set(Relation):
            damaged.append(
                (f"{name}: link {start[:40]} -> {end[:40]}", "it leads nowhere, or means nothing")
            )
        elif {relation: ids[end]} not in links[start]:
            links[start].append({relation: ids[end]})
    return links, damaged


def _entry(
    where: str, table: str, row: Row, entry_id: str, now: datetime, links: list[Row]
) -> Item:
    """One row as a file.

    Whether a rule was approved there does not count: a person here decides.
    """
    title = one_line(_text(row.get("title")))
    if not title:
        raise UsageError("it has no title")
    created = frontmatter.stamp(moment(row.get("created_at")) or now)
    if links:
        linked = {"links": links}
    else:
        linked = {}
    if table == "resources":
        return _resource(
            where, row, {"title": title, "tags": row["tags"]}, (entry_id, created), linked
        )
    if table == "rules":
        why = _text(row.get("rationale")).strip()
        fields = frontmatter.rule_fields(
            entry_id, created, title=title, rationale=why, tags=row["tags"]
        )
        return made(where, Kind.RULE, GLOBAL_PROJECT, _content(row), fields | linked)
    source, category = _text(row.get("source")), _text(row.get("category"))
    fields = frontmatter.lesson_fields(
        entry_id, created, title=title, tags=row["tags"], contexts=row["contexts"], origin="ai",
        confidence=word_of(row.get("confidence")), source=source if source in set(Source) else "observed",
        category=category if category in set(Category) else None,
    )  # fmt: skip
    fields |= exporters.sure_of(row.get("confidence"))
    return made(where, Kind.LESSON, GLOBAL_PROJECT, _content(row), fields | linked)


def _resource(where: str, row: Row, stated: Row, identity: tuple[str, str], linked: Row) -> Item:
    stated["versions"] = [version for version in row["versions"] if version != UNVERSIONED]
    ref, place = _text(row.get("source_ref")) or None, _text(row.get("path"))
    parts = []
    for part in place.replace("\\", "/").split("/"):
        if part not in {"", ".", "..", "~"}:
            parts.append(part)
    kinds = [
        n for n, part in enumerate(parts) if part in {Kind.DOC.folder, Kind.SCRIPT.folder} and n > 0
    ]
    # …/jira-api/docs/v3/Workflows.md
    if kinds:
        project = project_of(parts[kinds[-1] - 1])
    else:
        project = GLOBAL_PROJECT
    if parts:
        name = parts[-1]
    else:
        name = layout.slug(stated["title"])
    if row.get("type") != Kind.SCRIPT:
        if not layout.is_markdown(name):
            name = f"{name}.md"
        fields = frontmatter.doc_fields(
            *identity, **stated, source_path=place or None, source_ref=ref
        )
        path = layout.resource_path(Kind.DOC, project, stated["versions"], name)
        return Item(
            where,
            path,
            markdown.render(fields | linked, frontmatter.body_of(_content(row))).encode(),
        )
    content = row.get("content")
    if isinstance(content, bytes):
        code = content
    else:
        code = _text(content).encode()
    path = layout.resource_path(Kind.SCRIPT, project, stated["versions"], name)
    fields = frontmatter.script_fields(
        *identity, **stated, source_ref=ref, path=None if code else place
    )
    side = markdown.render(
        fields | linked, frontmatter.body_of(frontmatter.description(code))
    ).encode()
    if not code:
        # it stays where it is
        return Item(where, layout.side_of(path), side)
    return Item(where, path, code, side, executable=True)


def _content(row: Row) -> str:
    text = _text(row.get("content")).replace("\r\n", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None:
        return ""
    return str(value)
