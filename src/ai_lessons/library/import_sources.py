"""Readers of the sources that can be imported. They follow no link and write nothing."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import InvalidEntry, NotFound, Problem, UsageError
from ai_lessons.knowledge import bundle, frontmatter, layout, markdown, patterns
from ai_lessons.knowledge.bundle import Bundle, Item, made, made_id, moment, noting, word_of
from ai_lessons.knowledge.entries import (
    GLOBAL_PROJECT,
    UNVERSIONED,
    Category,
    Kind,
    Relation,
    Source,
    Status,
    stated_id,
)
from ai_lessons.knowledge.origins import place_of, project_of
from ai_lessons.knowledge.texts import decode, one_line
from ai_lessons.library import agent_sources
from ai_lessons.library.agent_sources import LIMIT
from ai_lessons.library.gate import project_name
from ai_lessons.library.lessons import CONFIDENCE
from ai_lessons.repository import outside
from ai_lessons.repository.files import READ_LIMIT, translated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from ai_lessons.library.options import Options

GROOVE, LOG, SQLITE = "groove", "lessons-jsonl", "ai-lessons-sqlite"

Row = dict[str, Any]


def named(paths: Sequence[str], cwd: Path) -> list[Path]:
    """The files and folders that paths and globs name, each once. Raises NotFound: one of them names nothing."""
    return list(dict.fromkeys(place for path in paths for place in outside.named(path, cwd)))


def text_of(file: str, cwd: Path) -> str:
    """The text of a file, or of a pipe such as `<(command)`. Raises as `outside.typed`, `outside.read`."""
    return decode(outside.read(outside.typed(outside.expanded(file), cwd), pipes=True)[0], file)


def read_source(
    files: Sequence[Path], form: str, project: str | None, options: Options, *, split_up: bool = False
) -> Bundle:
    """What files or folders hold, each part of it as far as it can be read. `split_up`: a rule for each section.

    Raises NotFound: nothing there. InvalidEntry: not of that form. UsageError: a project that it does not take.
    UnsupportedRepository: of a newer version.
    """
    if project:
        project_name(project)
    for file in files:
        if not file.exists():
            raise NotFound("file", str(file), hint="name the file or folder to import")
    if form in agent_sources.FORMS:
        return agent_sources.read_files(files, form, project, options, split_up=split_up)
    if project:
        raise UsageError(f"{form} says itself which project an entry belongs to", hint="leave --project out")
    if len(files) > 1:
        raise UsageError(f"{form} is one file", hint="import them one by one")
    file = files[0]
    if form == GROOVE:
        return bundle.read(decode(outside.read(file, LIMIT)[0], str(file)), str(file))
    if form == LOG:  # bytes that are no UTF-8 damage their line alone
        return read_log(outside.read(file, LIMIT)[0].decode("utf-8", "replace").removeprefix("\ufeff"), file.name)
    return read_database(file, options.now())


# --- the log of another tool: an append-only `lessons.jsonl`, in which the latest entry of an id wins ---

_STATUS = {"active": Status.ACTIVE, "promoted": Status.PROMOTED, "deleted": Status.WRONG, "wrong": Status.WRONG}
_SAME = ("created", "when", "action", "do", "because", "scope")
"""What of the first entry of an id makes our id of it, so that a log that has grown is known again."""


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
        entry_key = entry.get("id") if isinstance(entry, dict) else None
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
    if isinstance(last.get("pattern"), str) and not last.get("when"):  # the one text that some logs have
        pattern = patterns.parse(last["pattern"])
    else:
        parts = {key: str(last[key]) for key in ("when", "do", "dont", "because") if last.get(key) is not None}
        action = parts.get("dont", parts.get("do"))
        negative = "dont" in parts or str(last.get("action")) in {"dont", "don't", "do not"}
        do, dont = (None, action) if negative else (action, None)
        pattern = patterns.build(parts.get("when"), do, dont, parts.get("because"))
    stated_date = first.get("created") or last.get("created")
    created = moment(stated_date)
    if created is None:
        raise UsageError(f"created {stated_date!r} is not a date")
    origin = "user" if last.get("from") == "user" else "ai"
    at = place_of(str(last.get("scope") or ""))
    entry_id = made_id(str(first.get("id")), *(first.get(key) for key in _SAME), created=created)
    fields = frontmatter.lesson_fields(
        entry_id, frontmatter.stamp(created), title=patterns.title_of(pattern), scope=at.stated,
        confidence=CONFIDENCE[origin], origin=origin, status=status.value, **pattern.parts,
    )  # fmt: skip
    fields |= {key: " ".join(str(last[key]).split()) for key in ("reason", "promoted_to") if last.get(key)}
    return made(where, Kind.LESSON, project_name(at.project), "", fields)


# --- the SQLite database of the predecessor: a foreign file, of which a copy is opened ---

_STEPS, _PATIENCE = 1_000_000, 2_000
"""A query is cut off after so many times so many steps of SQLite's machine; a full table scan takes far fewer."""

