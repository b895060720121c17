"""What each page and the exported site show, drawn by the templates beside. Changes nothing."""

from __future__ import annotations

import functools
import json
import os
import posixpath
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from html import unescape
from itertools import dropwhile, groupby, starmap, zip_longest
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from ai_lessons import app, extensions, settings
from ai_lessons.app.answers import Query, Shown
from ai_lessons.errors import AiLessonsError
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.output import View, count
from ai_lessons.model import expression
from ai_lessons.model.chunks import bounded
from ai_lessons.model.entries import KINDS, EntrySummary, Filter, Kind, Relation
from ai_lessons.model.frontmatter import listed, read_entry
from ai_lessons.model.texts import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

    from ai_lessons.app.answers import Parameter
    from ai_lessons.app.workspace import Library

    Asked: TypeAlias = Mapping[str, str]

SORTS = {
    "injected": "shown",
    **dict.fromkeys(("helpful", "followed", "worked", "script_ok"), "good"),
    **dict.fromkeys(("contradicted", "recurred", "wrong", "script_failed"), "bad"),
}
"""What an event says of an entry."""


HERE = Path(__file__).parent
SCOPES = {"applies_to": "Files", "scope": "Scope", "contexts": "Contexts", "category": "Category"}
"""What a file says of where it applies, and how it is called."""

# Results and entries of a list
ROWS_SHOWN = 30
# Characters of a text that are drawn as Markdown; of a longer one these, and its sections
LONGEST = 100_000


class Page(NamedTuple):
    """A template and what it is drawn with."""

    template: str
    values: Mapping[str, Any]


Job: TypeAlias = "Callable[[Library, Asked], Page | dict[str, Any]]"


class Part(NamedTuple):
    """A part of a page: a sentence, a table of texts and entries (`empty`.

    Without rows), and where `more` is shown.
    """

    title: str
    summary: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    empty: str = ""
    more: Link | None = None


class Link(NamedTuple):
    """A text that leads somewhere."""

    text: str
    href: str

    def __str__(self) -> str:
        return self.text


def href(ref: str) -> str:
    """The address of an entry, from the first page."""
    return f"entry/{quote(ref, safe='')}"


# --- texts ---

_HEADINGS = tuple(f"h{level}" for level in range(1, 7))


def slug(text: str) -> str:
    """What an address calls a heading.

    Programs differ in case, signs and blanks, so none of these count.
    """
    return "h-" + re.sub(r"[\W_]+", "-", text.casefold()).strip("-")


def _name_headings(state: StateCore) -> None:
    """Let links lead to headings: each gets an `id` of its text.

    Of equal ones the later are numbered.
    """
    counts = Counter[str]()
    for opening, inline in zip(state.tokens, state.tokens[1:], strict=False):
        if opening.type == "heading_open":
            plain = "".join(
                part.content
                for part in inline.children or ()
                if part.type in {"text", "code_inline"}
            )
            name = slug(plain)
            opening.attrSet("id", f"{name}-{counts[name]}" if counts[name] else name)
            counts[name] += 1


_MARKDOWN = bounded(
    MarkdownIt("js-default", {"linkify": False, "typographer": False}).disable("image")
)
_MARKDOWN.core.ruler.push("name_headings", _name_headings)


def on_the_web(target: str) -> str | None:
    """The address of a link that names a page of the web; None for all others."""
    if urlsplit(target).scheme in {"http", "https"}:
        return target
    return None


def _text_rule(
    _renderer: object, tokens: Sequence[Token], place: int, _options: object, env: Mapping[str, str]
) -> str:
    return str(marked(tokens[place].content, env.get("words", "")))


_MARKDOWN.add_render_rule("text", _text_rule)


def markdown(
    text: str, resolve: Callable[[str], str | None] = on_the_web, words: str = ""
) -> Markup:
    """Markdown as HTML without anything that acts.

    No HTML of its own, no images, links to pages alone.

    `resolve` says where a link leads, or None: then its text stays. The words of a question are
    marked.
    """

    def attribute(_tag: str, name: str, value: str) -> str | None:
        try:
            return resolve(value) if name == "href" else value
        except ValueError:
            # no address, such as `http://[`
            return None

    clean = nh3.clean(
        _MARKDOWN.render(text[:LONGEST], {"words": words}),
        tags=(nh3.ALLOWED_TAGS | {"mark"}) - {"img"},
        attributes={"a": {"href", "title"}, **{tag: {"id"} for tag in _HEADINGS}},
        url_schemes={"http", "https"},
        attribute_filter=attribute,
    )
    # keys can scroll what does not fit
    return Markup(clean.replace("<pre>", '<pre tabindex="0">'))  # noqa: S704  # cleaned just now


