"""From two lists of passages to ranked entries with a score that can be explained, and how likely they answer. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import cache, lru_cache
from itertools import chain
from math import exp, log
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from ai_lessons.model import expression
from ai_lessons.model.languages import is_frequent, languages, stem
from ai_lessons.model.texts import NOT_ABOUT
from ai_lessons.model.versions import score as version_score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.model.chunks import Passage
    from ai_lessons.model.entries import EntrySummary, Filter

    TextOf = Callable[["Match"], str]
    # entry id, ordinal
    JudgedPassage = tuple[str, int]

CAMEL_WORD = expression(
    r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*)"
)
CAMEL_PART = expression(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
CODE = expression(r"(?<![A-Za-z0-9])([A-Za-z]{1,8})([0-9]{3,})(?![A-Za-z0-9])")
CJK = (
    r"[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
)
"""Scripts that are written without blanks between words, and Hangul.

Thai, Lao, Burmese and Khmer, too.
"""

# at which the tokenizer would split
_TONES = expression("[\u0e47-\u0e4e\u0ec8-\u0ecd\u1037-\u103a\u17c9-\u17d3]")
CJK_RUN = expression(CJK + "{2,}")
BESIDE_CJK = expression(rf"(?<={CJK})[A-Za-z0-9]+|(?<![A-Za-z0-9])[A-Za-z0-9]+(?={CJK})")
NAME = expression(
    r"(?<![\w-])--?[A-Za-z][A-Za-z0-9]*(?:[._/:-]+[A-Za-z0-9]+)*"
    r"|(?<![A-Za-z0-9])[A-Za-z0-9]+(?:[._/:-]+[A-Za-z0-9]+)+"
)
"""A flag, or words with nothing but the marks of a name between them."""

NUMBERS = expression(
    r"(?<![\w.:])(?:[0-9]{1,9}(?:\.[0-9]{1,9}){2,8}|v[0-9]{1,9}(?:\.[0-9]{1,9}){1,8})(?![\w:]|\.\w)"
)
"""An address of numbers, or a version: three numbers and more, or behind a v."""

_FEW_WORDS = 3

_CAPITALS = expression(r"(?<![\w-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*(?![\w-])")
_UNDERSCORED = expression(r"(?<!\w)\w*[A-Za-z0-9]_+[A-Za-z0-9]\w*")
_PLAIN = expression(
    r"[A-Z]?[a-z]+(?:[-/:][A-Z]?[a-z]+)*|-[A-Za-z]|v?[0-9][0-9.:/x-]*|-*(?:[A-Za-z]\.)+[A-Za-z]?"
)
_MADE_UP = expression(
    r"(?i)(?:my|foo|bar|old|new|test|temp|tmp|example|file|dir)[\w.-]*|\w*(?:file|dir)[0-9]*\.\w+"
)
"""What looks like a name and identifies little: hyphenated words, short flags, numbers, initials.

My_file.txt.
"""

JOINT = "0"
"""What stands for the marks of a name in its whole form, so that this is one word for the tokenizer and no other."""

LOST = frozenset(
    re.findall(
        r"\w+",
        "a about after again against all an and are as at be below between both but by can did do down each few "
        "for from had has have he here how i if in into is it just me more most my no nor not now of off on or "
        "other out over own s same she so some such t than that the their then there these they this through to "
        "too under until up was we what when where while who will with you",
    )
)
"""Stop words: those of these that the index drops in fact (seen by asking it for each)."""


def hidden_parts(text: str) -> list[str]:
    """The parts in order of appearance, each once: `setUserName` gives set, User, Name."""
    parts: dict[str, None] = {}
    for word in CAMEL_WORD.findall(text):
        parts.update(dict.fromkeys(part for part in CAMEL_PART.findall(word) if len(part) > 1))
    for letters, digits in CODE.findall(text):
        parts.update(dict.fromkeys(part for part in (letters, digits) if len(part) > 1))
    for name in NAME.findall(text):
        if whole := _whole(name):
            parts[whole] = None
    for numbers in NUMBERS.findall(text):
        # the tokenizer makes words of its parts, which 10.0.0.1 and 10.1.0.0 share
        parts["q".join(re.split(r"[.:]", numbers.lower()))] = None
    for run in CJK_RUN.findall(text):
        parts.update(dict.fromkeys(_pairs(run)))
    parts.update(dict.fromkeys(BESIDE_CJK.findall(text)))
    return list(parts)


def names(question: str) -> tuple[str, ...]:
    """Codes, flags, functions and files of a question, as they stand there.

    ENOENT, --force, setName, `a.py`, E0308.
    """
    kinds = (_CAPITALS, _UNDERSCORED, CAMEL_WORD, CODE, NAME)
    matches = (match.group() for kind in kinds for match in kind.finditer(question))
    telling = dict.fromkeys(
        name
        for name in matches
        if len(name) > 2 and not (_PLAIN.fullmatch(name) or _MADE_UP.fullmatch(name))
    )
    # in a longer question a version tells which one of several texts, and not what it is about
    short = len(question.split()) <= _FEW_WORDS
    for match in NUMBERS.finditer(question):
        if short or match[0].count(".") > 2:
            telling[match[0]] = None
    if question.upper() == question and " " in question.strip():
        return ()
    return tuple(telling)


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
_ACCENTS = expression("(?<![\u0418\u0438])\u0306|[\u0300-\u0305\u0307-\u036f\u064b-\u0652\u0670]+")
"""Also the vowel signs of Arabic.

