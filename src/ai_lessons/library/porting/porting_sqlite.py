"""The SQLite database of the predecessor, read as what it is: a foreign file.

A copy is opened, so that nothing is written to the file itself or beside it; only plain tables are asked, by their own
columns, and no query may take long. Columns that it lacks are empty.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem, UsageError
from ai_lessons.knowledge import frontmatter, layout, markdown
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, UNVERSIONED, Category, Kind, Relation, Source, stated_id
from ai_lessons.knowledge.origins import project_of
from ai_lessons.knowledge.portable.bundle import Bundle, Item, made_id, moment, one_line, word_of
from ai_lessons.repository.files import READ_LIMIT, translated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_HEADER = b"SQLite format 3\0"
_STEPS, _PATIENCE = 1_000_000, 2_000
"""A query is cut off after so many times so many steps of SQLite's machine; a full table scan takes far fewer."""

_MAIN = ("lessons", "rules", "resources")
_LISTS = {"tags": "tag", "contexts": "context", "versions": "version"}
"""What has a table of its own for each main table (`lesson_tags`), and the column of it."""

_TABLES = (*_MAIN, "edges", "rule_links", *(f"{one[:-1]}_{name}" for one in _MAIN for name in _LISTS))
_STARTS, _ENDS = ("from_id", "source_id", "source", "rule_id"), ("to_id", "target_id", "target")
_NAMED = ("relation", "relation_type", "type")
_LINK_TO = {"script": Relation.HAS_SCRIPT, "doc": Relation.HAS_DOC}

Row = dict[str, Any]
Rows = dict[str, list[Row]]


class _Known(NamedTuple):
    """What a row means here: the id of its entry, when that was made, what it is called, and its links."""

    where: str
    id: str
    created: str
    title: str
    links: list[dict[str, Any]]


def read_database(file: Path, now: datetime) -> Bundle:
    """The lessons, rules, docs and scripts of a database, with their tags, versions and links.

    Raises:
        InvalidEntry: not such a database, or damaged.
    """
    with translated(str(file)), TemporaryDirectory() as folder:
        with file.open("rb") as start:
            if start.read(len(_HEADER)) != _HEADER:
                raise InvalidEntry([Problem(str(file), "not a SQLite database")])
        copy = Path(folder, "copy.db")
        shutil.copyfile(file, copy)
        log = file.with_name(file.name + "-wal")
        if log.exists():
            shutil.copyfile(log, copy.with_name("copy.db-wal"))
        try:
            found = _tables(copy)
        except sqlite3.Error as error:
            raise InvalidEntry([Problem(str(file), f"the database cannot be read: {error}")]) from error
    if not found.keys() & set(_MAIN):
        known = ", ".join(_MAIN)
        raise InvalidEntry([Problem(str(file), f"no database of ai-lessons: it has none of the tables {known}")])
    return _bundle(file.name, defaultdict(list, found), now)


def _tables(file: Path) -> Rows:
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
        found = {}
        for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
            if name.lower() in _TABLES and not str(sql).upper().lstrip().startswith("CREATE VIRTUAL"):
                quoted = name.replace('"', '""')
                rows = [{k.lower(): row[k] for k in row.keys()} for row in db.execute(f'SELECT * FROM "{quoted}"')]  # noqa: S608, SIM118 - quoted; a Row iterates over values
                found[name.lower()] = sorted(rows, key=lambda row: str(row.get("id")))
        return found


def _bundle(name: str, tables: Rows, now: datetime) -> Bundle:
    main = [(table, row, str(row.get("id"))) for table in _MAIN for row in tables[table]]
    ids = {key: _id(table, row) for table, row, key in main}
    kinds = {key: str(row.get("type") or table.removesuffix("s")) for table, row, key in main}
    links, damaged = _links(name, tables, ids, kinds)
    lists = {table: _lists(table, tables) for table in _MAIN}
    items = []
    for table, row, key in main:
        where = f"{name}: {table} {key[:60]}"
        try:
            title = one_line(_text(row.get("title")))
            if not title:
                raise UsageError("it has no title")
            known = _Known(where, ids[key], frontmatter.stamp(moment(row.get("created_at")) or now), title, links[key])
            items.append((_resource if table == "resources" else _words)(table, row, lists[table][key], known))
        except AiLessonsError as error:
            damaged.append((where, error.message))
    return Bundle(items, damaged)


def _id(table: str, row: Row) -> str:
    created = moment(row.get("created_at"))
    return stated_id(row.get("id")) or made_id("ai-lessons", table, str(row.get("id")), created=created)


def _lists(table: str, tables: Rows) -> Mapping[str, Mapping[str, list[str]]]:
    """Tags, contexts and versions of the rows of a table, by id and name."""
    one = table.removesuffix("s")
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, column in _LISTS.items():
        for row in tables[f"{one}_{name}"]:
            if value := _text(row.get(column)).strip():
                found[str(row.get(f"{one}_id"))][name].append(value)
    return found


