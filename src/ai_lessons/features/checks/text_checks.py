"""A check on a text: a pattern that shows where a rule is broken. It runs no code."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.checks.regexes import InvalidPattern, LineRegex, TooSlow, no_hurry
from ai_lessons.model.code_comments import names_comments, skeleton, without_comments
from ai_lessons.model.layout import any_match

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

KEYS = ("files", "pattern", "regex", "unless", "bad", "good", "enforce")
SEVERAL = frozenset({"files", "bad", "good"})
EXTRA = "pattern needs ast-grep; in the sources of ai-lessons: pip install '.[checks]'"
LONGEST_PATTERN = 500

# Extension of a file: its language, as ast-grep calls it.
LANGUAGES = {
    "bash": "bash", "c": "c", "cc": "cpp", "cjs": "javascript", "cpp": "cpp", "cs": "csharp", "css": "css",
    "cxx": "cpp", "ex": "elixir", "exs": "elixir", "go": "go", "h": "c", "hpp": "cpp", "hs": "haskell",
    "htm": "html", "html": "html", "java": "java", "js": "javascript", "json": "json", "jsx": "jsx",
    "kt": "kotlin", "kts": "kotlin", "lua": "lua", "mjs": "javascript", "php": "php", "py": "python",
    "pyi": "python", "rb": "ruby", "rs": "rust", "scala": "scala", "sh": "bash", "swift": "swift", "ts": "ts",
    "tsx": "tsx", "yaml": "yaml", "yml": "yaml",
}  # fmt: skip


class TextCheck(NamedTuple):
    """What shows that a rule is broken: `pattern` (of ast-grep) or `regex`, in `files`.

    `files` are globs; none: every file. A match is none where the regex `unless` fits it too; in
    comments only if it names their sign. `bad` and `good` are texts that break and keep the rule.
    `enforce`: whether an agent's host shall ask or refuse (empty: it is only told).
    """

    files: tuple[str, ...] = ()
    pattern: str = ""
    regex: str = ""
    unless: str = ""
    bad: tuple[str, ...] = ()
    good: tuple[str, ...] = ()
    enforce: str = ""

    def concerns(self, path: str) -> bool:
        """Whether a file, relative to the root of its project, is one that the check looks at."""
        return not self.files or any_match(self.files, [path])

    def names_kind(self, path: str) -> bool:
        """Whether its globs name this kind of file: then one that is no text is reported."""
        if not self.concerns(path):
            return False
        # a glob that takes any file by this name, whatever it ends in, names no kind
        return language_of(self, path) is not None or not self.concerns(f"{path}.\x01")

    def __str__(self) -> str:
        words = f"pattern `{self.pattern}`" if self.pattern else f"regex `{self.regex}`"
        if self.unless:
            words += f" unless `{self.unless}`"
        if self.files:
            words += f" in {' or '.join(self.files)}"
        if self.enforce:
            words += f" ({self.enforce})"
        return words


class Match(NamedTuple):
    """A place where a check fires: its line, counted from 1, and the last one of what matched."""

    line: int
    last: int


class _Hit(NamedTuple):
    """What fits a pattern, before `unless` is asked; of a tree the `text` of the node."""

    line: int
    last: int
    text: str = ""


def unproven(check: TextCheck) -> Iterator[str]:
    """What speaks against a check: its pattern is none, it is silent on `bad`, or fires on `good`."""
    if check.pattern and language_of(check) is None:
        files = ", ".join(check.files) or "(none)"
        yield f"check.files {files} names no language for the pattern: such as src/**/*.py"
        return
    try:
        for name in _silent(check, "bad", check.bad):
            yield f"the check does not fire on {name}, a text that breaks the rule"
        for name in _firing(check, "good", check.good):
            yield f"the check fires on {name}, a text that keeps the rule"
    except ImportError:
        # without ast-grep nothing shows that it is wrong; callers say that it was not tried
        return
    except InvalidPattern as error:
        yield str(error)


def _silent(check: TextCheck, key: str, texts: Sequence[str]) -> Iterator[str]:
    """The names of the samples on which a check does not fire."""
    for number, text in enumerate(texts, 1):
        if not any(matches(check, text)):
            yield _sample_name(key, number, len(texts))


def _firing(check: TextCheck, key: str, texts: Sequence[str]) -> Iterator[str]:
    """The names of the samples on which a check fires."""
    for number, text in enumerate(texts, 1):
        if any(matches(check, text)):
            yield _sample_name(key, number, len(texts))


def _sample_name(key: str, number: int, count: int) -> str:
    if count == 1:
        return f"check.{key}"
    return f"check.{key} (number {number})"


def language_of(check: TextCheck, path: str = "") -> str | None:
    """The language of a file as ast-grep calls it.

    Or of the first file that the globs of a check can name.
    """
    for glob in [path] if path else check.files:
        # `*.{ts,tsx}` has two ends
        for name in re.split(r"[{},]", glob):
            end = name.rpartition(".")[2].lower()
            if end in LANGUAGES:
                return LANGUAGES[end]
    return None


def runs(check: TextCheck) -> bool:
    """Whether the check can be run here: a pattern needs ast-grep."""
    if not check.pattern:
        return True
    # most checks are a regex
    from importlib.util import find_spec

    return find_spec("ast_grep_py") is not None


def matches(
    check: TextCheck,
    text: str,
    path: str = "",
    lines: Collection[float] | None = None,
    hurry: Callable[[], bool] = no_hurry,
) -> Iterator[Match]:
    """Where a check fires in a text, of `lines` if given.

    There 2.5 is what was taken away between the lines 2 and 3. A match that leaves a bracket open
    goes on to the line that closes it. `hurry` is asked between two steps, each of which takes at
    most part of a second: whether the time is over.

    Raises:
        InvalidPattern: the pattern is none.
        TooSlow: `hurry` said so.
        ImportError: a pattern needs ast-grep, which is not installed.
    """
    name = path or next(iter(check.files), "")
    places = None if lines is None else sorted(lines)
    allows = _Unless(check.unless, name, text) if check.unless else None
    if check.pattern:
        hits = _by_pattern(check, text, path)
    else:
        hits = _by_regex(check, name, text, hurry)
    for hit in hits:
        if hurry():
            raise TooSlow
        if places is not None and not _holds_any(hit, places):
            continue
        if allows is None or not allows.fits(hit):
            yield Match(hit.line, hit.last)


def _holds_any(hit: _Hit, places: Sequence[float]) -> bool:
    """Whether one of these lines, in their order, is one of what matched."""
    at = bisect_left(places, hit.line)
    return at < len(places) and places[at] <= hit.last


class _Unless:
    """The regex `unless` of a check, over the lines of one text."""

    def __init__(self, source: str, name: str, text: str) -> None:
        """Raises InvalidPattern."""
        self._regex = LineRegex.of(source)
        self._name, self._text = name, text
        # comments count only where the regex names their sign
        self._reads_comments = names_comments(name, source)
        self._rows: list[str] = []

    def fits(self, hit: _Hit) -> bool:
        """Whether it fits a line of what matched."""
        if hit.text:
            # other code on the lines of a node is not of it
            rows = self._read(hit.text)
        else:
            self._rows = self._rows or self._read(self._text)
            rows = self._rows[hit.line - 1 : hit.last]
        return any(self._regex.fits(row.removesuffix("\r")) for row in rows)

    def _read(self, text: str) -> list[str]:
        if self._reads_comments:
            return text.split("\n")
        return without_comments(self._name, text).split("\n")


def _by_regex(check: TextCheck, name: str, text: str, hurry: Callable[[], bool]) -> Iterator[_Hit]:
    """The statements that fit the regex."""
    rows, code = list[str](), list[str]()
    for line, matched in LineRegex.of(check.regex).lines(text, hurry):
        last = line
        if "(" in matched or "[" in matched:
            rows = rows or text.split("\n")
            code = code or skeleton(name, text).split("\n")
            last = _closing_line(code, line, rows[line - 1].find(matched), len(matched))
        yield _Hit(line, last)


def _closing_line(code: Sequence[str], line: int, start: int, length: int) -> int:
    """The line that closes the brackets that a match leaves open.

    Its own one if none are, or nothing does.
    """
    depth = sum(_steps(code[line - 1][start : start + length]))
    start += length
    # lines of the longest statement
    for number in range(line, min(line + 100, len(code) + 1)):
        if depth <= 0:
            return number
        for step in _steps(code[number - 1][start:]):
            depth += step
            if depth == 0:
                return number
        start = 0
    return line


def _steps(code: str) -> Iterator[int]:
    """For each bracket of a text whether it opens (1) or closes (-1)."""
    for sign in code:
        if sign in "([":
            yield 1
        elif sign in ")]":
            yield -1


def _by_pattern(check: TextCheck, text: str, path: str) -> Iterator[_Hit]:
    """The nodes that fit the pattern of ast-grep."""
    language = language_of(check, path) or language_of(check)
    if language is None or not all(word in text for word in _words_of(check.pattern)):
        return
    # an extra
    from ast_grep_py import SgRoot

    try:
        nodes = SgRoot(text, language).root().find_all(pattern=check.pattern)
    except RuntimeError as error:
        reason = _reason_of(str(error).split("\n"))
        raise InvalidPattern(
            f"check.pattern {check.pattern!r} is no pattern of ast-grep: {reason}"
        ) from error
    for node in nodes:
        place = node.range()
        yield _Hit(place.start.line + 1, place.end.line + 1, node.text())


def _reason_of(rows: Iterable[str]) -> str:
    """What of a message of ast-grep says what is wrong."""
    for row in rows:
        if row.strip().startswith("2: "):
            return row.strip().removeprefix("2: ")
    return ""


@lru_cache(maxsize=512)
def _words_of(pattern: str) -> tuple[str, ...]:
    """The words that stand in each text that fits a pattern of ast-grep."""
    without_holes = re.sub(r"\$+\w*", " ", pattern)
    return tuple(re.findall(r"[^\W\d]\w{2,}", without_holes))
