"""Pages on how it goes: sessions, health, what is learned, tiers."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import urlencode

from ai_lessons import app, extensions
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.look.drawing import Link, folder_name, href, when
from ai_lessons.features.look.pages import Page, Part
from ai_lessons.interfaces.output import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.answers import Parameter
    from ai_lessons.app.workspace import Library

    Asked: TypeAlias = Mapping[str, str]


class Played(NamedTuple):
    """How far it is to play what is stored against the transcripts, what came of it, or why nothing did."""

    running: bool = False
    done: int = 0
    total: int = 0
    rows: Sequence[tuple[str, str]] = ()
    problem: str = ""


def sessions(opened: Library, played: Played) -> Page:
    """What agents were told in the last days, what came of it, and which lessons are missing."""
    heard, missing = app.agent_sessions.lately(opened.options.state_dir)
    ids = set()
    for session in heard:
        for entry in session.told:
            ids.add(entry.id)
    summaries = opened.reading.current().many(ids)
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


def replayed(opened: Library) -> list[tuple[str, str]]:
    """What is stored, played against the transcripts of this user's agents; takes a while."""
    rows: list[tuple[str, str]] = []
    for _, figures_of in extensions.added("figures"):
        rows += figures_of(opened)
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


def _checks(opened: Library, asked: Asked) -> Part:  # noqa: ARG001  # as all parts are asked
    rows = [(row.state, row.name, row.detail, row.remedy) for row in app.health.doctor(opened)]
    rows.sort(key=lambda row: row[0] == "ok")
    columns = ("state", "what", "found", "what to do")
    return Part("Checks", "As ai-lessons admin doctor says it.", columns, rows)


def _problems(opened: Library, asked: Asked) -> Part:  # noqa: ARG001  # as above
    report = app.validation.validate(opened)
    rows = [(f"{row.path}:{row.line}", row.message) for row in report.problems]
    summary = f"{report.files:,} files read."
    return Part("Files", summary, ("where", "problem"), rows, "No file has a problem.")


def _to_look_at(opened: Library, asked: Asked) -> Part:
    elsewhere = app.outdated.unseen(opened.primary)
    away = ""
    if elsewhere:
        away = (
            f"Cannot check: the code of {', '.join(elsewhere)} is not here. "
            "Start this page in its folder."
        )
    empty = "" if elsewhere else "Nothing has gone stale."
    columns = ("entry", "why")
    if asked.get("all"):
        rows = [(row.entry, row.detail) for row in app.outdated.review(opened)]
        return Part("To look at again", away, columns, rows, empty)
    rows = [(row.entry, row.detail) for row in app.outdated.by_features(opened.primary)]
    # takes seconds
    every = Link("Compare every entry with its sources and with each other", "health?all=yes")
    return Part("To look at again", away, columns, rows, empty, every)


def _conflicts(opened: Library, asked: Asked) -> Part:  # noqa: ARG001  # as above
    try:
        torn = app.sharing.conflicts(opened).entries
    except AiLessonsError:
        # nothing is shared, so nothing can be in conflict
        torn = ()
    rows = [(row.path, "; ".join(row.reasons)) for row in torn]
    return Part("Conflicts", "", ("file", "why"), rows, "No file was changed on both sides.")


def _taken_away(opened: Library, asked: Asked) -> Part:  # noqa: ARG001  # as above
    kept = app.sharing.recover(opened, only_list=True).kept
    rows = [(row.path, when(row.when)) for row in kept]
    title, summary = "Taken away before their commit", "ai-lessons admin recover brings them back."
    return Part(title, summary, ("file", "written"), rows, "No write was lost.")