class LinkTargets:
    """Where the links of entries lead.

    To the entry at that path, file or page, else to the page on the web.
    """

    def __init__(
        self,
        entries: Iterable[EntrySummary],
        sources: Mapping[str, Sequence[str]],
        address: Callable[[EntrySummary], str],
    ) -> None:
        """`sources`: the file or page that an entry came from, by its id."""
        self._address, self._sources = address, sources
        self._entries: dict[tuple[str, str], EntrySummary] = {}
        for entry in entries:
            for place in self._places(entry):
                self._entries[entry.tier, _plain(place)] = entry

    def _places(self, entry: EntrySummary) -> list[str]:
        """Where an entry lies, and where it came from."""
        return [entry.path, *self._sources.get(entry.id, ())]

    def resolve(self, entry: EntrySummary, address: str, target: str) -> str | None:
        """Where a link of this entry leads, whose own page is at `address` (empty: here).

        None: to nothing known.
        """
        parts = urlsplit(target)
        if parts.fragment:
            fragment = f"#{slug(unquote(parts.fragment))}"
        else:
            fragment = ""
        absolute = bool(parts.scheme or parts.netloc)
        if not (absolute or parts.path):
            if fragment:
                return address + fragment
            return None
        if absolute:
            pages = [target]
        else:
            pages = [urljoin(base, target) for base in self._places(entry) if "://" in base]
        files = []
        for base in self._places(entry):
            if "://" not in base and not absolute:
                files.append(base)
        for path in map(
            _plain,
            [*(path for base in files for path in _inside(base, unquote(parts.path))), *pages],
        ):
            for suffix in ("", "/index", "/README"):
                near = self._entries.get((entry.tier, path + suffix))
                if near and (leads_to := self._address(near)):
                    return leads_to + fragment
        if pages:
            return on_the_web(pages[0])
        return None


def _plain(path: str) -> str:
    """A path or address as it is compared.

    Without query, suffixes of pages, and a slash at its end.
    """
    return re.sub(r"(?:\.(?:html?|mdx?|rst|txt)){1,4}$|(?<!/)/+$", "", re.sub(r"[?#].*", "", path))


def _inside(base: str, path: str) -> Iterator[str]:
    """Where a path leads from the file `base`.

    One from the root (`/guide`) may begin at any folder above it.
    """
    folder = posixpath.dirname(base)
    if not path.startswith("/"):
        yield posixpath.normpath(posixpath.join(folder, path))
    while path.startswith("/") and folder.strip("/"):
        yield posixpath.normpath(folder + path)
        folder = posixpath.dirname(folder)


def at_hit(hit: app.answers.Hit, words: str) -> str:
    """The address of a result: a doc opens at the section that was found, with the words marked."""
    if hit.entry.kind is not Kind.DOC:
        return href(hit.entry.id)
    if hit.section:
        part = {"section": hit.section}
    else:
        part = {}
    return f"{href(hit.entry.id)}?{urlencode({**part, 'q': words})}"


def shared(entries: Sequence[EntrySummary]) -> list[str]:
    """What all rows of a list would say: it is said once above them."""
    every = []
    for summary in entries:
        every.append((summary.project, *summary.versions, *summary.tags, summary.tier))
    if len(every) > 1:
        return [name for name in dict.fromkeys(every[0]) if all(name in row for row in every)]
    return []


def marked(text: str, words: str) -> Markup:
    """A text with the words of a question marked."""
    if words:
        pieces = app.search.pieces(text, words)
    else:
        pieces = [(text, False)]
    return Markup().join(
        Markup("<mark>{}</mark>").format(piece) if hit else escape(piece) for piece, hit in pieces
    )


def inline(text: str, words: str = "") -> Markup:
    """A line of Markdown with its code as code and without other signs, and the words of a question marked."""
    parts = re.split(r"(?<!`)(`++)(.{1,1000}?)(?<!`)\1(?!`)", text)
    shown = []
    for plain, code in zip(parts[::3], [*parts[2::3], ""], strict=True):
        shown.append(
            marked(re.sub(r"\*\*(\S(?:.{0,300}?\S)?)\*\*", r"\1", plain).replace("`", ""), words)
        )
        if code:
            shown += [Markup("<code>{}</code>").format(marked(code.strip(), words))]
    return Markup().join(shown)


def words(value: object) -> str:
    """A value as text: lists with commas, numbers to two places."""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, dict):
        results = []
        for key, part in value.items():
            results.append(f"{key}: {words(part)}")
        return "; ".join(results)
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(words, value))
    if value is None:
        return ""
    return str(value)