Of the Cyrillic short i the breve stays: it is a letter of its own.
"""


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


def _pairs(run: str) -> list[str]:
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
    pieces = _piece().finditer(folded)
    results: list[str] = []
    for piece in pieces:
        for word in _pairs(piece[0]) if piece.lastindex else [piece[0]]:
            results.append(word)
    return results


class EntryRows(NamedTuple):
    """One entry as it is to be found. `fingerprint` changes whenever anything else here does."""

    id: str
    fingerprint: str
    kind: str
    project: str
    title: str
    tags: Sequence[str] = ()
    versions: Sequence[str] = ()
    status: str = "active"
    passages: Sequence[Passage] = ()


class Row(NamedTuple):
    """One row of the table. `text_key` names the vector of the passage in the embedding cache.

    `spoken`: the languages but English in which it seems to be, of a text in Latin letters.
    """

    id: str
    entry_id: str
    ordinal: int
    section: int
    kind: str
    project: str
    tags: Sequence[str]
    versions: Sequence[str]
    status: str
    title: str
    heading: str
    text: str
    fts_text: str
    spoken: str
    row_hash: str
    text_key: str

    @property
    def embedded_text(self) -> str:
        """What its vector is made of."""
        return embedded_text(self.title, self.heading, self.text)


class Match(NamedTuple):
    """A passage as a search found it.

    `score`: BM25, cosine similarity (-1 to 1), or the mix of both (0 to 1).

    `section` is the number of the section in which it begins, counted by `chunks.sections`; 0:
    none.
    """

    entry_id: str
    ordinal: int
    score: float
    heading: str = ""
    text: str = ""
    section: int = 0


class Candidates(NamedTuple):
    """Both lists, best first, each at most `depth` long.

    `note` says why there are no vectors, if so.

    `model` made the vectors; it has words for the share `read` of the question.
    """

    text: tuple[Match, ...] = ()
    vectors: tuple[Match, ...] = ()
    depth: int = 100
    note: str = ""
    model: str = ""
    read: float = 1.0


class IndexRefresh(NamedTuple):
    """What a refresh did.

    `missing` passages have no vector yet; `rebuilt` says in one line why all was made anew.
    """

    entries: int = 0
    removed: int = 0
    passages: int = 0
    embedded: int = 0
    missing: int = 0
    rebuilt: str = ""
    notes: tuple[str, ...] = ()


class IndexStatus(NamedTuple):
    """The table in use.

    `indexed` None: every vector is compared, else how many passages their index covers.

    `unindexed` passages are searched by reading them. Sizes in bytes. `uri` is that of a shared
    index.
    """

    model: str = ""
    entries: int = 0
    passages: int = 0
    vectors: int = 0
    bytes: int = 0
    unindexed: int = 0
    indexed: int | None = None
    uri: str = ""
    shared: IndexStatus | None = None


def vector_key(model: str, text: str) -> str:
    """SHA-256 (hex) of the model's name, a zero byte and the text."""
    return hashlib.sha256(f"{model}\0{text}".encode()).hexdigest()


def embedded_text(title: str, heading: str, text: str) -> str:
    """A passage as the model and the full-text index see it.

    `Title > Section > Subsection`, then the text.
    """
    if not heading or heading == title:
        head = title
    else:
        if heading.startswith(title + " > "):
            head = heading
        else:
            head = f"{title} > {heading}"
    return f"{head}\n{text}"


