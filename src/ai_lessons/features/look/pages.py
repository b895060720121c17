"""What the pages show of entries: a search, one entry, its text to edit. See `review_pages` and `state_pages`, too.

A page is a template and its values, made by a job that takes the library and what is asked.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ai_lessons import app
from ai_lessons.app.answers import Query
from ai_lessons.features.look.drawing import SCOPES, Edit, LinkTargets, href
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.model.frontmatter import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ai_lessons.app.answers import Shown
    from ai_lessons.app.workspace import Library
    from ai_lessons.features.look.drawing import Link
    from ai_lessons.model.entries import EntrySummary

    Asked: TypeAlias = Mapping[str, str]

# What an event says of an entry.
SORTS = {
    "injected": "shown",
    **dict.fromkeys(("helpful", "followed", "worked", "script_ok"), "good"),
    **dict.fromkeys(("contradicted", "recurred", "wrong", "script_failed"), "bad"),
}

# Results and entries of a list
ROWS_SHOWN = 30


class Page(NamedTuple):
    """A template and what it is drawn with."""

    template: str
    values: Mapping[str, Any]


Job: TypeAlias = "Callable[[Library, Asked], Page | dict[str, Any]]"


class Part(NamedTuple):
    """A part of a page: a sentence, a table of texts and entries, and where `more` is shown.

    `empty` stands in the place of a table without rows.
    """

    title: str
    summary: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    empty: str = ""
    more: Link | None = None


def search(library: Library, asked: Asked) -> Page:
    """What fits the words, as they are typed; without words the newest."""
    chosen = {
        key: asked.get(key, "").strip()
        for key in ("q", "kind", "project", "version", "tag", "every")
    }
    kinds = frozenset({Kind(chosen["kind"])} if chosen["kind"] in {*Kind} else ())
    versions, tags = ((chosen[key],) if chosen[key] else () for key in ("version", "tag"))
    query = Query(
        chosen["q"], Filter(kinds, chosen["project"] or None, tags, versions), limit=ROWS_SHOWN,
        explain=True, approvals=True, every=bool(chosen["every"] or asked.get("far")), typing=bool(asked.get("part")),
    )  # fmt: skip
    values: dict[str, Any] = {"chosen": chosen, "answer": None, "listing": None, "far": 0}
    if query.text:
        ask = app.daemon_client.DaemonClient(
            library.primary.store.root, library.options, lambda: library
        )
        answer = ask("search", query)
        # what is no answer is shown after a click, and so is what only may be one
        unsure = answer.weak and not query.every
        hits = () if unsure else answer.hits
        values |= {
            "answer": answer._replace(hits=hits),
            "far": answer.below + len(answer.hits) - len(hits),
        }
    else:
        values["listing"] = app.entries.list_entries(
            library, kinds=kinds, project=chosen["project"] or None, tag=chosen["tag"] or None, versions=versions,
            limit=ROWS_SHOWN, status=None if query.every else "active",
        )  # fmt: skip
    if not asked.get("part"):
        # who types sees the results alone
        catalog = library.reading.current() if query.text else library.reading.catalog
        offered = {
            "projects": catalog.projects(),
            "versions": catalog.versions(),
            "tags": catalog.tags()[:200],
        }
        values |= {"title": "Search", **offered}
    return Page("search.html", values)


def entry(library: Library, asked: Asked) -> Page:
    """One entry whole: its text, where it comes from, what it is linked with, how it did.

    `edit`: the text to edit.
    """
    section, at = asked.get("section", ""), asked.get("at", "")
    shown = app.entries.show(
        library, asked["ref"], section=int(section) if section.isdecimal() else None
    )
    summary = shown.entry
    occasions = []
    for session in app.agent_sessions.lately(library.options.state_dir)[0]:
        for entry in session.told:
            if entry.id == summary.id:
                occasions.append((session, entry))
    if "[" in shown.body:
        every = app.entries.list_entries(library, status=None, every=True).entries
    else:
        every = ()
    root = asked.get("root", "../")
    targets = LinkTargets(every, _sources(library), lambda other: root + href(other.id))
    values = described(shown, targets, root + href(summary.id) if shown.section else "") | {
        "why": sources(app.history_of_entries.why(library, summary.id), shown),
        "log": app.history_of_entries.log(library, summary.id),
        "at": at,
        "words": asked.get("q", ""),
        "change": app.history_of_entries.change_of_rule(library, summary.id, at) if at else "",
        "months": by_month(library.holding(summary.id)[0].learned.history(summary.id)),
        "told": occasions,
        "edit": edited(library, summary.id) if asked.get("edit") else None,
    }
    return Page("entry.html", values)


def sources(why: app.answers.Why, shown: Shown) -> list[str]:
    """Where an entry comes from, without what its page says elsewhere.

    What its file states in one line.
    """
    stated, elsewhere = "its file says ", ("rationale:", "approved") if shown.approval else ()
    links = tuple(
        f" {related.entry.handle} {related.entry.title}"
        for related in shown.related
        if related.entry
    )
    lines = []
    for line in why.lines:
        if not (line.startswith((stated, *elsewhere)) or line.endswith(links)):
            lines.append(line)
    file = []
    for line in why.lines:
        if line.startswith(stated):
            file.append(line.removeprefix(stated))
    return [*lines, *([stated + ", ".join(file)] if file else [])]


def by_month(events: Sequence[tuple[str, str]]) -> list[tuple[str, int, int, int]]:
    """How often an entry was shown, helped and did harm, a row for each of the last months in which anything was."""
    counts = Counter((at[:7], SORTS[word]) for at, word in events if word in SORTS)
    # the months that are drawn
    months = sorted({month for month, _ in counts})[-24:]
    results: list[tuple[str, int, int, int]] = []
    for month in months:
        results.append((month, counts[month, "shown"], counts[month, "good"], counts[month, "bad"]))
    return results


def text_mark(text: str) -> str:
    """Names a text: a form says with it what was shown."""
    return sha256(text.encode()).hexdigest()


def edited(library: Library, ref: str) -> Edit:
    """The text of an entry's file, to be edited."""
    text = text_given(partial(app.editing.edit, library, ref))
    return Edit(text, text_mark(text))


