"""Every regular expression of the source takes time with the length of a text, not with its square.

Each is found in the source, and is given texts that are made of it: what may repeat in it is repeated, behind what
stands before it, and nothing follows that would fit. Growth is judged by the CPU time of this process at two lengths.
"""

from __future__ import annotations

import ast
import importlib
import re
import signal
import time
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import ai_lessons

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE = Path(ai_lessons.__file__).parent
PARSER: Any = importlib.import_module("re._parser")
OPS: Any = importlib.import_module("re._constants")

SHORT, LENGTH, TIMES = 600, 2_000, 4
TOO_MUCH = 2.5  # Times as long for one text as for TIMES parts of it: linear is 1, a square 4
QUICK = 0.000_16  # Seconds for a short text: of a square the longest takes 178 times as long, which is NOTHING
GROWS = (
    5  # Times as long for a short text as for a part of it: linear is TIMES, a square its square
)
PATIENCE = 15.0  # Seconds for all texts of an expression: the slowest of ours needs 3
TICK = 0.004  # Seconds: what the clock of some systems tells apart
NOTHING = 0.03  # Seconds: a square would need more for the longer text
SEARCHES = {"search", "findall", "finditer", "sub", "subn", "split"}
METHODS = {*SEARCHES, "match", "fullmatch"}
FLAGS_AT = {"split": 3, "sub": 4, "subn": 4}

CUT = {
    "model/failures.py: _IS_MESSAGE": "`shown_in` cuts each line",
    "model/languages.py: _ARABIC": "`stem` takes no long word",
    "approval/signatures.py: _OPTION": "what it is given is what `_SIGNER`, of which it is a part, has matched",
}
"""Expressions that are not linear, and what cuts their text before."""

COMPUTED = {
    "features/scripts/beside.py", "features/transfer/commands.py", "features/transfer/instruction_files.py",
    "app/versions_asked.py", "features/tiers/evaluation.py",
    "features/harvest/statements.py", "features/forget/target.py",
    "git/hooks.py", "git/network.py", "interfaces/output.py",
    "model/outcomes.py", "model/__init__.py",
    "features/anchors/code_lines.py", "features/anchors/offers.py", "features/anchors/pins.py",
    "model/code_comments.py", "model/command_forms.py", "model/config.py",
    "model/layout.py", "model/lessons.py",
    "search/tokens.py",
}  # fmt: skip
"""Where an expression is made of words that are known only when it runs: of literal words between bounds."""

PUMPS = (
    "a", "A", "0", "a ", "a\n", " ", "\n", "\t", " \n", "`", "``` ", "```\n", "[", "]", "](", "(", "<", "{", '"', "'",
    "\\", "a.", "a/", "a-", "_.", "-", "# ", "| ", "$ ", "a: ", "**", "“", "::",
)  # fmt: skip
SIGNS = "a0-_. /\\\"'`:=@\n\tZA(){}[]<>,;!?#*+|~$%&^é“"


class Found(NamedTuple):
    """An expression of the source, the name or line by which it is called, and what it is asked for."""

    name: str
    pattern: str | bytes
    flags: int
    methods: frozenset[str]


# --- find them ---


def value_of(node: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "source", "eval"), dict(names))  # noqa: S307 - our own source


def uses(tree: ast.Module) -> dict[str, set[str]]:
    """The methods that are called of each name."""
    called: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in METHODS
            and isinstance(node.value, ast.Name)
        ):
            called.setdefault(node.value.id, set()).add(node.attr)
    return called


@cache
def uses_elsewhere() -> dict[str, set[str]]:
    """The methods that any module calls of each public name, which it may import."""
    called: dict[str, set[str]] = {}
    for tree in sources().values():
        for name, methods in uses(tree).items():
            if not name.startswith("_"):
                called.setdefault(name, set()).update(methods)
    return called


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Each call that makes or asks an expression, and its name: `expression`, or a function of `re`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            if function == "expression" or function in {
                "re.compile",
                *(f"re.{method}" for method in METHODS),
            }:
                yield node, function.removeprefix("re.")


def is_cut(node: ast.Call, method: str) -> bool:
    """Whether the text that is matched is the beginning of one: `text[:MOST]`."""
    at = 2 if method in {"sub", "subn"} else 1
    text = node.args[at] if len(node.args) > at else None
    return (
        isinstance(text, ast.Subscript)
        and isinstance(text.slice, ast.Slice)
        and text.slice.upper is not None
    )


@cache
def sources() -> dict[str, ast.Module]:
    files = [file for file in SOURCE.rglob("*.py") if file.name != "__main__.py"]
    return {
        file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text("utf-8"))
        for file in sorted(files)
    }