_MAIN = ("lessons", "rules", "resources")
_LISTS = {"tags": "tag", "contexts": "context", "versions": "version"}
"""What has a table of its own for each main table (`lesson_tags`), and the column of it."""

_TABLES = (*_MAIN, "edges", "rule_links", *(f"{table[:-1]}_{name}" for table in _MAIN for name in _LISTS))


def read_database(file: Path, now: datetime) -> Bundle:
    """The lessons, rules, docs and scripts of a database, with their tags, versions and links.

    Raises InvalidEntry: it is no such database, or damaged.
    """
    with translated(str(file)), TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy.write_bytes(outside.read(file, LIMIT)[0])
        log = file.with_name(file.name + "-wal")
        if log.exists():
            copy.with_name("copy.db-wal").write_bytes(outside.read(log, LIMIT, within=file.parent)[0])
        try:
            tables = defaultdict(list, _tables(copy))
        except sqlite3.Error as error:
            raise InvalidEntry([Problem(str(file), f"the database cannot be read: {error}")]) from error
    if not tables.keys() & set(_MAIN):
        names = ", ".join(_MAIN)
        raise InvalidEntry([Problem(str(file), f"no database of ai-lessons: it has none of the tables {names}")])
    rows = [(table, row, str(row.get("id"))) for table in _MAIN for row in tables[table]]
    ids = {
        key: stated_id(key) or made_id("ai-lessons", table, key, created=moment(row.get("created_at")))
        for table, row, key in rows
    }
    links, damaged = _links(file.name, tables, ids, {key for table, row, key in rows if row.get("type") == Kind.SCRIPT})
    lists: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for table, name in product(_MAIN, _LISTS):  # tags, contexts and versions
        for row in tables[f"{table[:-1]}_{name}"]:
            value = _text(row.get(_LISTS[name])).strip()
            lists[table, str(row.get(f"{table[:-1]}_id")), name] += [value] if value else []
    items = []
    for table, row, key in rows:
        where = f"{file.name}: {table} {key[:60]}"
        with noting(where, damaged):
            values = row | {name: lists[table, key, name] for name in _LISTS}
            items.append(_entry(where, table, values, ids[key], now, links[key]))
    return Bundle(items, damaged)


def _tables(file: Path) -> dict[str, list[Row]]:
    """All rows of the tables that we know, with lower-case columns, in the order of their ids."""
    left = [_PATIENCE]

    def over() -> int:
        left[0] -= 1
        return left[0] < 0

    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        db.row_factory = sqlite3.Row
        db.set_progress_handler(over, _STEPS)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, READ_LIMIT)
        for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
            db.execute(f"PRAGMA {setting}")
        tables = {}
        for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
            if name.lower() in _TABLES and not str(sql).upper().lstrip().startswith("CREATE VIRTUAL"):
                quoted = name.replace('"', '""')
                rows = [{k.lower(): row[k] for k in row.keys()} for row in db.execute(f'SELECT * FROM "{quoted}"')]  # noqa: S608, SIM118 - quoted; a Row iterates over values
                tables[name.lower()] = sorted(rows, key=lambda row: str(row.get("id")))
        return tables


