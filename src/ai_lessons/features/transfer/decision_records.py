"""Architecture decision records (Nygard's form, adr-tools, MADR, log4brains) as docs, and accepted ones as rules. Pure.

A record says of itself whether it holds, and which others it takes the place of: a doc does so by `status` and links.
"""

from __future__ import annotations

import re
from hashlib import sha256
from posixpath import basename, dirname, join, normpath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from ai_lessons.features.transfer.arriving import Item, made, made_id, moment
from ai_lessons.model import expression, frontmatter, layout, markdown
from ai_lessons.model.decision_status import (
    ACCEPTED,
    BESIDE,
    LINK,
    MARKS,
    NEWER,
    OLDER,
    PARTLY,
    TAG,
    offers_several,
    parts_of,
    rows_at_top,
    stated_in,
    status_of,
    status_of_record,
    status_texts,
    without_comments,
)
from ai_lessons.model.entries import GLOBAL_PROJECT, Kind, Relation, Status
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.texts import decode, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

# The name of the form
FORM = TAG

_NO_RECORD = expression(
    r"(?i)(?:readme|index|contributing|changelog|.*(?:template|vorlage|mod[eè]le|plantilla).*)\.\w+"
)
# How the name of a record begins.
# `0004-drop-colorama.md`, `ADR-4.md`, `20200106-use-a-queue.md`.
_NUMBER = expression(r"(?i)(?:adr[-_ ]?)?0*(\d{1,9})(?=[-_. ]|\Z)")

# What stands before the words of a title: `4. `, `ADR-0004: `, `ADR 4 - `.
_TITLE_NUMBER = expression(
    r"(?i)\A(?:adr|decision)?[-_ #]{0,9}0{0,9}(\d{1,9})\s{0,9}[.:)\u2013\u2014-]\s*"
)

_RELATIONS = (NEWER, OLDER, BESIDE)
# The same in frontmatter, in the order of `_RELATIONS`.
_KEYS = (
    ("superseded-by", "superseded_by", "replaced-by", "replaced_by"), ("supersedes", "supercedes", "replaces"),
    ("amends", "related", "relates-to"),
)  # fmt: skip

_NAMED = expression(
    r"(?i)(?:\badrs?|\bdecisions?|\brecords?|#|\bno\.?|\A|->|→|(?<=\d)\s?(?:,|&|and|und|et|y|e|en))"
    r"[-_ #]{0,5}0{0,9}(\d{1,9})\b(?!-\d)"
)
# A line of its own that names others: `- **Supersedes**: ADR-3`
_RELATION_ROW = expression(r"[^\w\[]*\Z")
_AROUND_A_TITLE = " \t-:.*_\"'“”„«»`"
# A longer number is a day, which many records share
_LONGEST_NUMBER = 5
# the name of an option is short, and a bound keeps the time with the length of a text
_CHOSEN = expression(r"(?i)chosen option\b.{1,300}?\bbecause\s(?P<why>.+)", re.DOTALL)
_TAGS = expression(r"[\w][\w+#.-]*(?: [\w+#.-]+)*")
_DATE = expression(r"(\d{4})[-/.](\d{2})[-/.](\d{2})")

_CONTEXT = (
    "context and problem statement", "context", "problem statement", "problem", "motivation",
    "kontext", "kontext und problemstellung", "ausgangslage", "contexte", "contexte et énoncé du problème",
    "contexto", "contesto", "kontekst", "контекст", "背景", "コンテキスト", "맥락",
)  # fmt: skip
_DECISION = (
    "decision outcome", "decision", "decisions", "outcome", "the decision", "our decision",
    "entscheidung", "entscheid", "décision", "résultat de la décision", "decisión", "decisão",
    "decisione", "besluit", "beslissing", "decyzja", "решение", "决策", "决定", "決定", "결정",
)  # fmt: skip
_LINKS = (
    "links", "related decisions", "relations", "related", "more information", "references",
    "liens", "verweise", "referenzen", "références", "enlaces", "referencias", "referências",
)  # fmt: skip


class SourceFile(NamedTuple):
    """One file: its `name` below the folder that was named, its bytes, and where it lies."""

    name: str
    data: bytes
    source_path: str | None = None
    source_ref: str | None = None


class Record(NamedTuple):
    """What a record says. `status`: one word of ours, or "" where it states none.

    `references` are what it names as superseding it, as superseded by it, and as related, as it
    writes them.
    """

    file: SourceFile
    title: str
    body: str
    fields: Mapping[str, Any]
    status: str
    date: str
    tags: tuple[str, ...]
    references: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    context: str
    decision: str

    @property
    def number(self) -> int | None:
        """By which others name it: of its file, else of its title."""
        match = _NUMBER.match(basename(self.file.name)) or _TITLE_NUMBER.match(self.title)
        if match:
            return int(match[1])
        return None