# The parts of the page, the quick ones first
HEALTH = (_conflicts, _taken_away, _checks, _to_look_at, _problems)
PLAIN = {
    "injection_budget": "An agent is shown at most {} lessons and rules at a time.",
    "confidence_threshold": "A lesson comes unasked if it helped in at least {} of 100 cases, as far as is known.",
    "semantic_similarity_threshold": "A lesson comes to a question if it is at least {} of 100 like it.",
    "assessment_sample_rate": "Agents are asked in {} of 100 sessions how the lessons did.",
    "ablation_frequency": "A lesson is left out on purpose in {} of 100 cases, to see whether it helps.",
}


def learning(opened: Library, _asked: Asked) -> Page:
    """What is learned, in plain numbers.

    Whether lessons help, which do, and what the parameters stand at.
    """
    stats = app.health.stats(opened)
    judged = []
    for entry in dict.fromkeys((*stats.most_useful, *stats.least_useful)):
        judged.append(
            (
                Link(entry.handle, href(entry.handle)),
                *entry[1:-1],
                f"{100 * entry.confidence:.0f} of 100",
            )
        )
    effect, summary = (
        stats.ablation,
        "Not known yet: no lesson was left out on purpose in a session that was judged.",
    )
    if effect:
        bounds = " and ".join(f"{100 * bound:+.0f}" for bound in (effect.low, effect.high))
        summary = (
            f"Of 100 sessions, {abs(100 * effect.difference):.0f} {'more' if effect.difference >= 0 else 'fewer'} "
            f"went well with a lesson than without it. Counted: {count(effect.shown, 'session')} with a lesson, "
            f"{effect.left_out:,} in which it was left out on purpose; the true number is between {bounds}."
        )
    parts = [
        Part("Does it help?", summary),
        Part("What was learned", "", ("what holds", "probably between", "learned from"),
             [plainly(param) for param in app.health.params(opened)]),
        Part("Most and least useful", "How often agents and people said so.",
             ("entry", "title", "helpful", "ignored", "contradicted", "helps in"), judged, "No entry was judged yet."),
        Part("Kept or not, by rule", "What checks saw in sessions of this machine.", ("rule", "title", "sessions"),
             [(Link(rule.handle, href(rule.handle)), rule.title, rule.line) for rule in stats.kept],
             "No check saw a rule in a session yet."),
    ]  # fmt: skip
    return _table("Learning", parts)


def plainly(param: Parameter) -> tuple[str, str, str]:
    """A parameter as a sentence, the numbers between which it lies (95 %), and how much was seen of it."""
    if param.name == "injection_budget":
        scale = 1
    else:
        scale = 100
    spread = 2 * sqrt(param.position * (1 - param.position) / (param.alpha + param.beta + 1))
    low, high = (
        scale * param.at(min(max(param.position + side * spread, 0.0), 1.0)) for side in (-1, 1)
    )
    sentence = PLAIN.get(param.name, f"{param.help}: {{}}").format(f"{scale * param.value:.0f}")
    if not param.observations:
        return sentence, "", "nothing yet: as it began"
    return sentence, f"{low:.0f} and {high:.0f}", count(param.observations, "outcome")


def about(opened: Library, _asked: Asked) -> Page:
    """What the program does without being asked each time, in plain words."""
    options = opened.primary.options
    settings = {
        "events": opened.primary.config.events,
        "warm": options.warm,
        "offline": options.offline,
    }
    return Page("about.html", {"title": "About", **settings})


def tiers(opened: Library, _asked: Asked) -> Page:
    """Which repositories apply here, which rules are in force by whom, and what came in by a proposal."""
    audit = app.rule_audit.audit(opened)
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
        *_of_features("tiers", opened),
        Part("Rules", "; ".join(audit.alarms), columns, rules, "No rule is in force."),
        Part("Promoted and proposed", "What came in by a proposal and is no rule.",
             ("entry", "proposal", "taken by", "when"), taken, "Nothing yet."),
    ]  # fmt: skip
    return _table("Tiers", parts)


def _of_features(page: str, opened: Library) -> Iterator[Part]:
    """What features put on a page."""
    for table in app.overview.tables(page, opened):
        yield Part(table.title, table.summary, table.columns, table.rows, table.nothing)


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
