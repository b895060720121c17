"""A check on a text: a pattern that shows where a rule is broken. Pure; it runs no code.

A pattern may come from a proposal that nobody has approved, so that none may take for ever: see
`LineRegex`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.code_comments import names_comments, skeleton, without_comments
from ai_lessons.model.layout import any_match

if TYPE_CHECKING:
    from ai_lessons.model.entries import EntrySummary

KEYS = ("files", "pattern", "regex", "unless", "bad", "good", "enforce")
# the key that tells each of these forms of a check from others
OF_COMMANDS, OF_WHAT_WAS_DONE = "command", "changed"
EXTRA = "pattern needs ast-grep; in the sources of ai-lessons: pip install '.[checks]'"

LONGEST_PATTERN, LONGEST_SAMPLE, MOST_SAMPLES = 500, 4_000, 20
# Characters of a text that is looked at
LARGEST = 1 << 20

LANGUAGES = {
    "bash": "bash", "c": "c", "cc": "cpp", "cjs": "javascript", "cpp": "cpp", "cs": "csharp", "css": "css",
    "cxx": "cpp", "ex": "elixir", "exs": "elixir", "go": "go", "h": "c", "hpp": "cpp", "hs": "haskell",
    "htm": "html", "html": "html", "java": "java", "js": "javascript", "json": "json", "jsx": "jsx",
    "kt": "kotlin", "kts": "kotlin", "lua": "lua", "mjs": "javascript", "php": "php", "py": "python",
    "pyi": "python", "rb": "ruby", "rs": "rust", "scala": "scala", "sh": "bash", "swift": "swift", "ts": "ts",
    "tsx": "tsx", "yaml": "yaml", "yml": "yaml",
}  # fmt: skip
"""Extension of a file: its language, as ast-grep calls it."""


def has_check(rule: EntrySummary, form: str) -> bool:
    """Whether a rule has a check of this form; without loading what runs one."""
    return any(form in check for check in rule.check or ())


class Check(NamedTuple):
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
        """Whether its globs name this kind of file.

        Then a file of the kind that is no text is reported.
        """
        return self.concerns(path) and (
            language_of(self, path) is not None or not self.concerns(f"{path}.\x01")
        )

    def __str__(self) -> str:
        if self.files:
            where = f" in {' or '.join(self.files)}"
        else:
            where = ""
        if self.pattern:
            what = f"pattern `{self.pattern}`"
        else:
            what = f"regex `{self.regex}`"
        if self.unless:
            unless = f" unless `{self.unless}`"
        else:
            unless = ""
        return f"{what}{unless}{where}" + (f" ({self.enforce})" if self.enforce else "")


class Match(NamedTuple):
    """A place where a check fires: its line, counted from 1, and the last one of what matched."""

    line: int
    last: int


class TooSlow(Exception):
    """The time for a check is over before it has looked at all of a text."""


class InvalidPattern(Exception):
    """A pattern or regex that is none, or one that may take too long; says why."""


def unproven(check: Check) -> Iterator[str]:
    """What speaks against a check.

    Its pattern is none, it is silent on `bad`, or fires on `good`.
    """
    if check.pattern and language_of(check) is None:
        yield f"check.files {', '.join(check.files) or '(none)'} names no language for the pattern: such as src/**/*.py"
        return
    for key, texts in (("bad", check.bad), ("good", check.good)):
        for number, text in enumerate(texts, 1):
            if len(texts) == 1:
                name = f"check.{key}"
            else:
                name = f"check.{key} (number {number})"
            try:
                fires = any(matches(check, text))
            except ImportError:
                # without ast-grep nothing shows that it is wrong; callers add `EXTRA` as a note
                return
            except InvalidPattern as error:
                yield str(error)
                return
            if key == "bad" and not fires:
                yield f"the check does not fire on {name}, a text that breaks the rule"
            elif key == "good" and fires:
                yield f"the check fires on {name}, a text that keeps the rule"


def language_of(check: Check, path: str = "") -> str | None:
    """The language of a file as ast-grep calls it.

    Or of the first file that the globs of a check can name.
    """
    ends = []
    for glob in [path] if path else check.files:
        for name in re.split(r"[{},]", glob):
            ends.append(name.rpartition(".")[2])
    return next((LANGUAGES[end.lower()] for end in ends if end.lower() in LANGUAGES), None)


def runs(check: Check) -> bool:
    """Whether the check can be run here: a pattern needs ast-grep."""
    if not check.pattern:
        return True
    from importlib.util import find_spec  # noqa: PLC0415 - most checks are a regex

    return find_spec("ast_grep_py") is not None


def matches(
    check: Check,
    text: str,
    path: str = "",
    lines: Collection[float] | None = None,
    hurry: Callable[[], bool] = lambda: False,
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
    name, places, rows = path or next(iter(check.files), ""), sorted(lines or ()), list[str]()
    unless = None
    if check.unless:
        unless = LineRegex.of(check.unless)
    plain = unless is not None and names_comments(name, check.unless)
    if check.pattern:
        hits = _by_pattern(check, text, path)
    else:
        hits = _by_regex(check, name, text, hurry)
    for line, last, node in hits:
        if hurry():
            raise TooSlow
        at = bisect_left(places, line)
        if lines is not None and (at == len(places) or places[at] > last):
            continue
        if unless is not None:
            if node:
                rows, at = (node if plain else without_comments(name, node)).split("\n"), 0
            else:
                rows, at = (
                    rows or (text if plain else without_comments(name, text)).split("\n"),
                    line - 1,
                )
            if any(unless.fits(row.removesuffix("\r")) for row in rows[at : at + last - line + 1]):
                continue
        yield Match(line, last)


def _by_regex(
    check: Check, name: str, text: str, hurry: Callable[[], bool]
) -> Iterator[tuple[int, int, str]]:
    """First and last line of each statement that fits the regex."""
    rows, code = list[str](), list[str]()
    for line, matched in LineRegex.of(check.regex).lines(text, hurry):
        last = line
        if "(" in matched or "[" in matched:
            rows, code = rows or text.split("\n"), code or skeleton(name, text).split("\n")
            last = _closed(code, line, rows[line - 1].find(matched), len(matched))
        yield line, last, ""


def _closed(code: Sequence[str], line: int, start: int, length: int) -> int:
    """The line that closes the brackets that a match leaves open.

    Its own one if none are, or nothing does.
    """
    opened = re.sub(r"[^(\[)\]]", "", code[line - 1][start : start + length])
    depth = sum(1 if sign in "([" else -1 for sign in opened)
    start += length
    for number in range(line, min(line + 100, len(code) + 1)):
        # the longest statement
        for sign in re.findall(r"[(\[)\]]", code[number - 1][start:]) if depth > 0 else ():
            depth += 1 if sign in "([" else -1
            if depth == 0:
                break
        if depth <= 0:
            return number
        start = 0
    return line


def _by_pattern(check: Check, text: str, path: str) -> Iterator[tuple[int, int, str]]:
    """First and last line, and text, of each node that fits the pattern of ast-grep."""
    language = language_of(check, path) or language_of(check)
    if language is None or not all(word in text for word in _words_of(check.pattern)):
        return
    from ast_grep_py import SgRoot  # noqa: PLC0415 - the home of an extra

    try:
        nodes = SgRoot(text, language).root().find_all(pattern=check.pattern)
    except RuntimeError as error:
        reason = next(
            (row.strip() for row in str(error).split("\n") if row.strip().startswith("2: ")), "2: "
        )[3:]
        raise InvalidPattern(
            f"check.pattern {check.pattern!r} is no pattern of ast-grep: {reason}"
        ) from error
    for node in nodes:
        yield node.range().start.line + 1, node.range().end.line + 1, node.text()


@lru_cache(maxsize=512)
def _words_of(pattern: str) -> tuple[str, ...]:
    """The words that stand in each text that fits a pattern of ast-grep."""
    return tuple(re.findall(r"[^\W\d]\w{2,}", re.sub(r"\$+\w*", " ", pattern)))


class LineRegex:
    """A regex of RE2 that is run on each line: its time grows with the text, whatever the regex.

    It has no lookarounds and no references back to groups. A text is looked at in overlapping
    windows; a match is seen if it is at most half a window long, which is 3,000 bytes and more.
    """

    def __init__(self, source: str) -> None:
        """Raises InvalidPattern."""
        import re2  # noqa: PLC0415 - most commands run no check

        try:
            self._regex = re2.compile(f"(?m){source}", _options())
        except re2.error as error:
            reason = error.args[0].decode("utf-8", "replace").replace("(?m)", "", 1)
            lookaround = re.search(r"operator: \(\?|sequence: \\\d", reason)
            if lookaround:
                lacks = "; RE2 has no lookaheads and no references back: use `unless`"
            else:
                lacks = ""
            raise InvalidPattern(f"the regex {source!r} is none: {reason}{lacks}") from error
        if self._regex.programsize > 3_000:
            # the engine may take so many steps for one byte
            raise InvalidPattern(
                f"the regex {source!r} can take too long: use smaller counts, such as {{1,80}}"
            )
        # so many steps of the engine take part of a second: between two looks at the time it takes
        # no more
        self._window = 20_000_000 // self._regex.programsize

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, source: str) -> LineRegex:
        """The regex, parsed once. Raises InvalidPattern."""
        return cls(source)

    def fits(self, line: str) -> bool:
        """Whether the regex matches in a line."""
        return any(self.lines(line))

    def lines(
        self, text: str, hurry: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[int, str]]:
        """The number of each line that fits, and what of it does. Raises TooSlow."""
        data = _encoded(text)
        number, counted, at = 1, 0, 0
        for start in range(0, max(len(data), 1), self._window // 2):
            if hurry():
                raise TooSlow
            at, end = max(at, start), min(start + self._window, len(data))
            while at <= end and (match := self._regex.search(data, at, end)):
                number, counted = number + data.count(b"\n", counted, match.start()), match.start()
                last = data.find(b"\n", counted)
                if last < 0:
                    last = len(data)
                yield number, data[counted : match.end()].decode("utf-8", "replace")
                at = last + 1


class Prefilter:
    """Which of many checks can fire in a text.

    By one look for the words that stand in each match of their regexes.
    """

    def __init__(self, checks: Mapping[str, Check]) -> None:
        """`checks` by any name."""
        import re2  # noqa: PLC0415 - as above

        self._filter, self._names = re2.Filter(), list[str]()
        for name, check in checks.items():
            with suppress(re2.error):
                # what is wrong with it shows when it runs
                self._filter.Add(f"(?m){check.regex}", _options())
                self._names.append(name)
        self._unfiltered = checks.keys() - set(self._names)
        if self._names:
            self._filter.Compile()

    def possible(self, text: str) -> set[str]:
        """The names of the checks that can fire."""
        hits = None
        if self._names:
            hits = self._filter.Match(_encoded(text), potential=True)
        return self._unfiltered | {self._names[hit] for hit in hits or ()}


@lru_cache(maxsize=1)
def _options() -> Any:
    import re2  # noqa: PLC0415 - as above

    options = re2.Options()
    options.never_nl = options.never_capture = True
    options.log_errors = False
    options.max_mem = 1 << 20
    return options


def _encoded(text: str) -> bytes:
    """The lines of a text as RE2 reads them."""
    return text.encode("utf-8", "replace").replace(b"\r\n", b"\n").removesuffix(b"\n")


# --- drafts from a fix ---

_TOKEN = expression(r"""(?<!\s)(?P<blank>\s*+)(?P<token>\w+|'[^'\n]*'|"[^"\n]*"|[^\w\s])""")
# Tokens beside the changed ones, the most telling first
SURROUNDING = (3, 2, 1, 0)


