"""From the bytes of a file to an entry. Lenient where a file is not ours, exact where it says that it is.

Reads what it is handed and never touches a disk. Values that mean nothing (`confidence: perhaps`, an id that is no
ULID) are kept in the fields and named by `checks`; only what cannot be read at all is an error here.
"""

from __future__ import annotations

import re
from typing import Any

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.knowledge.entries import Entry, Kind, Link, Relation
from ai_lessons.knowledge.layout import Place, derived_id, is_markdown, place
from ai_lessons.knowledge.markdown import parse_mapping
from ai_lessons.knowledge.texts import texts_of

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S[^\n]*)$|^(\S[^\r\n]*)\r?\n=+[ \t]*\r?$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*\r?$|\Z)", re.MULTILINE | re.DOTALL)
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
LINK_WEIGHT = "weight"
"""The one key of a link that names no relation."""

_KINDS = {kind.value: kind for kind in Kind}
_RELEVANT = 4000
"""Characters of a body in which its title is looked for."""


def read_entry(path: str, data: bytes, side: bytes | None = None) -> Entry:
    """The entry that a file holds.

    `data` are the bytes of `path`; for a script also give `side`, those of the Markdown file beside it, if there is
    one. A side file alone is read as the script it describes, provided that it says with `path:` where that lies.

    Raises:
        InvalidEntry: not text, frontmatter that cannot be read, a path that is no entry's, or a side file without
            its script.
    """
    where = place(path)
    if where is None:
        raise InvalidEntry([Problem(path, "no entry can have this path")])
    script = where.kind is Kind.SCRIPT and not (is_markdown(path) and side is None)
    texts = texts_of(path, data, side if script else None, script=script)
    fields = parse_mapping(texts.matter, texts.file, first_line=2) if texts.matter is not None else {}
    if script:
        side_path = texts.file if side is not None else None
        return _entry(Kind.SCRIPT, path, where, fields, body=texts.body, code=texts.code, side_path=side_path)
    kind = _kind(fields, where)
    if kind is Kind.SCRIPT:
        return _read_script_elsewhere(path, where, fields, texts.body)
    return _entry(kind, path, where, fields, body=texts.body, title=_first_heading(texts.body))


def _read_script_elsewhere(side_path: str, where: Place, fields: dict[str, Any], body: str) -> Entry:
    """A side file whose script lies outside the repository."""
    outside = fields.get("path")
    path = side_path.rpartition(".")[0]
    if not isinstance(outside, str) or not outside.strip():
        raise InvalidEntry(
            [Problem(side_path, f"describes a script, but there is no {path!r} beside it", 1)],
            hint="put the script there, or say with `path:` where it lies",
        )
    return _entry(Kind.SCRIPT, path, where, fields, body=body, side_path=side_path)


def _kind(fields: dict[str, Any], where: Place) -> Kind:
    """A rule if the file says so or lies among rules (fail closed); else what it says; else what its folder says."""
    said = fields.get("kind")
    said = said.strip().lower() if isinstance(said, str) else ""
    if where.kind is Kind.RULE or said == Kind.RULE:
        return Kind.RULE
    if said in _KINDS:
        return _KINDS[said]
    if where.kind is Kind.SCRIPT:
        return Kind.SCRIPT if fields.get("path") else Kind.DOC  # a README among scripts is a doc
    return where.kind or Kind.DOC


def _entry(
    kind: Kind,
    path: str,
    where: Place,
    fields: dict[str, Any],
    *,
    title: str = "",
    body: str = "",
    code: str = "",
    side_path: str | None = None,
) -> Entry:
    stated = stated_id(fields.get("id"))
    return Entry(
        id=stated or derived_id(path),
        kind=kind,
        title=_title(fields) or title or _file_title(path, kind),
        path=path,
        project=where.project,
        tags=_words(fields.get("tags")),
        versions=_words(fields.get("versions")),
        links=_links(fields),
        fields=fields,
        body=body,
        code=code,
        side_path=side_path,
        derived=stated is None,
    )


def stated_id(value: object) -> str | None:
    """A stated id in capitals. Anything that is not a ULID is a foreign file's own and stays a field."""
    return value.upper() if isinstance(value, str) and _ULID.fullmatch(value.upper()) else None


def _title(fields: dict[str, Any]) -> str:
    value = fields.get("title")
    return " ".join(str(value).split()) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _first_heading(body: str) -> str:
    """The first heading outside code; empty if there is none near the top."""
    top = body[:_RELEVANT]
    if "```" in top or "~~~" in top:
        top = _FENCE.sub("", top)
    found = _HEADING.search(top)
    if not found:
        return ""
    words = (found[1] or found[2]).split()
    return " ".join(words[:-1] if len(words) > 1 and not words[-1].strip("#") else words)


def _file_title(path: str, kind: Kind) -> str:
    name = path.rpartition("/")[2]
    return name if kind is Kind.SCRIPT else name.rpartition(".")[0]


def _words(value: object) -> tuple[str, ...]:
    """A list of short texts; foreign files write `a, b` or one bare word, `#tag` included."""
    if value is None:
        return ()
    items = value if isinstance(value, list) else str(value).split(",") if _is_word(value) else []
    words = (str(item).strip().lstrip("#") for item in items if _is_word(item))
    return tuple(dict.fromkeys(word for word in words if word))


def _is_word(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _links(fields: dict[str, Any]) -> tuple[Link, ...]:
    """`- relation: target` with an optional `weight` beside it, and a script's `proves`. The rest is for `checks`."""
    links = [Link(Relation.PROVES.value, _target(target)) for target in _words(fields.get("proves"))]
    stated = fields.get("links")
    for item in stated if isinstance(stated, list) else ():
        if isinstance(item, dict):
            weight = item.get(LINK_WEIGHT)
            number = float(weight) if isinstance(weight, int | float) and not isinstance(weight, bool) else None
            links += [
                Link(relation, _target(target), number)
                for relation, target in item.items()
                if relation != LINK_WEIGHT and isinstance(target, str) and target.strip()
            ]
    return tuple(dict.fromkeys(links))


def _target(text: str) -> str:
    return stated_id(text.strip()) or text.strip()
