"""Pages on how it goes: sessions, health, what is learned, tiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import urlencode

from ai_lessons import app, extensions
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.look.drawing import Link, folder_name, href, when
from ai_lessons.features.look.pages import Page, Part
from ai_lessons.interfaces.output import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library

    Asked: TypeAlias = Mapping[str, str]


class Played(NamedTuple):
    """How far it is to play what is stored against the transcripts, what came of it, or why nothing did."""

    running: bool = False
    done: int = 0
    total: int = 0
    rows: Sequence[tuple[str, str]] = ()
    problem: str = ""


def sessions(library: Library, played: Played) -> Page:
    """What agents were told in the last days, what came of it, and which lessons are missing."""
    heard, missing = app.agent_sessions.lately(library.options.state_dir)
    ids = set()
    for session in heard:
        for entry in session.told:
            ids.add(entry.id)
    summaries = library.reading.current().many(ids)
    parts = [
        *_help(played),
        Part(
            "Lessons that are missing", "What failed while nothing was known that helps, the most frequent first.",
            ("what failed", "times", ""),
            [(what, times, Link("search", "search?" + urlencode({"q": what}))) for what, times in missing],
            "Nothing failed without an answer in the last seven days.",
        ),
        Part(
            "Sessions", "", ("last heard of", "host", "folder", "shown", "failed commands"),
            [(when(session.at), session.host or "not stated", folder_name(session.folder), len(session.told),
              session.failures) for session in heard],
            ("Hooks heard of no session in the last seven days: ai-lessons admin hosts connects your agents."),
        ),
        *(
            Part(
                f"{session.host or 'A session'} in {folder_name(session.folder)}",
                f"Last heard of {when(session.at)}. {count(session.failures, 'command')} failed.",
                ("shown", "at", "why", "what came of it"),
                [(summaries.get(entry.id, entry.title), entry.moment, entry.why, entry.outcome or "not known")
                 for entry in session.told],
            )
            for session in heard
            if session.told
        ),
    ]  # fmt: skip
    page = _table(
        "Sessions", parts, "What hooks told agents in the last seven days, and what came of it."
    )
    return page._replace(values={**page.values, "played": played})


def replayed(library: Library) -> list[tuple[str, str]]:
    """What is stored, played against the transcripts of this user's agents; takes a while."""
    rows: list[tuple[str, str]] = []
    for _, figures_of in extensions.added("figures"):
        rows += figures_of(library)
    return rows


def _help(played: Played) -> Iterator[Part]:
    """What is stored as it would have helped: the rows of the last replay, or how to play one."""
    if not any(feature.figures for feature in extensions.rows()):
        return
    title = "Does it help?"
    again = Link("Play what is stored against your transcripts", "sessions?replay=yes")
    if played.rows:
        (summary, _), *rows = played.rows
        yield Part(title, summary, ("", ""), rows, more=again)
    elif played.running:
        yield Part(title, "It is played; you can leave this page.")
    else:
        yield Part(title, played.problem, more=again)


def health(parts: Iterable[Part]) -> Page:
    """What is well and what is not, each with what to do: `parts` come as they are known."""
    summary = "Each part comes as soon as it is known."
    return Page("table.html", {"title": "Health", "parts": map(_filled, parts), "summary": summary})


def _checks(library: Library, asked: Asked) -> Part:  # noqa: ARG001  # as all parts are asked
    rows = [(row.state, row.name, row.detail, row.remedy) for row in app.health.doctor(library)]
    rows.sort(key=lambda row: row[0] == "ok")
    columns = ("state", "what", "found", "what to do")
    return Part("Checks", "As ai-lessons admin doctor says it.", columns, rows)


def _problems(library: Library, asked: Asked) -> Part:  # noqa: ARG001  # as above
    report = app.validation.validate(library)
    rows = [(f"{row.path}:{row.line}", row.message) for row in report.problems]
    summary = f"{report.files:,} files read."
    return Part("Files", summary, ("where", "problem"), rows, "No file has a problem.")