def quoted(value: str) -> str:
    """A string literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def one_of(column: str, values: Sequence[str]) -> str:
    """A condition that holds for no row if there are no values."""
    if values:
        return f"{column} IN ({', '.join(map(quoted, values))})"
    return "false"


def condition(asked: Filter) -> str:
    """A filter as SQL of the index, or "" if it lets everything pass.

    What else it asks for, the catalog knows.
    """
    if asked.kinds:
        parts = [one_of("kind", sorted(asked.kinds))]
    else:
        parts = []
    if asked.project is not None:
        parts.append(f"project = {quoted(asked.project)}")
    parts += [f"array_has(tags, {quoted(tag)})" for tag in asked.tags]
    if asked.spelled is not None:
        if asked.spelled_in:
            exempt = f"{one_of('project', sorted(asked.spelled_in))} OR "
        else:
            exempt = ""
        parts.append(f"({exempt}{_fits(asked.spelled)})")
    parts += [
        f"(project <> {quoted(name)} OR {_fits(names)})"
        for name, names in sorted(asked.spelled_in.items())
    ]
    if asked.ids is not None:
        parts.append(one_of("entry_id", sorted(asked.ids)))
    # last, because it reads the text
    parts += [f"regexp_like(fts_text, {quoted(pattern(phrase))})" for phrase in asked.phrases]
    return " AND ".join(parts)


def _fits(versions: frozenset[str]) -> str:
    spellings = ", ".join(map(quoted, sorted(versions)))
    if versions:
        fits = f" OR array_has_any(versions, [{spellings}])"
    else:
        fits = ""
    return f"(array_length(versions) IS NULL OR array_length(versions) = 0{fits})"


def question(text: str) -> str:
    """What to search for, on one line, or "" if there is no letter or digit in it."""
    # the model reads fewer
    cut = " ".join(text[:2000].split())
    if re.search(r"[^\W_]", cut):
        return cut
    return ""


_START, _END = "(?:^|[^A-Za-z0-9])", "(?:[^A-Za-z0-9]|$)"
"""Where a word of ASCII letters begins and ends.

Beside CJK characters, too, which have no blanks between words.
"""

_GAP = r"[\W_]+"
"""Blanks, line ends and marks like `**` stand between words.

All other characters have to be as they were typed.
"""


def pattern(phrase: str) -> str:
    """What finds the phrase in any case, as whole words; empty for an empty one."""
    # the expression made of a phrase grows with it
    words = fold(phrase[:500]).split()
    if not words:
        return ""
    first, last = words[0][0], words[-1][-1]
    if first.isascii() and first.isalnum():
        start = _START
    else:
        start = ""
    if last.isascii() and last.isalnum():
        end = _END
    else:
        end = ""
    return f"(?i){start}({_GAP.join(map(re.escape, words))}){end}"


MEASURED = frozenset({"bge-small-en-v1.5-int8"})
"""Models whose similarities are known. With any other one nothing is too far."""

# bench.nearness --fit
BIAS, NEAR, AMONG, TOGETHER, STORED, ASKED = -9.618, 12.513, -0.185, 2.028, 0.98, 0.188
"""Weights of the chance that a passage answers a question.

Its similarity, the logarithm of the number of passages, the
share of the question's words that it holds, the share that all found by words hold, and the
logarithm of how many words these are (of more words the same share tells more). Fitted on whole
sets, and on parts of them, from round numbers."""

# bench.nearness --fit: the similarity that stands for one that no vector tells
UNKNOWN = 0.647
# bench.nearness: chance from which an answer counts as one; the fit says .274, small libraries less
BAR = 0.272
# The least chance where a stored text holds a name of the question, or one passage all its words
NAMED = (1 + BAR) / 2
KIN = 0.5
"""bench.nearness.

How much a word counts that has only the stem of one asked for, or where one begins with the other.
For the only word of a question the same stem counts half of the rest, too.

Taken for the same, `computation` holds `compute` and `programming` holds `program`: .04 to .15
fewer questions were held back from sets of other fields, with as many lost.
"""

# bench.nearness: letters from which on the beginning of a word tells which one it is
BEGINNING = 4
MOST = 10
"""bench.nearness.

Passages of each list that tell whether there is an answer, results at most where no limit is
stated,
entries at most by which a name is known. Twice as many passages a library is taken to have at
least, and twice as many words of a question tell something.
"""

ABOUT = 0.25
"""bench.retrieval.

