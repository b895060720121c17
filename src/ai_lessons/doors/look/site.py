"""The same pages as files, read-only, for the pages of a forge: rules in force, by whom, since when; and a search."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ai_lessons.doors.look import pages
from ai_lessons.knowledge.entries import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.library.answers import Shown

STATIC = ("look.css", "look.js", "icon.svg")
SEARCHED = 2_000  # Characters of a text that its search looks at


def draw(every: Sequence[Shown]) -> Iterator[tuple[str, bytes]]:
    """The files of the site, by their names."""
    for name in STATIC:
        yield f"static/{name}", (pages.HERE / "static" / name).read_bytes()
    here = {shown.entry.id for shown in every}

    def page(template: str, root: str, **values: Any) -> bytes:
        def href(entry: Any) -> str:
            return f"{root}entry/{entry.id}.html" if entry.id in here else ""

        return pages.render(template, static=True, root=root, href=href, **values).encode()

    for shown in every:
        yield f"entry/{shown.entry.id}.html", page("entry.html", "../", **pages.described(shown))
    kinds = [(kind, entries) for kind in KINDS if (entries := [shown for shown in every if shown.entry.kind is kind])]
    yield "index.html", page("site.html", "", title="What is known", kinds=kinds)
    texts = [
        {"title": shown.entry.title, "href": f"entry/{shown.entry.id}.html",
         "text": " ".join([*shown.entry.tags, shown.entry.project, shown.body[:SEARCHED]]).lower()}
        for shown in every
    ]  # fmt: skip
    yield "search.json", json.dumps(texts).encode()