def _to_look_at(library: Library, asked: Asked) -> Part:
    elsewhere = app.outdated.unseen(library.primary)
    away = ""
    if elsewhere:
        away = (
            f"Cannot check: the code of {', '.join(elsewhere)} is not here. "
            "Start this page in its folder."
        )
    empty = "" if elsewhere else "Nothing has gone stale."
    columns = ("entry", "why")
    if asked.get("all"):
        rows = [(row.entry, row.detail) for row in app.outdated.review(library)]
        return Part("To look at again", away, columns, rows, empty)
    rows = [(row.entry, row.detail) for row in app.outdated.by_features(library.primary)]
    # takes seconds
    every = Link("Compare every entry with its sources and with each other", "health?all=yes")
    return Part("To look at again", away, columns, rows, empty, every)


def _conflicts(library: Library, asked: Asked) -> Part:  # noqa: ARG001  # as above
    try:
        torn = app.sharing.conflicts(library).entries
    except AiLessonsError:
        # nothing is shared, so nothing can be in conflict
        torn = ()
    rows = [(row.path, "; ".join(row.reasons)) for row in torn]
    return Part("Conflicts", "", ("file", "why"), rows, "No file was changed on both sides.")


def _taken_away(library: Library, asked: Asked) -> Part:  # noqa: ARG001  # as above
    kept = app.sharing.recover(library, only_list=True).kept
    rows = [(row.path, when(row.when)) for row in kept]
    title, summary = "Taken away before their commit", "ai-lessons admin recover brings them back."
    return Part(title, summary, ("file", "written"), rows, "No write was lost.")


# The parts of the page, the quick ones first
HEALTH = (_conflicts, _taken_away, _checks, _to_look_at, _problems)


def learning(library: Library, _asked: Asked) -> Page:
    """What is learned, in plain numbers, where a feature learns."""
    return _table("Learning", list(_of_features("learning", library)))


def about(library: Library, _asked: Asked) -> Page:
    """What the program does without being asked each time, in plain words."""
    options = library.primary.options
    settings = {
        "events": library.primary.config.events,
        "warm": options.warm,
        "offline": options.offline,
    }
    return Page("about.html", {"title": "About", **settings})


def tiers(library: Library, _asked: Asked) -> Page:
    """Which repositories apply here, which rules are in force by whom, and what came in by a proposal."""
    audit = app.rule_audit.audit(library)
    rules = []
    for row in audit.rows:
        in_force = "no"
        if row.in_force:
            in_force = "yes"
        way = app.history_of_entries.WAYS.get(row.how, row.how)
        since = when(row.approved_at)
        rules.append((row.title, in_force, row.approved_by, since, way, row.problem))
    taken = []
    for came in audit.taken:
        taken.append((came.title, came.proposal, came.approved_by, when(came.approved_at)))
    columns = ("rule", "in force", "approved by", "since", "how", "problem")
    parts = [
        *_of_features("tiers", library),
        Part("Rules", "; ".join(audit.alarms), columns, rules, "No rule is in force."),
        Part("Promoted and proposed", "What came in by a proposal and is no rule.",
             ("entry", "proposal", "taken by", "when"), taken, "Nothing yet."),
    ]  # fmt: skip
    return _table("Tiers", parts)


def _of_features(page: str, library: Library) -> Iterator[Part]:
    """What features put on a page."""
    for table in app.overview.tables(page, library):
        rows = []
        for row in table.rows:
            rows.append([_linked(cell) for cell in row])
        yield Part(table.title, table.summary, table.columns, rows, table.nothing)


def _linked(cell: object) -> object:
    if isinstance(cell, app.overview.Handle):
        return Link(cell, href(cell))
    return cell


def _table(title: str, parts: Sequence[Part], summary: str = "") -> Page:
    return Page("table.html", {"title": title, "parts": [*map(_filled, parts)], "summary": summary})


def _filled(part: Part) -> Part:
    """A part without the columns in which no row says anything."""
    kept = []
    for n in range(len(part.columns)):
        if any(row[n] not in ("", None) for row in part.rows):
            kept.append(n)
    rows = []
    for row in part.rows:
        rows.append([row[n] for n in kept])
    return part._replace(columns=[part.columns[n] for n in kept], rows=rows)