def day(text: str | None) -> str:
    """The day of a time as people say it, on this machine's clock: 3 March 2026.

    A text that is no time as it is.
    """
    try:
        at = datetime.fromisoformat(text or "").astimezone()
    except ValueError:
        return text or ""
    return f"{at.day} {at:%B %Y}"


def when(text: str | None, now: datetime | None = None) -> str:
    """A time as people say it: today, 14:02; yesterday, 9:30; 3 March, 11:15; 3 March 2025."""
    try:
        at = datetime.fromisoformat(text or "").astimezone()
    except ValueError:
        return text or ""
    here = (now or datetime.now(UTC)).astimezone()
    days = {here.date(): "today", here.date() - timedelta(days=1): "yesterday"}
    if at.year != here.year and at.date() not in days:
        return day(text)
    return f"{days.get(at.date(), f'{at.day} {at:%B}')}, {at.hour}:{at:%M}"


def dated(text: str) -> str:
    """A sentence with its times as people say them."""
    return re.sub(
        r" on (\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+))", lambda match: f", {when(match[1])}", text
    )


# of a diff, by how they begin
LINES = {"-": "changed", "+": "changed", "@": "where", "\\": "where"}


class Row(NamedTuple):
    """A row of a diff side by side; `kind`: same, changed, or the line that says where it is."""

    kind: str
    old: str = ""
    new: str = ""


def side_by_side(diff: str) -> list[Row]:
    """A unified diff of one file as rows of two columns."""
    rows: list[Row] = []
    lines = diff.removesuffix("\n").split("\n")
    # the names of the file come before
    hunks = dropwhile(lambda line: not line.startswith("@@"), lines)
    for kind, group in groupby(hunks, key=lambda line: LINES.get(line[:1], "same")):
        if kind == "changed":
            changed = list(group)
            gone, came = (
                [line[1:] or " " for line in changed if line.startswith(sign)] for sign in "-+"
            )
            rows += starmap(partial(Row, kind), zip_longest(gone, came, fillvalue=""))
        elif kind == "where":
            rows += (
                Row(kind, re.sub(r"^@@ [^+]*\+(\d++).* @@$", r"line \1", line)) for line in group
            )
        else:
            rows += (Row(kind, line[1:], line[1:]) for line in group)
    return rows


def compared(file: app.answers.ProposedFile) -> list[Row]:
    """How a file that was there changes, as rows of two columns with some lines around each change."""
    return side_by_side(app.entries.difference(file.path, file.old or "", file.new or ""))


def against_now(edit: Edit) -> list[Row]:
    """What a file says by now beside the text that was typed."""
    return side_by_side(app.entries.difference("", edit.now or "", edit.text))


@functools.cache
def _environment() -> Environment:
    loader = FileSystemLoader(HERE / "templates")
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "markdown": markdown,
        "words": words,
        "when": when,
        "side_by_side": side_by_side,
    }
    made.filters |= {
        "compared": compared,
        "against_now": against_now,
        "visible": escaped,
        "marked": marked,
    }
    made.filters |= {"folder": _folder, "day": day, "dated": dated, "inline": inline}
    made.tests["entry"] = lambda value: isinstance(value, EntrySummary)
    made.globals |= {"at_hit": at_hit, "shared": shared}
    made.globals |= {
        "WAYS": app.entries.WAYS,
        "Relation": Relation,
        "kinds": list(Kind),
        "LONGEST": LONGEST,
    }
    return made


LIVE: Mapping[str, Any] = {
    "static": False,
    "root": "./",
    "part": False,
    "done": (),
    "edit": None,
    "place": 1,
    "reach": "",
    "words": "",
    "played": None,
}
"""What every template takes, on a page of the server; see `site` for that of a folder of files.

`root` leads to the first page: all links are relative, because the secret is in the address.
"""


def render(template: str, **values: Any) -> str:
    """A page as HTML."""
    context = {**LIVE, "agent": "", "repo": "", **values}
    return (
        _environment()
        .get_template(template)
        .render({"href": lambda entry: context["root"] + href(entry.id), **context})
    )


def stream(template: str, **values: Any) -> Iterator[str]:
    """A page as HTML, in pieces: what is at its top comes before its parts are known."""
    context = {**LIVE, "agent": "", "repo": "", **values}
    link = {"href": lambda entry: context["root"] + href(entry.id)}
    yield from _environment().get_template(template).generate({**link, **context})


# --- search and entries ---


