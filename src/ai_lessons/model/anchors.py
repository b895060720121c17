"""Anchors: which code and versions an entry speaks of, and whether a text still has them as they were. Pure.

Reads texts that it is given; `app.code_folder` finds them on the disk and in git's history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.definitions import LONGEST, definition, plain

# Anchors of an entry
MOST = 5


class Verdict(StrEnum):
    """What became of an anchor, the best first.

    `elsewhere`: this is not that code, so nothing is known.
    """

    ELSEWHERE = "elsewhere"
    HOLDS = "holds"
    MOVED = "moved"
    CHANGED = "changed"
    OUT_OF_RANGE = "out-of-range"
    GONE = "gone"

    @property
    def rank(self) -> int:
        """Its place among them."""
        return list(Verdict).index(self)


SILENCED = frozenset({Verdict.GONE, Verdict.OUT_OF_RANGE})
"""Verdicts that keep a lesson from those who did not ask."""


class Anchor(NamedTuple):
    """A place in code: `path`, perhaps a `symbol` or key in it and its `value`.

    Or `versions` of a `package`.

    `seen` is the fingerprint of the symbol's text, `repository` the name of the code that the path
    lies in.
    """

    path: str = ""
    symbol: str = ""
    value: str | None = None
    package: str = ""
    versions: str = ""
    seen: str = ""
    repository: str = ""

    def __str__(self) -> str:
        if self.package:
            return self.package + self.versions
        return (
            self.path
            + (f"::{self.symbol}" if self.symbol else "")
            + ("" if self.value is None else f"={self.value}")
        )

    @property
    def fields(self) -> dict[str, str]:
        """Its keys in frontmatter."""
        stated = {
            "package" if self.package else "code": str(self),
            "seen": self.seen,
            "in": self.repository,
        }
        fields: dict[str, str] = {}
        for key, value in stated.items():
            if value:
                fields[key] = value
        return fields


_PACKAGE = expression(
    r"(?P<package>[a-z]+/(?:@[\w.-]+/)?[A-Za-z0-9][\w./-]*?)\s*(?P<versions>[<>=!~^][\w\s.,<>=!~^*|+-]*)"
)
_GLOB, _COMMAND = expression(r"[*?\[{]"), "command:"
_SYMBOL = expression(r"[^\s=:\x00-\x1f](?:[^\s=:\x00-\x1f]|:(?!:))*")
_PATH = expression(r"[^\x00-\x1f\x7f\\]+")


def parse(text: str) -> Anchor:
    """The anchor that a text names. Raises ValueError: it is none; says why."""
    text = text.strip()
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    if package := _PACKAGE.fullmatch(text):
        return Anchor(package=package["package"], versions="".join(package["versions"].split()))
    path, mark, tail = text.partition("::")
    path = path.removeprefix("./").rstrip("/") + "/" * (path.endswith("/") and path != "/")
    if (
        not _PATH.fullmatch(path)
        or path.startswith(("/", "~"))
        or {".", "..", ""} & {*path.rstrip("/").split("/")}
    ):
        raise ValueError("a path is relative to the top of its repository, with `/`")
    symbol, equals, value = tail.partition("=")
    symbol = symbol.strip()
    if mark and not _SYMBOL.fullmatch(symbol):
        raise ValueError("after `::` stands a name, such as Class.method")
    return Anchor(path, symbol, value.strip() if equals else None)


def sorted_out(texts: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """What people write in `--about`: code and packages, globs of files, and commands.

    A command is written `command: gh pr create`.
    """
    code, globs, commands = list[str](), list[str](), list[str]()
    for text in dict.fromkeys(map(str.strip, texts)):
        if text.startswith(_COMMAND):
            commands.append(" ".join(text.removeprefix(_COMMAND).strip("` ").split()))
        elif "::" not in text and _GLOB.search(text) and not _PACKAGE.fullmatch(text):
            globs.append(text)
        else:
            code.append(text)
    return code, globs, commands


def commands_of(stated: object) -> tuple[str, ...]:
    """The commands that a value of `about` names."""
    items = stated[:MOST] if isinstance(stated, list) else ()
    return tuple(
        item["command"]
        for item in items
        if isinstance(item, dict) and "command" in item and not _fault(item)
    )


def anchors_of(stated: object) -> tuple[Anchor, ...]:
    """The anchors in a value of `about`; what is none is left out."""
    anchors = list[Anchor]()
    for item in stated[:MOST] if isinstance(stated, list) else ():
        if not _fault(item) and "command" not in item:
            text, seen, repository = (
                item.get("code") or item["package"],
                item.get("seen"),
                item.get("in"),
            )
            anchors.append(
                parse(text)._replace(seen=str(seen or ""), repository=str(repository or ""))
            )
    return tuple(anchors)


def faults(value: object) -> Iterator[str]:
    """What is wrong with the value of `about`."""
    if not isinstance(value, list):
        yield "about is not a list of `- code: path::symbol`, `- package: pypi/name<version` or `- command: git push`"
        return
    if len(value) > MOST:
        yield f"about has {len(value)} anchors, more than {MOST}"
    yield from filter(None, map(_fault, value))


def _fault(item: object) -> str:
    """Why an item of `about` is no anchor; empty if it is one."""
    if isinstance(item, dict):
        keys = {"code", "package", "command"} & item.keys()
    else:
        keys = set()
    if not isinstance(item, dict) or len(keys) != 1 or item.keys() - {*keys, "seen", "in"}:
        return f"about holds {item!r}, which is not `code:`, `package:` or `command:`, with `seen:` and `in:` beside it"
    if not all(isinstance(value, str) for value in item.values()):
        return f"about holds {item!r}, which is not text: put it in quotes"
    key = next(iter(keys))
    if key == "command":
        fits = (
            re.fullmatch(r"[^\s\x00-\x1f-][^\x00-\x1f]*", item[key]) and len(item[key]) <= LONGEST
        )
        if fits:
            return ""
        return (
            f"about {item[key]!r} is no command: the program and its next words, such as git push"
        )
    try:
        anchor = parse(item[key])
    except ValueError as error:
        return f"about {item[key]!r} is no anchor: {error}"
    fits = bool(anchor.package) == (key == "package")
    if fits:
        return ""
    return (
        f"about {item[key]!r} is no {'package with its versions' if key == 'package' else 'path'}"
    )


class State(NamedTuple):
    """How a file has a symbol.

    A fingerprint of its meaning, and its value where it has a plain one.

    `documented`: the fingerprint with docstrings, as entries of version 0.1 state it.
    """

    fingerprint: str
    value: str | None = None
    documented: str = ""


UNREADABLE = State("unreadable")
"""Of a file of Python that this Python cannot parse, mostly because it is being edited.