def read(file: SourceFile, *, named: bool = False) -> Record | None:
    """The record in a file; None where it holds none: no status, and no decision.

    `named`: a person says that it is.

    Raises InvalidEntry: it is no text.
    """
    name = basename(file.name)
    if _NO_RECORD.fullmatch(name) and not named:
        return None
    text = decode(file.data.replace(b"\r\n", b"\n"), file.name)
    entry = read_entry(f"{GLOBAL_PROJECT}/docs/unversioned/{name}", text.encode())
    parts = parts_of(entry.body)
    stated = stated_in(entry.body, parts)
    decision = _first(parts, _DECISION)
    status = status_of_record(entry, stated)
    if not (status or decision) and not named:
        return None
    dated = _DATE.search(str(entry.fields.get("date") or stated.get("date", "")))
    stating = [*"\n".join(status_texts(entry, stated)).split("\n"), *_relation_rows(entry.body)]
    return Record(
        file, one_line(entry.title) or name, entry.body, entry.fields, status, "-".join(dated.groups()) if dated else "",
        (*entry.tags, *_tags(stated.get("tags", ""))),
        _references(entry.fields, stating, _first(parts, _LINKS)),
        _first(parts, _CONTEXT), decision,
    )  # fmt: skip


def _tags(text: str) -> list[str]:
    tags: list[str] = []
    for tag in re.split(r"[,;]", text):
        if _TAGS.fullmatch(tag.strip()):
            tags.append(tag.strip())
    return tags


def _relation_rows(body: str) -> list[str]:
    """The lines at the top that begin with a relation."""
    rows: list[str] = []
    for row in rows_at_top(body):
        plain = MARKS.sub("", row)
        for relation in _RELATIONS:
            match = relation.search(plain)
            if match and match[0].endswith(":") and _RELATION_ROW.match(plain[: match.start()]):
                rows.append(plain)
    return rows


