"""What each page and the exported site show, drawn by the templates beside. Changes nothing."""

from __future__ import annotations

import functools
import json
import os
import re
from collections import Counter
from functools import partial
from itertools import groupby, starmap, zip_longest
from math import exp, lgamma, log
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from ai_lessons import app
from ai_lessons.app.answers import Query, Shown
from ai_lessons.errors import AiLessonsError
from ai_lessons.interfaces import text
from ai_lessons.model import rule_checks
from ai_lessons.model.chunks import bounded
from ai_lessons.model.entries import ENTERPRISE, KINDS, EntrySummary, Kind
from ai_lessons.model.merge import LineMatcher
from ai_lessons.model.texts import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.answers import Parameter
    from ai_lessons.app.workspace import Library

    Asked: TypeAlias = Mapping[str, str]

WIDTH, HEIGHT = 240, 60
POINTS, MOST = 60, 24
SHOWN = "injected"
GOOD, BAD = ("helpful", "followed", "worked", "script_ok"), ("contradicted", "recurred", "wrong", "script_failed")


class Bar(NamedTuple):
    """One bar of a month: where it begins, how high it is, and what it counts (shown, good or bad)."""

    x: float
    y: float
    height: float
    sort: str
    label: str


class Plot(NamedTuple):
    """A plot of `WIDTH` by `HEIGHT`: a line through points, or bars; the ends of its axis, and a sentence about it."""

    title: str
    caption: str
    low: str
    high: str
    points: str = ""
    mark: float = 0.0
    bars: Sequence[Bar] = ()


def curve(param: Parameter) -> Plot:
    """What is known of a parameter: the density of its beta distribution over its range."""
    a, b = param.alpha, param.beta
    norm = lgamma(a + b) - lgamma(a) - lgamma(b)
    positions = [(n + 0.5) / POINTS for n in range(POINTS)]
    heights = [exp(norm + (a - 1) * log(x) + (b - 1) * log(1 - x)) for x in positions]
    top = max(heights)
    points = " ".join(
        f"{WIDTH * x:.1f},{HEIGHT - (HEIGHT - 4) * y / top:.1f}" for x, y in zip(positions, heights, strict=True)
    )
    seen = f"{param.observations} observations" if param.observations else "nothing observed yet"
    caption = f"{param.help[:1].upper()}{param.help[1:]}. "
    caption += f"Now {param.value:.3g}, give or take {param.uncertainty:.2g}; {seen}."
    mark = WIDTH * (param.value - param.low) / ((param.high - param.low) or 1)
    return Plot(param.name.replace("_", " "), caption, f"{param.low:g}", f"{param.high:g}", points, mark)


def bars(happened: Sequence[tuple[str, str]]) -> Plot | None:
    """How often an entry was told, helped and did harm, by month; None: never."""
    months = sorted({at[:7] for at, _ in happened})[-MOST:]
    if not months:
        return None
    counts = Counter((at[:7], _sort(word)) for at, word in happened)
    top = max(sum(counts[month, sort] for sort in ("good", "bad", "shown")) for month in months)
    drawn = []
    for n, month in enumerate(months):
        y = float(HEIGHT)
        for sort in ("good", "bad", "shown"):
            height = (HEIGHT - 4) * counts[month, sort] / top
            y -= height
            if height:
                drawn.append(Bar(10.0 * n + 1, round(y, 1), round(height, 1), sort, f"{month}: {counts[month, sort]}"))
    counted = Counter(_sort(word) for _, word in happened)
    caption = f"Times shown: {counted['shown']}; good outcomes: {counted['good']}; bad outcomes: {counted['bad']}."
    return Plot("How it did", caption, months[0], months[-1], bars=drawn)


def _sort(word: str) -> str:
    return "good" if word in GOOD else "bad" if word in BAD else "shown" if word == SHOWN else ""


HERE = Path(__file__).parent
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
STATED_ELSEWHERE = frozenset(
    {"title", "id", "kind", "links", "pattern", "rationale", "tags", "versions"}
)  # shown by themselves
ROWS_SHOWN = 30  # Results and entries of a list
LONGEST = 100_000  # Characters of a text that are drawn as Markdown; of a longer one these, and its sections
DRAWN = 300  # Entries of a graph: more can be drawn, and told apart no more


class Page(NamedTuple):
    """A template and what it is drawn with."""

    template: str
    values: Mapping[str, Any]


Job: TypeAlias = "Callable[[Library, Asked], Page | dict[str, Any]]"


