"""A site: the pages of entries as files, for who has no program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ai_lessons.features.look.drawing import HERE, LinkTargets, render
from ai_lessons.features.look.pages import described, places_of_source
from ai_lessons.model.entries import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.app.answers import Shown
    from ai_lessons.model.entries import Kind

STATIC = ("look.css", "look.js", "icon.svg")


def draw(every: Sequence[Shown]) -> Iterator[tuple[str, bytes]]:
    """The files of the site, by their names."""
    for name in STATIC:
        yield f"static/{name}", (HERE / "static" / name).read_bytes()
    here = {shown.entry.id for shown in every}
    summaries = []
    came_from = {}
    for shown in every:
        summaries.append(shown.entry)
        came_from[shown.entry.id] = places_of_source(shown)
    targets = LinkTargets(summaries, came_from, lambda entry: f"{entry.id}.html")

    def page(template: str, root: str, **values: Any) -> bytes:
        def href(entry: Any) -> str:
            if entry.id in here:
                return f"{root}entry/{entry.id}.html"
            return ""

        return render(template, static=True, root=root, href=href, **values).encode()

    for shown in every:
        yield f"entry/{shown.entry.id}.html", page("entry.html", "../", **described(shown, targets))
    kinds: list[tuple[Kind, list[Shown]]] = []
    for kind in KINDS:
        entries = [shown for shown in every if shown.entry.kind is kind]
        if entries:
            # a heading without entries would only be in the way
            kinds.append((kind, entries))
    yield "index.html", page("site.html", "", title="What is known", kinds=kinds)
    # the search of a page on its own is one file for all entries
    texts = [
        {"title": shown.entry.title, "href": f"entry/{shown.entry.id}.html", "kind": shown.entry.kind.value,
         "text": " ".join([*shown.entry.tags, shown.entry.project, shown.body[:2_000]])}
        for shown in every
    ]  # fmt: skip
    data = json.dumps(texts).encode()
    yield "search.json", data
    # a page that was opened as a file may load programs, but no data
    yield "search.js", b"self.entries = " + data
