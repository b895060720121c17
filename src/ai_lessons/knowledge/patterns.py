"""The parser of typed patterns: `WHEN … -> DO … -> BECAUSE …`."""

from __future__ import annotations

import re
from itertools import accumulate

from ai_lessons.errors import UsageError
from ai_lessons.knowledge.entries import Pattern
from ai_lessons.knowledge.texts import one_line

GRAMMAR = "WHEN … -> DO … -> BECAUSE …, or DO NOT in place of DO"
TITLE_LENGTH = 100  # characters of the title that a pattern gives
_BRACKETS = 10  # pairs of brackets round a part that are taken away
_END = r"(?=\s|\[|->|→|$)"
_ARROW = r"(?:->|→)\s*"
_NOT = re.compile(rf"NOT{_END}", re.IGNORECASE)
_WHEN = re.compile(rf"\s*WHEN{_END}", re.IGNORECASE)
_DO = re.compile(rf"{_ARROW}(?:(?P<not>DO\s+NOT|DON['\u2019]?T)|DO){_END}", re.IGNORECASE)
_BECAUSE = re.compile(rf"{_ARROW}BECAUSE{_END}", re.IGNORECASE)
_WITHOUT_ARROW = {
    "DO": re.compile(rf"(?<!\S)(?:DO|DON['\u2019]?T){_END}", re.IGNORECASE),
    "BECAUSE": re.compile(rf"(?<!\S)BECAUSE{_END}", re.IGNORECASE),
}


def parse(text: str) -> Pattern:
    """The pattern that a text states. Raises UsageError: a part is missing or empty, with its line and column."""
    when = _WHEN.match(text)
    if when is None:
        fault = "the pattern does not begin with WHEN" if text.strip() else "the pattern is empty"
        raise _fault(text, len(text) - len(text.lstrip()), fault)
    do = _DO.search(text, when.end())
    because = _BECAUSE.search(text, when.end())
    if do is None or (because is not None and because.start() < do.start()):
        raise _missing(text, when.end(), because, do, "DO")
    because = _BECAUSE.search(text, do.end())
    if because is None:
        raise _missing(text, do.end(), None, None, "BECAUSE")
    verb = "DO NOT" if do["not"] else "DO"
    spans = {"WHEN": (when.end(), do.start()), verb: (do.end(), because.start()), "BECAUSE": (because.end(), len(text))}
    for name, (start, end) in spans.items():
        if not part(text[start:end]):
            raise _fault(text, start, f"{name} is empty")
    action, negative = _action(text[do.end() : because.start()], negative=bool(do["not"]))
    if not action:
        raise _fault(text, do.end(), "DO NOT is empty")
    return Pattern(part(text[when.end() : do.start()]), action, part(text[because.end() :]), negative)


def build(when: str | None, do: str | None, dont: str | None, because: str | None) -> Pattern:
    """The pattern whose parts are given one by one. Raises UsageError: they make none, or another one."""
    if do is not None and dont is not None:
        raise UsageError("a pattern has DO or DO NOT, not both", hint="give one of --do and --dont")
    by_name = {"WHEN": when, "DO": do if dont is None else dont, "BECAUSE": because}
    missing = [name for name, value in by_name.items() if value is None or not part(value)]
    if missing:
        parts = " and ".join(missing).replace("DO", "DO or DO NOT")
        raise UsageError(f"the pattern has no {parts}", hint="give --when, --do or --dont, and --because")
    action, negative = _action(by_name["DO"] or "", negative=dont is not None)
    if not action:
        raise UsageError("DO NOT is empty", hint="give --when, --do or --dont, and --because")
    pattern = Pattern(part(when or ""), action, part(because or ""), negative)
    if parse(str(pattern)) != pattern:
        fault = "a part of the pattern holds the arrow and word of the next part"
        raise UsageError(fault, hint=f"one of each: {GRAMMAR}")
    return pattern


def part(text: str) -> str:
    """One part: white space made single, brackets round the whole of it taken away."""
    words = " ".join(text.split())
    for _ in range(_BRACKETS):
        words = words[1:-1].strip() if _bracketed(words) else words
    return words


def title_of(pattern: Pattern) -> str:
    """What stands in for a title: `editing tmux.conf: read first`, at most `TITLE_LENGTH` characters."""
    return one_line(f"{pattern.when}: {'do not ' if pattern.negative else ''}{pattern.action}", TITLE_LENGTH)


def _action(text: str, *, negative: bool) -> tuple[str, bool]:
    """The action, and whether it is forbidden: `DO [not this]` says DO NOT as well."""
    action = part(text)
    while not negative and (match := _NOT.match(action)):
        action, negative = part(action[match.end() :]), True
    return action, negative


def _bracketed(text: str) -> bool:
    """Whether the bracket at the beginning is closed by the one at the end: not so in `[a] or [b]`."""
    depths = list(accumulate((character == "[") - (character == "]") for character in text))
    return text.startswith("[") and text.endswith("]") and 0 in depths and depths.index(0) == len(text) - 1


def _missing(text: str, start: int, because: re.Match[str] | None, do: re.Match[str] | None, name: str) -> UsageError:
    """What to say of a DO or BECAUSE that is not where it belongs, after `start`."""
    if because is not None and do is not None:
        return _fault(text, because.start(), "BECAUSE stands before DO")
    bare = _WITHOUT_ARROW[name].search(text, start, because.start() if because else len(text))
    if bare is not None:
        return _fault(text, bare.start(), f"{bare[0].upper()} has no arrow (->) before it")
    if because is not None:
        return _fault(text, because.start(), "the pattern has no DO or DO NOT before BECAUSE")
    missing = "DO or DO NOT" if name == "DO" else name
    return _fault(text, len(text.rstrip()), f"the pattern has no {missing}; it ends")


def _fault(text: str, position: int, fault: str) -> UsageError:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    where = f"column {column}" if "\n" not in text.strip() and line == 1 else f"line {line}, column {column}"
    return UsageError(f"{fault} at {where}", hint=f"write {GRAMMAR}")