def search(opened: Library, asked: Asked) -> Page:
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
            opened.primary.store.root, opened.options, lambda: opened
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
            opened, kinds=kinds, project=chosen["project"] or None, tag=chosen["tag"] or None, versions=versions,
            limit=ROWS_SHOWN, status=None if query.every else "active",
        )  # fmt: skip
    if not asked.get("part"):
        # who types sees the results alone
        catalog = opened.reading.current() if query.text else opened.reading.catalog
        offered = {
            "projects": catalog.projects(),
            "versions": catalog.versions(),
            "tags": catalog.tags()[:200],
        }
        values |= {"title": "Search", **offered}
    return Page("search.html", values)


def entry(opened: Library, asked: Asked) -> Page:
    """One entry whole: its text, where it comes from, what it is linked with, how it did.

    `edit`: the text to edit.
    """
    section, at = asked.get("section", ""), asked.get("at", "")
    shown = app.entries.show(
        opened, asked["ref"], section=int(section) if section.isdecimal() else None
    )
    summary = shown.entry
    occasions = []
    for session in app.agent_sessions.lately(opened.options.state_dir)[0]:
        for entry in session.told:
            if entry.id == summary.id:
                occasions.append((session, entry))
    if "[" in shown.body:
        every = app.entries.list_entries(opened, status=None, every=True).entries
    else:
        every = ()
    root = asked.get("root", "../")
    targets = LinkTargets(every, _sources(opened), lambda other: root + href(other.id))
    values = described(shown, targets, root + href(summary.id) if shown.section else "") | {
        "why": sources(app.entries.why(opened, summary.id), shown),
        "log": app.entries.log(opened, summary.id),
        "at": at,
        "words": asked.get("q", ""),
        "change": app.entries.change_of_rule(opened, summary.id, at) if at else "",
        "months": by_month(opened.holding(summary.id)[0].usages.history(summary.id)),
        "told": occasions,
        "edit": edited(opened, summary.id) if asked.get("edit") else None,
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


class Edit(NamedTuple):
    """A text in a form: as it was typed, and `mark`, which names the text that it was made of.

    `now`: the file as it is by now, where it was changed meanwhile; `problem`: why the text was not
    taken.
    """

    text: str
    mark: str
    now: str | None = None
    problem: str = ""


def text_mark(text: str) -> str:
    """Names a text: a form says with it what was shown."""
    return sha256(text.encode()).hexdigest()


def edited(opened: Library, ref: str) -> Edit:
    """The text of an entry's file, to be edited."""
    text = _text_given(partial(app.editing.edit, opened, ref))
    return Edit(text, text_mark(text))


def _text_given(edit: Callable[[Callable[[str, str], None]], object]) -> str:
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
        "checked": app.notes.described("check", shown.frontmatter), "applies": _applies(shown.entry, shown.frontmatter),
    }  # fmt: skip


