"""Draws pages: Markdown as safe HTML, words, days, differences, and the templates.

Begin with `render`. Home of jinja2 and nh3.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import dropwhile, groupby, starmap, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from ai_lessons import app
from ai_lessons.interfaces.output import View
from ai_lessons.model.chunks import bounded
from ai_lessons.model.entries import EntrySummary, Kind, Relation
from ai_lessons.model.texts import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

HERE = Path(__file__).parent
# What a file says of where it applies, and how it is called.
SCOPES = {"applies_to": "Files", "scope": "Scope", "contexts": "Contexts", "category": "Category"}

# Characters of a text that are drawn as Markdown; of a longer one these, and its sections
LONGEST = 100_000


class Link(NamedTuple):
    """A text that leads somewhere."""

    text: str
    href: str

    def __str__(self) -> str:
        return self.text


def href(ref: str) -> str:
    """The address of an entry, from the first page."""
    return f"entry/{quote(ref, safe='')}"


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
            plain = ""
            for part in inline.children or ():
                # without links, images and marks
                if part.type in {"text", "code_inline"}:
                    plain += part.content
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
        pieces = app.hit_pieces.pieces(text, words)
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


def compared(file: app.written.ProposedFile) -> list[Row]:
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
    made.filters |= {"folder": folder_name, "day": day, "dated": dated, "inline": inline}
    made.tests["entry"] = lambda value: isinstance(value, EntrySummary)
    made.globals |= {"at_hit": at_hit, "shared": shared}
    made.globals |= {
        "WAYS": app.history_of_entries.WAYS,
        "Relation": Relation,
        "kinds": list(Kind),
        "LONGEST": LONGEST,
    }
    return made


# What every template takes, on a page of the server; see `site` for that of a folder of files.
# `root` leads to the first page: all links are relative, because the secret is in the address.
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


class Edit(NamedTuple):
    """A text in a form: as it was typed, and `mark`, which names the text that it was made of.

    `now`: the file as it is by now, where it was changed meanwhile; `problem`: why the text was not
    taken.
    """

    text: str
    mark: str
    now: str | None = None
    problem: str = ""


def folder_name(path: str) -> str:
    """A folder as people read it, below `~` where it is."""
    return View(home=str(Path.home())).short(path) or "no folder"
