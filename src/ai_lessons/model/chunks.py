"""Cuts entries into the passages that are embedded, and long texts into sections.

Home of markdown-it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate, pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import table

from ai_lessons.model import expression
from ai_lessons.model.entries import Entry, Kind, json_fields
from ai_lessons.model.frontmatter import description
from ai_lessons.model.texts import NOT_ABOUT, may_have_headings, without_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    from ai_lessons.model.config import Chunking

_TOKEN = expression(r"[A-Za-z]{1,7}|[0-9]{1,3}|[^\sA-Za-z0-9]")
_SEAMS = (
    expression(r"\n[ \t]*\r?\n"),
    expression(r"\n"),
    expression(r"(?<=[.!?;:。！？])\s+"),  # noqa: RUF001 - the full-width ones end sentences too
    expression(r"\s+"),
)


class Span(NamedTuple):
    """Characters `start` to `end` of a text, and how many tokens they are estimated to be."""

    start: int
    end: int
    tokens: int
    opens: bool = False


def estimate_tokens(text: str) -> int:
    """How many tokens the default model would make of a text.

    0.87 to 1.10 of them for nine texts of ten.

    Counts runs of at most seven letters or three digits, and every other visible character.
    """
    return len(_TOKEN.findall(text))


def span(text: str, start: int, end: int, *, opens: bool = False) -> Span:
    """A stretch of a text with its size.

    `opens`: something new begins here, better not joined to what was before.
    """
    return Span(start, end, estimate_tokens(text[start:end]), opens)


def fits(text: str, limit: int) -> bool:
    """True if the text is at most so many tokens.

    Cheap for short texts, as a token is a character or more.
    """
    return len(text) <= limit or estimate_tokens(text) <= limit


def pieces(text: str, whole: Span, target: int, seam: int = 0) -> list[Span]:
    """Cut a stretch into pieces of at most `target` tokens.

    At blank lines, else lines, sentences, words, anywhere.
    """
    if whole.tokens <= target:
        return [whole]
    if seam == len(_SEAMS):
        ends = [*range(whole.start + target, whole.end, target), whole.end]
        return [
            span(text, start, end) for start, end in zip([whole.start, *ends], ends, strict=False)
        ]
    matches = _SEAMS[seam].finditer(text, whole.start, whole.end)
    starts = [
        whole.start,
        *(match.end() for match in matches if whole.start < match.end() < whole.end),
    ]
    result: list[Span] = []
    for start, end in zip(starts, [*starts[1:], whole.end], strict=True):
        part = span(text, start, end)
        for piece in pieces(text, part, target, seam + 1):
            if result:
                joined = result[-1].tokens + piece.tokens
            else:
                joined = 0
            if result and part is piece and joined <= target:
                result[-1] = Span(result[-1].start, piece.end, joined)
            else:
                result.append(piece)
    return result


def packed(text: str, blocks: Iterable[Span], chunking: Chunking) -> list[Span]:
    """Neighbouring blocks joined up to the target.

    One that is over the limit alone is cut into pieces.

    A stretch below the minimum may grow up to the limit; after one that is not, a block that
    `opens` starts a new one.
    """
    result: list[Span] = []
    last: Span | None = None
    for block in blocks:
        if block.tokens > chunking.limit:
            result += pieces(text, block, chunking.target)
            last = None
            continue
        if last:
            joined = Span(last.start, block.end, last.tokens + block.tokens, last.opens)
        else:
            joined = block
        small = last is not None and last.tokens < chunking.minimum
        if (
            last
            and joined.tokens <= (chunking.limit if small else chunking.target)
            and (small or not block.opens)
        ):
            result[-1] = last = joined
        else:
            result.append(last := block)
    return result


_BLOCK = expression(
    r"\n[ \t]*\r?\n(?=[^\s)\]}])(?!(?:fi|done|esac|end|else|elif|except|finally|EOF)\b)"
)
_DEFINITION = expression(
    r"^(?:(?:export|pub|public|static|async|default)[ \t]+)*"
    r"(?:(?:def|class|function|func|fn|sub|proc|module|interface|struct)[ \t]+(\w[\w:.\-]*)"
    r"|(\w[\w:.\-]*+)[ \t]*\([ \t]*\)\s*\{)",
    re.MULTILINE,
)


def cut_code(code: str, chunking: Chunking) -> list[Span]:
    """Blocks of a script joined up to the target; a function begins a new stretch."""
    starts = [0, *(match.end() for match in _BLOCK.finditer(code))]
    blocks = (
        span(code, start, end, opens=_DEFINITION.search(code, start, end) is not None)
        for start, end in zip(starts, [*starts[1:], len(code)], strict=True)
    )
    return packed(code, blocks, chunking)


def summary(code: str) -> str:
    """The first sentence-like line of the docstring or leading comment; empty if there is none."""
    lines = (line.strip() for line in description(code.encode()).splitlines())
    return next(
        (line[:120] for line in lines if len(line.split()) > 2 and not NOT_ABOUT.match(line)), ""
    )


def names(code: str) -> str:
    """What is defined at the left margin of a stretch of code, the first few names."""
    defined = []
    for match in _DEFINITION.finditer(code):
        defined.append(match[1] or match[2])
    # it stands before a passage of about as many lines
    return ", ".join(defined[:3])


class TableLimits(NamedTuple):
    """Above this a table of Markdown is text: markdown-it takes seconds for it."""

    # Lines of a text that are read as Markdown, in a second or two; what follows is plain text
    most_lines: int = 100_000
    # Cells of the tables of one text: short rows are filled up, so that few characters make many
    most_cells: int = 200_000


TABLE_LIMITS = TableLimits()


def bounded(parser: MarkdownIt) -> MarkdownIt:
    """The same parser, for which rows of tables that would have too many cells are text."""

    def rows(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        # as the package calls it
        columns = state.src.count("|", state.bMarks[start], state.eMarks[start]) + 1
        left = TABLE_LIMITS.most_cells - state.env.get("cells", 0)
        is_table = table(state, start, min(end, start + left // columns), silent)
        if is_table and not silent:
            state.env["cells"] = TABLE_LIMITS.most_cells - left + columns * (state.line - start)
        return is_table

    parser.block.ruler.at("table", rows, {"alt": ["paragraph", "reference"]})
    return parser


# Only blocks are looked at: leaving out the inline rules makes a parse four times faster.
_PARSER = bounded(
    MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"], ignoreInvalid=True)
)
_MARKUP = expression(r"[`*]|\[([^\[\]]*)\]\([^()]*\)|<[^<>]*>|\\(?=\W)")
_CODE = frozenset({"fence", "code_block"})


class Passage(NamedTuple):
    """One piece of an entry, as it stands in the file. `ordinal` counts from 0.

    `heading` is the path of headings above it, `Section > Subsection`, without the title of the
    entry. `start` and `end` are its first and last line (from 1) in the body, for code in the
    script; 0 where it is from the frontmatter. `section` is the number of the section in which it
    begins, 0 for none.
    """

    ordinal: int
    heading: str
    text: str
    start: int
    end: int
    section: int = 0


@json_fields("number", "heading", "level", "lines")
class TextSection(NamedTuple):
    """One section of a text, subsections included, numbered from 1 in the order of the headings.

    `start` and `end` are its first and last line, from 1, in `lines_of` the text. The first heading
    of a text, if it is the only one of its level, is its title, and its section ends at the next
    heading.
    """

    number: int
    heading: str
    level: int
    start: int
    end: int

    @property
    def lines(self) -> int:
        """How many it has."""
        return self.end - self.start + 1


class _Block(NamedTuple):
    """A top-level block of Markdown by its lines (from 0, end exclusive).

    `level` above 0 for a heading.

    `heading` is that without its markup, on one line.
    """

    start: int
    end: int
    level: int = 0
    heading: str = ""


class _Stretch(NamedTuple):
    """Text below one path of headings, from `start`; `opening` is where its heading begins.

    A heading with nothing below is `bare`.
    """

    path: tuple[str, ...]
    opening: int
    start: int
    end: int
    tokens: int
    section: int = 0
    bare: bool = False


# A picture in the text. It has no line ends, so that lines count the same without it.
_DATA = expression(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=-]+)*,[\w+/=%-]{40,}")


def split(entry: Entry, chunking: Chunking) -> tuple[Passage, ...]:
    """The passages of an entry, none if it has no text. Its title is not repeated in them.

    A lesson begins with its pattern, a rule with its rationale; a script is its description, then
    its code.
    """
    entry = entry._replace(body=_DATA.sub("", entry.body))
    head, body = entry.opening, entry.body
    if entry.kind is Kind.SCRIPT:
        code = entry.code
    else:
        code = ""
    text = "\n".join(part for part in (body.strip("\r\n"), code.strip("\r\n")) if part.strip())
    # a paragraph of its own: the head need not end with a full stop
    whole = "\n\n".join(filter(None, (head, text)))
    if not whole.strip():
        return ()
    if fits(whole, chunking.target):
        if not body.strip():
            alone = code
        else:
            alone = body
        if alone.strip():
            end = _lines(alone)(len(alone.rstrip()))
        else:
            end = 0
        return (Passage(0, "", whole, 1 if alone.strip() else 0, end),)
    about = _passages(body, _cut_body(entry.title, body, chunking))
    passages = [
        *_opened(head, list(about), chunking),
        *_passages(code, _cut_script(entry, code, chunking)),
    ]
    numbered = []
    for n, passage in enumerate(passages):
        numbered.append(passage._replace(ordinal=n))
    return tuple(numbered)


# Heading, first and last character, section.
_Cut = tuple[str, int, int, int]


def _passages(text: str, cuts: Iterable[_Cut]) -> Iterator[Passage]:
    """The passages of a text that is cut so, without the blank lines around them."""
    line = _lines(text)
    for heading, start, end, section in cuts:
        piece = text[start:end].lstrip("\r\n")
        if passage := piece.rstrip():
            first = end - len(piece)
            yield Passage(0, heading, passage, line(first), line(first + len(passage) - 1), section)


def _opened(head: str, passages: list[Passage], chunking: Chunking) -> list[Passage]:
    """With the frontmatter's words before the first passage if both fit, else alone."""
    if head and passages and fits(head + passages[0].text, chunking.limit):
        return [passages[0]._replace(text=f"{head}\n\n{passages[0].text}"), *passages[1:]]
    if head:
        parts = pieces(head, span(head, 0, len(head)), chunking.limit)
    else:
        parts = []
    return [
        *(Passage(0, "", head[part.start : part.end].strip(), 0, 0) for part in parts),
        *passages,
    ]


