"""Sentences that say what to do, and why.

Found in texts of people, and made into the one line of an entry. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Sequence


class StatementLimits(NamedTuple):
    """Sizes of statements that are looked for in a text."""

    # Characters of a decision in one line (design 17): a hundred of them fit into a start
    line: int = 80
    # Rows of a text that are looked at: a longer one is no statement
    most_rows: int = 2_000


STATEMENTS = StatementLimits()


_MARKS = expression(r"^(?:[-*+>]|\d{1,3}[.)]|#{1,6}|\[[ xX]\])\s+")


# --- what prescribes ---


_REPEATS = ("?", "*", "+", "{")


def _words(*texts: str) -> str:
    """An alternative of words, given with blanks between them.

    `_` stands for a blank inside of one.
    """
    words = [
        word.replace("_", r"\s").replace("'", "['\u2019]")
        for text in texts
        for word in text.split()
    ]
    # words with one beginning are one alternative: at most places of a text none of them is tried
    endings: dict[str, list[str]] = {}
    for word in words:
        plain_letter = word[0].isalpha() and word[1:2] not in _REPEATS
        endings.setdefault(word[0] if plain_letter else word, []).append(
            word[1:] if plain_letter else ""
        )
    alternatives = []
    for first, ends in endings.items():
        alternatives.append(f"{first}(?:{'|'.join(ends)})")
    return f"(?:{'|'.join(alternatives)})"


# Verbs that begin a sentence hardly ever but to say what to do.
_VERBS = _words(
    (
        "add adhere adopt aim apply ask assert assume avoid await back be begin bring capture "
        "catch choose cite"
    ),
    (
        "clarify classify collapse compare comply configure confine confirm conform consider "
        "consult contact convert"
    ),
    (
        "create decide declare defer define delegate delete deploy derive describe detect "
        "disable discard distinguish"
    ),
    (
        "do double-check download edit embed emit enable encode enforce ensure escape "
        "evaluate examine execute"
    ),
    (
        "explain explore expose extend extract favou?r fetch fill find fix flatten focus "
        "follow gather generate get"
    ),
    (
        "give go group highlight honou?r identify ignore implement include incorporate "
        "initiali[sz]e inline insert"
    ),
    (
        "inspect install introduce investigate invoke isolate iterate join judge justify keep "
        "label lean learn leave"
    ),
    (
        "let locate look lower maintain make measure merge migrate mind minimi[sz]e modify "
        "monitor move narrow"
    ),
    (
        "normali[sz]e notify obey observe omit open optimi[sz]e organi[sz]e override parse "
        "pass perform pick populate"
    ),
    (
        "prefer prepare preserve prevent print prioriti[sz]e proceed produce propagate "
        "propose protect prove provide"
    ),
    (
        "publish put quote raise read rebase rebuild reconcile reduce refactor refer refine "
        "refrain refresh"
    ),
    (
        "regenerate register reject rely remember remove rename reorder repeat replace reply "
        "reproduce re-?run"
    ),
    (
        "reserve reset resolve respect restart restore restrict restructure retain retry "
        "re-?use revert rewrite run"
    ),
    (
        "saniti[sz]e say scan schedule select send separate seriali[sz]e share ship show "
        "simplify skip sort specify"
    ),
    (
        "split squash start stay stick stop strip strive submit summari[sz]e support suppress "
        "surface swap switch"
    ),
    (
        "take tell think throw tidy treat trim truncate try turn understand undo unify "
        "uninstall upload utili[sz]e"
    ),
    "validate verify visit warn wrap write",
)

_NOUNS_TOO = _words(
    (
        "attach audit bind branch build bump call change check clean comment commit copy "
        "cover debug design document"
    ),
    (
        "drop expect export fail flag format guard handle import limit link lint list load "
        "log mark mirror mock model"
    ),
    (
        "name pin place plan prefix profile pull push release report return review save "
        "search set sign stage store"
    ),
    "tag target test track trigger trust type update upgrade use wait watch",
)
_FINITE = _words(
    (
        "is are was were has have had belongs? comes? contains? covers? depends? exists? goes "
        "holds? lies?"
    ),
    "lives? means",
    "mirrors? runs shows uses works",
)
# After a word that is a noun as often.
# It is no label or heading, and no verb follows whose subject it would be.
_NO_SUBJECT = rf"(?!\s+of\b)(?!\s+(?:\w+:|(?-i:[A-Z]\w*$)))(?!(?:\s+\S+){{0,3}}?\s+{_FINITE}\b)"

_DO = rf"(?:{_VERBS}|{_NOUNS_TOO}{_NO_SUBJECT})(?=\s)"
_DO_ELSEWHERE = _words(
    "nimm nutze? benutze? schreibe? verwende? vermeide? prüfe? führe? achte stelle?_sicher",
    "utilise[zr]? évite[zr]? écri(?:s|vez|re) vérifie[zr]? ajoute[zr]? préfère[zr]? n'utilise[zr]?",
    "usa usar use evita evitar escribe prefiere añade ejecuta comprueba",
)
_POLITE = (
    rf"(?:{_words('please also then just now first instead and bitte por_favor')},?\s++){{0,2}}"
)
_BEGINNING = r"(?:^[ \t>*+\d.)-]*(?:\[[ xX]\]\s)?(?:\*\*|__)?|[.!?;:](?:\*\*|__)?\s++)"
_CONDITION = _words(
    "when whenever if unless before after once while for(?!_(?:example|instance)) to",
    "in(?!_(?:particular|general|fact|addition))",
    "on at where within outside inside under during with from additionally otherwise finally next",
)
_PREMISE = r"[^.!?\n]{1,240}?,\s++"
_SUBJECTS = _words("the an? it you we they this that these those there its our your all")
_OBJECTS = _words("to the an? your all any every each it them")

_NORMS = _words(
    (
        "must should shall never always avoid (?<!would_)prefer don't do_not required? "
        "mandatory forbidden prohibited"
    ),
    (
        "disallowed not_allowed not_permitted make_sure has_to have_to ought_to recommended "
        "discouraged unacceptable"
    ),
    "supposed_to expected_to (?<!if_you_)(?<!when_you_)needs?",
    (
        "nie niemals immer muss müssen soll sollen sollte sollten dürfen_nicht darf_nicht "
        "verboten kein\\w* nur_noch"
    ),
    "jamais toujours doit doivent il_faut interdite?s? obligatoire",
    "nunca jamás siempre hay_que deb\\w+ prohibid[oa]s? obligatori[oa]s?",
)
_NORMS_IN_SIGNS = "必须|不要|禁止|应该|务必|总是|不得|严禁|切勿|请勿|只能|しないで|必ず|してください|すべき|반드시|하지 마"
_ONLY_VERBS = _words("use uses run call import allow allowed write edit commit push merge")

_PRESCRIBES = expression(
    "(?im)"
    + "|".join((
        rf"\b{_NORMS}\b",
        _NORMS_IN_SIGNS,
        rf"\b{_ONLY_VERBS}\s+only\b",
        rf"\bonly\s+(?:{_ONLY_VERBS}|when|if|via|through|with)\b",
        # a sentence, or an item, that begins with what to do or what not to have
        rf"{_BEGINNING}{_POLITE}(?:{_DO}|{_DO_ELSEWHERE}\b|only\s|no\s(?!longer))",
        # the same behind a condition
        rf"{_BEGINNING}{_CONDITION}\b{_PREMISE}{_POLITE}{_DO}",
        rf"^(?:when|whenever|if|before|after|once)\b{_PREMISE}(?!{_SUBJECTS}\b)\w+\s+{_OBJECTS}\b",
        rf"\s[\u2013\u2014]\s++{_VERBS}(?=\s)",
        r",\s++(?:and\s++)?not\s++[`\w]",
        r"^(?:\S++\s++){1,9}(?:instead of|rather than)\b",
        r"(?-i:\b(?:ONLY|NOT|NEVER|IMPORTANT|CRITICAL)\b)",
    ))
)  # fmt: skip

_NEGATIVE = expression(
    r"(?i)\b"
    + _words(
        (
            "don'ts? does_not do_not not_to never avoid no must_not should_not forbidden "
            "prohibited disallowed"
        ),
        "anti-?patterns? pitfalls? mistakes?",
        "nicht nie niemals verboten kein\\w* ne jamais interdite?s? nunca prohibid[oa]s?",
    )
    + r"\b|\b(?-i:NOT)\b|❌|🚫|⛔|不要|禁止|不得|严禁|切勿|请勿"
)


def prescribes(text: str) -> bool:
    """Whether some sentence says what to do or to leave, and not only how things are.

    >>> prescribes("- Money is whole cents, never floats"), prescribes("New features need tests")
    (True, True)
    >>> prescribes("The web layer talks to services.")
    False
    >>> prescribes("Test files live beside the code.")
    False
    """
    if text.rstrip().endswith("?") or _POINTER.fullmatch(text):
        return False
    return bool(_PRESCRIBES.search(_CODE.sub("`x`", text)))


def forbids(text: str) -> bool:
    """Whether it says what not to do.

    >>> forbids("Never push to main"), forbids("Pin every version")
    (True, False)
    """
    return bool(_NEGATIVE.search(_CODE.sub("`x`", text)))


# Nothing but a link: a row of a table of contents.
_POINTER = expression(r"\s*+(?:[-*+]|\d+[.)])?\s*+\[[^\[\]]*\]\([^()\s]*\)\.?\s*")

_SPAN = expression(r"(?<!`)(`++)(?:(?!\1).){1,1000}\1(?!`)|\([^()]*\)|\[[^\[\]]*\]")
_END = expression(
    r"[.!?][*_\"'\u201d\u2019)\]]*\s+(?=[^\sa-z\u00df-\u00f6\u00f8-\u00ff])|[\u3002\uff01\uff1f]\s*(?=\S)"
)
_ABBREVIATED = expression(
    rf"(?i)\b{_words('e.g i.e etc vs cf approx resp incl z.b z._b d.h bzw usw p._ex p._ej no')}\.$"
)


def sentences_of_paragraph(paragraph: str) -> list[str]:
    r"""The sentences of a paragraph, its blanks made single.

    None ends within code, brackets or an abbreviation.

    >>> sentences_of_paragraph("Use `a. B`, e.g. Here. Never\nthere.")
    ['Use `a. B`, e.g. Here.', 'Never there.']
    """
    line = " ".join(paragraph.split())
    masked = _SPAN.sub(lambda match: "x" * len(match[0]), line)
    start, result = 0, []
    for end in _END.finditer(masked):
        piece = line[start : end.end()].rstrip()
        if not _ABBREVIATED.search(piece):
            result.append(piece)
            start = end.end()
    result.append(line[start:])
    return [piece for piece in result if piece]


_CODE = expression(r"(`+[^`]*`+)")
_LINK = expression(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s\"[^\"]*\")?\)")
_STRONG = expression(r"(?<!\w)(\*\*|__)(?=\S)|(?<=\S)(\*\*|__)(?!\w)")
_EMPHASIS = expression(r"(?<![\w*_])([*_])(?=[^\s*_])([^*_]*[^\s*_])\1(?![\w*_])")
_MARKER = expression(r"^\s*(?:>\s?)*\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?")
# of a line with single blanks
_HEADING_SIGNS = expression(r"^#{1,6}\s|\s#+$|\s?\{#[\w:-]+\}$")


def plain(text: str) -> str:
    """A sentence or heading on one line without list marker, emphasis and links.

    Code keeps its marks.

    >>> plain("- **Never** call [it](docs/a.md) `a*b*`")
    'Never call it `a*b*`'
    """
    line = _HEADING_SIGNS.sub("", " ".join(_MARKER.sub("", text).split()))
    parts = _CODE.split(_LINK.sub(r"\1", line))
    for number in range(0, len(parts), 2):
        parts[number] = _EMPHASIS.sub(r"\2", _STRONG.sub("", parts[number]))
    return "".join(parts).strip()


# --- why ---

_NO_TIME = r"(?!\s+(?:v?\d|then\b|(?:the\s+)?(?:last|first|beginning|start|january|february|march|april|may|june)\b))"
_BECAUSE = _words(
    rf"because(?!_of\b) since{_NO_TIME} weil denn parce_que parce_qu' puisque porque ya_que",
)
_SO = _words(
    "because_of so_(?:that|it|they|you|we)",
    "so_\\S+_(?:\\S+_)?(?:doesn't|don't|won't|can|cannot|can't|stays?|is|are)",
    (
        "(?<![a-z]_)otherwise(?=,?_\\w) or_else in_order_to "
        "(?<!need_)(?<!have_)(?<!try_)(?<!has_)to_(?:avoid|prevent)"
    ),
    "damit sonst sinon afin_de afin_que pour_que si_no para_que",
)
_CLAUSE = expression(rf"(?i)(?:^|[\s,;(\u2014\u2013-])(?:{_BECAUSE}\s*(\S.*)|({_SO}\b.*))")
_CHINESE = expression(r"(?:因为|由于)(\S.*)|((?:否则|不然|以免|以便).*)")
_OPENS_REASON = _words(
    "this that it they these those both doing which otherwise the an? we you our das dies "
    "sonst cela esto"
)
_DASH = expression(rf"(?i)\s[\u2014\u2013]\s+({_OPENS_REASON}\b.*)$")
_LABEL = expression(
    rf"(?is)^[ \t>*+-]*+(?:__)?{_words('because why reason rationale warum grund pourquoi raison por_qué 原因')}\b"
    r"\s*+:?+(?:\*\*|__)?+\s*+:?+\s*+(\S.*)$"
)
_EFFECTS = _words(
    (
        "keeps? makes? ensures? prevents? avoids? breaks? causes? allows? helps? lets? means? "
        "hides? leads?"
    ),
    "saves? expands?",
    (
        "protects? reduces? adds? costs? will would is_(?:because|how|why|needed|required) "
        "verhinder\\w+"
    ),
    "sorgt vermeide\\w+",
)
_CONSEQUENCE = expression(
    r"(?i)^(?:otherwise|sonst|sinon|(?:this|that|it|they|these|doing "
    rf"so|das|dies)\s+(?:\w+ly\s+)?{_EFFECTS})\b"
)


def labelled_reason(text: str) -> str:
    """The reason that a paragraph states as such (`Because: …`, `Why: …`); empty if it is none."""
    match = _LABEL.match(text)
    if match:
        return plain(match[1])
    return ""


def reason_in(sentence: str) -> str:
    """The part of a sentence that says why; empty if none does.

    >>> reason_in("Never mock the store, because the mock hid a bug.")
    'the mock hid a bug.'
    """
    for pattern in (_CLAUSE, _CHINESE, _DASH):
        if match := pattern.search(sentence):
            words = next(part for part in reversed(match.groups()) if part)
            return _until_prescribed(plain(words))
    if _CONSEQUENCE.match(plain(sentence)):
        return plain(sentence)
    return ""


def _until_prescribed(words: str) -> str:
    """A reason up to the comma or dash behind which the sentence says what to do.

    `since it is slow, run it alone`.
    """
    for sign in (" — ", ", "):
        before, divided, after = words.partition(sign)
        if divided and prescribes(after) and not prescribes(before):
            return before
    if prescribes(words) and len(words.split()) < 3:
        return ""
    return words


def reason_near(every: Sequence[str], place: int) -> str:
    """The reason that these sentences give for the one at `place`.

    It, the nearest after it, the nearest before.
    """
    clause = reason_in(every[place])
    if clause and clause != plain(every[place]):
        return clause
    for number in (*range(place + 1, len(every)), *range(place - 1, -1, -1)):
        # a reason in a sentence that prescribes is one for that
        if not prescribes(plain(every[number])) and (reason := reason_in(every[number])):
            return reason
    return ""


# --- a text of many lines, and the one line of an entry ---


def sentences(text: str) -> list[str]:
    """The sentences of a text in their order, without marks of lists and headings.

    Code blocks are left out.
    """
    result: list[str] = []
    paragraph: list[str] = []
    fenced = False
    for row in [*text.split("\n", STATEMENTS.most_rows)[: STATEMENTS.most_rows], ""]:
        stripped = row.strip()
        fence = stripped.startswith(("```", "~~~"))
        item = _MARKS.match(stripped) is not None
        if fence or fenced or item or not stripped:
            result += sentences_of_paragraph(" ".join(paragraph))
            paragraph = []
        if fence:
            fenced = not fenced
        elif stripped and not fenced:
            paragraph.append(unmarked(stripped))
            if stripped.startswith("#"):
                result += sentences_of_paragraph(paragraph.pop())
    return result


def unmarked(row: str) -> str:
    """A row without the marks at its beginning: `- [ ] 1. Use x` is `Use x`."""
    for _ in range(4):
        mark = _MARKS.match(row)
        if mark is None:
            break
        row = row[mark.end() :]
    return row


def is_heading(title: str) -> bool:
    """Whether a title may only name a subject: it is short and says nothing of what to do."""
    # A title of so many words, such as `Code Quality`, may name a subject and say nothing
    return len(title.split()) <= 5 and not prescribes(title)


def says(title: str, text: str) -> bool:
    """Whether an entry prescribes: its title or a sentence of its text says what to do."""
    return prescribes(title) or any(prescribes(sentence) for sentence in sentences(text))


def decision(title: str, text: str, width: int = STATEMENTS.line) -> str:
    """An entry in one line of about `width` characters, cut at a word: what it says to do.

    The title, and where that may be a heading, the first sentence that prescribes behind it.
    """
    line = title
    if is_heading(title):
        order = next((sentence for sentence in sentences(text) if prescribes(sentence)), "")
        if order and order.casefold() != title.casefold():
            line = f"{title}: {order}"
    return shortened(line, width)


def shortened(line: str, width: int) -> str:
    """A line of at most `width` characters, cut at a word; `…` stands for what is missing."""
    line = " ".join(line.split())
    if len(line) <= width:
        return line
    start = line[: width - 1]
    at_a_word, _, _ = start.rpartition(" ")
    return f"{(at_a_word if len(at_a_word) > width // 2 else start).rstrip(' ,;:.')}…"