Share of a question's words from which on it is about the names in it, and does not only mention
them. Of names like API and MAC, which are words to most people, it takes twice that: .005 of
nDCG@10 for tasks."""

_SHORT = expression(r"[A-Z]{2,4}s?")

_ASKING = LOST | set(
    re.findall(r"\w+", "why which get getting use using mean means work works say says said")
)


def holders(
    question: str, hits: Iterable[Match], text_of: TextOf, read: float = 1.0
) -> tuple[frozenset[JudgedPassage], frozenset[JudgedPassage]]:
    """Passages that hold a telling name of the question, as whole words in any case.

    And those that lead the answer.

    A short one in capitals, such as CSS, is a word to most people: it tells where the question is
    about it.

    These hold most of the names that the question is about and that no more than `MOST` entries
    hold. A question that the model does not `read` whole is one of its names: its vectors would let
    other pages go before the one that it is a sentence of. In English that costs .011 of nDCG@10
    where pages name each other.
    """
    texts = {}
    for hit in hits:
        texts[(hit.entry_id, hit.ordinal)] = fold(text_of(hit))
    mentioned, quoted = (
        names(question),
        [question] if read < 1.0 and len(words_of(question)) > 1 else [],
    )
    holding = {}
    for name in (*mentioned, *quoted):
        holding[name] = {key for key, text in texts.items() if re.search(pattern(name), text)}
    meant = (*about(question, mentioned), *quoted)
    telling = [holding[name] for name in meant]
    rare = Counter(
        key for keys in telling if len({entry for entry, _ in keys}) <= MOST for key in keys
    )
    most = max(rare.values(), default=0)
    words = [keys for name, keys in holding.items() if name in meant or not _SHORT.fullmatch(name)]
    return frozenset().union(*words), frozenset(
        key for key, number in rare.items() if number == most
    )


def headed(question: str, hits: Iterable[Match], head_of: TextOf) -> dict[JudgedPassage, float]:
    """The share of the question's words, compared by their stems, that the title and headings above a passage hold.

    A page about the subject says it there; one that only mentions it, as a list of changes does, in its text.
    """
    asked = frozenset(
        stem(word) for word in words_of(question) if len(word) > 1 and word not in LOST
    )
    heads = {}
    for hit in hits:
        heads[(hit.entry_id, hit.ordinal)] = head_of(hit)
    held = {}
    for head in {*heads.values()}:
        held[head] = len({word for _, word in stem_positions(head, asked)})
    return {key: held[head] / max(len(asked), 1) for key, head in heads.items()}


def about(question: str, mentioned: Sequence[str]) -> Sequence[str]:
    """The names that the question is about, of those that it mentions."""
    long = []
    for name in mentioned:
        if not _SHORT.fullmatch(name):
            long.append(name)
    words, all_named, long_named = (
        len(
            {
                word
                for word in QUERY_WORD.findall(text.lower())
                if len(word) > 1 and word not in _ASKING
            }
        )
        for text in (question, " ".join(mentioned), " ".join(long))
    )
    if long_named >= ABOUT * words:
        return long
    if all_named >= 2 * ABOUT * words:
        return mentioned
    return ()


class Chance(NamedTuple):
    """The chance that a question is answered by the `best` of all candidates, and by each entry that was looked at."""

    best: float
    of: Mapping[str, float] = MappingProxyType({})


def chance(
    question: str, every: Sequence[Candidates], passages: int, text_of: TextOf, *, complete: bool
) -> tuple[Chance, ...]:
    """The chance that a candidate answers the question, for each list of candidates.

    `passages` is how many there are; `complete` says that all have a vector. Words are compared
    without their endings.
    """
    shared = shares(question, every, text_of)
    fixed = (
        BIAS + AMONG * log(max(passages, 2 * MOST)) + STORED * shared.stored + ASKED * shared.length
    )

    def judged(candidates: Candidates) -> Chance:
        measured = bool(candidates.vectors) and candidates.model in MEASURED
        vectors = {}
        for hit in candidates.vectors:
            vectors[(hit.entry_id, hit.ordinal)] = hit.score
        farthest, read = (
            min(vectors.values(), default=UNKNOWN),
            candidates.read if measured else 0.0,
        )
        of: dict[str, float] = {}
        for key in looked_at(candidates):
            similarity = vectors.get(key, farthest if complete else UNKNOWN)
            near = read * similarity + (1 - read) * UNKNOWN
            likely = _logistic(fixed + NEAR * near + TOGETHER * shared.held[key])
            if shared.asked and shared.held[key] == 1.0:
                likely = max(likely, NAMED)
            of[key[0]] = max(likely, of.get(key[0], 0.0))
        best = max(of.values(), default=0.0)
        return Chance(max(best, BAR) if vectors and not measured else best, of)

    return tuple(map(judged, every))


def is_number(question: str) -> bool:
    """Whether all of a question is one address of numbers, or version."""
    return NUMBERS.fullmatch(question.strip().strip("\"'`")) is not None


def unlikely(chance_of: Chance) -> Chance:
    """The chances of a question that nothing answers, however near it seems."""
    of = {entry: min(likely, BAR / 2) for entry, likely in chance_of.of.items()}
    return Chance(min(chance_of.best, BAR / 2), of)


def looked_at(candidates: Candidates) -> dict[JudgedPassage, Match]:
    """The passages that the chance of an answer is told by: the best of each list."""
    by_key: dict[JudgedPassage, Match] = {}
    for hit in (*candidates.text[:MOST], *candidates.vectors[:MOST]):
        by_key[(hit.entry_id, hit.ordinal)] = hit
    return by_key


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


class Shares(NamedTuple):
    """How much of a question's words is there.

    The share that each of the best passages holds (`held`).

    `stored` is the share that all found by words hold, and `asked` how many words these are.
    """

    held: Mapping[JudgedPassage, float]
    stored: float
    asked: int

    @property
    def length(self) -> float:
        """How many words these are, as the weights take it.

        More than `2 * MOST` tell nothing further.
        """
        return log(min(max(self.asked, 1), 2 * MOST))


def shares(question: str, every: Sequence[Candidates], text_of: TextOf) -> Shares:
    """How much of the question's words the candidates hold."""
    language = next(iter(languages(question)), "english")
    words = (word for word in words_of(question) if len(word) > 1 and word not in LOST)
    asked = {}
    for word in words:
        if not is_frequent(word, language):
            asked[_base(word, language)] = word
    hits = {}
    for candidates in every:
        for key, hit in looked_at(candidates).items():
            hits[key] = hit
    if not asked:
        return Shares(dict.fromkeys(hits, 1.0), 1.0, 0)
    best = {key: _held(text_of(hit), asked, language) for key, hit in hits.items()}
    stored: dict[str, float] = {}
    behind = (hit for candidates in every for hit in candidates.text[MOST:])
    for held in chain(best.values(), (_held(text_of(hit), asked, language) for hit in behind)):
        stored |= {word: max(share, stored.get(word, 0.0)) for word, share in held.items()}
        if sum(stored.values()) == len(asked):
            break
    share_of = {passage: sum(held.values()) / len(asked) for passage, held in best.items()}
    return Shares(share_of, sum(stored.values()) / len(asked), len(asked))


