"""Anchors as they are written: places in code, values, packages with versions, and commands. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Anchors of an entry
MOST = 5
# Characters of one
LONGEST = 300

_PACKAGE = expression(
    r"(?P<package>[a-z]+/(?:@[\w.-]+/)?[A-Za-z0-9][\w./-]*?)\s*(?P<versions>[<>=!~^][\w\s.,<>=!~^*|+-]*)"
)
_GLOB, _COMMAND_MARK = expression(r"[*?\[{]"), "command:"
_COMMAND = expression(r"[^\s\x00-\x1f-][^\x00-\x1f]*")
_SYMBOL = expression(r"[^\s=:\x00-\x1f](?:[^\s=:\x00-\x1f]|:(?!:))*")
_PATH = expression(r"[^\x00-\x1f\x7f\\]+")

CODE, PACKAGE, COMMAND, SEEN, IN = "code", "package", "command", "seen", "in"
_SORTS = frozenset({CODE, PACKAGE, COMMAND})


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
        text = self.path
        if self.symbol:
            text += f"::{self.symbol}"
        if self.value is not None:
            text += f"={self.value}"
        return text

    @property
    def fields(self) -> dict[str, str]:
        """Its keys in frontmatter."""
        sort = PACKAGE if self.package else CODE
        fields = {sort: str(self)}
        if self.seen:
            fields[SEEN] = self.seen
        if self.repository:
            fields[IN] = self.repository
        return fields


def parse(text: str) -> Anchor:
    """The anchor that a text names. Raises ValueError: it is none; says why."""
    text = text.strip()
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    package = _PACKAGE.fullmatch(text)
    if package:
        return Anchor(package=package["package"], versions="".join(package["versions"].split()))
    path, mark, tail = text.partition("::")
    symbol, equals, value = tail.partition("=")
    symbol = symbol.strip()
    path = _plain_path(path)
    if mark and not _SYMBOL.fullmatch(symbol):
        raise ValueError("after `::` stands a name, such as Class.method")
    if equals:
        return Anchor(path, symbol, value.strip())
    return Anchor(path, symbol)


def _plain_path(path: str) -> str:
    """A path without `./`, with one `/` at its end at most. Raises ValueError."""
    is_folder = path.endswith("/") and path != "/"
    bare = path.removeprefix("./").rstrip("/")
    plain = f"{bare}/" if is_folder else bare
    is_outside = plain.startswith(("/", "~")) or not {".", "..", ""}.isdisjoint(bare.split("/"))
    if is_outside or not _PATH.fullmatch(plain):
        raise ValueError("a path is relative to the top of its repository, with `/`")
    return plain


def sorted_out(texts: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """What people write in `--about`: code and packages, globs of files, and commands.

    A command is written `command: gh pr create`.
    """
    code, globs, commands = list[str](), list[str](), list[str]()
    for text in dict.fromkeys(map(str.strip, texts)):
        if text.startswith(_COMMAND_MARK):
            words = text.removeprefix(_COMMAND_MARK).strip("` ").split()
            commands.append(" ".join(words))
        elif "::" not in text and _GLOB.search(text) and not _PACKAGE.fullmatch(text):
            globs.append(text)
        else:
            code.append(text)
    return code, globs, commands


def commands_of(stated: object) -> tuple[str, ...]:
    """The commands that a value of `about` names."""
    commands = []
    for item in _items(stated):
        if COMMAND in item:
            commands.append(item[COMMAND])
    return tuple(commands)


def anchors_of(stated: object) -> tuple[Anchor, ...]:
    """The anchors in a value of `about`; what is none is left out."""
    anchors = []
    for item in _items(stated):
        if COMMAND in item:
            continue
        anchor = parse(item.get(CODE) or item[PACKAGE])
        anchors.append(anchor._replace(seen=item.get(SEEN, ""), repository=item.get(IN, "")))
    return tuple(anchors)


def _items(stated: object) -> Iterator[dict[str, str]]:
    """The items of a value of `about` that can be read."""
    if isinstance(stated, list):
        for item in stated[:MOST]:
            if not _fault(item):
                yield item


def faults(value: object) -> Iterator[str]:
    """What is wrong with the value of `about`."""
    if not isinstance(value, list):
        yield (
            "about is not a list of `- code: path::symbol`, `- package: pypi/name<version` "
            "or `- command: git push`"
        )
        return
    if len(value) > MOST:
        yield f"about has {len(value)} anchors, more than {MOST}"
    for item in value:
        fault = _fault(item)
        if fault:
            yield fault


def _fault(item: object) -> str:
    """Why an item of `about` is no anchor; empty if it is one."""
    sorts = _SORTS & item.keys() if isinstance(item, dict) else set()
    if not isinstance(item, dict) or len(sorts) != 1 or item.keys() - {*sorts, SEEN, IN}:
        return (
            f"about holds {item!r}, which is not `code:`, `package:` or `command:`, "
            "with `seen:` and `in:` beside it"
        )
    if not all(isinstance(value, str) for value in item.values()):
        return f"about holds {item!r}, which is not text: put it in quotes"
    sort = next(iter(sorts))
    if sort == COMMAND:
        return _fault_of_command(item[COMMAND])
    try:
        anchor = parse(item[sort])
    except ValueError as error:
        return f"about {item[sort]!r} is no anchor: {error}"
    if bool(anchor.package) == (sort == PACKAGE):
        return ""
    what = "package with its versions" if sort == PACKAGE else "path"
    return f"about {item[sort]!r} is no {what}"


def _fault_of_command(text: str) -> str:
    if _COMMAND.fullmatch(text) and len(text) <= LONGEST:
        return ""
    return f"about {text!r} is no command: the program and its next words, such as git push"


def last_part(symbol: str) -> str:
    """The name of a symbol without what it is in."""
    return re.split(r"\.|::", symbol)[-1]
