"""From what people type to the id that it means, with near misses for what means nothing."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING

from ai_lessons.errors import AmbiguousName, NotFound
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Kind, handle, handle_lengths

if TYPE_CHECKING:
    import sqlite3

SUGGESTIONS = 5
_HANDLE = r"(?:([LRDS])-)?([0-9A-Z]{1,26})"
_LETTERS = {kind.letter: kind.value for kind in Kind}
_MISREAD = str.maketrans("ILO", "110")  # Letters that no id has, and what Crockford's base 32 takes them for


def resolve(db: sqlite3.Connection, ref: str) -> str:
    """The id of the entry that `ref` names: an id, a handle, the end of an id, or a path of one of its files.

    Raises NotFound: nothing answers to it; the hint names what comes near. AmbiguousName: more than one entry does.
    """
    name = ref.strip().encode("utf-8", "replace").decode()  # half a character, which no database takes, becomes `?`
    found = _by_path(db, name) or _by_tail(db, name)
    if not found:
        raise NotFound("entry", ref, suggestions=suggestions(db, name))
    if len(found) > 1:
        raise AmbiguousName(ref, _described(db, found))
    return found[0]


def handle_beside(db: sqlite3.Connection, kind: Kind, entry_id: str) -> str:
    """The handle that an entry, which need not be here yet, has or will have beside those that are."""
    own = entry_id.upper()
    near = {found.upper() for found in _ids_ending(db, own[-HANDLE_LENGTH:], None)}
    return handle(kind, entry_id, handle_lengths({own, *near})[own])


def _by_path(db: sqlite3.Connection, name: str) -> list[str]:
    if not name:
        return []
    path = posixpath.normpath(name)
    rows = db.execute(
        "SELECT id FROM shown WHERE path = ? UNION SELECT id FROM shown WHERE side_path = ?", (path, path)
    )
    return [row[0] for row in rows]


def _by_tail(db: sqlite3.Connection, name: str) -> list[str]:
    match = re.fullmatch(_HANDLE, name.upper())
    if not match:
        return []
    letter, end = match.groups()
    kind = _LETTERS[letter] if letter else None
    return _ids_ending(db, end, kind) or _ids_ending(db, end.translate(_MISREAD), kind)


def _ids_ending(db: sqlite3.Connection, end: str, kind: str | None) -> list[str]:
    tail = end[::-1]
    query = "SELECT id FROM shown WHERE tail >= ? AND tail < ? AND (? IS NULL OR kind = ?)"
    return [row[0] for row in db.execute(query, (tail, tail + "~", kind, kind))]


def suggestions(db: sqlite3.Connection, name: str) -> list[str]:
    """What may have been meant: ids one character away or of another kind, or titles and paths that share words."""
    near = _near_ids(db, name) or _near_words(db, name)
    return _described(db, near)


def _near_ids(db: sqlite3.Connection, name: str) -> list[str]:
    match = re.fullmatch(_HANDLE, name.upper())
    if not match:
        return []
    end = match.group(2).translate(_MISREAD)
    if _ids_ending(db, end, None):
        return _ids_ending(db, end, None)
    if len(end) < HANDLE_LENGTH - 1:
        return []
    patterns = _one_away(end[-HANDLE_LENGTH:])
    query = "SELECT DISTINCT id FROM shown JOIN (SELECT value AS near FROM json_each(?)) ON tail GLOB near LIMIT 20"
    return [row[0] for row in db.execute(query, (json.dumps([pattern[::-1] + "*" for pattern in patterns]),))]


def _one_away(end: str) -> list[str]:
    """Patterns of the ends that differ by one character: another one, one too many, one missing, or two swapped."""
    patterns = set()
    for i in range(len(end)):
        patterns.add(f"{end[:i]}?{end[i + 1 :]}")
        patterns.add(f"{end[:i]}?{end[i:]}")
        patterns.add(f"{end[:i]}{end[i + 1 :]}")
        patterns.add(end[:i] + end[i : i + 2][::-1] + end[i + 2 :])
    return sorted(patterns)


def _near_words(db: sqlite3.Connection, name: str) -> list[str]:
    words = [word for word in re.split(r"[^\w]+", name.lower()) if len(word) > 1][:8]
    if not words:
        return []
    query = """
        SELECT id FROM shown JOIN (SELECT value AS word FROM json_each(?)) ON instr(lower(title || ' ' || path), word)
        GROUP BY id HAVING count(*) * 2 >= ? ORDER BY count(*) DESC, id DESC LIMIT ?
    """
    return [row[0] for row in db.execute(query, (json.dumps(words), len(words), SUGGESTIONS))]


def _described(db: sqlite3.Connection, ids: list[str]) -> list[str]:
    """Handle and title of a few, and how many more there are."""
    shown = []
    for entry_id in ids[:SUGGESTIONS]:
        handle, title = db.execute("SELECT handle, title FROM shown WHERE id = ?", (entry_id,)).fetchone()
        shown.append(f"{handle} ({title})")
    more = len(ids) - SUGGESTIONS
    return [*shown, f"{more} more"] if more > 0 else shown


def complete(db: sqlite3.Connection, what: str, prefix: str, limit: int) -> list[tuple[str, str]]:
    """Values that start with `prefix`, each with a word of help, for the completion of a shell.

    `what` is `id` (handles, by kind letter and beginning; without a letter any handle's end), `project`, `tag`,
    `version`; anything else has no values.
    """
    like = re.sub(r"([\\%_])", r"\\\1", prefix) + "%"
    query = _COMPLETIONS.get(what)
    return [] if query is None else [tuple(row) for row in db.execute(query, {"like": like, "limit": limit})]


_COMPLETIONS = {
    "id": """
        SELECT handle, title FROM shown
        WHERE handle LIKE :like ESCAPE '\\' OR substr(handle, 3) LIKE :like ESCAPE '\\'
        ORDER BY status <> 'active', created DESC LIMIT :limit
    """,
    "project": """
        SELECT project, count(*) || ' entries' FROM shown
        WHERE project LIKE :like ESCAPE '\\' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit
    """,
    "tag": """
        SELECT tag, count(*) || ' entries' FROM shown JOIN tags USING (key)
        WHERE tag LIKE :like ESCAPE '\\' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit
    """,
    "version": """
        SELECT version, count(*) || ' entries' FROM shown JOIN versions USING (key)
        WHERE version LIKE :like ESCAPE '\\' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit
    """,
}
