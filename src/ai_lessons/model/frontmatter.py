"""From the bytes of a file to an entry, and the frontmatter of new entries."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from inspect import cleandoc
from itertools import takewhile
from typing import Any

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.model import expression
from ai_lessons.model.entries import (
    ABOUT,
    KINDS,
    SHARED,
    UNVERSIONED,
    Entry,
    EntrySummary,
    Kind,
    Link,
    Relation,
    stated_id,
    ulid,
)
from ai_lessons.model.layout import Place, derived_id, globs, is_markdown, place
from ai_lessons.model.markdown import entry_fields
from ai_lessons.model.markup import MARKUPS
from ai_lessons.model.texts import BOM, SORTED_KEYS, one_line, texts_of, without_id

# Keys of a doc that are ours to set; a source's own frontmatter keeps the others.
OWN_KEYS = frozenset(
    (
        "id",
        "kind",
        "title",
        "versions",
        "tags",
        "content_hash",
        "created",
        "links",
        "source_path",
        "source_ref",
    )
) | {"source_url", "source_date", "etag"}
_LINK_TO = {Kind.SCRIPT: Relation.HAS_SCRIPT, Kind.DOC: Relation.HAS_DOC}
_COMMENT = expression(r"(?<!\s)\s*+(?:#|//|--|;|%|REM\b|::)+!?[ \t]?", re.IGNORECASE)
_DOCSTRING = expression(
    r"(?:[ \t]*+(?:#[^\n]*)?\n)*+[ \t]*+(?:[rRuU]?(\"\"\"|\'\'\')(.*?)\1|/\*++(.*?)\*/)", re.DOTALL
)


def new_id(now: datetime) -> str:
    """A ULID of this time with fresh random bytes: consecutive ones would make similar handles."""
    return ulid(int(now.timestamp() * 1000), secrets.token_bytes(10))


def stamp(now: datetime) -> str:
    """ISO 8601 in UTC to the second, with `Z`."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def resolved(
    links: Iterable[tuple[str, str]], resolve: Callable[[str], EntrySummary]
) -> list[tuple[str, str]]:
    """(relation, id) of links given as (relation, reference).

    No relation: the one that fits the kind.
    """
    targets = ((relation, resolve(ref)) for relation, ref in links)
    pairs: list[tuple[str, str]] = []
    for relation, target in targets:
        pairs.append((relation or _LINK_TO.get(target.kind, Relation.RELATED_TO), target.id))
    return pairs


def body_of(content: str) -> str:
    """A body that ends in one line end; empty stays empty."""
    if content.strip():
        return content.rstrip("\n") + "\n"
    return ""


def new_fields(
    kind: Kind, entry_id: str, created: str, *, title: str, **stated: Any
) -> dict[str, Any]:
    """Frontmatter of a new entry.

    The defaults of `KINDS` and the stated values, without empty ones.

    `origin` is the key `from`; `when`, `do`, `dont` and `because` are those of the pattern; `links`
    are (relation, id). Raises TypeError for a key that the kind does not have.
    """
    facts = KINDS[kind]
    if "origin" in stated:
        stated["from"] = stated.pop("origin")
    if "pattern" in facts.fields:
        stated["pattern"] = _without_empty(
            {part: stated.pop(part, None) for part in ("when", "do", "dont", "because")}
        )
    links = []
    for relation, target in stated.pop("links", ()):
        links.append({relation: target})
    fitting = {*facts.fields, "tags", ABOUT}
    if facts.versioned:
        fitting.add("versions")
    unknown = stated.keys() - fitting
    if unknown:
        raise TypeError(f"a {kind} has no {', '.join(sorted(unknown))}")
    kind_fields = {**facts.fields, **stated}
    for key, value in kind_fields.items():
        if isinstance(value, str):
            kind_fields[key] = value.strip()
        elif value is not None and key in SORTED_KEYS:
            kind_fields[key] = sorted(set(value))
        elif isinstance(value, tuple) and key == "applies_to":
            # One text may hold several globs, as Cursor writes them
            kind_fields[key] = globs(list(value))
        elif isinstance(value, tuple):
            kind_fields[key] = list(value)
    fields = {
        "id": entry_id,
        "kind": kind.value,
        "title": " ".join(title.split()),
        "created": created,
        "links": links,
    }
    return _without_empty(fields | kind_fields)