Nothing is known of it.
"""


def state(path: str, text: str, symbol: str) -> State | None:
    """How a file has a symbol; None: not at all. Without a symbol only that there is a file."""
    part = None
    if symbol:
        part = definition(path, text, symbol)
    if not symbol or part is None:
        if symbol:
            return None
        return State("")
    if not part.lines:
        return UNREADABLE
    meant, documented = (
        sha256(text.encode("utf-8", "replace")).hexdigest()[:8] if text else ""
        for text in (part.meaning, part.documented)
    )
    return State(meant, part.value, documented)


def judged(anchor: Anchor, now: State | None) -> Verdict:
    """Whether a symbol is still as the anchor has it."""
    if now is None or now == UNREADABLE:
        if now is None:
            return Verdict.GONE
        return Verdict.ELSEWHERE
    if anchor.value is not None:
        if now.value == plain(anchor.value):
            return Verdict.HOLDS
        return Verdict.CHANGED
    if anchor.seen in {"", now.fingerprint, now.documented}:
        return Verdict.HOLDS
    return Verdict.CHANGED


_MANIFEST = expression(
    r"(?:.*/)?(?:pyproject\.toml|setup\.(?:py|cfg)|[\w-]*requirements[\w-]*\.(?:txt|in)|package\.json|Cargo\.toml|go\.mod)"
)
_INSTALL = r"(?m)(?:^|[|;&])[ \t]*(?!git\b)(?:[^\s|;&]+[ \t]+){1,3}?(?:add|install|i|get|require)[ \t][^|;&\n]*?"
_IMPORT = r"(?m)^[ \t]*(?:(?:import|from|use|export)\b.*?|.*\b(?:require|import)[ \t]*\([\"' \t]*|(?:[\w.]+[ \t]+)?\")"


def brings(package: str, path: str, text: str) -> bool:
    r"""Whether a command line installs a package, or a file that is written asks for it.

    A command line has no `path`. To import a package is to ask for it.

    >>> brings("pypi/typing-extensions", "", "uv add 'typing_extensions>=4'"), brings("npm/ms", "", "git add ms")
    (True, False)
    >>> brings("pypi/click", "a.py", "import os\nfrom click.testing import run"), brings("pypi/click", "a.py", "click")
    (True, False)
    """
    name = r"[-_.]+".join(map(re.escape, re.split(r"[-_.]+", package.partition("/")[2])))
    if path and not _MANIFEST.fullmatch(path):
        before = _IMPORT
    elif path:
        before = ""
    else:
        before = _INSTALL
    return re.search(rf"{before}(?<![\w./@-]){name}(?![\w-])", text, re.IGNORECASE) is not None


_A_WORD = expression(r"\d+(?:\.\d+)*%?|[^\W\d]\w*")
_GROUPED = expression(r"(?<=\d)[_,](?=\d{3})")


def still_stated(text: str, old: str, new: str, *, value: bool) -> list[str]:
    """What of the old code a text still states, and does not state as it is now.

    Of the `value` of a constant any word; of other code its numbers, and the words that the text
    has in backticks.

    >>> still_stated("The rate is 19 %, read from `RATE`.", "0.19", "0.21", value=True)
    ['19%']
    """
    quoted = " ".join(re.findall(r"`([^`\n]+)`", text))
    stated, marked = (_words(re.sub(r"(?<=\d) %| percent\b", "%", x)) for x in (text, quoted))
    before, after = _words(old, shares=True), _words(new)
    if value and after - before and after - before <= stated:
        return []
    plainly = set()
    for word in stated:
        if word[0].isdigit() or (value and len(word) > 2):
            plainly.add(word)
    return sorted((before - after) & (plainly | marked))


def _words(text: str, *, shares: bool = False) -> set[str]:
    words = set()
    for word in _A_WORD.findall(_GROUPED.sub("", text)):
        words.add(word.lower())
    return words | {f"{float(x) * 100:g}%" for x in words if shares and re.fullmatch(r"0\.\d+", x)}


def in_range(versions: str, used: str) -> bool:
    """Whether a version, or range of versions, in use is among those of an anchor.

    As far as can be known.
    """
    from ai_lessons.model.versions import score  # noqa: PLC0415  # few entries name versions

    ours, theirs = versions.replace(",", " "), used.replace(",", " ")
    return not re.search(r"\d", theirs) or score({theirs}, {ours}) is not None


# --- what a file defines ---


# --- other languages: a line like a definition, and its block ---


# --- what of a source file is code, and what is a comment or a string, by the kind of file; no
# language is parsed ---