class Part(NamedTuple):
    """A part of a page: a sentence, a table of texts and entries (`empty` is said of one without rows), and plots."""

    title: str
    summary: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    empty: str = ""
    plots: Sequence[Plot] = ()


class Link(NamedTuple):
    """A text that leads somewhere."""

    text: str
    href: str

    def __str__(self) -> str:
        return self.text


def href(ref: str) -> str:
    """The address of an entry."""
    return f"/entry/{quote(ref, safe='')}"


# --- texts ---

_MARKDOWN = bounded(MarkdownIt("js-default", {"linkify": False, "typographer": False}).disable("image"))


def markdown(text: str) -> Markup:
    """Markdown as HTML without anything that acts: no HTML of its own, no images, links to pages alone."""
    drawn = _MARKDOWN.render(text[:LONGEST])
    clean = nh3.clean(
        drawn, tags=nh3.ALLOWED_TAGS - {"img"}, attributes={"a": {"href", "title"}}, url_schemes={"http", "https"}
    )
    return Markup(clean)  # noqa: S704  # cleaned just now


def words(value: object) -> str:
    """A value as text: lists with commas, numbers to two places."""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {words(part)}" for key, part in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(words, value))
    return "" if value is None else str(value)


def when(text: str | None) -> str:
    """A time as people read it."""
    return (text or "")[:16].replace("T", " ")


class Row(NamedTuple):
    """A row of a diff side by side; `kind`: same, changed, or the line that says where it is."""

    kind: str
    old: str = ""
    new: str = ""


def side_by_side(diff: str) -> list[Row]:
    """A unified diff as rows of two columns."""
    rows: list[Row] = []
    for kind, group in groupby(_sorted(diff.removesuffix("\n").split("\n")), key=itemgetter(0)):
        lines = [line for _, line in group]
        if kind == "changed":
            gone = [line[1:] or " " for line in lines if line.startswith("-")]
            came = [line[1:] or " " for line in lines if line.startswith("+")]
            rows += starmap(partial(Row, kind), zip_longest(gone, came, fillvalue=""))
        else:
            rows += [Row(kind, line) if kind == "where" else Row(kind, line[1:], line[1:]) for line in lines]
    return rows


