"""The `check` of a rule: a pattern over text that shows where the rule is broken. Pure; it runs no code.

A pattern may come from a proposal that nobody has approved, so that none may take for ever: see `LineRegex`.
"""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from functools import lru_cache
from math import factorial
from re import _constants as ops  # type: ignore[attr-defined]  # how a regex was parsed shows how long it can take
from re import _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model.filters import any_match, stated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

KEYS = ("files", "pattern", "regex", "unless", "bad", "good", "enforce")
ASK, DENY = "ask", "deny"
EXTRA = "pattern needs ast-grep: pip install 'ai-lessons[checks]'"

LONGEST_PATTERN, LONGEST_SAMPLE, MOST_SAMPLES = 500, 4_000, 20
LARGEST = 1 << 20  # Characters of a text that is looked at
MOST_MATCHES = 1_000  # of one check in one text

LANGUAGES = {
    "bash": "bash", "c": "c", "cc": "cpp", "cjs": "javascript", "cpp": "cpp", "cs": "csharp", "css": "css",
    "cxx": "cpp", "ex": "elixir", "exs": "elixir", "go": "go", "h": "c", "hpp": "cpp", "hs": "haskell",
    "htm": "html", "html": "html", "java": "java", "js": "javascript", "json": "json", "jsx": "jsx",
    "kt": "kotlin", "kts": "kotlin", "lua": "lua", "mjs": "javascript", "php": "php", "py": "python",
    "pyi": "python", "rb": "ruby", "rs": "rust", "scala": "scala", "sh": "bash", "swift": "swift", "ts": "ts",
    "tsx": "tsx", "yaml": "yaml", "yml": "yaml",
}  # fmt: skip
"""Extension of a file: its language, as ast-grep calls it."""


class Check(NamedTuple):
    """What shows that a rule is broken: `pattern` (of ast-grep) or `regex`, in `files` (globs; none: every file).

    A match is none where the regex `unless` fits it too. `bad` and `good` are texts that break and keep the rule.
    `enforce`: whether an agent's host shall ask or refuse (empty: it is only told). `literal`: stands in each match of
    the regex, which is parsed only for texts that hold it.
    """

    files: tuple[str, ...] = ()
    pattern: str = ""
    regex: str = ""
    unless: str = ""
    bad: tuple[str, ...] = ()
    good: tuple[str, ...] = ()
    enforce: str = ""
    literal: str = ""

    def concerns(self, path: str) -> bool:
        """Whether a file, relative to the root of its project, is one that the check looks at."""
        return not self.files or any_match(self.files, [path])

    def __str__(self) -> str:
        where = f" in {' or '.join(self.files)}" if self.files else ""
        what = f"pattern `{self.pattern}`" if self.pattern else f"regex `{self.regex}`"
        unless = f" unless `{self.unless}`" if self.unless else ""
        return f"{what}{unless}{where}" + (f" ({self.enforce})" if self.enforce else "")


class Match(NamedTuple):
    """A place where a check fires: its line, counted from 1, and the last one of what matched."""

    line: int
    last: int


class TooSlow(Exception):
    """The time for a check is over before it has looked at all of a text."""


class InvalidPattern(Exception):
    """A pattern or regex that is none, or one that may take too long; says why."""


def check_of(fields: Mapping[str, Any]) -> Check | None:
    """The check that the frontmatter of a rule states, for the files of its `applies_to` unless it names others.

    None: it states none, or one whose form is wrong; `faults` says what.
    """
    value = fields.get("check")
    if not isinstance(value, dict) or any(_form_faults(value)):
        return None
    parts: dict[str, Any] = {key: str(value.get(key) or "") for key in ("pattern", "regex", "unless", "enforce")}
    parts |= {key: tuple(stated(value.get(key))) for key in ("bad", "good")}
    return Check(tuple(stated(value.get("files")) or stated(fields.get("applies_to"))), **parts)