def module_of(name: str) -> dict[str, Any]:
    dotted = ".".join(("ai_lessons", *Path(name).with_suffix("").parts)).removesuffix(".__init__")
    return vars(importlib.import_module(dotted))


@cache
def expressions() -> tuple[list[Found], set[str]]:
    """Every expression, and the files that have some which are known only when they run."""
    found, computed = list[Found](), set[str]()
    for file, tree in sources().items():
        names, called = module_of(file), uses(tree)
        owners = {
            id(call): target.id
            for node in tree.body
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
            for call in ast.walk(node.value)
        }
        for call, function in calls(tree):
            owner = owners.get(id(call), "")
            at = FLAGS_AT.get(function, 2 if function in METHODS else 1)
            stated = call.args[at : at + 1] or [
                word.value for word in call.keywords if word.arg == "flags"
            ]
            try:
                pattern = value_of(call.args[0], names)
                flags = int(value_of(stated[0], names)) if stated else 0
            except (NameError, TypeError, KeyError, SyntaxError):
                computed.add(file)
                continue
            if not isinstance(pattern, (str, bytes)):  # it was compiled before, and is tried there
                continue
            if function in METHODS:
                if is_cut(call, function):
                    continue
                methods = {function}
            else:
                methods = called.get(owner, set()) | uses_elsewhere().get(owner, set()) or {
                    "search"
                }
            label = owner or (
                ast.unparse(call.args[0])
                if isinstance(call.args[0], ast.Name)
                else f"line {call.lineno}"
            )
            found.append(Found(f"{file}: {label}", pattern, flags, frozenset(methods)))
    return found, computed


# --- make texts for one ---


def members(parts: Any) -> list[str]:
    """Signs that a class of signs has."""
    sign_class = re.compile("[" + "".join(map(in_class, parts)) + "]")
    first = [
        chr(value if op is OPS.LITERAL else value[0])
        for op, value in parts
        if op in {OPS.LITERAL, OPS.RANGE}
    ]
    return [sign for sign in SIGNS if sign_class.match(sign)] or first or ["a"]


def in_class(part: tuple[Any, Any]) -> str:
    op, value = part
    names = {
        OPS.CATEGORY_WORD: r"\w", OPS.CATEGORY_NOT_WORD: r"\W", OPS.CATEGORY_SPACE: r"\s",
        OPS.CATEGORY_NOT_SPACE: r"\S", OPS.CATEGORY_DIGIT: r"\d", OPS.CATEGORY_NOT_DIGIT: r"\D",
    }  # fmt: skip
    if op is OPS.NEGATE:
        return "^"
    if op is OPS.LITERAL:
        return re.escape(chr(value))
    if op is OPS.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return str(names[value])


def example(parts: Any, choice: int) -> str:
    """A text that about fits; another for each `choice`."""
    return "".join(part_of(op, value, choice) for op, value in parts)


def part_of(op: Any, value: Any, choice: int) -> str:
    if op is OPS.LITERAL:
        return chr(value)
    if op is OPS.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if op is OPS.ANY:
        return "a"
    if op is OPS.IN:
        signs = members(value)
        return signs[choice % len(signs)]
    if op is OPS.BRANCH:
        return example(value[1][choice % len(value[1])], choice)
    if op is OPS.SUBPATTERN:
        return example(value[3], choice)
    if op is OPS.ATOMIC_GROUP:
        return example(value, choice)
    if op in {OPS.MAX_REPEAT, OPS.MIN_REPEAT, OPS.POSSESSIVE_REPEAT}:
        times: int = max(value[0], min(choice, 1))
        return example(value[2], choice) * times
    return "'" if op is OPS.GROUPREF else ""