def _applies(
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


# --- proposals ---


def review(opened: Library, asked: Asked) -> Page:
    """What waits for a person, and one of it in full."""
    pending = app.pending_rules.pending_rules(opened)
    ref = asked.get("ref", "")
    chosen = next(
        (n for n, proposal in enumerate(pending) if ref in {proposal.branch, proposal.id}), 0
    )
    proposal = None
    if pending:
        proposal = pending[chosen]
    if proposal:
        (proposal,) = app.effects.in_code(opened, [proposal])
    batch: Sequence[app.answers.Pending] = ()
    if proposal and proposal.batch:
        batch = app.pending_rules.pending_rules(
            opened, app.pending_rules.Batch(batch=proposal.batch, of=proposal.branch)
        )
    after = None
    if len(pending) > 1:
        after = pending[(chosen + 1) % len(pending)]
    values: dict[str, Any] = {
        "title": "Review",
        "waiting": pending,
        "one": proposal,
        "batch": batch,
        "after": after,
    }
    if proposal and asked.get("edit") and proposal.change != "removal":
        text = _text_given(partial(app.review.edit_proposal, opened, proposal.branch))
        values["edit"] = Edit(text, proposal.commit)
    values |= {
        "place": chosen + 1,
        "reach": proposal and text_jobs.reach(proposal),
        "notes": opened.primary.rules.notes,
        "about": proposal and stated(proposal),
    }
    return Page("review.html", values)


def past_of(ref: str, opened: Library) -> str:
    """What the sessions of this user say of a proposal.

    Transcripts that were not read before are read for it.
    """
    where = settings.where(os.environ, opened.options.cwd)
    past = app.pending_rules.past_sessions(
        opened, where, app.pending_rules.pending_rule(opened, ref)
    )
    if past:
        return text_jobs.weighed(past)
    return "nothing: there are none"


class Stated(NamedTuple):
    """What a proposal says of itself.

    Where it applies, what checks it, and the lines that its rendering hides.

    `others`: its other files, such as the program of a script.
    """

    applies: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()
    checked: Sequence[str] = ()
    hidden: str = ""
    others: Sequence[app.answers.ProposedFile] = ()


def stated(proposal: app.answers.Pending) -> Stated:
    """What a person has to see of a proposal besides its rendered text."""
    main = next(
        (file for file in proposal.files if file.path == proposal.path and file.new is not None),
        None,
    )
    apart = []
    for file in proposal.files:
        if file is not main:
            apart.append(file)
    if main is None or main.new is None:
        return Stated(others=apart)
    try:
        fields = read_entry(main.path, main.new.encode("utf-8", "surrogateescape")).fields
    except AiLessonsError:
        # what is wrong with it is among its conflicts, and all its lines are shown
        fields = {}
    summary = EntrySummary(proposal.id, "", Kind.RULE, "", "", (), (), "")
    hidden = unseen(
        main.new, proposal.body, f"title: {proposal.title}", f"rationale: {proposal.rationale}"
    )
    return Stated(_applies(summary, fields), app.notes.described("check", fields), hidden, apart)


_TOKENS = expression(r"[^\W_]+|[^\w\s]|_")
# that rendering may take away
_SIGNS = frozenset("*_`#>|-+~[]()!\\:.=<")
_MARKER = expression(
    r"(?<!\s)\s*+(?:[-*+]\s|\d{1,9}[.)]\s)|(?<!\s)\s*+(?:```|~~~)[a-z0-9+-]{0,12}\s*$"
)


def unseen(text: str, body: str, *above: str) -> str:
    """The lines of a file that do not stand as they are in its rendered `body`, nor `above` it.

    Those are its frontmatter, and lines with an address, a definition or a character that is not
    seen.
    """
    shown = _TOKENS.findall(unescape(nh3.clean(markdown(body), tags=set())))
    head = re.match(r"---\n(?:.*\n)*?---\n", text)
    if head:
        lines = [line for line in head[0].splitlines() if line not in {"---", *above}]
    else:
        lines = []
    place = 0
    for line in text[head.end() if head else 0 :].split("\n"):
        plain = escaped(line) == line
        for token in _TOKENS.findall(_MARKER.sub("", line, count=1)):
            same = shown[place : place + 1] == [token]
            place += same
            plain = plain and (same or token in _SIGNS)
        if not plain:
            lines.append(line)
    return "\n".join(lines)


# --- what is known of how it goes ---


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
            [(when(session.at), session.host or "not stated", _folder(session.folder), len(session.told),
              session.failures) for session in heard],
            ("Hooks heard of no session in the last seven days: ai-lessons admin hosts connects your agents."),
        ),
        *(
            Part(
                f"{session.host or 'A session'} in {_folder(session.folder)}",
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


def _folder(path: str) -> str:
    return View(home=str(Path.home())).short(path) or "no folder"


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
        way = app.entries.WAYS.get(row.how, row.how)
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


# --- the exported site ---

STATIC = ("look.css", "look.js", "icon.svg")


def _sources(opened: Library) -> dict[str, list[str]]:
    """The files and pages that entries came from, by their ids."""
    places = {}
    for entry_id, source in opened.reading.catalog.facts("intake").items():
        places[entry_id] = [source[key] for key in ("path", "url") if key in source]
    return places


def _places_of_source(shown: Shown) -> list[str]:
    """The same of one entry, as its frontmatter states it."""
    if not shown.entry.kind.is_resource:
        return []
    stated = (shown.frontmatter.get(key) for key in ("source_path", "source_url"))
    return [place for place in stated if isinstance(place, str)]


def draw(every: Sequence[Shown]) -> Iterator[tuple[str, bytes]]:
    """The files of the site, by their names."""
    for name in STATIC:
        yield f"static/{name}", (HERE / "static" / name).read_bytes()
    here = {shown.entry.id for shown in every}
    summaries = []
    came_from = {}
    for shown in every:
        summaries.append(shown.entry)
        came_from[shown.entry.id] = _places_of_source(shown)
    targets = LinkTargets(summaries, came_from, lambda entry: f"{entry.id}.html")

    def page(template: str, root: str, **values: Any) -> bytes:
        def href(entry: Any) -> str:
            if entry.id in here:
                return f"{root}entry/{entry.id}.html"
            return ""

        return render(template, static=True, root=root, href=href, **values).encode()

    for shown in every:
        yield f"entry/{shown.entry.id}.html", page("entry.html", "../", **described(shown, targets))
    kinds = [
        (kind, entries)
        for kind in KINDS
        if (entries := [shown for shown in every if shown.entry.kind is kind])
    ]
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