def described(fields: Mapping[str, Any]) -> list[str]:
    """Lines for people: what the check of a rule looks for, and the samples that prove it; empty if there is none."""
    if (check := check_of(fields)) is None:
        return []
    rows = [("breaks it", check.bad), ("keeps it", check.good)]
    return [str(check), *(f"{name}: {' '.join(text.split())}" for name, texts in rows for text in texts)]


def to_run(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What of a check is needed to run it, as `from_details` reads it; empty if there is none."""
    check = check_of(fields)
    if check is None:
        return {}
    with suppress(InvalidPattern):  # one that is not in force, as `validate` says
        check = check._replace(literal=LineRegex.of(check.regex).literal if check.regex else "")
    needed = check._replace(bad=(), good=())._asdict()
    return {key: list(value) if isinstance(value, tuple) else value for key, value in needed.items() if value}


def from_details(details: Mapping[str, Any]) -> Check | None:
    """The check that stands in `EntrySummary.details`, without its samples."""
    needed: dict[str, Any] = details.get("check") or {}
    parts: dict[str, Any] = {key: tuple(part) if isinstance(part, list) else part for key, part in needed.items()}
    return Check(**parts) if parts else None


def faults(fields: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the check of a rule: its form, its pattern, or what it does with its samples."""
    if fields.get("check") is None:
        return
    form = list(_form_faults(fields["check"]))
    yield from form
    check = None if form else check_of(fields)
    if check is None:
        return
    if not (check.bad and check.good):
        yield "check needs bad, a text that breaks the rule, and good, one that keeps it: they prove the pattern"
    if check.pattern and language_of(check) is None:
        yield f"check.files {', '.join(check.files) or '(none)'} names no language for the pattern: such as src/**/*.py"
    else:
        yield from _unproven(check)


def _form_faults(value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"check is not {', '.join(f'`{key}:`' for key in KEYS)}, one a line"
        return
    for key, part in value.items():
        single = isinstance(part, str) and bool(part.strip())
        several = isinstance(part, list) and bool(part) and all(isinstance(item, str) and item.strip() for item in part)
        if key not in KEYS:
            yield f"check has an unknown key {key!r}, besides {', '.join(KEYS)}"
        elif not (single or (several and key in {"files", "bad", "good"})):
            yield f"check.{key} is not text"
        elif key in {"bad", "good"} and (
            len(stated(part)) > MOST_SAMPLES or len("".join(stated(part))) > LONGEST_SAMPLE
        ):
            yield f"check.{key} is more than {MOST_SAMPLES} texts, or than {LONGEST_SAMPLE} characters"
        elif key not in {"bad", "good"} and len("".join(stated(part))) > LONGEST_PATTERN:
            yield f"check.{key} is longer than {LONGEST_PATTERN} characters"
    if bool(value.get("pattern")) is bool(value.get("regex")):
        yield "check has both pattern and regex" if value.get("regex") else "check has neither pattern nor regex"
    if value.get("enforce") not in {None, ASK, DENY}:
        yield f"check.enforce {value['enforce']!r} is neither {ASK} nor {DENY}"


def _unproven(check: Check) -> Iterator[str]:
    """What speaks against a check: its pattern is none, it is silent on `bad`, or fires on `good`."""
    for key, texts in (("bad", check.bad), ("good", check.good)):
        for number, text in enumerate(texts, 1):
            name = f"check.{key}" if len(texts) == 1 else f"check.{key} (number {number})"
            try:
                fires = any(matches(check, text))
            except ImportError:
                return  # without the extra nothing shows; `EXTRA` is a note of whoever asks
            except InvalidPattern as error:
                yield str(error)
                return
            if key == "bad" and not fires:
                yield f"the check does not fire on {name}, a text that breaks the rule"
            elif key == "good" and fires:
                yield f"the check fires on {name}, a text that keeps the rule"


def language_of(check: Check, path: str = "") -> str | None:
    """The language of a file as ast-grep calls it, or of the first file that the globs of a check can name."""
    ends = [name.rpartition(".")[2] for glob in ([path] if path else check.files) for name in re.split(r"[{},]", glob)]
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
    lines: frozenset[int] | None = None,
    hurry: Callable[[], bool] = lambda: False,
) -> Iterator[Match]:
    """Where a check fires in a text, of `lines` if given; of a text that is too large nowhere.

    `hurry` is asked between two steps, each of which takes at most part of a second: whether the time is over.

    Raises:
        InvalidPattern: the pattern is none.
        TooSlow: `hurry` said so.
        ImportError: a pattern needs ast-grep, which is not installed.
    """
    if len(text) > LARGEST or check.literal not in text:
        return
    unless = LineRegex.of(check.unless) if check.unless else None
    hits = _by_pattern(check, text, path) if check.pattern else LineRegex.of(check.regex).lines(text, lines, hurry)
    for count, (line, matched) in enumerate(hits):
        if count == MOST_MATCHES:
            return
        last = line + matched.count("\n")
        if lines is not None and lines.isdisjoint(range(line, last + 1)):
            continue
        if hurry():
            raise TooSlow
        if unless is None or not any(unless.fits(part) for part in matched.split("\n")):
            yield Match(line, last)


def _by_pattern(check: Check, text: str, path: str) -> Iterator[tuple[int, str]]:
    """Line and text of each node that fits the pattern of ast-grep."""
    language = language_of(check, path) or language_of(check)
    if language is None or not all(word in text for word in _words_of(check.pattern)):
        return
    from ast_grep_py import SgRoot  # noqa: PLC0415 - the home of an extra

    try:
        nodes = SgRoot(text, language).root().find_all(pattern=check.pattern)
    except RuntimeError as error:
        reason = next((row.strip() for row in str(error).split("\n") if row.strip().startswith("2: ")), "2: ")[3:]
        raise InvalidPattern(f"check.pattern {check.pattern!r} is no pattern of ast-grep: {reason}") from error
    for node in nodes:
        yield node.range().start.line + 1, node.text()


@lru_cache(maxsize=512)
def _words_of(pattern: str) -> tuple[str, ...]:
    """The words that stand in each text that fits a pattern of ast-grep."""
    return tuple(re.findall(r"[^\W\d]\w{2,}", re.sub(r"\$+\w*", " ", pattern)))


STEPS = 20_000_000  # most that Python's engine may take for one piece of a line: part of a second
LONGEST_PIECE, SHORTEST_PIECE = 2_000, 80
_ASCII = 128
_EXAMPLES = [*map(chr, range(_ASCII)), "é", "٣", "\u2003", "…"]
"""ASCII, and an example of each class beyond it: letters, digits, blanks, all else."""
_EVERY, _BEYOND = frozenset(_EXAMPLES), frozenset(_EXAMPLES[_ASCII:])
_SINGLE = {ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN}
_REPEATS = {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}
_CLASSES = {ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_SPACE: r"\s", ops.CATEGORY_WORD: r"\w"}
_CLASSES |= {ops.CATEGORY_NOT_DIGIT: r"\D", ops.CATEGORY_NOT_SPACE: r"\S", ops.CATEGORY_NOT_WORD: r"\W"}


class LineRegex:
    """A regex of Python's `re` that is run line by line, and cannot take for ever.

    Python's engine tries every way in which the open-ended parts of a regex can share a text. So what repeats must be
    of one form (`(a+)+` is refused), and the parts whose ends the text does not settle are counted: a line is looked at
    in overlapping pieces, so short that all ways through one come to `STEPS` at most. With four such parts no piece
    is long enough, and the regex is refused. A match in a longer line is seen if it is at most half of `piece` long.
    """

    def __init__(self, source: str) -> None:
        """Raises InvalidPattern."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                tree = _parser.parse(source)
                self._regex = re.compile(source)
            cost = _Cost(bool(tree.state.flags & re.IGNORECASE))
            items = cost.flat(tree)
            cost.add(items, frozenset())
        except (re.error, ValueError, RecursionError, OverflowError) as error:
            raise InvalidPattern(f"the regex {source!r} is none: {error}") from error
        self.piece = next((size for size in range(LONGEST_PIECE, 0, -10) if cost.steps(size) <= STEPS), 0)
        if self.piece < SHORTEST_PIECE:
            why = "its open-ended parts, such as `.*` and `x?`, can share a text in too many ways: use fewer"
            raise InvalidPattern(f"the regex {source!r} can take too long: {why}")
        self.literal = "" if cost.folds else _longest_literal(items)

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, source: str) -> LineRegex:
        """The regex, parsed once. Raises InvalidPattern."""
        return cls(source)

    def fits(self, line: str) -> bool:
        """Whether the regex matches in a line."""
        if len(line) <= self.piece:
            return self._regex.search(line) is not None
        for start in range(0, len(line), self.piece // 2):
            end = min(start + self.piece, len(line))
            match = self._regex.search(line, start, end)
            # the end of a piece is no end of the line: what reaches it is seen whole in the next one
            if match and (match.end() < end or end == len(line)):
                return True
        return False

    def lines(self, text: str, among: frozenset[int] | None, hurry: Callable[[], bool]) -> Iterator[tuple[int, str]]:
        """Number and text of each line that fits. Raises TooSlow."""
        number, at = 1, 0
        while at < len(text):
            if self.literal:
                place = text.find(self.literal, at)
                if place < 0:
                    return
                start = text.rfind("\n", at, place) + 1 or at
                number, at = number + text.count("\n", at, start), start
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line = text[at:end].removesuffix("\r")
            if among is None or number in among:
                if len(line) > self.piece and hurry():
                    raise TooSlow
                if self.fits(line):
                    yield number, line
            number, at = number + 1, end + 1
            if number % 512 == 0 and hurry():
                raise TooSlow


class _Cost:
    """How long a parsed regex can take. `open`: parts whose ends the text does not settle; `ways`: other choices."""

    def __init__(self, folds: bool) -> None:
        self.folds, self.open, self.ways, self.power = folds, 0, 1, 1

    def steps(self, length: int) -> int:
        """Most steps for a text of this length: a start, an end for each open part in order, and what is settled."""
        power: int = length**self.power  # in whole numbers: there may be more steps than a float can hold
        return self.ways * power // factorial(self.open)

    def flat(self, tree: Any) -> list[tuple[Any, Any]]:
        """The items of a regex in order, without groups. Raises InvalidPattern: what cannot be bounded."""
        items: list[tuple[Any, Any]] = []
        for op, value in tree:
            if op in {ops.GROUPREF, ops.GROUPREF_EXISTS}:
                raise InvalidPattern("a regex of a check has no references back to groups")
            if op is ops.SUBPATTERN and (value[1] or value[2]):
                raise InvalidPattern("flags such as (?i) stand at the beginning of the regex of a check")
            inner = value[3] if op is ops.SUBPATTERN else value if op is ops.ATOMIC_GROUP else None
            items += self.flat(inner) if inner is not None else [(op, value)]
        return items

    def add(self, items: Sequence[tuple[Any, Any]], after: frozenset[str] | None) -> None:
        """Count the items of a sequence; `after`: what can follow it, None: anything."""
        for at, (op, value) in enumerate(items):
            follows = self.first(items[at + 1 :], after)
            if op is ops.BRANCH:
                before, costs = (self.open, self.ways, self.power), []
                for branch in value[1]:
                    self.open, self.ways, self.power = before
                    self.add(self.flat(branch), follows)
                    costs.append((self.open, self.ways, self.power))
                self.open, self.ways, self.power = map(max, zip(*costs, strict=True))
                self.ways *= len(costs)
            elif op in {ops.ASSERT, ops.ASSERT_NOT}:
                self.add(self.flat(value[1]), frozenset())
            elif op in _REPEATS:
                self.repeat(value, follows)
        self.power = max(self.power, 1 + self.open)

    def repeat(self, value: tuple[int, int, Any], follows: frozenset[str] | None) -> None:
        least, most, inner = value
        body = self.flat(inner)
        if most > 1 and not all(op in _SINGLE or op is ops.AT or self.apart(op, branches) for op, branches in body):
            raise InvalidPattern("what a regex of a check repeats must not itself repeat, or be one of several forms")
        if most == 1:
            self.add(body, follows)
            self.ways *= 2
        else:
            again = self.first(body, None)
            if least != most and (again is None or follows is None or again & follows):
                self.open += 1
            else:
                self.power = max(self.power, 2 + self.open)  # it ends where the text says, once for each way so far

    def apart(self, op: Any, value: Any) -> bool:
        """Whether an item is a choice of plain texts that begin with different characters."""
        if op is not ops.BRANCH or self.folds:
            return False
        texts = [self.flat(branch) for branch in value[1]]
        plain = all(text and all(op in _SINGLE for op, _ in text) for text in texts)
        begins = [self.characters(*text[0]) for text in texts] if plain else []
        return plain and sum(map(len, begins)) == len(frozenset().union(*begins))

    def first(self, items: Sequence[tuple[Any, Any]], after: frozenset[str] | None) -> frozenset[str] | None:
        """The characters with which a match of these items can begin; None: it can be any."""
        begins: frozenset[str] = frozenset()
        for op, value in items:
            if op in _SINGLE:
                return begins | self.characters(op, value)
            if op is ops.AT:
                if value in {ops.AT_END, ops.AT_END_STRING}:
                    return begins
                continue
            if op not in _REPEATS:
                return None
            inner = self.first(self.flat(value[2]), None)
            if inner is None:
                return None
            begins |= inner
            if value[0]:
                return begins
        return None if after is None else begins | after

    def characters(self, op: Any, value: Any) -> frozenset[str]:
        """Which of `_EXAMPLES` an item of one character can be; too many rather than too few."""
        if op is ops.ANY:
            return _EVERY
        if op is ops.NOT_LITERAL:
            return _EVERY - {chr(value)} | _BEYOND
        if op is ops.LITERAL:
            letter = chr(value)
            cases = {letter, letter.lower()[0], letter.upper()[0]} if self.folds else {letter}
            beyond = {_EXAMPLES[_ASCII]} if self.folds and letter.isalpha() else set()
            return frozenset(character if character.isascii() else _alike(character) for character in cases) | beyond
        inside, exact = set[str](), set[str]()
        for kind, part in value:
            if kind is ops.CATEGORY:
                exact |= _class(_CLASSES[part])
            elif kind is ops.RANGE:
                for code in range(part[0], min(part[1], _ASCII - 1) + 1):
                    inside |= self.characters(ops.LITERAL, code)
                inside |= _BEYOND if part[1] >= _ASCII else set()
            elif kind is ops.LITERAL:
                inside |= self.characters(kind, part)
        if value and value[0][0] is ops.NEGATE:
            return _EVERY - exact - (inside - _BEYOND if not self.folds else set())
        return frozenset(inside | exact)


@lru_cache(maxsize=8)
def _class(escape: str) -> frozenset[str]:
    """Those examples that a class such as that of digits holds."""
    return frozenset(character for character in _EXAMPLES if re.match(escape, character))


def _alike(character: str) -> str:
    """The example of the class of a character beyond ASCII."""
    word, digit, blank, other = _EXAMPLES[_ASCII:]
    if character.isspace():
        return blank
    return digit if re.match(r"\d", character) else word if re.match(r"\w", character) else other


def _longest_literal(items: Sequence[tuple[Any, Any]]) -> str:
    """The longest text that stands in each match."""
    texts, text = [""], ""
    for op, value in items:
        text = text + chr(value) if op is ops.LITERAL else text if op is ops.AT else ""
        texts.append(text)
    return max(texts, key=len)


# --- drafts from a fix ---

_TOKEN = re.compile(r"""(?P<blank>\s*)(?P<token>\w+|'[^'\n]*'|"[^"\n]*"|[^\w\s])""")
ALIKE = 0.5  # Share of two lines that is the same, from which on one is taken for what the other became
MOST_LINES = 12  # of a part of a fix
SURROUNDING = (3, 2, 1, 0)  # Tokens beside the changed ones, the most telling first


def drafts(path: str, old: Sequence[str], new: Sequence[str], after: Sequence[str]) -> Iterator[Check]:
    """Checks that may tell the `old` lines of a part of a fix from the `new` ones, more specific first.

    `after`: the lines that follow it, for a sample where nothing takes the place of the old ones.
    """
    from difflib import SequenceMatcher  # noqa: PLC0415 - a list loads this module, too

    name = path.rpartition("/")[2]
    files = ("*." + name.rpartition(".")[2],) if "." in name else (name,)
    for line in [line for line in old[:MOST_LINES] if re.search(r"\w", line)]:
        ratios = [(SequenceMatcher(None, line.strip(), other.strip()).ratio(), other) for other in new[:MOST_LINES]]
        ratio, other = max(ratios, default=(0.0, ""))
        other = other if ratio >= ALIKE else ""
        good = other or next((other for other in (*new, *after) if re.search(r"\w", other)), "")
        samples: dict[str, Any] = {"bad": (line.strip(),), "good": (good.strip(),)}
        for regex, unless in dict.fromkeys(_generalised(line, other)):
            check = Check(files, regex=regex, unless=unless, **samples)
            if good and regex and len(line) <= LONGEST_PATTERN and not any(faults({"check": _stated(check)})):
                yield check


def _stated(check: Check) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in check._asdict().items() if value}