def drafts(
    path: str, old: Sequence[str], new: Sequence[str], after: Sequence[str]
) -> Iterator[Check]:
    """Checks that may tell the `old` lines of a part of a fix from the `new` ones, more specific first.

    `after`: the lines that follow it, for a sample where nothing takes the place of the old ones.
    """
    from difflib import SequenceMatcher  # noqa: PLC0415 - a list loads this module, too

    name = path.rpartition("/")[2]
    if "." in name:
        files = ("*." + name.rpartition(".")[2],)
    else:
        files = (name,)
    for line in [line for line in old[:12] if re.search(r"\w", line)]:
        ratios = [
            (SequenceMatcher(None, line.strip(), other.strip()).ratio(), other)
            for other in new[:12]
        ]
        ratio, other = max(ratios, default=(0.0, ""))
        # a new line that is half the same is what the old one became
        if not ratio >= 0.5:
            other = ""
        good = other or next((other for other in (*new, *after) if re.search(r"\w", other)), "")
        samples: dict[str, Any] = {"bad": (line.strip(),), "good": (good.strip(),)}
        for regex, unless in dict.fromkeys(_generalised(line, other)):
            check = Check(files, regex=regex, unless=unless, **samples)
            if good and regex and len(line) <= LONGEST_PATTERN and not any(unproven(check)):
                yield check


