"""A Markdown text cut into its statements.

What items and sentences prescribe, and what only describes. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.chunks import lines_of, parsed
from ai_lessons.model.statements import (
    forbids,
    labelled_reason,
    plain,
    prescribes,
    reason_in,
    reason_near,
    sentences_of_paragraph,
)
from ai_lessons.model.texts import TITLE_LENGTH, one_line


class Statement(NamedTuple):
    """Something that a text prescribes.

    `title` is its sentence, `text` the item or paragraph around it as it stands there, with the
    headings right above; `wording` is that without the headings. `reason`: why, in the words of the
    text; `line`: where it begins, from 1.
    """

    title: str
    text: str
    wording: str
    reason: str = ""
    line: int = 1


class CutText(NamedTuple):
    """The statements of a text in their order, and all that only describes, as one text."""

    statements: tuple[Statement, ...]
    described: str


@dataclass(slots=True)
class _Node:
    """A part of a text by its lines (from 0, end exclusive), with the parts below it.

    `rank`: 1 to 6 for a heading, 10 for a block, 12 for an item, 14 for an item in an item, and so
    on. `prose` are its lines without code, as (first, end).
    """

    kind: str
    rank: int
    start: int
    end: int
    prose: list[tuple[int, int]]
    below: list[_Node] = field(default_factory=list)


@dataclass(slots=True)
class _Draft:
    """A statement on its way: its title, its lines, the words that identify it, and why it is so.

    `text` stands in the place of the lines where it is only a sentence of a paragraph.
    """

    title: str
    spans: list[tuple[int, int]]
    wording: str
    reason: str = ""
    text: str = ""


@dataclass(slots=True)
class _Context:
    """What stands above a part.

    The nearest heading, and words without which the part would say something else.

    `binding`: each part below says what to do, or not to, because those words do.
    """

    heading: str = ""
    lead: str = ""
    binding: bool = False


_KINDS = {
    "heading_open": "heading", "paragraph_open": "prose", "fence": "code", "code_block": "code", "html_block": "html",
    "table_open": "table", "hr": "line", "blockquote_open": "prose",
}  # fmt: skip
# the full-width one, too
_COLONS = ": \uff1a"
# The rank of a block at the top
_TEXT = 10
_IMPORTS = expression(r"(?:\s*+(?:[-*+]\s++)?@\S++)+\s*+")
_MATTER = expression(
    r"\A(?:[ \t]*\n)*---[ \t]*\n(?:(?:[\w-]+:|[ \t]+\S|- )[^\n]*\n)+---[ \t]*(?:\n|\Z)"
)
# Words from which on a lead-in says something by itself
_SHORT_LEAD = 4
_OPEN = expression(
    r"(?i)\b(?:to|not|be|include|must|should|shall|have|has|with|for|of|never|always)$"
)
_GENERIC = expression(
    r"(?i)\b(?:following|these|below|rules?|guidelines?|principles?|conventions?|regeln|folgende\w*)\b"
)
_CONDITIONAL = expression(
    r"(?i)^(?:when|whenever|if|before|after|for|in|on|once|while|unless|during|with|wenn|bei|vor|nach)\b"
)
_POINTS_BACK = expression(r"(?i)^(?:\S+\s+){1,3}(?:them|it|this|that|these|those|all)\b[^`]*$")
_REFERS = expression(
    r"(?i)^(?:this|that|these|those|it|they|instead|otherwise|then|do so|else|such|the same|also|additionally"
    r"|so\b|and\b|but\b|or\b|however|furthermore|use (?:it|them|this)\b)"
)


def cut(text: str, heading: str = "") -> CutText:
    """The statements that a text makes, and what is left of it.

    Together they hold each line but those of imports.

    `heading` stands above the text, such as the description in its frontmatter.
    """
    return _Cutter(text).cut(heading)


def matter_above(text: str) -> tuple[str, str]:
    """What looks like frontmatter at the top of a text, and the text below it.

    Another tool wrote its own above.
    """
    matter = _MATTER.match(text)
    if matter is None:
        return ("", text)
    return (matter[0], text[matter.end() :])


def title_of(text: str, *, heading: str = "", lead: str = "") -> str:
    """The title of a sentence: all of it, else its first clause that says what to do.

    What is too short or points back gets the `heading` before it; `lead` always comes before it.
    """
    words = plain(text).rstrip(_COLONS).rstrip()
    if lead and not (forbids(lead) and forbids(words)):
        words = f"{plain(lead).rstrip(_COLONS)}: {words}"
    elif heading and (
        len(words.split()) < 3 or (len(words.split()) < 7 and _POINTS_BACK.match(words))
    ):
        words = f"{heading}: {words}"
    if len(words) <= TITLE_LENGTH:
        return words
    return _first_clause(words)


_CLAUSE_END = expression(r"(?:;|:|,|\.|\s[\u2014\u2013-]|\s\()(?=\s|\S)\s*")


def _first_clause(words: str) -> str:
    """The longest beginning of a long sentence that ends with a clause and fits a title.

    It says what to do.
    """
    ends = []
    for match in _CLAUSE_END.finditer(words):
        if match.start() <= TITLE_LENGTH:
            ends.append(match.start())
    for end in reversed(ends):
        beginning = words[:end]
        whole = beginning.count("`") % 2 == 0 and beginning.count("(") == beginning.count(")")
        if (
            whole
            and len(beginning) >= 20
            and prescribes(beginning)
            and not _CONDITIONAL.fullmatch(beginning)
        ):
            return beginning
    return one_line(words)


class _Cutter:
    """Cuts one text."""

    def __init__(self, text: str) -> None:
        # its last line would make a heading of the lines above it
        matter, below = matter_above(text)
        self._skipped = len(lines_of(matter))
        self._rows = lines_of(text)
        self._first = _nodes(below, self._skipped)

    def cut(self, heading: str) -> CutText:
        drafts, described = self._all(self._first, _Context(heading))
        if self._skipped:
            described.insert(0, (0, self._skipped))
        drafts.sort(key=lambda statement: statement.spans[0])
        described = self._given_away(drafts, described)
        statements = tuple(self._made(statement) for statement in drafts)
        return CutText(statements, self._joined(described).strip("\n"))

    # --- what a part of the text is ---

    def _all(
        self, nodes: list[_Node], context: _Context
    ) -> tuple[list[_Draft], list[tuple[int, int]]]:
        """The statements in these parts and the lines of what only describes, in order."""
        drafts: list[_Draft] = []
        described: list[tuple[int, int]] = []
        # paragraphs that only give a reason, before any statement
        waiting: list[tuple[int, int]] = []
        reason = ""
        for node in nodes:
            span = (node.start, node.end)
            if node.kind == "prose" and (why := labelled_reason(self._prose(node))):
                if drafts and not described:
                    drafts[-1].spans.append(span)
                    drafts[-1].reason = drafts[-1].reason or why
                else:
                    waiting.append(span)
                    reason = why
                continue
            new, left = self._of(node, context)
            if reason:
                for statement in new:
                    statement.reason = statement.reason or reason
            if new and waiting:
                new[0].spans[:0] = waiting
                waiting = []
            drafts += new
            described += left
        return drafts, sorted([*described, *waiting])

    def _of(self, node: _Node, context: _Context) -> tuple[list[_Draft], list[tuple[int, int]]]:
        if node.kind == "heading":
            return self._of_heading(node)
        if node.kind not in {"prose", "item"} or self._is_import(node):
            drafts, described = self._all(node.below, context)
            return drafts, [(node.start, node.end), *described]
        every = self._sentences(node)
        if node.below:
            return self._of_parent(node, every, context)
        if node.kind == "prose" and not context.binding:
            return self._of_paragraph(node, every, context)
        sentence = _prescribing(every)
        if sentence < 0 and not (context.binding and every):
            return [], [(node.start, node.end)]
        return [self._statement(node, every, max(sentence, 0), context)], []

    def _of_heading(self, node: _Node) -> tuple[list[_Draft], list[tuple[int, int]]]:
        heading = plain(self._text(node.start, node.end).strip().split("\n")[0])
        span = (node.start, node.end)
        short = len(heading.split()) < _SHORT_LEAD
        binding = short and forbids(heading)
        drafts, described = self._all(
            node.below, _Context(heading, heading if binding else "", binding)
        )
        if not short and _says_by_itself(heading):
            statement = _Draft(heading, [span, *described], heading)
            return [statement, *drafts], []
        return _below(span, drafts, described)

    def _of_parent(
        self, node: _Node, every: list[str], context: _Context
    ) -> tuple[list[_Draft], list[tuple[int, int]]]:
        """A paragraph or item with a list below it."""
        if every and every[-1].rstrip("*_ ").endswith((":", "\uff1a")):
            lead = every[-1]
        else:
            lead = ""
        if lead:
            before = every[:-1]
        else:
            before = every
        sentence = _prescribing(before)
        words = plain(lead).rstrip(_COLONS)
        short, binding = len(words.split()) < _SHORT_LEAD, False
        if lead and sentence >= 0 and short:
            return [self._together(node, every, sentence, context)], []
        generic = _GENERIC.search(words) is not None
        if lead and prescribes(lead):
            if ((forbids(words) or _OPEN.search(words)) and len(words) <= TITLE_LENGTH // 2) or (
                short and not generic
            ):
                binding = True
            elif not generic or not any(
                prescribes(plain(self._prose(item))) for item in node.below
            ):
                if sentence >= 0:
                    place = sentence
                else:
                    place = len(every) - 1
                return [self._together(node, every, place, context)], []
        if binding or (lead and _CONDITIONAL.match(words) and len(words) <= 80):
            kept = words
        else:
            kept = ""
        if sentence < 0:
            heading = words if lead else plain(" ".join(every))
        else:
            heading = context.heading
        if generic or len(heading) > 60:
            heading = context.heading
        drafts, described = self._all(
            node.below, _Context(heading, kept or context.lead, binding or context.binding)
        )
        span = (node.start, node.end)
        if sentence < 0:
            return _below(span, drafts, described)
        statement = self._statement(node, every, sentence, context)
        statement.spans += described
        return [statement, *drafts], []

    def _of_paragraph(
        self, node: _Node, every: list[str], context: _Context
    ) -> tuple[list[_Draft], list[tuple[int, int]]]:
        """Each sentence that prescribes, but for those that only go on.

        The first one has the whole paragraph.
        """
        starts = [
            number
            for number, sentence in enumerate(every)
            if _says(sentence) and not (number and _goes_on(sentence))
        ]
        if not starts:
            return [], [(node.start, node.end)]
        drafts = [self._statement(node, every, starts[0], context)]
        for number, following in zip(starts[1:], [*starts[2:], len(every)], strict=False):
            text = " ".join(every[number:following])
            last = following == len(every)
            if last:
                code = self._text(node.prose[-1][1], node.end)
            else:
                code = ""
            if code.strip():
                text = f"{text}\n{code}"
            title = title_of(
                self._with_command(every[number], node if last else None), heading=context.heading
            )
            reason = reason_near(every[number:following], 0) or reason_near(every, number)
            drafts.append(_Draft(title, [(node.start, node.end)], text, reason, text))
        return drafts, []

    def _statement(self, node: _Node, every: list[str], place: int, context: _Context) -> _Draft:
        sentence = _understood(every, place)
        if place == len(every) - 1:
            sentence = self._with_command(sentence, node)
        title = title_of(sentence, heading=context.heading, lead=context.lead)
        wording = self._text(node.start, node.end)
        return _Draft(title, [(node.start, node.end)], wording, reason_near(every, place))

    def _together(self, node: _Node, every: list[str], place: int, context: _Context) -> _Draft:
        """A part with all below it as one statement, which names what is below where there is room."""
        end = _last(node)
        sentence = every[place]
        items = []
        for below in node.below:
            items.append(plain(self._prose(below)))
        joined = f"{plain(sentence)} {'; '.join(item.rstrip('.;,') for item in items)}"
        if place == len(every) - 1 and len(joined) <= TITLE_LENGTH:
            sentence = joined
        title = title_of(sentence, heading=context.heading, lead=context.lead)
        reason = reason_near(every, place) or next(filter(None, map(reason_in, items)), "")
        return _Draft(title, [(node.start, end)], self._text(node.start, end), reason)

    def _with_command(self, sentence: str, node: _Node | None) -> str:
        """A sentence that ends with a colon, with the one line of code that follows it."""
        if node is None or not sentence.endswith(":") or not node.prose:
            return sentence
        code = self._text(node.prose[-1][1], node.end).strip().split("\n")
        lines = []
        for row in code:
            if row.strip() and not row.strip().startswith(("```", "~~~")):
                lines.append(row.strip())
        short = (
            len(lines) == 1
            and len(sentence) + len(lines[0]) < TITLE_LENGTH - 2
            and "`" not in lines[0]
        )
        if short:
            return f"{sentence} `{lines[0]}`"
        return sentence

    # --- the lines ---

    def _text(self, start: int, end: int) -> str:
        return "".join(self._rows[start:end])

    def _prose(self, node: _Node) -> str:
        """Its words without code and without the marks of a quotation."""
        return " ".join(_paragraph(self._rows[start:end]) for start, end in node.prose).strip()

    def _sentences(self, node: _Node) -> list[str]:
        every: list[str] = []
        for start, end in node.prose:
            every += sentences_of_paragraph(_paragraph(self._rows[start:end]))
        return every

    def _is_import(self, node: _Node) -> bool:
        text = self._text(node.start, node.end)
        return bool(text.strip()) and _IMPORTS.fullmatch(text) is not None

    def _given_away(
        self, drafts: list[_Draft], described: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """What describes something.

        Headings alone go with the statement beside them, imports are left out.
        """
        described = [span for span in described if not _IMPORTS.fullmatch(self._text(*span))]
        if not drafts or not all(self._says_nothing(span) for span in described):
            return described
        for span in described:
            before = []
            for statement in drafts:
                if statement.spans[0] < span and not statement.text:
                    before.append(statement)
            if before:
                nearest = before[-1]
            else:
                nearest = drafts[0]
            nearest.spans = sorted([*nearest.spans, span])
        return []

    def _says_nothing(self, span: tuple[int, int]) -> bool:
        if span[1] <= self._skipped:
            return True
        rows = []
        for row in self._rows[span[0] : span[1]]:
            rows.append(row.strip())
        return all(
            not row or row.startswith(("#", "<!--")) or set(row) <= set("-=*_ ") for row in rows
        )

    def _joined(self, spans: list[tuple[int, int]]) -> str:
        """The lines of these spans, with a blank line where something between them is left out."""
        text, last, after_item = "", -1, False
        for start, end in spans:
            piece = self._text(start, end)
            is_item = _ITEM.match(piece) is not None
            if (
                text
                and start != last
                and not text.endswith("\n\n")
                and not (after_item and is_item)
            ):
                text += "\n" if text.endswith("\n") else "\n\n"
            text += piece
            last, after_item = end, is_item
        return text

    def _made(self, draft: _Draft) -> Statement:
        text = draft.text or self._joined(draft.spans)
        return Statement(
            draft.title,
            _upright(text),
            " ".join(draft.wording.split()),
            draft.reason,
            draft.spans[0][0] + 1,
        )


def _paragraph(rows: list[str]) -> str:
    """Rows as one paragraph, without the list marker and the marks of a quotation."""
    words = " ".join(_QUOTED.sub("", row).strip() for row in rows)
    return _ITEM.sub("", words, count=1).strip()


_QUOTED = expression(r"^\s*(?:>\s?)+(?:\[![A-Z]+\]\s*)?")
_ITEM = expression(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_STRONG_WORDS = expression(
    r"(?i)\b(?:must|never|always|avoid|prefer|don['\u2019]?t|do not|only|nie(?:mals)?|immer|jamais|toujours|nunca"
    r"|siempre)\b"
)


def _says_by_itself(heading: str) -> bool:
    """Whether a heading is a statement: few begin with a verb because they tell what to do."""
    return bool(_STRONG_WORDS.search(heading)) and prescribes(heading)


_SPEAKS_OF = expression(r"(?i)\b(?:it|its|there|them|that|this|these|those|such)\b|^\w+ one\b")
_LABEL = expression(r"(?:`[^`]+`|\*\*[^*]+\*\*|[^.:\u2014]{1,40})(?:\s[\u2014\u2013-]\s|:\s)")


def _prescribing(every: list[str]) -> int:
    """The place of the first sentence that says what to do, -1 for none."""
    return next((number for number, sentence in enumerate(every) if _says(sentence)), -1)


def _says(sentence: str) -> bool:
    return prescribes(sentence) and prescribes(plain(sentence))


def _goes_on(sentence: str) -> bool:
    """Whether a sentence cannot be understood without the one before it."""
    words = plain(sentence)
    return bool(_REFERS.match(words)) or len(words.split()) < 3


def _understood(every: list[str], place: int) -> str:
    """A sentence, with those before it where it speaks of what they name and a title has room for them."""
    sentence = every[place]
    labelled = _LABEL.match(plain(every[0])) is not None
    if labelled:
        first = 0
    else:
        first = place - 1
    needs = place and (
        labelled or _goes_on(sentence) or _SPEAKS_OF.search(" ".join(plain(sentence).split()[:8]))
    )
    if needs:
        above = " ".join(every[first:place])
    else:
        above = ""
    if above and len(plain(above)) <= TITLE_LENGTH // 2:
        return f"{above} {sentence}"
    return sentence


def _below(
    span: tuple[int, int], drafts: list[_Draft], described: list[tuple[int, int]]
) -> tuple[list[_Draft], list[tuple[int, int]]]:
    """What stands above goes with what is described below it, else with the first statement there."""
    if described or not drafts:
        return drafts, [span, *described]
    drafts[0].spans.insert(0, span)
    return drafts, []


def _last(node: _Node) -> int:
    return max([node.end, *(_last(below) for below in node.below)])


def _upright(text: str) -> str:
    """A text without the indent of its first line, where that would make it code."""
    text = text.strip("\n")
    indent = len(text) - len(text.lstrip(" "))
    if indent < 4:
        return text
    rows = text.split("\n")
    dedented = []
    for row in rows:
        dedented.append(row[min(indent, len(row) - len(row.lstrip(" "))) :])
    return "\n".join(dedented)


# --- the tree ---


def _nodes(text: str, offset: int) -> list[_Node]:
    """The parts of a text below each other.

    Headings, paragraphs with the lists that they announce, items.
    """
    rows = lines_of(text)
    pieces = list(_pieces(text))
    if not pieces:
        return []
    pieces[0] = (*pieces[0][:2], 0, pieces[0][3])
    top = _Node("heading", 0, 0, 0, [])
    path = [top]
    for place, (kind, rank, start, prose_end) in enumerate(pieces):
        if place + 1 < len(pieces):
            end = pieces[place + 1][2]
        else:
            end = len(rows)
        if kind in _WORDS:
            prose = [(start + offset, (prose_end if kind != "heading" else end) + offset)]
        else:
            prose = []
        node = _Node(kind, rank, start + offset, end + offset, prose)
        last = path[-1]
        if _continues(last, node, rows, offset):
            last.end = node.end
            last.prose += node.prose
            continue
        while path[-1].rank >= rank or (rank > _TEXT and not _takes(path[-1], rank, rows, offset)):
            path.pop()
        path[-1].below.append(node)
        path.append(node)
    return top.below


_WORDS = frozenset(("heading", "prose", "item"))


def _pieces(text: str) -> list[tuple[str, int, int, int]]:
    """Each block and list item, however deep, as (kind, rank, first line, end of its own words)."""
    tokens, unread = parsed(text)
    pieces: list[tuple[str, int, int, int]] = []
    depth = quoted = 0
    for token in tokens:
        if token.type == "blockquote_close":
            quoted -= 1
        if quoted:
            quoted += token.type == "blockquote_open"
            continue
        if token.type in {"bullet_list_open", "ordered_list_open"}:
            depth += 1
        elif token.type in {"bullet_list_close", "ordered_list_close"}:
            depth -= 1
        elif (
            token.map is not None
            and (token.type == "list_item_open" or token.type in _KINDS)
            and token.nesting >= 0
        ):
            start, end = token.map
            if token.type == "list_item_open":
                kind = "item"
            else:
                kind = _KINDS[token.type]
            if kind == "heading" and depth:
                kind = "prose"
            if pieces and pieces[-1][2] == start:
                if pieces[-1][0] == "item":
                    # the first block of an item
                    pieces[-1] = (*pieces[-1][:3], end if kind == "prose" else start)
            else:
                if kind == "heading":
                    rank = int(token.tag[1:])
                else:
                    rank = _TEXT + 2 * depth + (kind != "item" and depth > 0)
                pieces.append((kind, rank, start, start if kind == "item" else end))
        quoted += token.type == "blockquote_open"
    if unread:
        first = len(lines_of(text)) - len(unread)
        pieces.append(("prose", _TEXT, first, first + len(unread)))
    return pieces


def _continues(last: _Node, node: _Node, rows: list[str], offset: int) -> bool:
    """Whether a block belongs to the part before it.

    Code below its words, or a further paragraph of an item.
    """
    if last.below or last.kind not in {"prose", "item"}:
        return False
    if node.rank == last.rank + 1 and last.kind == "item":
        return node.kind in {"prose", "code"}
    same = node.rank == last.rank and last.kind == "prose"
    return same and (
        node.kind == "code" or (node.kind == "table" and _announces(last, rows, offset))
    )


def _takes(node: _Node, rank: int, rows: list[str], offset: int) -> bool:
    """Whether a list belongs below a part: an item, a heading, or a paragraph that announces it."""
    if node.kind == "prose" and node.rank == _TEXT:
        return rank == _TEXT + 2 and _announces(node, rows, offset)
    return node.kind in {"heading", "item", "prose"}


def _announces(node: _Node, rows: list[str], offset: int) -> bool:
    start, end = node.prose[-1] if node.prose else (node.start, node.start)
    return (
        "".join(rows[start - offset : end - offset]).rstrip().rstrip("*_").endswith((":", "\uff1a"))
        and node.end >= end
    )