def _generalised(line: str, other: str) -> Iterator[tuple[str, str]]:
    """(regex, unless) of a line that became `other` (empty: that went)."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - as above

    tokens, new_tokens = ([(m["blank"], m["token"]) for m in _TOKEN.finditer(text.strip())] for text in (line, other))
    texts = [token for _, token in tokens]
    blocks = (
        SequenceMatcher(None, texts, [token for _, token in new_tokens], autojunk=False).get_opcodes() if other else []
    )
    changed = [(a, b) for op, a, b, _, _ in blocks if op in {"replace", "delete"}]
    added = [(a, new_tokens[c:d]) for op, a, _, c, d in blocks if op == "insert"]
    for start, end in changed:
        for beside in SURROUNDING:
            first = max(start - beside, 0)
            if any(re.search(r"\w", text) for text in texts[first : end + beside]):
                yield _regex(tokens[first : end + beside]), ""
    for at, inserted in added if not changed else ():
        call = _call_around(texts, at)
        words = [text for _, text in inserted if re.match(r"\w", text)]
        if call and words:
            yield _regex(tokens[call[0] : call[1] + 1]), _regex([("", words[0])])
    if not changed:
        call = _call_around(texts, len(texts))
        yield _regex(tokens), ""
        if call and not other:
            yield _regex(tokens[call[0] : call[1] + 1]), ""


def _call_around(texts: Sequence[str], at: int) -> tuple[int, int] | None:
    """The first and the last token of `name(` or `a.b.name(` of the call in which, or at whose end, a token stands."""
    depth = 0
    for end in range(min(at, len(texts)) - 1, 0, -1):
        depth += (texts[end] == ")") - (texts[end] == "(")
        if texts[end] == "(" and re.match(r"\w", texts[end - 1]) and (depth < 0 or at == len(texts)):
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
        parts.append(("" if not before else r"\s+" if words else r"\s*" if blank else "") + re.escape(token))
        before = token
    start, end = (r"\b" if re.search(edge, text) else "" for edge, text in ((r"^\w", tokens[0][1]), (r"\w$", before)))
    return start + "".join(parts) + end


def telling_word(regex: str) -> str:
    """The longest text that stands on each line that a regex fits; empty if there is none."""
    return LineRegex.of(regex).literal
