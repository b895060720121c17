"""Markdown with frontmatter: text to fields and body, and changes that leave the rest alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import frontmatter
from frontmatter.default_handlers import YAMLHandler

from ai_lessons.errors import InvalidEntry
from ai_lessons.knowledge.texts import cut, split
from ai_lessons.knowledge.yaml_edit import edit_mapping
from ai_lessons.knowledge.yaml_text import mapping_lines
from ai_lessons.knowledge.yaml_tree import compose

if TYPE_CHECKING:
    from collections.abc import Mapping


class Document(NamedTuple):
    """A text taken apart. `body` is exactly what stands below the frontmatter, first blank line and all."""

    fields: dict[str, Any]
    body: str
    has_frontmatter: bool


def parse(text: str, path: str = "") -> Document:
    """Take a text apart. Raises InvalidEntry as `yaml_tree.compose`; lines count from the start of the file."""
    matter, body = split(text)
    if matter is None:
        return Document({}, body, has_frontmatter=False)
    return Document(parse_mapping(matter, path, first_line=2), body, has_frontmatter=True)


def parse_mapping(matter: str, path: str = "", *, first_line: int = 1) -> dict[str, Any]:
    """The fields of YAML text that is not wrapped in a Markdown file; the same limits and errors as `parse`."""
    root = compose(matter, path, first_line)
    fields: dict[str, Any] = root.plain() if root else {}
    return fields


def key_lines(text: str) -> dict[str, int]:
    """The line of the file (from 1) on which each top-level key stands; empty where there is no valid frontmatter."""
    matter, _ = split(text)
    matter = matter or ""
    try:
        root = compose(matter)
    except InvalidEntry:
        return {}
    return {key.value: matter.count("\n", 0, key.start) + 2 for key in (root.keys if root else None) or ()}


class _Handler(YAMLHandler):
    """python-frontmatter with our way to write: fixed order, and a body that is not trimmed."""

    def format(self, post: frontmatter.Post, **_kwargs: object) -> str:
        return "".join(f"{line}\n" for line in ("---", *mapping_lines(post.metadata), "---")) + post.content


def render(fields: Mapping[str, Any], body: str) -> str:
    """The text of a new file, LF, keys in the fixed order. Never for a file that a person may have written."""
    post = frontmatter.Post(body)
    post.metadata = dict(fields)
    return str(frontmatter.dumps(post, handler=_Handler()))


def edit(text: str, changes: Mapping[str, Any], body: str | None = None) -> str:
    """The same text with some keys changed, and nothing else: comments, order, quotes, line ends all stay.

    A key may be dotted to reach below a mapping (`pattern.do`); `REMOVE` takes it away; a mapping is replaced key by
    key; into `tags`, `versions` and `contexts` additions are sorted. `body` replaces the body exactly as given. Raises
    InvalidEntry: the frontmatter is invalid, or a key cannot be changed without touching others.
    """
    opening, matter, closing, old_body = cut(text)
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    changed = edit_mapping(matter or "", changes, newline, first_line=2)
    new_body = old_body if body is None else body
    if matter is None:
        if not changed:
            return opening + new_body
        opening, closing = f"{opening}---{newline}", f"---{newline}"
    if new_body and not closing.endswith("\n"):
        closing += newline
    return opening + changed + closing + new_body