def repeated(parts: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """What may repeat in an expression, and a text that fits what stands before it."""
    for op, value in parts:
        inner: list[Any] = []
        if op in {OPS.MAX_REPEAT, OPS.MIN_REPEAT, OPS.POSSESSIVE_REPEAT}:
            inner = [value[2]]
            if value[1] > 16:
                every = {example(value[2], choice) for choice in range(3)}
                only, *others = value[2]
                if not others and only[0] is OPS.IN:
                    every |= set(members(only[1])[:12])
                elif not others and only[0] in {OPS.ANY, OPS.NOT_LITERAL}:
                    every |= {" ", "\n", "`"}
                yield from ((before, pump) for pump in every if pump)
        elif op is OPS.BRANCH:
            inner = value[1]
        elif op is OPS.SUBPATTERN:
            inner = [value[3]]
        elif op is OPS.ATOMIC_GROUP:
            inner = [value]
        elif op in {OPS.ASSERT, OPS.ASSERT_NOT}:
            inner = [value[1]]
        for each in inner:
            yield from repeated(each, before)
        before += part_of(op, value, 1)


def texts(found: Found) -> set[tuple[str, str]]:
    """Beginnings, and what is repeated behind them."""
    pattern = found.pattern if isinstance(found.pattern, str) else found.pattern.decode("latin-1")
    parts = PARSER.parse(pattern, found.flags)
    made = {("", pump) for pump in PUMPS}
    for before, pump in set(repeated(parts)):
        made |= {
            (before, pump),
            ("\n" + before, pump),
            ("", before + pump),
            ("", before + pump + "\n"),
        }
        made |= {(before, pump + "\n"), (before, pump + " "), ("", before + pump + " ")}
    whole = {example(parts, choice) for choice in range(3)}
    made |= {("", text + end) for text, end in product(whole, ("", "\n", " ")) if text}
    return made | {("", text[:-1]) for text in whole if len(text) > 1}


# --- and take the time ---


class TooSlow(Exception):
    """A text took so long that its expression cannot be linear."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Stop what takes more CPU time of this process."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Hostile(NamedTuple):
    """A text of any length: its beginning, what is repeated behind it, and its end."""

    before: str
    pump: str
    end: str

    def of(self, size: int) -> str:
        """The text of about this many signs."""
        return self.before + self.pump * (size // len(self.pump) + 1) + self.end


def look(
    compiled: Any, method: str, text: str, clock: Callable[[], float] = time.process_time
) -> float:
    """The time of one look through a text."""
    subject: Any = text.encode("utf-8", "replace") if isinstance(compiled.pattern, bytes) else text
    began = clock()
    if method == "finditer":
        for _ in compiled.finditer(subject):
            pass
    else:
        getattr(compiled, method)(subject)
    return clock() - began


def is_quick(compiled: Any, method: str, text: Hostile) -> bool:
    """Whether a short text shows that a long one cannot take long: what passes here is not measured again.

    The time of day is enough for that: less of it has passed than the process could have used.
    """
    clock, little = time.perf_counter, text.of(SHORT)
    for _ in range(3):
        taken = look(compiled, method, little, clock)
        if taken < QUICK or taken < GROWS * look(compiled, method, text.of(SHORT // TIMES), clock):
            return True
    return False


def growth(compiled: Any, method: str, text: Hostile) -> float:
    """How many times as long it takes for a text as for TIMES parts of it; 0 where that is next to nothing."""
    short, long = text.of(LENGTH), text.of(LENGTH * TIMES)
    much = min(look(compiled, method, long) for _ in range(3))
    if much < NOTHING:
        return 0.0
    little = min(sum(look(compiled, method, short) for _ in range(TIMES)) for _ in range(3))
    return much / max(little, TICK)


def ways(found: Found) -> list[str]:
    """What is asked of an expression, by the ways that differ in how far they look."""
    searches = found.methods & SEARCHES
    # to find every match is to search time and again, and to search is to match at each place
    scans = "finditer" if searches - {"search"} else "search" if searches else "match"
    others = {"fullmatch"} if "fullmatch" in found.methods else set[str]()
    return sorted(others | ({scans} if found.methods != {"fullmatch"} else set()))


def faults(found: Found) -> list[tuple[float, str, Hostile]]:
    """The first text for which an expression takes time with the square of its length."""
    compiled = re.compile(found.pattern, found.flags)
    every = product(ways(found), sorted(texts(found)), ("", "\0"))
    method, text = "", Hostile("", "", "")
    try:
        with at_most(PATIENCE):
            for method, (before, pump), end in every:
                text = Hostile(before, pump, end)
                if is_quick(compiled, method, text):
                    continue
                # a busy machine may be slow once: it fails what is slow each time
                times = min(growth(compiled, method, text) for _ in range(2))
                if times > TOO_MUCH:
                    return [(times, method, text)]
    except TooSlow:
        return [(float("inf"), method, text)]
    return []


AREAS = sorted({name.partition("/")[0] for name in sources()})


@pytest.mark.parametrize("area", AREAS)
def test_an_expression_takes_time_with_the_length_of_a_text(area: str) -> None:
    slow = {
        found.name: fault
        for found in expressions()[0]
        if found.name.partition("/")[0] == area and found.name not in CUT
        for fault in faults(found)
    }
    assert not slow


def test_what_is_not_linear_is_there_and_the_test_finds_it() -> None:
    by_name = {found.name: found for found in expressions()[0]}
    assert by_name.keys() >= CUT.keys()
    square = Found("", r"\s+$", 0, frozenset({"search"}))
    assert faults(square)
    assert faults(square._replace(pattern=rb"<!--.*?-->", flags=re.DOTALL))
    assert not faults(square._replace(pattern=r"(?<!\s)\s+$"))


def test_the_expressions_that_are_made_while_it_runs_are_in_few_modules() -> None:
    # features may be taken out
    assert expressions()[1] == {name for name in COMPUTED if (SOURCE / name).exists()}
