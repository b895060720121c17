"""Markdown with frontmatter: read, changed key by key, written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import frontmatter
from frontmatter.default_handlers import YAMLHandler

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.model.entries import Kind, stated_id
from ai_lessons.model.texts import (
    OURS,
    cut,
    foreign,
    mapping_lines,
    normal,
    same,
    split,
)
from ai_lessons.model.yaml_edit import compose, edit_mapping


class Document(NamedTuple):
    """A text taken apart.

    `body` is exactly what stands below the frontmatter, first blank line and all.
    """

    fields: dict[str, Any]
    body: str


def parse(text: str, path: str = "") -> Document:
    """Take a text apart.

    Raises InvalidEntry as `compose`; lines count from the start of the file.
    """
    matter, body = split(text)
    if matter is None:
        return Document({}, body)
    return Document(entry_fields(matter, path), body)


def entry_fields(matter: str, path: str) -> dict[str, Any]:
    """The fields of frontmatter; those below `ai-lessons:` stand for the page's own.

    Raises as `parse`.
    """
    fields = parse_mapping(matter, path, first_line=2)
    ours = fields.get(OURS)
    if isinstance(ours, dict):
        return {**fields, **ours}
    return fields


def is_foreign(fields: Mapping[str, Any]) -> bool:
    """Whether another program's page means something else by `id`, `kind` or `tags`.

    Then ours stand below a key.
    """
    kind, tags = fields.get("kind"), fields.get("tags")
    return (
        isinstance(fields.get(OURS), dict)
        or ("id" in fields and stated_id(fields["id"]) is None)
        or (
            kind is not None and not (isinstance(kind, str) and kind.strip().lower() in tuple(Kind))
        )
        or not (tags is None or isinstance(tags, list))
    )


def parse_mapping(matter: str, path: str = "", *, first_line: int = 1) -> dict[str, Any]:
    """The fields of YAML text that is not wrapped in a Markdown file.

    The same limits and errors as `parse`.
    """
    root = compose(matter, path, first_line)
    if root:
        fields: dict[str, Any] = root.plain()
    else:
        fields = {}
    return fields


def key_lines(text: str) -> dict[str, int]:
    """The line of the file (from 1) on which each top-level key stands.

    Empty where there is no valid frontmatter.
    """
    matter = split(text)[0] or ""
    try:
        root = compose(matter)
    except InvalidEntry:
        return {}
    lines: dict[str, int] = {}
    for key in (root.keys if root else None) or ():
        lines[key.value] = matter.count("\n", 0, key.start) + 2
    return lines


class EntryHandler(YAMLHandler):
    """The format of entries for python-frontmatter.

    `frontmatter.load(file, handler=EntryHandler())` reads a file with the limits, types and errors
    of `parse`, and `frontmatter.dumps` of that with the same handler writes it again: keys in the
    fixed order, the body as it is.
    """

    def split(self, text: str) -> tuple[str, str]:
        """The frontmatter and the body. Raises ValueError: there is none."""
        matter, body = split(text)
        if matter is None:
            raise ValueError("no frontmatter")
        return matter, body

    def load(self, fm: str, **_kwargs: object) -> dict[str, Any]:
        """The fields. Raises as `parse`; times stay the text that they are."""
        return parse_mapping(fm, first_line=2)

    def export(self, metadata: Mapping[str, Any], **_kwargs: object) -> str:
        """The lines of the frontmatter."""
        return "".join(f"{line}\n" for line in mapping_lines(metadata))

    def format(self, post: frontmatter.Post, **_kwargs: object) -> str:
        """The text of the file. The template of the package would trim the body."""
        return f"---\n{self.export(post.metadata)}---\n{post.content}"


def render(fields: Mapping[str, Any], body: str) -> str:
    """The text of a new file, LF, keys in the fixed order.

    Never for a file that a person may have written.
    """
    post = frontmatter.Post(body)
    post.metadata = dict(fields)
    return str(frontmatter.dumps(post, handler=EntryHandler()))


def edit(text: str, changes: Mapping[str, Any], body: str | None = None) -> str:
    """The same text with some keys changed, and nothing else.

    Comments, order, quotes, line ends all stay.

    A key may be dotted to reach below a mapping (`pattern.do`); `REMOVE` takes it away; a mapping
    is replaced key by key; into `tags`, `versions` and `contexts` additions are sorted. `body`
    replaces the body exactly as given. Raises
    InvalidEntry: the frontmatter is invalid, or a key cannot be changed without touching others.
    """
    opening, matter, closing, old_body = cut(text)
    if matter is None and changes and foreign(text):
        problem = Problem("", "its frontmatter is TOML or JSON, which is read and never changed", 1)
        raise InvalidEntry(
            [problem], hint="change it in an editor, or write the frontmatter as YAML"
        )
    if text.partition("\n")[0].endswith("\r"):
        newline = "\r\n"
    else:
        newline = "\n"
    if matter:
        fields = parse_mapping(matter, first_line=2)
    else:
        fields = {}
    if is_foreign(fields):
        effective = entry_fields(matter or "", "")
        new = {}
        for key, value in changes.items():
            if not same(effective.get(key), normal(value)):
                new[key] = value
        ours = {f"{OURS}.{key}": value for key, value in new.items()}
        changed = edit_mapping(matter or "", ours, newline, first_line=2, nesting=2)
    else:
        changed = edit_mapping(matter or "", changes, newline, first_line=2)
    if body is None:
        new_body = old_body
    else:
        new_body = body
    if matter is None:
        if not changed:
            return opening + new_body
        opening, closing = f"{opening}---{newline}", f"---{newline}"
    if new_body and not closing.endswith("\n"):
        closing += newline
    return opening + changed + closing + new_body


# --- YAML as a tree of values that know their place ---


# --- changes of YAML text ---
