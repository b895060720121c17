"""The values that go into the index and come out of it, and the words of questions and texts. Pure."""

from __future__ import annotations

import hashlib
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.knowledge.passages import Passage

CAMEL_WORD = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*)")
CAMEL_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
CODE = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{1,8})([0-9]{3,})(?![A-Za-z0-9])")
CJK = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
CJK_RUN = re.compile(CJK + "{2,}")
BESIDE_CJK = re.compile(rf"(?<={CJK})[A-Za-z0-9]+|(?<![A-Za-z0-9])[A-Za-z0-9]+(?={CJK})")
NAME = re.compile(
    r"(?<![\w-])--?[A-Za-z][A-Za-z0-9]*(?:[._/:-]+[A-Za-z0-9]+)*"
    r"|(?<![A-Za-z0-9])[A-Za-z0-9]+(?:[._/:-]+[A-Za-z0-9]+)+"
)
"""A flag, or words with nothing but the marks of a name between them."""

_CAPITALS = re.compile(r"(?<![\w-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*(?![\w-])")
_UNDERSCORED = re.compile(r"(?<!\w)\w*[A-Za-z0-9]_+[A-Za-z0-9]\w*")
_PLAIN = re.compile(r"[A-Z]?[a-z]+(?:[-/:][A-Z]?[a-z]+)*|-[A-Za-z]|v?[0-9][0-9.:/x-]*|-*(?:[A-Za-z]\.)+[A-Za-z]?")
_MADE_UP = re.compile(r"(?i)(?:my|foo|bar|old|new|test|temp|tmp|example|file|dir)[\w.-]*|\w*(?:file|dir)[0-9]*\.\w+")
"""What looks like a name and identifies little: hyphenated words, short flags, numbers, initials; my_file.txt."""

LONGEST_NAME = 100
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
    for run in CJK_RUN.findall(text):
        parts.update(dict.fromkeys(run[i : i + 2] for i in range(len(run) - 1)))
    parts.update(dict.fromkeys(BESIDE_CJK.findall(text)))
    return list(parts)


def names(question: str) -> tuple[str, ...]:
    """Codes, flags, functions and files of a question, as they stand there: ENOENT, --force, setName, `a.py`, E0308."""
    kinds = (_CAPITALS, _UNDERSCORED, CAMEL_WORD, CODE, NAME)
    matches = (match.group() for kind in kinds for match in kind.finditer(question))
    telling = dict.fromkeys(
        name for name in matches if len(name) > 2 and not (_PLAIN.fullmatch(name) or _MADE_UP.fullmatch(name))
    )
    return () if question.upper() == question and " " in question.strip() else tuple(telling)


def _whole(name: str) -> str:
    """One word for a name that has lost a part to the stop words: `--no-verify` is 0no0verify; else nothing."""
    words = re.split(r"[._/:-]+", name.lower())
    return JOINT.join(words) if len(name) <= LONGEST_NAME and not LOST.isdisjoint(words) else ""


def with_parts(text: str) -> str:
    """The text with its hidden parts on a line below; the text itself if there are none."""
    parts = hidden_parts(text)
    return f"{text}\n{' '.join(parts)}" if parts else text


LONGEST_QUERY = 2000  # Characters of a question that are looked at; the model reads fewer


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
    """One row of the table. `text_key` names the vector of the passage in the embedding cache."""

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
    row_hash: str
    text_key: str

    @property
    def embedded_text(self) -> str:
        """What its vector is made of."""
        return embedded_text(self.title, self.heading, self.text)


class PassageFilter(NamedTuple):
    """Which passages may be found. Empty fields ask for nothing; of `tags` an entry must carry all.

    `versions`, unless None: entries that carry none of these spellings, but carry others, are left out. `versions_of`
    says so for single projects, to which `versions` then does not apply. A passage holds every one of `phrases`.
    """

    kinds: frozenset[str] = frozenset()
    project: str | None = None
    tags: Sequence[str] = ()
    versions: frozenset[str] | None = None
    ids: frozenset[str] | None = None
    versions_of: Mapping[str, frozenset[str]] = MappingProxyType({})
    phrases: Sequence[str] = ()


class Match(NamedTuple):
    """A passage as a search found it. `score`: BM25, cosine similarity (-1 to 1), or the mix of both (0 to 1).

    `section` is the number of the section in which it begins, counted by `passages.sections`; 0: none.
    """

    entry_id: str
    ordinal: int
    score: float
    heading: str = ""
    text: str = ""
    section: int = 0


class Candidates(NamedTuple):
    """Both lists, best first, each at most `depth` long. `note` says why there are no vectors, if so.

    `model` made the vectors.
    """

    text: tuple[Match, ...] = ()
    vectors: tuple[Match, ...] = ()
    depth: int = 100
    note: str = ""
    model: str = ""