lesson_fields = partial(new_fields, Kind.LESSON)
rule_fields = partial(new_fields, Kind.RULE)
doc_fields = partial(new_fields, Kind.DOC)
script_fields = partial(new_fields, Kind.SCRIPT)


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    stated: dict[str, Any] = {}
    for key, value in fields.items():
        if value not in (None, "", [], {}):
            stated[key] = value
    return stated


def identity(entry: Entry) -> dict[str, Any]:
    """The keys that keep the identity of a file without an id when it is moved."""
    fields: dict[str, Any] = {
        "id": entry.id,
        "kind": entry.kind.value,
        "title": entry.title,
    }
    versions = versions_of_place(entry.path)
    if versions and not entry.versions:
        # until now its folder said them
        fields["versions"] = list(versions)
    return fields


def versions_of_place(path: str) -> tuple[str, ...]:
    """The version that a resource's folder names.

    None for `shared`, `unversioned` or no version folder.
    """
    where = place(path)
    bucket = None
    if where:
        bucket = where.bucket
    if bucket and bucket not in {SHARED, UNVERSIONED}:
        return (bucket,)
    return ()


def link_items(
    links: Iterable[Link], add: tuple[str, str, float | None] | None = None
) -> list[dict[str, Any]]:
    """Links as they are written, `add` last."""
    every = list(links)
    if add:
        every.append(Link(*add))
    items: list[dict[str, Any]] = []
    for link in every:
        item: dict[str, Any] = {link.relation: link.target}
        if link.weight is not None:
            item[LINK_WEIGHT] = link.weight
        items.append(item)
    return items


def description(code: bytes) -> str:
    """The docstring or the leading comment of a script, without comment signs.

    Empty if there is none.
    """
    # what a script says of itself stands at its beginning
    text = code[:4_000].decode("utf-8", "replace").replace("\r\n", "\n")
    if docstring := _DOCSTRING.match(text):
        if docstring[1]:
            return cleandoc(docstring[2]).strip()
        # A comment of C and its like, whose lines begin with a star
        return cleandoc(re.sub(r"(?m)^[ \t]*\* ?", "", docstring[3].rstrip("*"))).strip()
    lines = takewhile(_COMMENT.match, re.sub(r"\A#!.*\n?", "", text).lstrip().splitlines())
    return "\n".join(_COMMENT.sub("", line, count=1).rstrip() for line in lines).strip()


def with_code(entry: Entry, data: bytes) -> Entry:
    """A script that is kept elsewhere with the code that is there.

    It describes itself where its file here does not.
    """
    if b"\0" in data:
        code = ""
    else:
        code = data.decode("utf-8", "replace")
    return entry._replace(code=code, body=entry.body or body_of(description(data)))