def _sorted(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each line of a unified diff with its kind: a hunk says how long it is, and no line in it is a header."""
    old = new = 0
    for line in lines:
        if old <= 0 and new <= 0:
            hunk = _HUNK.match(line)
            old, new = (int(size or 1) for size in hunk.groups()) if hunk else (0, 0)
            yield "where", line
        elif line.startswith("\\"):
            yield "where", line
        else:
            old, new = old - (line[:1] != "+"), new - (line[:1] != "-")
            yield ("changed" if line[:1] in {"+", "-"} else "same"), line


def compared(file: app.answers.ProposedFile) -> list[Row]:
    """How a file that was there changes, as rows of two columns with some lines around each change."""
    old, new = ((text or "").split("\n") for text in file[1:])
    rows: list[Row] = []
    for group in LineMatcher(old, new).get_grouped_opcodes():
        rows.append(Row("where", f"line {group[0][1] + 1}"))
        for tag, a, b, c, d in group:
            lines = zip_longest(old[a:b], new[c:d], fillvalue="")
            rows += starmap(partial(Row, "same" if tag == "equal" else "changed"), lines)
    return rows


@functools.cache
def _environment() -> Environment:
    loader = FileSystemLoader(HERE / "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"markdown": markdown, "words": words, "when": when, "side_by_side": side_by_side}
    made.filters |= {"compared": compared, "visible": escaped}
    made.tests["entry"] = lambda value: isinstance(value, EntrySummary)
    made.globals |= {"kinds": list(Kind), "LONGEST": LONGEST}
    return made


LIVE: Mapping[str, Any] = {
    "static": False,
    "root": "/",
    "href": lambda entry: href(entry.id),
    "part": False,
    "done": (),
}
"""What every template takes, on a page of the server; see `site` for that of a folder of files."""


def render(template: str, **values: Any) -> str:
    """A page as HTML."""
    return _environment().get_template(template).render({**LIVE, "agent": "", "forms": "", "repo": "", **values})


# --- search and entries ---


def search(opened: Library, asked: Asked) -> Page:
    """What fits the words, as they are typed; without words the newest."""
    chosen = {key: asked.get(key, "").strip() for key in ("q", "kind", "project", "version", "tag", "every")}
    kinds = frozenset({Kind(chosen["kind"])} if chosen["kind"] in {*Kind} else ())
    versions, tags = ((chosen[key],) if chosen[key] else () for key in ("version", "tag"))
    query = Query(
        chosen["q"], kinds, versions, chosen["project"] or None, tags, limit=ROWS_SHOWN, explain=True, approvals=True,
        every=bool(chosen["every"]), typing=bool(asked.get("part")),
    )  # fmt: skip
    values: dict[str, Any] = {"chosen": chosen, "answer": None, "listing": None}
    if query.text:
        ask = app.daemon_client.DaemonClient(opened.primary.store.root, opened.options, lambda: opened)
        values["answer"] = ask("search", query)
    else:
        values["listing"] = app.entries.list_entries(
            opened, kinds=kinds, project=query.project, tag=chosen["tag"] or None, versions=versions, limit=ROWS_SHOWN,
            status=None if query.every else "active",
        )  # fmt: skip
    if not asked.get("part"):  # who types sees the results alone
        catalog = opened.reading.current() if query.text else opened.reading.catalog
        offered = {"projects": catalog.projects(), "versions": catalog.versions(), "tags": catalog.tags()[:200]}
        values |= {"title": "Search", **offered}
    return Page("search.html", values)


def entry(opened: Library, asked: Asked) -> Page:
    """One entry whole: its text, where it comes from, what it is linked with, how it did."""
    section, at = asked.get("section", ""), asked.get("at", "")
    shown = app.entries.show(opened, asked["ref"], section=int(section) if section.isdecimal() else None)
    light = shown.entry
    occasions = [
        (session.at, entry)
        for session in app.hints.lately(opened.options.state_dir)[0]
        for entry in session.told
        if entry.id == light.id
    ]
    values = described(shown) | {
        "why": app.entries.why(opened, light.id),
        "log": app.entries.log(opened, light.id),
        "at": at,
        "change": app.entries.change_of_rule(opened, light.id, at) if at else "",
        "plot_of": bars(opened.holding(light.id)[0].usages.history(light.id)),
        "told": occasions,
    }
    return Page("entry.html", values)


def described(shown: Shown) -> dict[str, Any]:
    """What the page of an entry needs at least."""
    checked = rule_checks.described(shown.frontmatter)
    elsewhere = STATED_ELSEWHERE | ({"check"} if checked else set())
    stated = {key: value for key, value in shown.frontmatter.items() if key not in elsewhere}
    return {"title": shown.entry.title, "shown": shown, "light": shown.entry, "stated": stated, "checked": checked}


# --- proposals ---


def review(opened: Library, asked: Asked) -> Page:
    """What waits for a person, and one of it in full."""
    pending = app.review.pending_rules(opened, unsigned=True)
    ref = asked.get("ref", "")
    chosen = next((n for n, proposal in enumerate(pending) if ref in {proposal.branch, proposal.id}), 0)
    proposal = pending[chosen] if pending else None
    batch = (
        app.review.pending_rules(opened, app.review.Batch(batch=proposal.batch, of=proposal.branch))
        if proposal and proposal.batch
        else ()
    )
    after = pending[(chosen + 1) % len(pending)] if len(pending) > 1 else None
    text = _text(opened, proposal) if proposal and asked.get("edit") and proposal.change != "removal" else ""
    values = {"title": "Review", "waiting": pending, "one": proposal, "batch": batch, "after": after, "text": text}
    return Page("review.html", values)


def _text(opened: Library, proposal: app.answers.Pending) -> str:
    """The text of a proposal as its file has it."""
    texts: list[str] = []

    def keep(old: str, _suffix: str) -> None:
        texts.append(old)

    app.review.edit_proposal(opened, proposal.branch, keep)
    return texts[0]


# --- what is known of how it goes ---


def today(opened: Library, asked: Asked) -> Page:
    """What agents were told, what came of it, and which lessons are missing."""
    sessions, missing = app.hints.lately(opened.options.state_dir)
    ids = {entry.id for session in sessions for entry in session.told}
    lights = opened.reading.current().many(ids)
    parts = [
        _replayed(opened) if asked.get("replay") else Part(
            "Does it help?", "", ("", ""),
            [(Link("Play what is stored against your transcripts", "/today?replay=yes"), "takes a while")],
        ),
        Part(
            "Lessons that are missing", "What failed while nothing was known that helps, the most frequent first.",
            ("what failed", "times", ""),
            [(what, times, Link("search", "/search?" + urlencode({"q": what}))) for what, times in missing],
            "Nothing failed without an answer in the last seven days.",
        ),
        *(
            Part(
                " ".join(filter(None, ["Session until", when(session.at), session.host, session.folder])),
                f"{session.failures} failures" if session.failures else "",
                ("told", "at", "why", "what came of it"),
                [(lights.get(entry.id, entry.title), entry.moment, entry.why, entry.outcome or "not known")
                 for entry in session.told],
            )
            for session in sessions
            if session.told
        ),
    ]  # fmt: skip
    if not ids:
        empty = "Nothing in the last seven days; ai-lessons admin hosts --install has agents told."
        parts.append(Part("What agents were told", empty=empty))
    return _table("Today", parts, "What hooks told agents in the last seven days, and what came of it.")


def _replayed(opened: Library) -> Part:
    """What is stored, played against the transcripts of this user's agents."""
    where = app.setup.where(os.environ, opened.reading.options.cwd)
    value = app.harvest.replay(opened, where)
    summary, *figures = text.replay_rows(value)
    rows = [(figure[: text.LABEL].strip(), figure[text.LABEL :]) for figure in figures]
    rows += [(f"{failure.times} x without help", failure.failure) for failure in value.unhelped]
    return Part("Does it help?", summary, ("", ""), rows)


def health(opened: Library, asked: Asked) -> Page:
    """What is well and what is not, each with what to do."""
    report = app.health.validate(opened)
    checks = [(row.state, row.name, row.detail, row.remedy) for row in app.health.doctor(opened)]
    checks.sort(key=lambda row: row[0] == "ok")
    every = Link("Compare every entry with its sources and with each other", "/health?all=yes")  # takes seconds
    changed = [(light, light.details["warning"]) for light in app.anchors.outdated(opened.primary)]
    stale = (
        [(row.entry, row.detail) for row in app.health.review(opened)] if asked.get("all") else [*changed, (every, "")]
    )
    kept = app.sharing.recover(opened, only_list=True).kept
    try:
        torn = app.sharing.conflicts(opened).entries
    except AiLessonsError:
        torn = ()  # nothing is shared, so nothing can be in conflict
    problems = [(f"{row.path}:{row.line}", row.message) for row in report.problems]
    parts = [
        Part("Checks", "As ai-lessons admin doctor says it.", ("state", "what", "found", "what to do"), checks),
        Part("Files", f"{report.files} files read.", ("where", "problem"), problems, "No file has a problem."),
        Part("To look at again", "", ("entry", "why"), stale, "Nothing has gone stale."),
        Part("Conflicts", "", ("file", "why"), [(row.path, "; ".join(row.reasons)) for row in torn],
             "No file was changed on both sides."),
        Part("Taken away before their commit", "ai-lessons admin recover brings them back.", ("file", "written"),
             [(row.path, when(row.when)) for row in kept], "No write was lost."),
    ]  # fmt: skip
    return _table("Health", parts)


def learning(opened: Library, _asked: Asked) -> Page:
    """The parameters that learn, how sure they are, and what leaving entries out showed."""
    stats = app.health.stats(opened)
    params = app.health.params(opened)
    judged = [
        (Link(entry.handle, href(entry.handle)), *entry[1:]) for entry in (*stats.most_useful, *stats.least_useful)
    ]
    effect, summary = stats.ablation, "Not known yet: no lesson was left out on purpose in a session that was judged."
    if effect:
        summary = (
            f"Sessions that were shown a lesson went well {100 * effect.difference:+.0f} points more often than those "
            f"without ({effect.shown} and {effect.left_out} sessions; 95 %: {100 * effect.low:+.0f} to "
            f"{100 * effect.high:+.0f})."
        )
    parts = [
        Part("Does it help?", summary),
        Part("Parameters", "Each curve is what is known of the parameter: the narrower, the surer.",
             plots=[curve(param) for param in params]),
        Part("Most and least useful", "", ("entry", "title", "helpful", "ignored", "contradicted", "confidence"),
             judged, "No entry was judged yet."),
    ]  # fmt: skip
    return _table("Learning", parts)


def tiers(opened: Library, _asked: Asked) -> Page:
    """Which repositories apply here and why, what their policies say, and what was promoted."""
    states = app.workspace.tier_states(opened.primary.store.root, opened.options)
    rows = [(row.tier, row.state, row.path, row.why, row.hint) for row in states]
    audit = app.review.audit(opened)
    rules = [(row.title, "yes" if row.in_force else "no", row.approved_by, when(row.approved_at), row.how, row.problem)
             for row in audit.rows]  # fmt: skip
    taken = [(row.title, row.proposal, row.approved_by, when(row.approved_at)) for row in audit.taken]
    enterprises = dict.fromkeys(row.tier for row in states if row.tier.startswith(ENTERPRISE))
    policies = [(name, str(value)) for name in enterprises for value in app.promotion.governed(opened, name).values]
    parts = [
        Part("What applies here", "The nearest first.", ("tier", "state", "where", "why", "what to do"), rows),
        Part("Policies", "", ("tier", "policy"), policies, "No enterprise is known here."),
        Part("Rules", "; ".join(audit.alarms), ("rule", "in force", "approved by", "since", "how", "problem"), rules,
             "No rule is in force."),
        Part("Promoted and proposed", "What came in by a proposal and is no rule.",
             ("entry", "proposal", "taken by", "when"), taken, "Nothing yet."),
    ]  # fmt: skip
    return _table("Tiers", parts)


def _table(title: str, parts: Sequence[Part], summary: str = "") -> Page:
    return Page("table.html", {"title": title, "parts": parts, "summary": summary})


# --- the graph ---


def graph(opened: Library, asked: Asked) -> Page:
    """What is linked: drawn, and as a list."""
    drawn = _graph(opened, asked)
    lights = {light.id: light for light in drawn.entries}
    links = [
        (lights[link.source], link.relation.replace("_", " "), lights[link.target])
        for link in drawn.links
        if link.source in lights and link.target in lights
    ]
    project = asked.get("project", "")
    values = {"title": "Graph", "links": links, "projects": app.entries.projects(opened), "project": project}
    return Page("graph.html", values | {"notes": drawn.notes, "ref": asked.get("ref", "")})


def graph_data(opened: Library, asked: Asked) -> dict[str, Any]:
    """The same for the program that draws it."""
    drawn = _graph(opened, asked)
    cluster = {name: number for number, names in enumerate(drawn.clusters, 1) for name in names}
    nodes = [
        {
            "id": light.id,
            "label": light.title,
            "kind": light.kind.value,
            "href": href(light.id),
            "project": light.project,
            "size": drawn.confidence.get(light.id, 0.6),
            "cluster": cluster.get(light.id, 0),
        }
        for light in drawn.entries
    ]
    ids = {light.id for light in drawn.entries}
    lines = [
        {"source": link.source, "target": link.target, "label": link.relation.replace("_", " ")}
        for link in drawn.links
        if {link.source, link.target} <= ids
    ]
    return {"nodes": nodes, "lines": lines}


def _graph(opened: Library, asked: Asked) -> app.contexts.Graph:
    refs = [asked["ref"]] if asked.get("ref") else []
    return app.contexts.graph(opened, refs, depth=2, most=DRAWN, project=asked.get("project") or None)


PAGES: Mapping[str, Job] = {
    "/": search, "/search": search, "/entry/{ref:path}": entry, "/review": review, "/graph": graph,
    "/today": today, "/health": health, "/learning": learning, "/tiers": tiers,
}  # fmt: skip


STATIC = ("look.css", "look.js", "icon.svg")
SEARCHED = 2_000  # Characters of a text that its search looks at


def draw(every: Sequence[Shown]) -> Iterator[tuple[str, bytes]]:
    """The files of the site, by their names."""
    for name in STATIC:
        yield f"static/{name}", (HERE / "static" / name).read_bytes()
    here = {shown.entry.id for shown in every}

    def page(template: str, root: str, **values: Any) -> bytes:
        def href(entry: Any) -> str:
            return f"{root}entry/{entry.id}.html" if entry.id in here else ""

        return render(template, static=True, root=root, href=href, **values).encode()

    for shown in every:
        yield f"entry/{shown.entry.id}.html", page("entry.html", "../", **described(shown))
    kinds = [(kind, entries) for kind in KINDS if (entries := [shown for shown in every if shown.entry.kind is kind])]
    yield "index.html", page("site.html", "", title="What is known", kinds=kinds)
    texts = [
        {"title": shown.entry.title, "href": f"entry/{shown.entry.id}.html",
         "text": " ".join([*shown.entry.tags, shown.entry.project, shown.body[:SEARCHED]]).lower()}
        for shown in every
    ]  # fmt: skip
    yield "search.json", json.dumps(texts).encode()