def _held(text: str, asked: Mapping[str, str], language: str) -> dict[str, float]:
    """How much each word that is asked for (by its base) counts as held by a text, 0 to 1."""
    written = set()
    for _, word in _likely_words(fold(text).lower(), frozenset(asked)):
        written.add(word)
    bases = {_base(word, language) for word in written}
    held = dict.fromkeys(asked.keys() & bases, 1.0)
    for base in asked.keys() - held.keys():
        root = stem(asked[base], language)
        if any(root == stem(word, language) for word in written):
            held[base] = (1 + KIN) / 2 if len(asked) == 1 else KIN
        elif any(_begins(*sorted((base, other), key=len)) for other in bases):
            held[base] = KIN
    return held


_ENDING = expression(r"(?<=\w{3})(?:ing|ed|es|e|s)$")


def _base(word: str, language: str) -> str:
    """The word without its ending.

    Of English only the most common ones, because the stem joins too much.
    """
    if language != "english" or not word.isascii():
        return stem(word, language)
    return _ENDING.sub("", word)


def _begins(shorter: str, longer: str) -> bool:
    return len(shorter) >= BEGINNING and longer.startswith(shorter)


# bench.retrieval loses nothing; of 25 questions to the pages of Celery and pytest one more finds
# its guide
LOG = 0.8
# bench.versions: share of the best score from which on a result is about as good
NEAR_BEST = 0.8


class RankingFacts(NamedTuple):
    """An entry besides its text. `standing` is a factor, 1.0 where nothing was learned.

    `asked` are the versions that are asked of it. Of equal scores the smaller `distance` (to the
    working directory) comes first.
    """

    id: str
    tags: frozenset[str] = frozenset()
    versions: frozenset[str] = frozenset()
    standing: float = 1.0
    versioned: bool = True
    asked: AbstractSet[str] = frozenset()
    distance: int = 0


class Ranked(NamedTuple):
    """An entry in its place.

    The product of `factors` (match, version, context, standing) is `score`.
    """

    match: Match
    score: float
    factors: Mapping[str, float] = MappingProxyType({})


def normalised(
    hits: Sequence[Match], depth: int, floor: float | None = None, scale: Sequence[Match] = ()
) -> dict[tuple[str, int], float]:
    """Scores moved to 0..1, the best of `scale` (else of them) at 1 (min-max).

    A list shorter than `depth` is complete, so that its last hit is not the worst there is:
    `floor`, if not None, is the score of what was not found. BM25 depends on what a filter lets
    pass, so that the score in `scale` counts; what is not there is worse than all that is: it
    shares one place of `depth`.
    """
    if not hits:
        return {}
    scores = {}
    for hit in scale or hits:
        scores[(hit.entry_id, hit.ordinal)] = hit.score
    high, low = max(scores.values()), min(scores.values())
    if floor is not None and len(scores) < depth:
        low = min(low, floor)
    width, best = high - low, max(hit.score for hit in hits)
    moved = {}
    for key, score in scores.items():
        if width:
            moved[key] = (score - low) / width
        else:
            moved[key] = 1.0
    worse = {
        (hit.entry_id, hit.ordinal): max(hit.score, 0.0) / (best or 1.0) / depth for hit in hits
    }
    return {key: moved.get(key, score) for key, score in worse.items()}


