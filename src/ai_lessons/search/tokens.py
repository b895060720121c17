"""Words of a text as a search compares them: folded, with the parts of names, without endings. Pure.

Begin with `fold` and `words_of`; `with_parts` makes what the full-text index reads.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from unicodedata import normalize

from ai_lessons.model import expression
from ai_lessons.model.languages import stem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

CAMEL_WORD = expression(
    r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*)"
)
CAMEL_PART = expression(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
CODE = expression(r"(?<![A-Za-z0-9])([A-Za-z]{1,8})([0-9]{3,})(?![A-Za-z0-9])")
# Scripts that are written without blanks between words, and Hangul.
# Thai, Lao, Burmese and Khmer, too.
CJK = (
    r"[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
)

# at which the tokenizer would split
_TONES = expression("[\u0e47-\u0e4e\u0ec8-\u0ecd\u1037-\u103a\u17c9-\u17d3]")
CJK_RUN = expression(CJK + "{2,}")
BESIDE_CJK = expression(rf"(?<={CJK})[A-Za-z0-9]+|(?<![A-Za-z0-9])[A-Za-z0-9]+(?={CJK})")
# A flag, or words with nothing but the marks of a name between them.
NAME = expression(
    r"(?<![\w-])--?[A-Za-z][A-Za-z0-9]*(?:[._/:-]+[A-Za-z0-9]+)*"
    r"|(?<![A-Za-z0-9])[A-Za-z0-9]+(?:[._/:-]+[A-Za-z0-9]+)+"
)

# An address of numbers, or a version: three numbers and more, or behind a v.
NUMBERS = expression(
    r"(?<![\w.:])(?:[0-9]{1,9}(?:\.[0-9]{1,9}){2,8}|v[0-9]{1,9}(?:\.[0-9]{1,9}){1,8})(?![\w:]|\.\w)"
)

# What stands for the marks of a name in its whole form, so that this is one word for the tokenizer
# and no other.
JOINT = "0"

# Stop words: those of these that the index drops in fact (seen by asking it for each).
LOST = frozenset(
    re.findall(
        r"\w+",
        "a about after again against all an and are as at be below between both but by can did do down each few "
        "for from had has have he here how i if in into is it just me more most my no nor not now of off on or "
        "other out over own s same she so some such t than that the their then there these they this through to "
        "too under until up was we what when where while who will with you",
    )
)


def hidden_parts(text: str) -> list[str]:
    """The parts in order of appearance, each once: `setUserName` gives set, User, Name."""
    parts: list[str] = []
    for word in CAMEL_WORD.findall(text):
        parts += CAMEL_PART.findall(word)
    for letters, digits in CODE.findall(text):
        parts += [letters, digits]
    # one letter is in too many words to tell anything
    parts = [part for part in parts if len(part) > 1]
    for name in NAME.findall(text):
        if whole := _whole(name):
            parts.append(whole)
    for numbers in NUMBERS.findall(text):
        # the tokenizer makes words of its parts, which 10.0.0.1 and 10.1.0.0 share
        parts.append("q".join(re.split(r"[.:]", numbers.lower())))
    for run in CJK_RUN.findall(text):
        parts += pairs(run)
    parts += BESIDE_CJK.findall(text)
    return list(dict.fromkeys(parts))


def _whole(name: str) -> str:
    """One word for a name that has lost a part to the stop words: `--no-verify` is 0no0verify.

    Else nothing.
    """
    words = re.split(r"[._/:-]+", name.lower())
    # nobody names a thing by more than a hundred letters: those are hashes and encoded data
    if len(name) <= 100 and not LOST.isdisjoint(words):
        return JOINT.join(words)
    return ""


def with_parts(text: str) -> str:
    """The folded text with its hidden parts on a line below; itself if there are none."""
    text = fold(text)
    parts = hidden_parts(text)
    if parts:
        return f"{text}\n{' '.join(parts)}"
    return text


_SAME = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
    | dict.fromkeys("\u2014\u2015", " - ")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)
# Also the vowel signs of Arabic.
# Of the Cyrillic short i the breve stays: it is a letter of its own.
_ACCENTS = expression("(?<![\u0418\u0438])\u0306|[\u0300-\u0305\u0307-\u036f\u064b-\u0652\u0670]+")


def composed(text: str) -> str:
    """As `fold`, but with accents: endings of words are told by them."""
    return normalize("NFKC", text.translate(_SAME))


def fold(text: str) -> str:
    """The text with one spelling for what is the same to a reader; case stays.

    Compatibility forms (NFKC: ligatures, half and full width), accents, soft hyphens, quotes and
    dashes.
    """
    if text.isascii():
        return text
    return _folded(text)


@lru_cache(maxsize=1024)  # one question looks at the same passages several times
def _folded(text: str) -> str:
    return normalize("NFC", _ACCENTS.sub("", normalize("NFKD", text.translate(_SAME))))


def pairs(run: str) -> list[str]:
    """Each two characters that stand together in a run of a script without blanks.

    One alone is itself.
    """
    letters = _TONES.sub("", run)
    return [letters[i : i + 2] for i in range(len(letters) - 1)] or [letters]


@cache
def _piece() -> re.Pattern[str]:
    return re.compile(rf"({CJK}+)|(?:(?!{CJK})\w)+")


def words_of(text: str) -> list[str]:
    """The words of a text to compare, folded and in lower case.

    Of scripts without blanks each two characters.
    """
    folded = fold(text).lower()
    if folded.isascii():
        return QUERY_WORD.findall(folded)
    words: list[str] = []
    for piece in _piece().finditer(folded):
        if piece.lastindex:
            # a run of a script without blanks
            words += pairs(piece[0])
        else:
            words.append(piece[0])
    return words


def question(text: str) -> str:
    """What to search for, on one line, or "" if there is no letter or digit in it."""
    # the model reads fewer
    cut = " ".join(text[:2000].split())
    if re.search(r"[^\W_]", cut):
        return cut
    return ""


# Where a word of ASCII letters begins and ends.
# Beside CJK characters, too, which have no blanks between words.
_START, _END = "(?:^|[^A-Za-z0-9])", "(?:[^A-Za-z0-9]|$)"

# Blanks, line ends and marks like `**` stand between words.
# All other characters have to be as they were typed.
_GAP = r"[\W_]+"


def pattern(phrase: str) -> str:
    """What finds the phrase in any case, as whole words; empty for an empty one."""
    # the expression made of a phrase grows with it
    words = fold(phrase[:500]).split()
    if not words:
        return ""
    first, last = words[0][0], words[-1][-1]
    expression = f"({_GAP.join(map(re.escape, words))})"
    # a phrase that begins or ends with a mark, such as `--force`, may stand right beside a word
    if first.isascii() and first.isalnum():
        expression = _START + expression
    if last.isascii() and last.isalnum():
        expression += _END
    return f"(?i){expression}"


# bench.nearness: letters from which on the beginning of a word tells which one it is
BEGINNING = 4


def is_number(question: str) -> bool:
    """Whether all of a question is one address of numbers, or version."""
    return NUMBERS.fullmatch(question.strip().strip("\"'`")) is not None


def begins_with(word: str, other: str) -> bool:
    """Whether one of two words begins with the other, which has letters enough to be told by them."""
    shorter, longer = sorted((word, other), key=len)
    return len(shorter) >= BEGINNING and longer.startswith(shorter)


QUERY_WORD = expression(r"\w+")


def stem_positions(text: str, stems: AbstractSet[str]) -> Iterator[tuple[int, str]]:
    """Where words with one of these stems begin, or with more or less of it, with the stem."""
    if not stems:
        return
    # only what has the same first letters is compared whole: this runs for each result of a search
    beginning: dict[str, list[str]] = {}
    for asked in stems:
        beginning.setdefault(asked[:BEGINNING], []).append(asked)
    for at, word in likely_words(fold(text).lower(), frozenset(stems)):
        written = stem(word)
        if written in stems:
            yield at, written
            continue
        for asked in beginning.get(written[:BEGINNING], ()):
            if begins_with(written, asked):
                yield at, asked


def likely_words(folded: str, stems: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Where words begin that may have one of the stems.

    Of scripts without blanks every two characters.
    """
    if folded.isascii():
        # one expression for the first letters is faster than a look at each word
        for match in _beginnings(stems).finditer(folded):
            yield match.start(), match.group()
        return
    for match in _piece().finditer(folded):
        if match.lastindex:
            words = pairs(match.group())
        else:
            words = [match.group()]
        yield from enumerate(words, match.start())


@lru_cache(maxsize=64)
def _beginnings(stems: frozenset[str]) -> re.Pattern[str]:
    starts = set()
    for word in stems:
        if word.isascii():
            # two or three letters, and not the last one of a stem, which an ending may change
            starts.add(re.escape(word[: max(2, min(len(word) - 1, 3))]))
    if not starts:
        return re.compile(r"(?!)")
    return re.compile(rf"\b(?:{'|'.join(starts)})\w*")