def _links(
    name: str, tables: Mapping[str, list[Row]], ids: Mapping[str, str], scripts: set[str]
) -> tuple[Mapping[str, list[Row]], list[tuple[str, str]]]:
    """The edges of the graph and the links of rules, each once, by the id that they start from; and damaged ones."""
    links: dict[str, list[Row]] = defaultdict(list)
    damaged = []
    for row in (*tables["edges"], *tables["rule_links"]):
        start, end = _text(row.get("from_id", row.get("rule_id"))), _text(row.get("to_id", row.get("target_id")))
        relation = _text(row.get("relation")) or (Relation.HAS_SCRIPT if end in scripts else Relation.RELATED_TO).value
        if start not in ids or end not in ids or start == end or relation not in set(Relation):
            damaged.append((f"{name}: link {start[:40]} -> {end[:40]}", "it leads nowhere, or means nothing"))
        elif {relation: ids[end]} not in links[start]:
            links[start].append({relation: ids[end]})
    return links, damaged


def _entry(where: str, table: str, row: Row, entry_id: str, now: datetime, links: list[Row]) -> Item:
    """One row as a file. Whether a rule was approved there does not count: a person here decides."""
    title = one_line(_text(row.get("title")))
    if not title:
        raise UsageError("it has no title")
    created = frontmatter.stamp(moment(row.get("created_at")) or now)
    linked = {"links": links} if links else {}
    if table == "resources":
        return _resource(where, row, {"title": title, "tags": row["tags"]}, (entry_id, created), linked)
    if table == "rules":
        why = _text(row.get("rationale")).strip()
        fields = frontmatter.rule_fields(entry_id, created, title=title, rationale=why, tags=row["tags"])
        return made(where, Kind.RULE, GLOBAL_PROJECT, _content(row), fields | linked)
    source, category = _text(row.get("source")), _text(row.get("category"))
    fields = frontmatter.lesson_fields(
        entry_id, created, title=title, tags=row["tags"], contexts=row["contexts"], origin="ai",
        confidence=word_of(row.get("confidence")), source=source if source in set(Source) else "observed",
        category=category if category in set(Category) else None,
    )  # fmt: skip
    return made(where, Kind.LESSON, GLOBAL_PROJECT, _content(row), fields | linked)


def _resource(where: str, row: Row, stated: Row, identity: tuple[str, str], linked: Row) -> Item:
    stated["versions"] = [version for version in row["versions"] if version != UNVERSIONED]
    ref, place = _text(row.get("source_ref")) or None, _text(row.get("path"))
    parts = [part for part in place.replace("\\", "/").split("/") if part not in {"", ".", "..", "~"}]
    kinds = [n for n, part in enumerate(parts) if part in {Kind.DOC.folder, Kind.SCRIPT.folder} and n > 0]
    project = project_of(parts[kinds[-1] - 1]) if kinds else GLOBAL_PROJECT  # …/jira-api/docs/v3/Workflows.md
    name = parts[-1] if parts else layout.slug(stated["title"])
    if row.get("type") != Kind.SCRIPT:
        name = name if layout.is_markdown(name) else f"{name}.md"
        fields = frontmatter.doc_fields(*identity, **stated, source_path=place or None, source_ref=ref)
        path = layout.resource_path(Kind.DOC, project, stated["versions"], name)
        return Item(where, path, markdown.render(fields | linked, frontmatter.body_of(_content(row))).encode())
    content = row.get("content")
    code = content if isinstance(content, bytes) else _text(content).encode()
    path = layout.resource_path(Kind.SCRIPT, project, stated["versions"], name)
    fields = frontmatter.script_fields(*identity, **stated, source_ref=ref, path=None if code else place)
    side = markdown.render(fields | linked, frontmatter.body_of(frontmatter.description(code))).encode()
    if not code:  # it stays where it is
        return Item(where, layout.side_of(path), side)
    return Item(where, path, code, side, executable=True)


def _content(row: Row) -> str:
    text = _text(row.get("content")).replace("\r\n", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode()


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)