def _links(
    name: str, tables: Rows, ids: Mapping[str, str], kinds: Mapping[str, str]
) -> tuple[Mapping[str, list[dict[str, Any]]], list[tuple[str, str]]]:
    """The edges of the graph and the links of rules, each once, by the id that they start from; and damaged ones."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    damaged = []
    for row in (*tables["edges"], *tables["rule_links"]):
        start, end, stated = (_first(row, names) for names in (_STARTS, _ENDS, _NAMED))
        relation = stated or _LINK_TO.get(kinds.get(end, ""), Relation.RELATED_TO).value
        if start not in ids or end not in ids or start == end or relation not in set(Relation):
            damaged.append((f"{name}: link {start[:40]} -> {end[:40]}", "it leads nowhere, or means nothing"))
            continue
        link: dict[str, Any] = {relation: ids[end]}
        weight = row.get("weight")
        if isinstance(weight, int | float) and 0 <= weight < 1e9 and weight != 1:
            link["weight"] = weight
        if link not in found[start]:
            found[start].append(link)
    return found, damaged


def _words(table: str, row: Row, lists: Mapping[str, list[str]], known: _Known) -> Item:
    """A lesson or a rule. Whether a rule was approved there does not count: a person here decides."""
    tags = lists.get("tags", ())
    if table == "rules":
        why = _text(row.get("rationale")).strip()
        fields = frontmatter.rule_fields(known.id, known.created, title=known.title, rationale=why, tags=tags)
        return _document(row, known, fields, layout.rule_path(GLOBAL_PROJECT, known.title, known.id))
    source, category = _text(row.get("source")), _text(row.get("category"))
    fields = frontmatter.lesson_fields(
        known.id, known.created, title=known.title, tags=tags, contexts=lists.get("contexts", ()),
        confidence=word_of(row.get("confidence")), source=source if source in set(Source) else "observed",
        origin="ai", category=category if category in set(Category) else None,
    )  # fmt: skip
    return _document(row, known, fields, layout.lesson_path(GLOBAL_PROJECT, known.title, known.id, known.created))


def _resource(_table: str, row: Row, lists: Mapping[str, list[str]], known: _Known) -> Item:
    kind = Kind.SCRIPT if row.get("type") == Kind.SCRIPT else Kind.DOC
    versions = [one for one in lists.get("versions", ()) if one != UNVERSIONED]
    said: dict[str, Any] = {"title": known.title, "versions": versions, "tags": lists.get("tags", ())}
    ref, where = _text(row.get("source_ref")) or None, _text(row.get("path"))
    project, name = _place_of(where)
    name = name or layout.slug(known.title)
    if kind is Kind.DOC:
        path = layout.resource_path(kind, project, versions, name if layout.is_markdown(name) else f"{name}.md")
        doc = frontmatter.doc_fields(known.id, known.created, **said, source_path=where or None, source_ref=ref)
        return _document(row, known, doc, path)
    content = row.get("content")
    code = content if isinstance(content, bytes) else _text(content).encode()
    path = layout.resource_path(kind, project, versions, name)
    fields = frontmatter.script_fields(known.id, known.created, **said, source_ref=ref, path=None if code else where)
    side = markdown.render(_linked(fields, known), frontmatter.body_of(frontmatter.description(code))).encode()
    if not code:  # it stays where it is
        return Item(known.where, layout.side_of(path), side)
    return Item(known.where, path, code, side, executable=True)


def _document(row: Row, known: _Known, fields: Mapping[str, Any], path: str) -> Item:
    body = frontmatter.body_of(_text(row.get("content")).replace("\r\n", "\n").replace("\0", ""))
    return Item(known.where, path, markdown.render(_linked(fields, known), body).encode("utf-8", "replace"))


def _linked(fields: Mapping[str, Any], known: _Known) -> dict[str, Any]:
    return {**fields, **({"links": known.links} if known.links else {})}


def _first(row: Row, names: tuple[str, ...]) -> str:
    return next((_text(row[name]) for name in names if row.get(name) is not None), "")


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)


def _place_of(path: str) -> tuple[str, str]:
    """Project and file name that a path of the predecessor's own folders says: `…/jira-api/docs/v3/Workflows.md`."""
    parts = [one for one in path.replace("\\", "/").split("/") if one not in {"", ".", "..", "~"}]
    kinds = [n for n, one in enumerate(parts) if one in {Kind.DOC.folder, Kind.SCRIPT.folder} and n > 0]
    project = project_of(parts[kinds[-1] - 1]) if kinds else GLOBAL_PROJECT
    return project, parts[-1] if parts else ""