def _generalised(line: str, other: str) -> Iterator[tuple[str, str]]:
    """(regex, unless) of a line that became `other` (empty: that went)."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - as above

    tokens, new_tokens = (
        [(m["blank"], m["token"]) for m in _TOKEN.finditer(text.strip())] for text in (line, other)
    )
    texts = [token for _, token in tokens]
    if other:
        blocks = SequenceMatcher(
            None, texts, [token for _, token in new_tokens], autojunk=False
        ).get_opcodes()
    else:
        blocks = []
    changed = []
    for op, a, b, _, _ in blocks:
        if op in {"replace", "delete"}:
            changed.append((a, b))
    added = []
    for op, a, _, c, d in blocks:
        if op == "insert":
            added.append((a, new_tokens[c:d]))
    for start, end in changed:
        for beside in SURROUNDING:
            first = max(start - beside, 0)
            if any(re.search(r"\w", text) for text in texts[first : end + beside]):
                yield _regex(tokens[first : end + beside]), ""
    for at, inserted in added if not changed else ():
        call = _call_around(texts, at)
        words = []
        for _, text in inserted:
            if re.match(r"\w", text):
                words.append(text)
        if call and words:
            yield _regex(tokens[call[0] : call[1] + 1]), _regex([("", words[0])])
    if not changed:
        call = _call_around(texts, len(texts))
        yield _regex(tokens), ""
        if call and not other:
            yield _regex(tokens[call[0] : call[1] + 1]), ""


def _call_around(texts: Sequence[str], at: int) -> tuple[int, int] | None:
    """The first and the last token of the call in which, or at whose end, a token stands.

    A call is `name(` or `a.b.name(`.
    """
    depth = 0
    for end in range(min(at, len(texts)) - 1, 0, -1):
        depth += (texts[end] == ")") - (texts[end] == "(")
        if (
            texts[end] == "("
            and re.match(r"\w", texts[end - 1])
            and (depth < 0 or at == len(texts))
        ):
            start = end - 1
            while start > 1 and texts[start - 1] == "." and re.match(r"\w", texts[start - 2]):
                start -= 2
            return start, end
    return None


def _regex(tokens: Sequence[tuple[str, str]]) -> str:
    """A regex of these tokens, whatever blanks stand between them."""
    if not tokens:
        return ""
    parts, before = list[str](), ""
    for blank, token in tokens:
        words = re.match(r"\w", token) and re.search(r"\w$", before)
        parts.append(
            ("" if not before else r"\s+" if words else r"\s*" if blank else "") + re.escape(token)
        )
        before = token
    start, end = (
        r"\b" if re.search(edge, text) else ""
        for edge, text in ((r"^\w", tokens[0][1]), (r"\w$", before))
    )
    return start + "".join(parts) + end


def telling_word(regex: str) -> str:
    """The longest text that stands on each line that a drafted regex fits.

    Empty if there is none.
    """
    plain = re.sub(r"\\([bs])[*+]?|\\(.)", lambda escape: "\0" if escape[1] else escape[2], regex)
    return max(plain.split("\0"), key=len)