def _references(
    fields: Mapping[str, Any], stating: Sequence[str], links: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """What a record names as superseding it, superseded by it, and related to it."""
    named: tuple[list[str], list[str], list[str]] = ([], [], [])
    for place, keys in enumerate(_KEYS):
        for key in keys:
            values = fields.get(key)
            for value in values if isinstance(values, list) else [values]:
                named[place].extend(_targets(str(value)) if value not in (None, "") else ())
    for row in (*stating, *without_comments(links).split("\n")):
        if offers_several(row):
            continue
        starts = [
            (match, place) for place, kind in enumerate(_RELATIONS) for match in kind.finditer(row)
        ]
        starts.sort(key=lambda start: start[0].start())
        if not starts and row in stating and status_of(row) == Status.SUPERSEDED:
            named[0].extend(_named_in(row))
        # what is superseded in part still holds
        partly = PARTLY.search(row) is not None
        for number, (match, place) in enumerate(starts, 1):
            if number < len(starts):
                end = starts[number][0].start()
            else:
                end = len(row)
            named[2 if partly else place].extend(_targets(row[match.end() : end]))
    newer, older, beside = (tuple(dict.fromkeys(targets)) for targets in named)
    return newer, older, beside


def _targets(text: str) -> list[str]:
    """The records that a text names: by links, else by numbers, else by their title."""
    named = _named_in(text)
    if named:
        return named
    title = text.strip(_AROUND_A_TITLE)
    if title:
        return [title]
    return []


def _named_in(text: str) -> list[str]:
    """The records that a text names by links, else by numbers."""
    linked: list[str] = []
    for match in LINK.finditer(text):
        target = match[2] or match[3] or match[1]
        linked.append(unquote(target.partition("#")[0]) or target)
    return linked or [match[1] for match in _NAMED.finditer(text.strip())]


def _first(parts: Mapping[str, str], names: Sequence[str]) -> str:
    return next((parts[name].strip() for name in names if parts.get(name, "").strip()), "")


def resolved(reference: str, record: Record, records: Sequence[Record]) -> Record | None:
    """The record that another one names: by its path, its file, its number, or its title."""
    home = dirname(record.file.name)
    path = normpath(join(home, reference))
    stem = basename(reference).removesuffix(".md").casefold()
    number = None
    if reference.isdigit():
        number = int(reference)
    if number is None and (match := _NAMED.fullmatch(reference) or _NUMBER.match(stem)):
        number = int(match[1]) if len(match[1]) <= _LONGEST_NUMBER else None
    words = _bare(reference)
    beside = sorted(records, key=lambda other: dirname(other.file.name) != home)
    tests = (
        lambda other: other.file.name == path,
        lambda other: (
            bool(stem) and basename(other.file.name).removesuffix(".md").casefold() == stem
        ),
        lambda other: number is not None and other.number == number,
        lambda other: bool(words) and _bare(other.title) == words,
    )
    for test in tests:
        for other in beside:
            if other is not record and test(other):
                return other
    return None


def _bare(title: str) -> str:
    """The words of a title without its number."""
    return _TITLE_NUMBER.sub("", title.strip(_AROUND_A_TITLE), count=1).casefold()


def superseding(records: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Which record takes the place of which, newer first, whichever of the two says so."""
    pairs: dict[tuple[str, str], tuple[Record, Record]] = {}
    for record in records:
        newer, older, _ = record.references
        for reference, is_newer in (
            *((text, True) for text in newer),
            *((text, False) for text in older),
        ):
            other = resolved(reference, record, records)
            if other is not None:
                if is_newer:
                    pair = (other, record)
                else:
                    pair = (record, other)
                pairs.setdefault((pair[0].file.name, pair[1].file.name), pair)
    return list(pairs.values())


def docs(
    records: Sequence[Record], ids: Mapping[str, str], project: str | None, now: datetime
) -> list[Item]:
    """Each record as a doc, with its status, and linked with what it supersedes and what it is related to.

    `ids`: of each by the name of its file, see `id_of`.
    """
    replaced = superseding(records)
    gone = {older.file.name for _, older in replaced}
    links: dict[str, list[dict[str, str]]] = {record.file.name: [] for record in records}
    for newer, older in replaced:
        links[newer.file.name].append({Relation.SUPERSEDES.value: ids[older.file.name]})
    for record in records:
        for reference in record.references[2]:
            other = resolved(reference, record, records)
            link = None
            if other is not None:
                link = {Relation.RELATED_TO.value: ids[other.file.name]}
            if link and link not in links[record.file.name]:
                links[record.file.name].append(link)
    return [
        _doc(record, ids, links[record.file.name], record.file.name in gone, project, now)
        for record in records
    ]


def _doc(
    record: Record,
    ids: Mapping[str, str],
    links: Sequence[dict[str, str]],
    gone: bool,
    project: str | None,
    now: datetime,
) -> Item:
    file = record.file
    created = frontmatter.stamp(moment(record.date) or now)
    fields = frontmatter.doc_fields(
        ids[file.name], created, title=record.title, tags=sorted({FORM, *record.tags}),
        source_path=file.source_path, source_ref=file.source_ref, content_hash=hash_of(file.data),
    )  # fmt: skip
    foreign = {}
    for key, value in record.fields.items():
        if key not in frontmatter.OWN_KEYS:
            foreign[key] = value
    if gone and record.status in {ACCEPTED, ""}:
        status = Status.SUPERSEDED.value
    else:
        status = record.status
    if status:
        stated = {"status": status}
    else:
        stated = {}
    if links:
        linked = {"links": list(links)}
    else:
        linked = {}
    path = layout.resource_path(Kind.DOC, project or GLOBAL_PROJECT, (), _file_name(file.name))
    data = markdown.render(fields | foreign | stated | linked, record.body).encode()
    return Item(file.name, path, data)


def _file_name(name: str) -> str:
    if layout.is_markdown(name):
        return name
    return f"{name}.md"


def hash_of(data: bytes) -> str:
    """What `content_hash` says of a snapshot of these bytes."""
    return f"sha256:{sha256(data).hexdigest()}"


def id_of(record: Record, project: str | None) -> str:
    """The id of a new doc: the same in every clone, and whatever becomes of the decision."""
    return made_id(FORM, project or GLOBAL_PROJECT, record.file.name, created=moment(record.date))


def rules(
    records: Iterable[Record],
    replaced: frozenset[str],
    ids: Mapping[str, str],
    project: str | None,
    now: datetime,
) -> list[Item]:
    """Each accepted record that nothing `replaced`, by the names of their files, as a rule that links its doc."""
    rules: list[Item] = []
    for record in records:
        if record.status == ACCEPTED and record.file.name not in replaced:
            rules.append(_rule(record, ids[record.file.name], project, now))
    return rules


def _rule(record: Record, doc: str, project: str | None, now: datetime) -> Item:
    created = frontmatter.stamp(moment(record.date) or now)
    chosen = _CHOSEN.search(record.decision.partition("\n\n")[0])
    if chosen:
        why = chosen["why"]
    else:
        why = record.context.partition("\n\n")[0]
    title = _TITLE_NUMBER.sub("", record.title, count=1)
    fields = frontmatter.rule_fields(
        made_id(FORM, "rule", doc), created, title=title, source_path=record.file.source_path
    )
    fields["rationale"] = one_line(MARKS.sub("", why), 1_000)
    body = f"{record.decision or record.body.strip()}"
    links = {"links": [{Relation.HAS_DOC.value: doc}]}
    return made(
        f"{record.file.name}: rule", Kind.RULE, project or GLOBAL_PROJECT, body, fields | links
    )