def _cut_body(title: str, body: str, chunking: Chunking) -> Iterator[_Cut]:
    for stretch in _joined(_stretches(body, chunking), chunking) if body.strip() else ():
        yield _path(title, stretch.path), stretch.start, stretch.end, stretch.section


def _cut_script(entry: Entry, code: str, chunking: Chunking) -> Iterator[_Cut]:
    """File name and leading comment go with every stretch of code, as headings do in a text."""
    name, about = entry.path.rpartition("/")[2], summary(code)
    for span in cut_code(code, chunking) if code.strip() else ():
        path = (name, about if span.start else "", names(code[span.start : span.end].strip("\r\n")))
        yield _path(entry.title, path), span.start, span.end, 0


def _path(title: str, headings: tuple[str, ...]) -> str:
    kept = []
    for n, heading in enumerate(headings):
        if heading and not (n == 0 and heading == title):
            kept.append(heading)
    # it stands before every passage below it, so a long one would be most of them
    return " > ".join(kept)[:200]


def _lines(text: str) -> Callable[[int], int]:
    """From a position in the text to its line, from 1.

    Looks for the line ends once: texts have megabytes.
    """
    ends = []
    for match in re.finditer("\n", text):
        ends.append(match.start())
    return lambda position: bisect_left(ends, position) + 1