_H1 = expression(r"^ {0,3}#[ \t]+(\S[^\n]*)$|^(\S[^\r\n]*)\r?\n=+[ \t]*\r?$", re.MULTILINE)
_FIRST = expression(r" {0,3}#{2,6}[ \t]+(\S[^\n]*)$|(\S[^\r\n]*)\r?\n-+[ \t]*\r?$", re.MULTILINE)
_NO_TEXT = expression(
    r"(?:export[ \t][^\n]*[{(\[][ \t]*\r?\n(?:[ \t][^\n]*\n){0,60}[})\]]+;?[ \t]*\r?\n"
    r"|[ \t]*(?:(?:import|export)[ \t][^\n]*)?\r?\n|[ \t]*<!--.*?-->|[ \t]*\{/\*.*?\*/\}"
    # of AsciiDoc: the id of what follows
    r"|\[(?:\[[\w-]+\]|#[\w-]+)\][ \t]*\r?\n)*",
    re.DOTALL,
)
# The title of a README that is centred, and tags of components around words
_HTML_TITLE = expression(
    r"^[ \t]*<h1(?:\s[^<>]{0,300})?>(.{1,2000}?)</h1>", re.DOTALL | re.MULTILINE
)
_COMPONENT = expression(r"<([A-Z][\w.]{0,60})(?:\s[^<>\n]{0,200})?>([^<>\n]*)</\1>")
_ANY_TAG = expression(r"<[^<>]{1,500}>")
# What stands in a heading and is no word of it: `<a id="x">`, `<Badge />`, links
_TAGS = expression(
    r"</?(?:a|br|img|span|sup|sub|small|b|i|em|strong)(?:[ \t/][^<>\n]{0,200})?>|<[A-Z][^<>\n]{0,200}/>"
)
_MARKED_UP = expression(r"(?<!!)\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")
_FENCE = expression(
    r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^ {0,3}\1[`~]*[ \t]*\r?$|\Z)", re.MULTILINE | re.DOTALL
)
# the one key of a link that names no relation
LINK_WEIGHT = "weight"
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def read_entry(path: str, data: bytes, side: bytes | None = None) -> Entry:
    """The entry that a file holds.

    `side` are the bytes of the Markdown file beside a script, if there is one.

    A side file alone is read as the script that it describes, if it says with `path:` where that
    lies. Raises
    InvalidEntry: not text, frontmatter that cannot be read, a path that is no entry's, or a side
    file without script.
    """
    where = place(path)
    if where is None:
        raise InvalidEntry([Problem(path, "no entry can have this path")])
    if data.startswith(_LFS_POINTER):
        raise InvalidEntry(
            [Problem(path, "a pointer of Git LFS in the place of a text: git lfs pull", 1)]
        )
    script = where.kind is Kind.SCRIPT and not (is_markdown(path) and side is None)
    texts = texts_of(path, data, side if script else None, script=script)
    try:
        fields = entry_fields(texts.matter, texts.file) if texts.matter is not None else {}
    except InvalidEntry as error:
        if script or where.kind not in {Kind.DOC, None}:
            raise
        # a page of another program may only look as if it had frontmatter
        whole = data.decode().removeprefix(BOM)
        title = _first_heading(as_markdown(path, texts.body))
        return _entry(
            where.kind or Kind.DOC,
            path,
            where,
            {},
            title=title,
            body=whole,
            faults=tuple(error.problems),
        )
    if script:
        side_path = texts.file if side is not None else None
        return _entry(
            Kind.SCRIPT, path, where, fields, body=texts.body, code=texts.code, side_path=side_path
        )
    kind = _kind(fields, where)
    if kind is not Kind.SCRIPT:
        body = as_markdown(path, texts.body)
        return _entry(kind, path, where, fields, body=body, title=_first_heading(body))
    outside, beside = fields.get("path"), path.rpartition(".")[0]
    if not isinstance(outside, str) or not outside.strip():
        raise InvalidEntry(
            [Problem(path, f"describes a script, but there is no {beside!r} beside it", 1)],
            hint="put the script there, or say with `path:` where it lies",
        )
    return _entry(Kind.SCRIPT, beside, where, fields, body=texts.body, side_path=path)


_OF_DOCUMENTATION = frozenset(("doc", "docs", "documentation", "site", "website", "wiki"))


def _kind(fields: dict[str, Any], where: Place) -> Kind:
    """A rule by `kind` or by folder (fail closed); else by `kind`, else by folder.

    A page that states nothing of ours in the `rules` folder of a documentation (of a linter, say)
    is a doc.
    """
    stated = fields.get("kind")
    if isinstance(stated, str):
        stated = stated.strip().lower()
    else:
        stated = ""
    if stated == Kind.RULE:
        return Kind.RULE
    if where.kind is Kind.RULE:
        ours = stated in set(Kind) or stated_id(fields.get("id")) or "rationale" in fields
        if ours or where.project.lower() not in _OF_DOCUMENTATION:
            return Kind.RULE
        return Kind.DOC
    if stated in set(Kind):
        return Kind(stated)
    if where.kind is Kind.SCRIPT:
        # a README among scripts is a doc
        if fields.get("path"):
            return Kind.SCRIPT
        return Kind.DOC
    return where.kind or Kind.DOC


def _entry(
    kind: Kind, path: str, where: Place, fields: dict[str, Any], *, title: str = "", **texts: Any
) -> Entry:
    stated, title_value = stated_id(fields.get("id")), fields.get("title", fields.get("Title"))
    name = path.rpartition("/")[2]
    if is_word(title_value):
        own_title = str(title_value)
    else:
        own_title = ""
    return Entry(
        id=stated or derived_id(path),
        kind=kind,
        title=one_line(own_title or title) or (name if kind is Kind.SCRIPT else _stem(name)),
        path=path,
        project=where.project,
        tags=listed(fields.get("tags", fields.get("Tags"))),
        versions=listed(fields.get("versions")),
        links=_links(fields),
        fields=fields,
        derived=stated is None,
        **texts,
    )


def _stem(name: str) -> str:
    """The name of a page without what says how it is written: `gpg` of `gpg.adoc.md`."""
    stem, _, suffix = name.rpartition(".")
    inner, _, markup = stem.rpartition(".")
    if inner and suffix == "md" and f".{markup.lower()}" in _WRITTEN:
        return inner
    return stem


_WRITTEN = frozenset((*MARKUPS, ".txt", ".html", ".htm", ".pdf", ".docx"))


def as_markdown(path: str, body: str) -> str:
    """A body as Markdown writes it, whatever markup the file has."""
    suffix = path[path.rfind(".") :].lower()
    if suffix in {".rst", ".adoc"}:
        return MARKUPS[suffix](body)
    return body


def _first_heading(body: str) -> str:
    """The heading that is the title: a first one of level 1, else one that stands before all text.

    Else empty.
    """
    # characters of a body in which its title is looked for
    top = body[:4000]
    if "```" in top or "~~~" in top:
        top = _FENCE.sub("", top)
    heading = _H1.search(top)
    if not heading and (start := _NO_TEXT.match(top)):
        heading = _FIRST.match(top, start.end())
    html = _HTML_TITLE.search(top)
    if html and (not heading or html.start() < heading.start()):
        title = " ".join(_ANY_TAG.sub(" ", html[1]).split())
        if title:
            return title
    if not heading:
        return ""
    plain = _COMPONENT.sub(r"\2", heading[1] or heading[2])
    plain = _TAGS.sub("", _MARKED_UP.sub(r"\1", plain))
    words = without_id(plain).split()
    if len(words) > 1 and not words[-1].strip("#"):
        # `## Title ##` is closed
        words.pop()
    return " ".join(words)


def cut_heading(body: str) -> tuple[str, str]:
    """The heading that is a text's title, and the text without it where it stands before all else."""
    title = _first_heading(body)
    start = _NO_TEXT.match(body)
    heading = None
    if title and start:
        heading = _H1.match(body, start.end()) or _FIRST.match(body, start.end())
    if heading is None:
        return title, body
    return title, (body[: heading.start()] + body[heading.end() :]).strip("\r\n")


def listed(value: object) -> tuple[str, ...]:
    """A list of short texts.

    Foreign files write `a, b` or one bare word, `#tag` included, or `#a #b`.
    """
    if value is None:
        return ()
    if isinstance(value, str) and all(word.startswith("#") for word in value.split()):
        value = value.split()
    if isinstance(value, list):
        items = value
    elif is_word(value):
        items = str(value).split(",")
    else:
        items = []
    words: dict[str, None] = {}
    for item in items:
        word = ""
        if is_word(item):
            # Obsidian writes a tag with its sign
            word = str(item).strip().lstrip("#")
        if word:
            words[word] = None
    return tuple(words)


def is_word(value: object) -> bool:
    """Text, or a whole number: those are written back as they are read."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _links(fields: dict[str, Any]) -> tuple[Link, ...]:
    """`- relation: target` with an optional `weight` beside it, and a script's `proves`.

    The rest is for `checks`.
    """
    links = []
    for target in listed(fields.get("proves")):
        links.append(Link(Relation.PROVES.value, _target(target)))
    stated = fields.get("links")
    if not isinstance(stated, list):
        stated = []
    for item in stated:
        if not isinstance(item, dict):
            continue
        weight = item.get(LINK_WEIGHT)
        number = None
        if isinstance(weight, int | float) and not isinstance(weight, bool):
            number = float(weight)
        for relation, end in item.items():
            if relation != LINK_WEIGHT and isinstance(end, str) and end.strip():
                links.append(Link(relation, _target(end), number))
    return tuple(dict.fromkeys(links))


def _target(text: str) -> str:
    return stated_id(text.strip()) or text.strip()
