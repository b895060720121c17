"""The SQLite database of the predecessor, read as what it is: a stranger's file.

It is opened without a way to write (a write-ahead log that lies beside it is taken along in a copy), only plain tables
are asked, by their own columns, and no query may take long. Columns that it lacks are empty.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem, StorageFailed
from ai_lessons.knowledge import drafts, layout, markdown
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, UNVERSIONED, Category, Kind, Relation, Source
from ai_lessons.knowledge.portable.bundle import Bundle, Item, made_id, moment, one_line, word_of
from ai_lessons.knowledge.reading import stated_id
from ai_lessons.knowledge.scopes import project_of
from ai_lessons.repository.files import READ_LIMIT, translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

_HEADER = b"SQLite format 3\0"
_STEPS, _PATIENCE = 1_000_000, 2_000
"""A query is cut off after so many times so many steps of SQLite's machine; a full table scan takes far fewer."""

_MAIN = ("lessons", "resources", "rules")
_STARTS, _ENDS = ("from_id", "source_id", "source"), ("to_id", "target_id", "target")
_NAMED = ("relation", "relation_type", "type")
_LINK_TO = {"script": Relation.HAS_SCRIPT, "doc": Relation.HAS_DOC}

Row = dict[str, Any]


def read_database(file: Path, now: datetime) -> Bundle:
    """The lessons, rules, docs and scripts of a database, with their tags, versions and links.

    Raises:
        InvalidEntry: not such a database, or damaged.
    """
    with translated(str(file)), _opened(file) as db:
        try:
            return _Reading(db, file, now).bundle()
        except sqlite3.Error as error:
            raise InvalidEntry([Problem(str(file), f"the database cannot be read: {error}")]) from error


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    with file.open("rb") as start:
        if start.read(len(_HEADER)) != _HEADER:
            raise InvalidEntry([Problem(str(file), "not a SQLite database")])
    log = file.with_name(file.name + "-wal")
    if not (log.exists() and log.stat().st_size):
        with _connected(file) as db:
            yield db
        return
    with TemporaryDirectory() as folder:  # reading a log means writing beside it
        copy = Path(folder, "copy.db")
        shutil.copyfile(file, copy)
        shutil.copyfile(log, copy.with_name("copy.db-wal"))
        with _connected(copy, immutable=False) as db:
            yield db


@contextmanager
def _connected(file: Path, *, immutable: bool = True) -> Iterator[sqlite3.Connection]:
    address = file.resolve().as_uri() + ("?mode=ro&immutable=1" if immutable else "?mode=ro")
    left = [_PATIENCE]

    def over() -> int:
        left[0] -= 1
        return left[0] < 0

    try:
        opened = sqlite3.connect(address, uri=True)
    except sqlite3.Error as error:
        raise StorageFailed(f"{file} cannot be opened: {error}") from error
    with closing(opened) as db:
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        db.row_factory = sqlite3.Row
        db.set_progress_handler(over, _STEPS)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, READ_LIMIT)
        yield db