def text_given(edit: Callable[[Callable[[str, str], None]], object]) -> str:
    """The text that a job gives to an editor; nothing is changed."""
    texts: list[str] = []

    def editor(text: str, _suffix: str) -> None:
        texts.append(text)

    edit(editor)
    return texts[0]


def described(shown: Shown, targets: LinkTargets, address: str = "") -> dict[str, Any]:
    """What the page of an entry needs at least.

    `address`: of all of it, where only a section is shown.
    """
    resolve = partial(targets.resolve, shown.entry, address)
    return {
        "title": shown.entry.title, "shown": shown, "entry": shown.entry, "resolve": resolve,
        "checked": app.notes.described("check", shown.frontmatter), "applies": applies_where(shown.entry, shown.frontmatter),
    }  # fmt: skip


def applies_where(
    summary: EntrySummary, fields: Mapping[str, Any]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """Where an entry applies: a name, and what is stated.

    What features read of it, with what became of that, unless it is the warning.
    """
    rows = []
    for key, name in SCOPES.items():
        rows.append((name, [(value, "") for value in listed(fields.get(key))]))
    became = dict(summary.beside.details)
    for key, names in app.notes.keys_in_words(fields).items():
        places = []
        for name in names:
            detail = became.get(name, "")
            if detail in summary.beside.warning:
                places.append((name, ""))
            else:
                places.append((name, f"({detail})"))
        rows.append((key.capitalize(), places))
    return [(name, values) for name, values in rows if values]


def _sources(library: Library) -> dict[str, list[str]]:
    """The files and pages that entries came from, by their ids."""
    places = {}
    for entry_id, source in library.reading.catalog.facts("intake").items():
        places[entry_id] = [source[key] for key in ("path", "url") if key in source]
    return places


def places_of_source(shown: Shown) -> list[str]:
    """The same of one entry, as its frontmatter states it."""
    if not shown.entry.kind.is_resource:
        return []
    stated = (shown.frontmatter.get(key) for key in ("source_path", "source_url"))
    return [place for place in stated if isinstance(place, str)]