class IndexRefresh(NamedTuple):
    """What a refresh did. `missing` passages have no vector yet; `rebuilt` says in one line why all was made anew."""

    entries: int = 0
    removed: int = 0
    passages: int = 0
    embedded: int = 0
    missing: int = 0
    rebuilt: str = ""
    notes: tuple[str, ...] = ()


class IndexStatus(NamedTuple):
    """The table in use. `indexed` None: every vector is compared, else how many passages their index covers.

    `unindexed` passages are searched by reading them. Sizes in bytes. `uri` is that of a shared index.
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
    """A passage as the model and the full-text index see it: `Title > Section > Subsection`, then the text."""
    if not heading or heading == title:
        head = title
    else:
        head = heading if heading.startswith(title + " > ") else f"{title} > {heading}"
    return f"{head}\n{text}"


def rows_of(entry: EntryRows, model: str) -> Iterator[Row]:
    """The rows of an entry, at least one: an entry without text is found by its title."""
    passages = {passage.ordinal: (passage.heading, passage.text, passage.section) for passage in entry.passages}
    for place, (ordinal, (heading, text, section)) in enumerate(sorted(passages.items()) or [(0, ("", "", 0))]):
        whole = embedded_text(entry.title, heading, text)
        yield Row(
            id=f"{entry.id}:{place}",
            entry_id=entry.id,
            ordinal=ordinal,
            section=section,
            kind=entry.kind,
            project=entry.project,
            tags=entry.tags,
            versions=entry.versions,
            status=entry.status,
            title=entry.title,
            heading=heading,
            text=text,
            fts_text=with_parts(whole),
            row_hash=entry.fingerprint,
            text_key=vector_key(model, whole),
        )


def quoted(value: str) -> str:
    """A string literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def one_of(column: str, values: Sequence[str]) -> str:
    """A condition that holds for no row if there are no values."""
    return f"{column} IN ({', '.join(map(quoted, values))})" if values else "false"


def condition(passage_filter: PassageFilter) -> str:
    """A filter as SQL, or "" if it lets everything pass."""
    kinds, project, tags, versions, ids, versions_of, phrases = passage_filter
    parts = [one_of("kind", sorted(kinds))] if kinds else []
    if project is not None:
        parts.append(f"project = {quoted(project)}")
    parts += [f"array_has(tags, {quoted(tag)})" for tag in tags]
    if versions is not None:
        exempt = f"{one_of('project', sorted(versions_of))} OR " if versions_of else ""
        parts.append(f"({exempt}{_fits(versions)})")
    parts += [f"(project <> {quoted(name)} OR {_fits(names)})" for name, names in sorted(versions_of.items())]
    if ids is not None:
        parts.append(one_of("entry_id", sorted(ids)))
    # last, because it reads the text
    parts += [f"regexp_like(fts_text, {quoted(pattern(phrase))})" for phrase in phrases]
    return " AND ".join(parts)


def _fits(versions: frozenset[str]) -> str:
    spellings = ", ".join(map(quoted, sorted(versions)))
    fits = f" OR array_has_any(versions, [{spellings}])" if versions else ""
    return f"(array_length(versions) IS NULL OR array_length(versions) = 0{fits})"


def question(text: str) -> str:
    """What to search for, on one line, or "" if there is no letter or digit in it."""
    cut = " ".join(text[:LONGEST_QUERY].split())
    return cut if re.search(r"[^\W_]", cut) else ""


LONGEST = 500  # Characters of a phrase that count

_START, _END = "(?:^|[^A-Za-z0-9])", "(?:[^A-Za-z0-9]|$)"
"""Where a word of ASCII letters begins and ends. Beside CJK characters, too, which have no blanks between words."""

_GAP = r"[\W_]+"
"""Blanks, line ends and marks like `**` stand between words; all other characters have to be as they were typed."""


def pattern(phrase: str) -> str:
    """What finds the phrase in any case, as whole words; empty for an empty one."""
    words = phrase[:LONGEST].split()
    if not words:
        return ""
    first, last = words[0][0], words[-1][-1]
    start = _START if first.isascii() and first.isalnum() else ""
    end = _END if last.isascii() and last.isalnum() else ""
    return f"(?i){start}({_GAP.join(map(re.escape, words))}){end}"


def places(text: str, phrases: Iterable[str]) -> list[int]:
    """Where phrases begin in a text, in order."""
    patterns = filter(None, map(pattern, phrases))
    return sorted(match.start(1) for expression in patterns for match in re.finditer(expression, text))