class _Reading:
    """One database on its way to a bundle."""

    def __init__(self, db: sqlite3.Connection, file: Path, now: datetime) -> None:
        self._db, self._file, self._now = db, file, now
        for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
            db.execute(f"PRAGMA {setting}")
        self._tables = {
            str(name).lower(): str(name)
            for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
            if not str(sql).upper().lstrip().startswith("CREATE VIRTUAL")
        }
        self._ids: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._damaged: list[tuple[str, str]] = []

    def bundle(self) -> Bundle:
        if not set(_MAIN) & self._tables.keys():
            known = ", ".join(_MAIN)
            raise InvalidEntry(
                [Problem(str(self._file), f"no database of ai-lessons: it has none of the tables {known}")]
            )
        rows = {table: self._rows(table) for table in _MAIN}
        for table, found in rows.items():
            for row in found:
                self._ids[str(row.get("id"))] = self._id(table, row)
                self._kinds[str(row.get("id"))] = str(row.get("type") or table.removesuffix("s"))
        links = self._links()
        made = {"lessons": self._lesson, "rules": self._rule, "resources": self._resource}
        items = []
        for table, found in rows.items():
            extra = self._extra(table)
            for row in found:
                try:
                    items.append(made[table](row, extra[str(row.get("id"))], links.get(str(row.get("id")), [])))
                except InvalidEntry as error:
                    said = "; ".join(one.message for one in error.problems)
                    self._damaged.append((self._where(table, row), said))
                except AiLessonsError as error:
                    self._damaged.append((self._where(table, row), error.message))
        return Bundle(items, self._damaged)

    def _rows(self, table: str) -> list[Row]:
        """All rows of a table, with lower-case columns; none where there is no such table."""
        if table not in self._tables:
            return []
        name = self._tables[table].replace('"', '""')
        # the order is that of the ids, so that the same database gives the same files
        found = [{key.lower(): row[key] for key in row.keys()} for row in self._db.execute(f'SELECT * FROM "{name}"')]  # noqa: S608, SIM118 - quoted; a Row iterates over values
        return sorted(found, key=lambda row: str(row.get("id")))

    def _where(self, table: str, row: Row) -> str:
        return f"{self._file.name}: {table} {str(row.get('id'))[:60]}"

    def _id(self, table: str, row: Row) -> str:
        return stated_id(row.get("id")) or made_id("ai-lessons", table, str(row.get("id")), created=_created(row))

    def _extra(self, table: str) -> Mapping[str, Mapping[str, list[str]]]:
        """Tags, contexts and versions of the rows of a table, by id and name."""
        one = table.removesuffix("s")
        found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for name, column in (("tags", "tag"), ("contexts", "context"), ("versions", "version")):
            for row in self._rows(f"{one}_{name}"):
                value = _text(row.get(column)).strip()
                if value:
                    found[str(row.get(f"{one}_id"))][name].append(value)
        return found

    def _links(self) -> dict[str, list[dict[str, Any]]]:
        """The edges of the graph and the links of rules, each once, by the id that they start from."""
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        edges = [
            (_first(row, _STARTS), _first(row, _ENDS), _first(row, _NAMED), row.get("weight"))
            for row in self._rows("edges")
        ]
        edges += [
            (_text(row.get("rule_id")), _text(row.get("target_id")), "", None) for row in self._rows("rule_links")
        ]
        for start, end, relation, weight in edges:
            named = relation or _LINK_TO.get(self._kinds.get(end, ""), Relation.RELATED_TO).value
            if start not in self._ids or end not in self._ids or start == end or named not in set(Relation):
                self._damaged.append(
                    (f"{self._file.name}: link {start[:40]} -> {end[:40]}", "it leads nowhere, or means nothing")
                )
                continue
            link: dict[str, Any] = {named: self._ids[end]}
            if isinstance(weight, int | float) and 0 <= weight < 1e9 and weight != 1:
                link["weight"] = weight
            if link not in found[start]:
                found[start].append(link)
        return found

    def _lesson(self, row: Row, extra: Mapping[str, list[str]], links: list[dict[str, Any]]) -> Item:
        entry_id, created = self._ids[str(row.get("id"))], self._stamp(row)
        title = self._title("lessons", row)
        source, category = _text(row.get("source")), _text(row.get("category"))
        fields = drafts.lesson_fields(
            entry_id, created, title=title, tags=extra.get("tags", ()), contexts=extra.get("contexts", ()),
            confidence=word_of(row.get("confidence")), source=source if source in set(Source) else "observed",
            origin="ai", category=category if category in set(Category) else None,
        )  # fmt: skip
        return self._item("lessons", row, layout.lesson_path(GLOBAL_PROJECT, title, entry_id, created), fields, links)

    def _rule(self, row: Row, extra: Mapping[str, list[str]], links: list[dict[str, Any]]) -> Item:
        """Whether it was approved there does not count here: a person here decides."""
        entry_id, title = self._ids[str(row.get("id"))], self._title("rules", row)
        why = _text(row.get("rationale")).strip()
        fields = drafts.rule_fields(entry_id, self._stamp(row), title=title, rationale=why, tags=extra.get("tags", ()))
        return self._item("rules", row, layout.rule_path(GLOBAL_PROJECT, title, entry_id), fields, links)

    def _resource(self, row: Row, extra: Mapping[str, list[str]], links: list[dict[str, Any]]) -> Item:
        kind = Kind.SCRIPT if row.get("type") == Kind.SCRIPT else Kind.DOC
        entry_id, title, created = self._ids[str(row.get("id"))], self._title("resources", row), self._stamp(row)
        versions = [one for one in extra.get("versions", ()) if one != UNVERSIONED]
        tags, ref, where = extra.get("tags", ()), _text(row.get("source_ref")) or None, _text(row.get("path"))
        project, name = _place_of(where)
        if kind is Kind.DOC:
            name = name if layout.is_markdown(name) else f"{name or layout.slug(title)}.md"
            doc = drafts.doc_fields(
                entry_id, created, title=title, versions=versions, tags=tags, source_path=where or None, source_ref=ref
            )
            return self._item("resources", row, layout.resource_path(kind, project, versions, name), doc, links)
        content = row.get("content")
        code = content if isinstance(content, bytes) else _text(content).encode()
        fields = drafts.script_fields(
            entry_id, created, title=title, versions=versions, tags=tags, source_ref=ref, path=None if code else where
        )
        path = layout.resource_path(kind, project, versions, name or layout.slug(title))
        said = fields | ({"links": links} if links else {})
        side = markdown.render(said, drafts.body_of(drafts.description(code))).encode()
        if not code:  # it stays where it is
            return Item(self._where("resources", row), layout.side_of(path), side)
        return Item(self._where("resources", row), path, code, side, executable=True)

    def _item(self, table: str, row: Row, path: str, fields: dict[str, Any], links: list[dict[str, Any]]) -> Item:
        said = fields | ({"links": links} if links else {})
        body = drafts.body_of(_text(row.get("content")).replace("\r\n", "\n").replace("\0", ""))
        return Item(self._where(table, row), path, markdown.render(said, body).encode("utf-8", "replace"))

    def _title(self, table: str, row: Row) -> str:
        title = one_line(_text(row.get("title")))
        if not title:
            raise InvalidEntry([Problem(self._where(table, row), "it has no title")])
        return title

    def _stamp(self, row: Row) -> str:
        return drafts.stamp(_created(row) or self._now)


def _created(row: Row) -> datetime | None:
    return moment(row.get("created_at"))


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