def fuse(
    text: Sequence[Match],
    vectors: Sequence[Match],
    depth: int = 100,
    weight: float = 0.5,
    lead: AbstractSet[JudgedPassage] = frozenset(),
    headed: Mapping[JudgedPassage, float] = MappingProxyType({}),
    scale: tuple[Sequence[Match], Sequence[Match]] = ((), ()),
) -> tuple[Match, ...]:
    """The mix of both lists, best passage per entry, best entry first.

    Of equal ones first what holds the words.

    A passage that a list does not have counts 0 there. Over twelve judged sets the mean was best:
    nDCG@10 .550; with a `weight` of the vectors of .4 .546, of .6 .538. With one list empty the
    other decides alone. `depth` is the limit with which both lists were asked for, `scale` what
    they hold without filters. The passages of `lead` (entry id, ordinal) come before all others;
    `headed` is as the function of this name gives it.
    """
    weight = 0.0 if not (vectors or scale[1]) else weight if text or scale[0] else 1.0
    by_text = normalised(text, depth, 0.0, scale[0])
    by_vector = normalised(vectors, depth, None, scale[1])
    best: dict[str, Match] = {}
    for hit in (*text, *vectors):
        key = (hit.entry_id, hit.ordinal)
        score = (1 - weight) * by_text.get(key, 0.0) + weight * by_vector.get(key, 0.0)
        # bench.retrieval: what is added where title and headings hold all words of the question; .1
        # and .3 less
        score += 0.2 * headed.get(key, 0.0)
        if lead:
            score = (min(score, 1.0) + (key in lead)) / 2
        previous = best.get(hit.entry_id)
        if previous is None or (-score, hit.ordinal) < (-previous.score, previous.ordinal):
            best[hit.entry_id] = hit._replace(score=score)

    def place(match: Match) -> tuple[float, float, str]:
        return -match.score, -by_text.get((match.entry_id, match.ordinal), 0.0), match.entry_id

    return tuple(sorted(best.values(), key=place))


_LOG = expression(
    r"(?i)(?<![a-z])(?:change[-_ ]?logs?|release[-_ ]?notes?|what'?s[-_ ]?new)(?![a-z])"
)
_CHANGE = expression(
    r"(?i)\b(?:chang|releas|versio|upgrad|migrat|deprecat|remov|since\b|new\b|histor)"
)


def of_a_log(question: str, summary: EntrySummary) -> float:
    """`LOG` for a page that lists the changes of each release, unless the question is about such."""
    if _LOG.search(f"{summary.path} {summary.title}") and not _CHANGE.search(question):
        return LOG
    return 1.0


def context_weights(
    context: Mapping[str, float | None], aliases: Mapping[str, str]
) -> dict[str, float]:
    """The weight of every context tag, aliases resolved first.

    A tag without one gets the mean of the explicit weights, or 1.5 if there are none. Two names of
    one tag: the explicit weight wins, of two explicit ones the greater.
    """
    weights: dict[str, float | None] = {}
    for name, weight in context.items():
        tag = aliases.get(name, name)
        previous = weights.get(tag)
        weights[tag] = (
            weight if previous is None else previous if weight is None else max(previous, weight)
        )
    explicit = [weight for weight in weights.values() if weight is not None]
    # By specification: weight of context tags where none has an explicit one
    if explicit:
        default = sum(explicit) / len(explicit)
    else:
        default = 1.5
    return {tag: default if weight is None else weight for tag, weight in weights.items()}


def context_boost(
    weights: Mapping[str, float], tags: AbstractSet[str], aliases: Mapping[str, str]
) -> float:
    """1 + sum of (weight x 0.1) over the context tags that the entry carries."""
    carried = set()
    for tag in tags:
        carried.add(aliases.get(tag, tag))
    # By specification: what a context tag of weight 1 adds to the factor of an entry that carries
    # it
    return 1.0 + sum(weight * 0.1 for tag, weight in weights.items() if tag in carried)