# The lines of a text with their ends, as Markdown counts them.
# `str.splitlines` knows a dozen more line ends.
lines_of = expression(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+").findall


def parsed(text: str) -> tuple[list[Token], list[str]]:
    """The tokens of what is read as Markdown, and the lines that follow, mostly none."""
    if (
        len(text) <= TABLE_LIMITS.most_lines
        or len(rows := lines_of(text)) <= TABLE_LIMITS.most_lines
    ):
        return _PARSER.parse(text), []
    return _PARSER.parse("".join(rows[: TABLE_LIMITS.most_lines])), rows[TABLE_LIMITS.most_lines :]


def blocks(text: str) -> Iterator[_Block]:
    """The top-level blocks; a list is its items."""
    tokens, unread = parsed(text)
    for place, token in enumerate(tokens):
        is_item = token.type == "list_item_open" and token.level == 1
        if token.map is None or token.nesting < 0 or not (token.level == 0 or is_item):
            continue
        if token.type in {"bullet_list_open", "ordered_list_open"}:
            continue
        start, end = token.map
        if token.type == "heading_open":
            # Looking for markup takes time with the square of the characters: of a longer heading
            # only these are read.
            content = without_id(tokens[place + 1].content[:400])
            heading = _MARKUP.sub(lambda match: match[1] or "", content)
            yield _Block(start, end, int(token.tag[1:]), " ".join(heading.split()))
        else:
            yield _Block(start, end)
    if unread:
        yield _Block(TABLE_LIMITS.most_lines, TABLE_LIMITS.most_lines + len(unread))


def _stretches(body: str, chunking: Chunking) -> Iterator[_Stretch]:
    """Each section's blocks, packed, with the path of headings above them.

    Together they are the whole text.
    """
    offsets = [0, *accumulate(map(len, lines_of(body)))]
    path: list[tuple[int, str]] = []
    opening, bounds, section = 0, [0], 0
    last = len(offsets) - 1
    for block in (*blocks(body), _Block(last, last, 1)):
        # the end of the text closes a section, as a heading does
        start = offsets[block.start]
        if not block.level:
            bounds.append(start)
            continue
        yield from _section(
            body, tuple(text for _, text in path), opening, [*bounds, start], section, chunking
        )
        path = [
            *((level, text) for level, text in path if level < block.level),
            (block.level, block.heading),
        ]
        opening, bounds, section = start, [offsets[block.end]], section + 1


def _section(
    body: str,
    path: tuple[str, ...],
    opening: int,
    bounds: list[int],
    section: int,
    chunking: Chunking,
) -> Iterator[_Stretch]:
    """The stretches of one section.

    A block reaches to the next: what the parser skips (link targets) stays with it.
    """
    heading_tokens = estimate_tokens(body[opening : bounds[0]])
    # a heading of more than 100 characters is a paragraph: found as text, because paths are cut off
    if bounds[0] - opening > 100:
        heading_tokens, bounds = 0, [opening, *bounds]
    spans = [part for start, end in pairwise(bounds) if (part := span(body, start, end)).tokens]
    if heading_tokens and not spans:
        yield _Stretch(path, opening, opening, bounds[-1], heading_tokens, section, bare=True)
    for number, piece in enumerate(packed(body, spans, chunking)):
        if number:
            # the heading goes with the first stretch
            opening, heading_tokens = piece.start, 0
        yield _Stretch(
            path, opening, piece.start, piece.end, piece.tokens + heading_tokens, section
        )


def _joined(stretches: Iterator[_Stretch], chunking: Chunking) -> list[_Stretch]:
    """Sections below the minimum go together with a neighbour.

    What they share of their paths is the new path.
    """
    result: list[_Stretch] = []
    for stretch in stretches:
        if result and result[-1].bare and result[-1].path == stretch.path[: len(result[-1].path)]:
            opening, tokens = result[-1].opening, result.pop().tokens + stretch.tokens
            if stretch.bare:
                start = opening
            else:
                start = stretch.start
            stretch = stretch._replace(opening=opening, start=start, tokens=tokens)  # noqa: PLW2901
        if result:
            last = result[-1]
        else:
            last = stretch
        tokens = last.tokens + stretch.tokens
        if (
            not result
            or min(last.tokens, stretch.tokens) >= chunking.minimum
            or tokens > chunking.limit
        ):
            result.append(stretch)
            continue
        pairs = zip(last.path, stretch.path, strict=False)
        path = tuple(heading for heading, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        # headings that the path lacks are text
        if path == last.path:
            start = last.start
        else:
            start = last.opening
        result[-1] = _Stretch(path, last.opening, start, stretch.end, tokens, last.section)
    return result


def sections(body: str) -> tuple[TextSection, ...]:
    """The sections of a Markdown text, none if it has no headings.

    Text before the first heading is in none.
    """
    if not may_have_headings(body):
        return ()
    headings = [block for block in blocks(body) if block.level]
    last_line = len(lines_of(body))
    titled = len(headings) > 1 and all(other.level > headings[0].level for other in headings[1:])
    result: list[TextSection] = []
    # by level: where the next heading of it, or above it, begins
    next_of = dict.fromkeys(range(1, 7), last_line)
    for place, block in reversed(list(enumerate(headings))):
        end = next_of[6 if place == 0 and titled else block.level]
        result.append(TextSection(place + 1, block.heading, block.level, block.start + 1, end))
        next_of |= dict.fromkeys(range(block.level, 7), block.start)
    return tuple(reversed(result))


def code_blocks(text: str) -> tuple[str, ...]:
    """What stands in blocks of code, wherever they are nested, and in HTML that says `<pre`.

    Blocks are fenced or indented. Code inside a sentence is none of them, and an empty block is
    left out. Lines that were not parsed count as code.
    """
    tokens, unread = parsed(text)
    code = (
        token.content.strip()
        for token in tokens
        if token.type in _CODE or (token.type == "html_block" and "<pre" in token.content.lower())
    )
    return tuple(filter(None, (*code, "".join(unread).strip())))
