"""Texts that agents read without a program of ours: notes and instructions as entries, and rules in force as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.knowledge import frontmatter, layout, markdown
from ai_lessons.knowledge.bundle import Item, made_id, moment, one_line
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, HANDLE_LENGTH, UNSTATED, Kind, stated_id
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.origins import project_of
from ai_lessons.knowledge.texts import decode, escaped, split
from ai_lessons.knowledge.yaml_edit import REMOVE
from ai_lessons.knowledge.yaml_text import mapping_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from ai_lessons.knowledge.entries import Entry

_OURS = re.compile(r"^<!-- >>> ai-lessons[^\n]*? >>> -->$.*?^<!-- <<< ai-lessons[^\n]*? <<< -->$\n?", re.M | re.S)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_IMPORT = re.compile(r"@\S+[ \t]*")
_WHY = re.compile(r"^[ \t>*-]*(?:\*\*|__)?(?:because|why|reason|rationale)\b:?(?:\*\*|__)?:?[ \t]*(\S.*)$", re.I | re.M)
_LINE = re.compile(r"([A-Za-z]\w*)[ \t]*:[ \t]*(.*)")
_MOST_WHY = 1000


class MarkdownSection(NamedTuple):
    """A part of a text with the headings above it, `line` (from 1) where it begins."""

    title: str
    body: str
    line: int


# --- notes ---


def note(name: str, data: bytes, project: str | None, now: datetime) -> Item:
    """A file, `name` below its folder, as an entry that keeps all it says. Raises InvalidEntry: it cannot be read."""
    text = decode(data.replace(b"\r\n", b"\n"), name)
    said = read_entry(f"{GLOBAL_PROJECT}/docs/unversioned/{name.rpartition('/')[2]}", text.encode())
    if said.kind is Kind.SCRIPT:
        raise InvalidEntry([Problem(name, "describes a script, which is no Markdown: import that file")])
    entry_id = stated_id(said.fields.get("id")) or made_id("markdown", name, text)
    created = frontmatter.stamp(moment(said.fields.get("created") or said.fields.get("date")) or now)
    title = one_line(said.title) or one_line(name)
    changes: dict[str, Any] = {"id": entry_id, "kind": said.kind.value, "title": title, "created": created}
    for key, words in (("tags", said.tags), ("versions", said.versions)):
        if key in said.fields and not isinstance(said.fields[key], list):
            changes[key] = sorted(words) or REMOVE
    where = project or project_of(said.fields.get("project") or GLOBAL_PROJECT)
    if said.kind is Kind.DOC:
        path = layout.resource_path(Kind.DOC, where, said.versions, name)
    elif said.kind is Kind.RULE:
        path = layout.rule_path(where, title, entry_id)
    else:
        path = layout.lesson_path(where, title, entry_id, created)
    return Item(name, path, markdown.edit(text, changes).encode())


# --- instructions ---


def instructions(name: str, data: bytes, project: str | None, now: datetime) -> list[Item]:
    """The rules that a file of instructions, called by its path, states. Raises InvalidEntry: not text."""
    text = _OURS.sub("", decode(data.replace(b"\r\n", b"\n"), name).removeprefix("\ufeff"))
    matter, body = split(text)
    if name.lower().endswith(".mdc") or re.search(r"(?:^|/)\.(?:cursor|claude)/rules/", name):  # one rule each
        said = _matter(matter or "")
        stem = name.rpartition("/")[2].partition(".")[0].replace("-", " ").replace("_", " ")
        title = said.get("description", [""])[0] or next((s.title for s in sections(body) if s.title), stem)
        globs = [one.lstrip("/") for key in ("globs", "paths") for one in said.get(key, ()) if one not in {"*", "**"}]
        return [_rule(name, MarkdownSection(title, body, 1), project, now, globs)] if body.strip() else []
    found = [(one, one.title or f"From {name.rpartition('/')[2]}") for one in sections(body if matter else text)]
    return [_rule(name, one._replace(title=title), project, now, []) for one, title in found]


def sections(text: str) -> list[MarkdownSection]:
    """The parts of a text between its headings that say something, each with the headings above it from level 2 on."""
    return [one for one in _cut(text) if one.body.strip()]


def _cut(text: str) -> Iterator[MarkdownSection]:
    above: list[tuple[int, str]] = []
    fence = ""
    rows: list[str] = []
    start, title = 1, ""
    for number, row in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(row)
        if mark and (not fence or (row.strip().strip(fence[0]) == "" and len(mark[1]) >= len(fence))):
            fence = "" if fence else mark[1]
        found = None if fence or mark else _HEADING.fullmatch(row)
        if found is None:
            if fence or not _IMPORT.fullmatch(row):
                rows.append(row)
            continue
        yield MarkdownSection(title, "\n".join(rows).strip("\n"), start)
        level = len(found[1])
        above = [one for one in above if one[0] < level] + [(level, found[2])]
        title = ": ".join(words for depth, words in above if depth > 1 or depth == level)
        rows, start = [], number
    yield MarkdownSection(title, "\n".join(rows).strip("\n"), start)


def _matter(text: str) -> dict[str, list[str]]:
    """Frontmatter of Cursor, which is no YAML (`globs: *.ts,*.tsx`): each key with its values."""
    found: dict[str, list[str]] = {}
    key = ""
    for row in text.split("\n"):
        line = _LINE.fullmatch(row)
        if line:
            key = line[1]
            found[key] = [line[2].strip().strip("'\"")] if key == "description" else _values(line[2])
        elif key and row.strip().startswith("- "):
            found[key] += _values(row.strip()[2:])
    return found


def _values(text: str) -> list[str]:
    """`a, b` or `["a", "b"]`; a comma inside braces divides nothing."""
    inner = text.strip().removeprefix("[").removesuffix("]") if text.strip().endswith("]") else text
    parts = re.findall(r"(?:\{[^}]*\}|[^,{])+", inner)
    return [one for part in parts if (one := part.strip().strip("'\""))]


def _rule(name: str, section: MarkdownSection, project: str | None, now: datetime, globs: list[str]) -> Item:
    title = one_line(section.title)
    body = section.body.strip("\n")
    why = _WHY.search(body)
    rationale = one_line(why[1], _MOST_WHY) if why else f"Stated in {name}, {UNSTATED}"
    entry_id = made_id("instruction", title, body)
    fields = frontmatter.rule_fields(
        entry_id, frontmatter.stamp(now), title=title, rationale=rationale, applies_to=globs
    )
    path = layout.rule_path(project or GLOBAL_PROJECT, title, entry_id)
    data = markdown.render(fields, frontmatter.body_of(body)).encode()
    return Item(f"{name}:{section.line}", path, data)


# --- rules in force as text ---

NAME = "ai-lessons rules"
"""What our markers in a file are called, beside those of the paragraph on how to use the program."""

PREFIX = "ai-lessons-"  # How the names of our files in a folder of rules begin
_MADE_BY = "Approved by a person in the knowledge repository; made by `ai-lessons admin export`, so edit them there."
_BEGIN, _END = f"<!-- >>> {NAME} >>> -->", f"<!-- <<< {NAME} <<< -->"
_CLAUDE_FILE = re.compile(
    rf"(?:---\npaths:\n(?:  - [^\n]*\n)+---\n)?{re.escape(_BEGIN)}\n.*\n{re.escape(_END)}\n".encode(), re.DOTALL
)
_FENCE_TO_CLOSE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING_MARK = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_MARKER = re.compile(r"<!--(?= (?:>>>|<<<) ai-lessons)")


def agents_md(rules: Sequence[tuple[str, Entry]]) -> str:
    """The part of a file of instructions that states these (handle, rule), markers not included."""
    return "\n\n".join(["## Rules", _MADE_BY, *(_section(handle, rule, 3) for handle, rule in rules)])


def claude_name(rule: Entry) -> str:
    """The file of a rule in a folder of rules."""
    return f"{PREFIX}{layout.slug(rule.title)}-{rule.id[-HANDLE_LENGTH:].lower()}.md"


def claude_rule(handle: str, rule: Entry) -> str:
    """Our part of that file; loaded only for the files that the rule applies to, where it says which."""
    globs = _globs(rule)
    matter = "".join(f"{row}\n" for row in ("---", *mapping_lines({"paths": globs}), "---")) if globs else ""
    return f"{matter}{_BEGIN}\n{_section(handle, rule, 1)}\n\n{_MADE_BY}\n{_END}\n"


def is_ours(there: bytes) -> bool:
    """Whether a file of a folder of rules was made here, by how it begins and ends."""
    return _CLAUDE_FILE.fullmatch(there) is not None


def _section(handle: str, rule: Entry, level: int) -> str:
    lines = [f"{'#' * level} {_line(rule.title)} ({handle})"]
    lines += [f"Because: {_line(rule.rationale)}"] if rule.rationale else []
    globs = ", ".join(f"`{_line(glob).replace('`', '?')}`" for glob in _globs(rule))
    about = [
        *([f"in the project {_line(rule.project)}"] if rule.project != GLOBAL_PROJECT else []),
        *([f"for {globs}"] if globs else []),
    ]
    lines += [f"Applies {' '.join(about)}."] if about else []
    body = _below(level, _safe(rule.body).strip("\n"))
    return "\n\n".join([*lines, *([body] if body else [])])


def _globs(rule: Entry) -> list[str]:
    said = rule.fields.get("applies_to")
    return [str(one) for one in said] if isinstance(said, list) else []


def _safe(text: str) -> str:
    """Without anything that would pass for a marker of ours, and with invisible signs as escapes."""
    return _MARKER.sub("<! --", escaped(text.replace("\r\n", "\n")))


def _line(text: str) -> str:
    return " ".join(_safe(text).split())


def _below(level: int, text: str) -> str:
    """A text whose headings stand below one of that level, and which leaves no fence or comment open."""
    rows: list[str] = []
    fence = ""
    for row in text.split("\n"):
        mark = _FENCE_TO_CLOSE.match(row)
        if mark and (not fence or (mark[2].startswith(fence) and not mark[3].strip())):
            fence = "" if fence else mark[2]
        elif not fence and (heading := _HEADING_MARK.match(row)):
            rows.append(f"{'#' * min(len(heading[1]) + level, 6)}{row[heading.end(1) :]}")
            continue
        elif not fence and _UNDERLINE.fullmatch(row) and rows and rows[-1].strip():
            rows.append("\\" + row.strip())
            continue
        rows.append(row)
    opened = text.rfind("<!--") > text.rfind("-->")
    return "\n".join([*rows, *([fence] if fence else []), *(["-->"] if opened else [])])