def rank(
    matches: Sequence[Match],
    facts: Mapping[str, RankingFacts],
    *,
    context: Mapping[str, float | None] = MappingProxyType({}),
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> list[Ranked]:
    """The entries that may be shown, best first; equal scores by distance, then as they came.

    Left out: entries without facts, and versioned entries that have none of the versions asked for.
    """
    weights = context_weights(context, aliases)
    ranked = []
    for match in matches:
        fact = facts.get(match.entry_id)
        if fact is None:
            continue
        if fact.versioned:
            version = version_score(fact.asked, fact.versions)
        else:
            version = 1.0
        if version is None:
            continue
        boost = context_boost(weights, fact.tags, aliases)
        factors = {
            "match": match.score,
            "version": version,
            "context": boost,
            "standing": fact.standing,
        }
        ranked.append(Ranked(match, match.score * version * boost * fact.standing, factors))
    # stable: of equal ones stays first what `fuse` put first, which holds the words
    ranked.sort(key=lambda rank: (-rank.score, facts[rank.match.entry_id].distance))
    return ranked


QUERY_WORD = expression(r"\w+")
# Letters of the shortest word that a snippet is chosen by: `of` and `to` are in every sentence
SHORT_WORD = 3
# Characters of a sentence with a colon that belongs to what follows
LEADING = 120

_FENCE = expression(r"`{3,}|~{3,}")
_HEADING = expression(r"#{1,6}(?!\S)(.*?)(?:\s#*)?")
_NO_SENTENCE = expression(
    r"\W*|\[[^\]]+\]:\s.*|\[!\w+\]|<!--.*|\{[{%].*[}%]\}|:::.*|\[\[?_?TOC_?\]?\]"
)
_QUOTES = expression("^[rRuU]?(?:\"{3}|'{3})|(?:\"{3}|'{3})$")
_ITEM = expression(r"(?:[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,9}[.)]\s+)+")
_REMARK = expression(r"(?:#+|//+!?|--|;+|/?\*+/?|REM\b|<!--)\s+")
_TAG = "a|b|br|center|code|details|div|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|span|strong|su[bp]|summary|t[dhr]|table|ul"
_INLINE = expression(
    r"(?<!`)(?P<tick>`++)(?P<code>.{1,300}?)(?<!`)(?P=tick)(?!`)"
    r"|!?\[(?P<link>[^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"
    r"|(?<![A-Za-z0-9*_])(?P<mark>\*{1,3}|_{1,3}|~~)(?=[^\s*_~])(?P<text>.{1,300}?)(?<=[^\s*_~])(?P=mark)"
    r"(?![A-Za-z0-9*_])"
    rf"|(?i:</?(?:{_TAG})\b[^<>]*>)|<(?P<address>https?://[^<>\s]+)>|\\(?P<sign>[!-/:-@\[-`{{-~])"
)
_SENTENCE_END = expression(
    r"(?:(?<=[.!?\u2026\u061f])|(?<=[.!?][\"')\]\u201d]))(?<!\b[^\W\d_]\.)\s+(?![a-z])"
    r"|(?<=[a-z]{4}[.!?])\s+|(?<=[\u3002\uff01\uff1f])\s*"
)
_COMPLETE = frozenset(".!?:;,\u2026\u061f\u3002\uff01\uff1f")


def sentences(text: str, *, code: bool = False) -> list[str]:
    """The sentences of Markdown without its marks, in order.

    Also items, rows of tables, and lines of code.

    Headings are none, unless there is nothing else. `code`: the text of a script, below its
    description if that has a shebang line. Comments of code are sentences without their signs.
    """
    parts, headings, lines_of_code = list[str](), list[str](), set[int]()
    script, fenced, goes_on = code and "\n#!" not in text, False, False
    for row in map(str.strip, text[:20_000].split("\n")):
        # a passage is shorter; a whole text may be a megabyte
        joined, goes_on = goes_on, False
        if _FENCE.match(row):
            fenced = not fenced
        elif row.startswith("#!"):
            script = code
        elif fenced or script:
            remark = _REMARK.match(row) or (script and re.match("#+", row))
            if remark:
                plain = row[remark.end() :].strip("#-=*~ ")
            else:
                plain = _QUOTES.sub("", row)
            if not remark and _append(parts, plain, joined=False):
                lines_of_code.add(len(parts) - 1)
            elif remark and not (script and NOT_ABOUT.match(plain)):
                goes_on = _append(parts, plain, joined=joined)
        elif (
            joined and row and not row.strip(row[0]) and row[0] in "=-" and len(parts[-1]) < LEADING
        ):
            # the line below a heading
            headings.append(parts.pop())
        elif heading := _HEADING.fullmatch(row):
            headings.append(heading[1].strip())
        else:
            row = row.lstrip("> ")  # noqa: PLW2901
            item = _ITEM.match(row)
            if row.startswith("|"):
                _append(
                    parts, ", ".join(filter(None, map(str.strip, row.split("|")))), joined=False
                )
            elif not _NO_SENTENCE.fullmatch(row):
                goes_on = _append(
                    parts, row[item.end() :] if item else row, joined=joined and not item
                )
    result = list[str]()
    for place, part in enumerate(parts or headings):
        line = " ".join((part if place in lines_of_code else _unmarked(part)).split())
        for sentence in [line] if place in lines_of_code else _SENTENCE_END.split(line):
            # what follows it says it
            leads = bool(result) and result[-1].endswith(":") and len(result[-1]) < LEADING
            _append(result, sentence, joined=leads)
    return result


def _append(parts: list[str], text: str, *, joined: bool) -> bool:
    """Add a line to the last part, or as a part of its own; False where it says nothing."""
    if not any(map(str.isalnum, text)):
        return False
    parts[len(parts) - joined :] = [f"{parts[-1]} {text}" if joined else text]
    return True


def _unmarked(text: str) -> str:
    """A paragraph without the marks of Markdown inside it; code keeps its signs."""

    def inner(match: re.Match[str]) -> str:
        if match["text"] is None:
            marked = match["link"]
        else:
            marked = match["text"]
        return match["code"] or match["address"] or match["sign"] or _unmarked(marked or "")

    return _INLINE.sub(inner, text)


def snippet(
    text: str,
    query: str,
    width: int = 150,
    phrases: Sequence[str] = (),
    title: str = "",
    *,
    code: bool = False,
) -> str:
    """The sentence that holds most words of the query, from its beginning, and those that follow, on one line.

    About `width` characters, without marks of Markdown and without the title, which is shown beside it; all of a text
    that is as short. A phrase comes before all words. Words are compared without their common endings; a passage found
    by its vector alone gives its beginning. `code`: the text of a script.
    """
    shown = fold(title).casefold().strip(" .:")
    parts = [
        *dict.fromkeys(
            filter(None, (_beside(sentence, shown) for sentence in sentences(text, code=code)))
        )
    ]
    if sum(len(part) + 1 for part in parts) <= width:
        return _joined(parts, 2 * width)
    stems = {
        stem(word) for word in words_of(query) if len(word) >= SHORT_WORD or not word.isascii()
    }
    folded = [fold(part) for part in parts]
    plain = (re.sub("[*`~]", " ", phrase) for phrase in phrases)
    expressions = [re.compile(expression) for expression in map(pattern, plain) if expression]

    def answers(place: int) -> tuple[int, int]:
        held = set()
        for _, word in stem_positions(folded[place], stems):
            held.add(word)
        return sum(bool(expression.search(folded[place])) for expression in expressions), sum(
            map(len, held)
        )

    best = max(range(len(parts)), key=answers)
    return _cut(_joined(parts[best:], width), width)


def _beside(sentence: str, title: str) -> str:
    """A sentence without the title that it repeats: empty if it says no more."""
    if not title or not fold(sentence).casefold().startswith(title):
        return sentence
    behind = sentence[len(title) :]
    ends = re.match(r"\s*[.:|]|\s+[-\u2013\u2014]|\s*$", behind)
    if ends:
        return behind.lstrip(" .:|-\u2013\u2014")
    return sentence


def _joined(parts: Sequence[str], width: int) -> str:
    """Sentences on one line: as many as fit, and one more behind a short beginning."""
    line = ""
    for part in parts:
        if (
            line
            and len(line) + len(part) >= width
            and (len(line) > width // 2 and not line.endswith(":"))
        ):
            break
        line += (" " if line[-1] in _COMPLETE else " \u00b7 ") + part if line else part
        if len(line) >= width:
            break
    return line


def _cut(text: str, width: int) -> str:
    """The text, or its beginning up to a word, marked with an ellipsis."""
    if len(text) <= width:
        return text
    end = text.rfind(" ", width // 2, width)
    return text[: end if end > 0 else width - 1].rstrip(" ,;:\u00b7") + "\u2026"


def stem_positions(text: str, stems: AbstractSet[str]) -> Iterator[tuple[int, str]]:
    """Where words with one of these stems begin, or with more or less of it, with the stem."""
    beginning: dict[str, list[str]] = {}
    for asked in stems:
        beginning.setdefault(asked[:BEGINNING], []).append(asked)
    for at, word in _likely_words(fold(text).lower(), frozenset(stems)) if stems else ():
        written = stem(word)
        if written in stems:
            yield at, written
            continue
        for asked in beginning.get(written[:BEGINNING], ()):
            if _begins(*sorted((written, asked), key=len)):
                yield at, asked


def _likely_words(folded: str, stems: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Where words begin that may have one of the stems.

    Of scripts without blanks every two characters.
    """
    if folded.isascii():
        # one expression for the first letters is faster than a look at each word
        yield from ((match.start(), match.group()) for match in _beginnings(stems).finditer(folded))
        return
    for match in _piece().finditer(folded):
        if match.lastindex:
            words = _pairs(match.group())
        else:
            words = [match.group()]
        yield from enumerate(words, match.start())


@lru_cache(maxsize=64)
def _beginnings(stems: frozenset[str]) -> re.Pattern[str]:
    starts = set()
    for word in stems:
        if word.isascii():
            starts.add(re.escape(word[: max(2, min(len(word) - 1, 3))]))
    return re.compile(rf"\b(?:{'|'.join(starts)})\w*" if starts else r"(?!)")


def blend(lists: Sequence[tuple[Sequence[Match], int]], depth: int) -> tuple[Match, ...]:
    """The hits of several indexes, best first, at most `depth`.

    Of equal scores those of an earlier list first.

    Each list comes with the number of passages of its index. BM25 of different indexes is compared
    by the inverse document frequency of a word in one passage only.
    """
    nonempty = []
    for hits, passages in lists:
        if hits:
            nonempty.append((hits, passages))
    if len(nonempty) < 2:
        if nonempty:
            return tuple(nonempty[0][0][:depth])
        return ()
    highest = _rarest(sum(passages for _, passages in nonempty))
    scaled = [
        hit._replace(score=hit.score * (highest / _rarest(passages)))
        for hits, passages in nonempty
        for hit in hits
    ]
    return tuple(sorted(scaled, key=lambda hit: -hit.score)[:depth])


def _rarest(passages: int) -> float:
    """The inverse document frequency of BM25 (Robertson and Zaragoza 2009), with the 1 that keeps it positive."""
    return log(1 + (max(passages, 1) - 0.5) / 1.5)
