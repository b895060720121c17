"""The SQLite database of the predecessor: a foreign file, of which a copy is opened."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ai_lessons.app.write_checks import noting
from ai_lessons.errors import InvalidEntry, Problem, UsageError
from ai_lessons.features.transfer.arriving import (
    Bundle,
    Item,
    made,
    made_id,
    moment,
    sure_of,
    word_of,
)
from ai_lessons.git import databases, external_files
from ai_lessons.git.files import translated
from ai_lessons.model import frontmatter, layout, markdown
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    UNVERSIONED,
    Category,
    Kind,
    Relation,
    Source,
    stated_id,
)
from ai_lessons.model.lessons import project_of
from ai_lessons.model.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

Row = dict[str, Any]

# Bytes of a database that we read
LIMIT = 512 * 1024 * 1024
_MAIN = ("lessons", "rules", "resources")
# What has a table of its own for each main table (`lesson_tags`), and the column of it.
_LISTS = {"tags": "tag", "contexts": "context", "versions": "version"}


def _table_of(table: str, name: str) -> str:
    """The table with the tags (`lesson_tags`), contexts or versions of a main one."""
    return f"{table.removesuffix('s')}_{name}"


_TABLES = {*_MAIN, "edges", "rule_links"}
for _table, _name in product(_MAIN, _LISTS):
    _TABLES.add(_table_of(_table, _name))


def read_database(file: Path, now: datetime) -> Bundle:
    """The lessons, rules, docs and scripts of a database, with their tags, versions and links.

    Raises InvalidEntry: it is no such database, or damaged.
    """
    tables = _read(file)
    if not tables.keys() & set(_MAIN):
        names = ", ".join(_MAIN)
        raise InvalidEntry(
            [Problem(str(file), f"no database of ai-lessons: it has none of the tables {names}")]
        )
    # each row with its table and its id there
    rows = []
    ids = {}
    scripts = set()
    for table in _MAIN:
        for row in tables[table]:
            key = str(row.get("id"))
            rows.append((table, row, key))
            created = moment(row.get("created_at"))
            ids[key] = stated_id(key) or made_id("ai-lessons", table, key, created=created)
            if row.get("type") == Kind.SCRIPT:
                scripts.add(key)
    edges = (*tables["edges"], *tables["rule_links"])
    links, damaged = _links(file.name, edges, ids, scripts)
    lists = _lists(tables)
    items = []
    for table, row, key in rows:
        where = f"{file.name}: {table} {key[:60]}"
        values = {**row}
        for name in _LISTS:
            values[name] = lists[table, key, name]
        with noting(where, damaged):
            items.append(_entry(where, table, values, ids[key], now, links[key]))
    return Bundle(items, damaged)


def _read(file: Path) -> Mapping[str, list[Row]]:
    """The rows of a copy of the file, by table. Raises InvalidEntry: it is damaged."""
    with translated(str(file)), TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy.write_bytes(external_files.read(file, LIMIT)[0])
        # what was written last may be in the log beside it
        log = file.with_name(file.name + "-wal")
        if log.exists():
            data, _ = external_files.read(log, LIMIT, within=file.parent)
            copy.with_name("copy.db-wal").write_bytes(data)
        try:
            return defaultdict(list, _tables(copy))
        except sqlite3.Error as error:
            what = f"the database cannot be read: {error}"
            raise InvalidEntry([Problem(str(file), what)]) from error


def _tables(file: Path) -> dict[str, list[Row]]:
    """All rows of the tables that we know, with lower-case columns, in the order of their ids."""
    rows_of: dict[str, list[Row]] = {}
    with databases.foreign(file) as db:
        for table, (quoted, columns) in databases.tables(db).items():
            if table not in _TABLES or not columns:
                continue
            names = ", ".join(columns.values())
            rows = []
            for row in db.execute(f"SELECT {names} FROM {quoted}"):  # noqa: S608 - quoted
                rows.append(dict(zip(columns, row, strict=True)))
            rows_of[table] = sorted(rows, key=lambda row: str(row.get("id")))
    return rows_of


def _lists(tables: Mapping[str, list[Row]]) -> Mapping[tuple[str, str, str], list[str]]:
    """Tags, contexts and versions, by table, id and name."""
    lists: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for table, name in product(_MAIN, _LISTS):
        for row in tables[_table_of(table, name)]:
            value = _text(row.get(_LISTS[name])).strip()
            if value:
                key = str(row.get(f"{table.removesuffix('s')}_id"))
                lists[table, key, name].append(value)
    return lists


def _links(
    name: str, edges: Iterable[Row], ids: Mapping[str, str], scripts: set[str]
) -> tuple[Mapping[str, list[Row]], list[tuple[str, str]]]:
    """The edges of the graph and the links of rules, each once, by the id that they start from.

    And damaged ones.
    """
    links: dict[str, list[Row]] = defaultdict(list)
    damaged = []
    for row in edges:
        # a link of a rule has other columns, and no relation
        start = _text(row.get("from_id", row.get("rule_id")))
        end = _text(row.get("to_id", row.get("target_id")))
        relation = _text(row.get("relation"))
        if not relation:
            relation = Relation.RELATED_TO.value
            if end in scripts:
                relation = Relation.HAS_SCRIPT.value
        leads = start in ids and end in ids and start != end
        if not leads or relation not in set(Relation):
            where = f"{name}: link {start[:40]} -> {end[:40]}"
            damaged.append((where, "it leads nowhere, or means nothing"))
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
    linked: Row = {}
    if links:
        linked["links"] = links
    if table == "resources":
        stated = {"title": title, "tags": row["tags"]}
        return _resource(where, row, stated, (entry_id, created), linked)
    if table == "rules":
        why = _text(row.get("rationale")).strip()
        fields = frontmatter.rule_fields(
            entry_id, created, title=title, rationale=why, tags=row["tags"]
        )
        return made(where, Kind.RULE, GLOBAL_PROJECT, _content(row), fields | linked)
    source, category = _text(row.get("source")), _text(row.get("category"))
    if source not in set(Source):
        source = Source.OBSERVED.value
    stated_category = None
    if category in set(Category):
        stated_category = category
    fields = frontmatter.lesson_fields(
        entry_id,
        created,
        title=title,
        tags=row["tags"],
        contexts=row["contexts"],
        origin="ai",
        confidence=word_of(row.get("confidence")),
        source=source,
        category=stated_category,
    )
    fields |= sure_of(row.get("confidence"))
    return made(where, Kind.LESSON, GLOBAL_PROJECT, _content(row), fields | linked)


def _resource(where: str, row: Row, stated: Row, identity: tuple[str, str], linked: Row) -> Item:
    """A doc or a script; `stated` has what both state."""
    stated["versions"] = [version for version in row["versions"] if version != UNVERSIONED]
    ref, place = _text(row.get("source_ref")) or None, _text(row.get("path"))
    project, name = _place(place)
    name = name or layout.slug(stated["title"])
    if row.get("type") != Kind.SCRIPT:
        if not layout.is_markdown(name):
            name = f"{name}.md"
        fields = frontmatter.doc_fields(
            *identity, **stated, source_path=place or None, source_ref=ref
        )
        path = layout.resource_path(Kind.DOC, project, stated["versions"], name)
        body = frontmatter.body_of(_content(row))
        return Item(where, path, markdown.render(fields | linked, body).encode())
    code = row.get("content")
    if not isinstance(code, bytes):
        code = _text(code).encode()
    kept_at = None
    if not code:
        # it stays where it is
        kept_at = place
    fields = frontmatter.script_fields(*identity, **stated, source_ref=ref, path=kept_at)
    description = frontmatter.body_of(frontmatter.description(code))
    side = markdown.render(fields | linked, description).encode()
    path = layout.resource_path(Kind.SCRIPT, project, stated["versions"], name)
    if not code:
        return Item(where, layout.side_of(path), side)
    return Item(where, path, code, side, executable=True)


def _place(path: str) -> tuple[str, str]:
    """The project and the name of a file that lay at a path (`…/jira-api/docs/v3/Workflows.md`)."""
    parts = []
    for part in path.replace("\\", "/").split("/"):
        # nothing leads out of where it is put
        if part not in {"", ".", "..", "~"}:
            parts.append(part)
    if not parts:
        return GLOBAL_PROJECT, ""
    project = GLOBAL_PROJECT
    for before, part in pairwise(parts):
        if part in {Kind.DOC.folder, Kind.SCRIPT.folder}:
            project = project_of(before)
    return project, parts[-1]


def _content(row: Row) -> str:
    text = _text(row.get("content")).replace("\r\n", "\n").replace("\0", "")
    # half a surrogate pair cannot be written
    return text.encode("utf-8", "replace").decode()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None:
        return ""
    return str(value)
