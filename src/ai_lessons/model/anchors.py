"""Anchors: which code and versions an entry speaks of, and whether a text still has them as they were. Pure.

Reads texts that it is given; `app.anchors` finds them on the disk and in git's history.
"""

from __future__ import annotations

import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.texts import toml

# Anchors of an entry
MOST = 5
# Characters of one
LONGEST = 300
# Characters of a file that is looked into
LARGEST = 1 << 20
# Characters of a file of Python, which takes a second to parse
_LARGEST_PYTHON = 256 << 10
# Characters of a definition of Python; of a longer one the text stands for its syntax tree
_LARGEST_MEANING = 64 << 10
# Keys of a file that are looked at
_MOST_KEYS = 20_000
# Characters of a line that is looked at
_WIDEST = 2_000


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


class Definition(NamedTuple):
    """What a file has under a name.

    Its text, `lines` (first and last, from 1) of each part, and its value, if plain.

    `meaning` is what of the text counts: without comments and blanks, of Python its syntax tree
    without docstrings.
    """

    text: str
    lines: tuple[tuple[int, int], ...]
    meaning: str
    value: str | None = None
    # The meaning with docstrings, where there are any
    documented: str = ""


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
    """What people write in `--about`: code and packages, globs of files, and commands (`command.

    Gh pr create`).
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
    r"""Whether a command line (without a `path`) installs a package, or a file that is written asks for or imports it.

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
    """Whether a version, or range of versions, in use is among those of an anchor, as far as can be known."""
    from ai_lessons.model.versions import score  # noqa: PLC0415  # few entries name versions

    ours, theirs = versions.replace(",", " "), used.replace(",", " ")
    return not re.search(r"\d", theirs) or score({theirs}, {ours}) is not None


def plain(text: str) -> str:
    """A value as it is compared.

    Without quotes and blanks around it, lists and tables as JSON writes them.
    """
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and text[0] not in text[1:-1]:
        return text[1:-1]
    try:
        return _shown(json.loads(text))
    except (ValueError, RecursionError):
        if text in {"True", "False"}:
            return text.lower()
        return " ".join(text.split())


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)


# --- what a file defines ---

_VALUES: Mapping[str, Callable[[str], Any]] = {".toml": toml, ".json": json.loads, ".lock": toml}


def definition(path: str, text: str, name: str) -> Definition | None:
    """What a file has under a name or key (the end of a key's path will do, if it is one alone).

    None: nothing.

    Of Python that cannot be parsed a definition without lines.
    """
    if len(text) > LARGEST:
        return None
    if path.endswith((".py", ".pyi")):
        nodes = _python_nodes(text)
        if nodes is None:
            return Definition("", (), "")
        if name in nodes:
            return _of_nodes(text, nodes[name])
        return None
    if style(path) == "keys":
        entries = _keys(path, text)
        matches = []
        for key in entries:
            if key.endswith(f".{name}"):
                matches.append(key)
        return entries.get(name) or (entries[matches[0]] if len(matches) == 1 else None)
    return _by_lines(path, text, name)


def names(path: str, text: str) -> list[str]:
    """The names or keys that a file defines, as far as they can be listed."""
    if len(text) > LARGEST:
        return []
    if path.endswith((".py", ".pyi")):
        names: list[str] = []
        for name in _python_nodes(text) or ():
            if not name.endswith(_DOC):
                names.append(name)
        return names
    if style(path) == "keys":
        return list(_keys(path, text))
    return list(dict.fromkeys(match[1] for match in re.finditer(_LISTED, skeleton(path, text))))


_DOC = "__doc__"


def _python_nodes(text: str) -> dict[str, list[Any]] | None:
    """The nodes of functions, classes, methods and constants by their names; None: it is no Python.

    `Class.method`, and `Class.method.__doc__` for its docstring.
    """
    import ast  # noqa: PLC0415  # a look that finds nothing changed needs none of it

    nodes: dict[str, list[Any]] = {}
    if len(text) > _LARGEST_PYTHON or text.count("{") > 20_000:
        # a long f-string takes time with their square
        return None

    def visit(body: Iterable[Any], within: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                nodes.setdefault(within + node.name, []).append(node)
                if doc := _docstring(node):
                    nodes[f"{within}{node.name}.{_DOC}"] = doc
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{within}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        nodes.setdefault(within + target.id, []).append(node)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                blocks = []
                for key in ("body", "orelse", "finalbody"):
                    blocks.append(getattr(node, key, ()))
                for block in (
                    *blocks,
                    *(handler.body for handler in getattr(node, "handlers", ())),
                ):
                    visit(block, within)

    try:
        with warnings.catch_warnings():
            # Python warns of odd escapes in other people's code
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        if doc := _docstring(module):
            nodes[_DOC] = doc
        visit(module.body, "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return nodes


def _docstring(node: Any) -> list[Any]:
    """The statement that is the docstring of a module, class or function, if it has one."""
    first = next(iter(node.body), None)
    stated = getattr(getattr(first, "value", None), "value", None)
    if isinstance(stated, str) and first and list(first._fields) == ["value"]:
        return [first]
    return []


def _of_nodes(text: str, nodes: Iterable[Any]) -> Definition:
    import ast  # noqa: PLC0415  # as above

    def meaning(node: Any, *, docs: bool) -> str:
        """The tree as text, without positions and empty fields, which differ between versions of Python."""
        if isinstance(node, ast.AST):
            fields = {}
            for key, value in ast.iter_fields(node):
                if key not in {"ctx", "kind", "type_comment"}:
                    fields[key] = value
            if not docs and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                fields["body"] = node.body[len(_docstring(node)) :]
            stated = (
                f"{key}={meaning(value, docs=docs)}"
                for key, value in fields.items()
                if value not in (None, [])
            )
            return f"{type(node).__name__}({' '.join(stated)})"
        if isinstance(node, list):
            several = " ".join(meaning(item, docs=docs) for item in node)
        else:
            several = ""
        if isinstance(node, list):
            return f"[{several}]"
        return repr(node)

    rows, spans, value = text.split("\n"), list[tuple[int, int]](), None
    for node in nodes:
        starts = (
            node.lineno,
            *(decorator.lineno for decorator in getattr(node, "decorator_list", ())),
        )
        spans.append((min(starts), node.end_lineno))
        stated = getattr(node, "value", None)
        segment = None
        if stated and len(spans) == 1:
            segment = ast.get_source_segment(text, stated)
        value = None
        if segment is not None and len(segment) < LONGEST:
            value = plain(segment)
    # several keys may stand on one line
    spans = list(dict.fromkeys(spans))
    parts = "\n".join("\n".join(rows[first - 1 : last]) for first, last in spans)
    try:
        long = len(parts) > _LARGEST_MEANING
        means, documented = (
            parts if long else "".join(meaning(x, docs=docs) for x in nodes)
            for docs in (False, True)
        )
        return Definition(
            parts, tuple(spans), means, value, documented if documented != means else ""
        )
    except RecursionError:
        return Definition("", (), "")


def _keys(path: str, text: str) -> dict[str, Definition]:
    """The keys of a file of settings, `table.key`, with their values."""
    suffix = path[path.rfind(".") :].lower()
    if suffix not in _VALUES:
        return _yaml_keys(text)
    try:
        whole = _VALUES[suffix](text)
    except (ValueError, RecursionError):
        return {}
    entries: dict[str, Definition] = {}
    lines, todo = text.splitlines(), [("", whole, 0)]
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines, 1):
        for key in re.findall(r"(?<![\w@/-])[\w@/-]++(?=[\"']?\s*[:=\]])", line[:_WIDEST]):
            places.setdefault(key, []).append(number)
    while todo and len(entries) < _MOST_KEYS:
        within, table, above = todo.pop()
        for key, value in table.items() if isinstance(table, dict) else ():
            name, rows = f"{within}{key}", places.get(str(key), [])
            at = bisect_right(rows, above - 1)
            if at < len(rows):
                row = rows[at]
            else:
                row = above or 1
            entries[name] = Definition(_shown(value), ((row, row),), _shown(value), _shown(value))
            todo.append((f"{name}.", value, row))
    return entries


_YAML_KEY = r"( *)(?:- +)?[\"']?([^\s\"':#{}\[\],&*-][^\"':#{}\[\]]*?)[\"']? *:(?: +(.*))?$"


def _yaml_keys(text: str) -> dict[str, Definition]:
    """The keys of YAML by the indentation of their lines.

    No anchor, tag or flow mapping is looked into.
    """
    open_keys: list[tuple[int, str]] = []
    entries: dict[str, Definition] = {}
    for number, row in enumerate(text.splitlines(), 1):
        match = re.match(_YAML_KEY, row[:_WIDEST])
        if match is None or len(entries) > _MOST_KEYS:
            continue
        indent = len(match[1]) + row[len(match[1]) :].startswith("-")
        open_keys = [*((at, key) for at, key in open_keys if at < indent), (indent, match[2])]
        name = ".".join(key for _, key in open_keys)
        value = plain(re.sub(r"\s#.*", "", match[3] or ""))
        entries.setdefault(name, Definition(value, ((number, number),), value, value or None))
    return entries


# --- other languages: a line like a definition, and its block ---

_KEYWORDS = (
    "def|class|function|func|fn|fun|sub|proc|struct|enum|union|interface|trait|impl|type|typedef|module|namespace|record|"
    "object|protocol|extension|const|let|var|val|static|final|define|macro_rules!|table|view|procedure|resource|defmodule"
)
_LISTED = (
    rf"(?m)^[^\n=;]{{0,80}}?\b(?:{_KEYWORDS})[ \t]+(?:\([^)\n]{{0,80}}\)[ \t]*)?([A-Za-z_$][\w$]*)"
)
_NO_DEFINITION = (
    r"\s*(?:return|if|else|while|for|switch|case|new|await|throw|yield|delete|not|in|import|use)\b"
)


def _by_lines(path: str, text: str, name: str) -> Definition | None:
    code, rows = skeleton(path, text).split("\n"), text.split("\n")
    *outer, last = name.split(".")
    spans = [(0, len(code))]
    for part in outer:
        spans = [
            span for start, end in spans for span in _spans(code, part, start + (start > 0), end)
        ]
    inner = []
    for start, end in spans:
        for span in _spans(code, last, start + bool(outer), end):
            inner.append(span)
    if outer:
        # Go, C++, and prototypes of JavaScript define a method outside of its type
        owner = re.escape(outer[-1])
        inner += _spans(
            code,
            last,
            0,
            len(code),
            rf"func\s*\([^)]*\b{owner}\b[^)]*\)\s*|{owner}(?:::|\.prototype\.)",
        )
    inner = list(dict.fromkeys(inner))
    if not inner:
        return None
    value = None
    if len(inner) == 1:
        stated = re.match(
            rf".*?\b{re.escape(last)}\b[^=\n]{{0,80}}?:?=(?![=>])\s*(\S.*?)[;,]?\s*$",
            rows[inner[0][0]][:_WIDEST],
        )
        value = None
        if stated and inner[0][1] - inner[0][0] == 1:
            value = plain(stated[1])
    lines = tuple((start + 1, end) for start, end in inner)
    parts = "\n".join("\n".join(rows[start:end]) for start, end in inner)
    bare = scanner(style(path)).sub(lambda part: "" if part[1] else part[0], parts)
    return Definition(parts, lines, "".join(bare.split()), value)


def _spans(
    code: list[str], name: str, start: int, end: int, before: str = ""
) -> list[tuple[int, int]]:
    """First line and end of each definition of a name between two lines.

    `before`: what must stand in front of it.
    """
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    if before:
        defines = re.compile(rf"[^=;]*?(?:{before}){word}")
    else:
        defines = re.compile(
            rf"[^=;\n]{{0,200}}?\b(?:{_KEYWORDS})\b[^=;({{]{{0,200}}?(?:\([^)]{{0,200}}\)\s*)?{word}"
            rf"|\s*(?:[\w<>\[\],.*&:?~@]+\s+){{0,8}}[*&]?{word}\s*(?:<[^>]{{0,200}}>\s*)?\([^;]*$"
            rf"|\s*(?:[\w.$<>\[\]:]+\s+){{0,4}}(?:[\w$]+\.){{0,3}}{word}\s*(?::[^=]{{0,80}})?:?=(?!=)"
            rf"|\s*{word}\s*:\s*(?:async\s+)?(?:function|\()"
        )
    spans = []
    row = start
    while row < end:
        line = code[row]
        if (
            name in line
            and len(line) <= _WIDEST
            and defines.match(line)
            and not re.match(_NO_DEFINITION, line)
        ):
            last = _block_end(code, row, end)
            spans.append((row, last))
            row = last
        else:
            row += 1
    return spans


def _block_end(code: list[str], start: int, end: int) -> int:
    """The line behind the block that begins in a line.

    That of its braces, else what is indented below it.
    """
    depth = parens = 0
    for row in range(start, end):
        for sign in re.findall(r"[{}()\[\];]", code[row]):
            parens += (sign in "([") - (sign in ")]")
            depth += (sign == "{") - (sign == "}")
            if (sign == "}" and depth <= 0) or (sign == ";" and depth == 0 and parens <= 0):
                return row + 1
        if row + 1 < end:
            follows = code[row + 1].lstrip()
        else:
            follows = ""
        if depth == 0 and parens <= 0 and not (row - start < 3 and follows.startswith("{")):
            return _indented_end(code, start, row + 1, end)
    return end


def _indented_end(code: list[str], start: int, row: int, end: int) -> int:
    """The end of what is indented deeper than the first line, with its closing word."""
    margin, last = len(code[start]) - len(code[start].lstrip()), row
    for at in range(row, end):
        line = code[at].expandtabs()
        if line.strip():
            depth = len(line) - len(line.lstrip())
            if depth <= margin:
                if depth == margin and re.match(r"\s*(?:end|fi|done|esac|\}|\))", line):
                    return at + 1
                return last
            last = at + 1
    return last


# --- what of a source file is code, and what is a comment or a string, by the kind of file; no
# language is parsed ---

# a quote behind a backslash begins no string, so that an unclosed one is looked at once
_STRINGS = (
    r"(?<!\\)\"(?:\\.|[^\"\\\n]){0,1000}\"|(?<!\\)'(?:\\.|[^'\\\n]){0,1000}'"
    r"|(?<!\\)`(?:(?s:\\.)|[^`\\])*(?:`|\Z)"
)
_SLASHES = r"(//[^\n]*|/\*(?:(?s:.*?)\*/|(?s:.*)))"
_LONG = r"(?s:\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z))"
_NO_CODE = {
    "/": rf"{_SLASHES}|{_STRINGS}",
    "rs": rf"{_SLASHES}|(?<!\\)\"(?:\\.|[^\"\\]){{0,5000}}\"|'(?:\\[^'\n]{{1,10}}|[^'\\\n])'",
    "#": rf"(#[^\n]*)|{_LONG}|{_STRINGS}",
    " #": rf"(?m)((?:^|(?<=[\s;]))#[^\n]*)|{_LONG}|{_STRINGS}",
    "-": rf"(--[^\n]*)|{_STRINGS}",
    "keys": rf"(?m)((?:^|(?<=\s))#[^\n]*)|{_STRINGS}",
    "*": rf"(/\*(?s:.*?)(?:\*/|\Z))|{_STRINGS}",
    "<": r"(<!--(?s:.*?)(?:-->|\Z))",
    "": r"(?!)()",
}
"""What is no code, by the sign of comments: group 1 are comments, else texts."""
_STYLES = {
    "#": ("py pyi rb sh bash zsh pl pm r ex exs jl nix tf cmake mk cfg ini conf env ps1 dockerfile makefile gemfile"),
    "-": "sql lua hs elm adb ads vhd",
    "keys": "toml json yaml yml lock", "rs": "rs",
}  # fmt: skip
_STYLE_OF = {suffix: style for style, suffixes in _STYLES.items() for suffix in suffixes.split()}
_SIGNS = {"/": ("//", "/*"), "rs": ("//", "/*"), "-": ("--",), "*": ("/*",), "<": ("<!",), "": ()}
_OF_COMMENTS = {
    "css": "*",
    "csv": "",
    "tsv": "",
    "tex": "",
    "txt": "",
    "rst": "",
    "adoc": "",
    "json": "",
}
_OF_COMMENTS |= dict.fromkeys(("html", "htm", "xml", "svg", "md", "markdown"), "<")


def style(path: str) -> str:
    """The sign of comments in such a file: `/` where its name says nothing."""
    return _STYLE_OF.get(_suffix(path), "/")


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].lower().rpartition(".")[2]


@cache
def scanner(style: str) -> re.Pattern[str]:
    """What is no code in files of a style: group 1 are comments."""
    # when it is first needed: every command imports this module
    return re.compile(_NO_CODE[style])


def skeleton(path: str, text: str) -> str:
    """The text with comments and strings blanked out, sign for sign."""
    return _blanked(style(path), text, comments=False)


def without_comments(path: str, text: str) -> str:
    """The text with comments blanked out, sign for sign."""
    suffix = _suffix(path)
    sign = _OF_COMMENTS.get(suffix, style(path))
    # elsewhere than in Python, `#` is in many words: `${x#y}`, `a#b`
    return _blanked(
        " #" if sign == "#" and suffix not in {"py", "pyi"} else sign, text, comments=True
    )


def names_comments(path: str, regex: str) -> bool:
    """Whether a regex names the sign of a comment in such a file, and so looks for one."""
    plain = regex.replace("\\", "")
    return any(
        sign in plain for sign in _SIGNS.get(_OF_COMMENTS.get(_suffix(path), style(path)), ("#",))
    )


_COMMENT = {"/": "// {}", "rs": "// {}", "-": "-- {}", "*": "/* {} */", "<": "<!-- {} -->", "": ""}


def comment(path: str, text: str) -> str:
    """A line that is a comment in such a file; empty where there are none."""
    return _COMMENT.get(_OF_COMMENTS.get(_suffix(path), style(path)), "# {}").format(text)


@lru_cache(maxsize=16)  # several rules look at the same text
def _blanked(sign: str, text: str, *, comments: bool) -> str:
    def blank(part: re.Match[str]) -> str:
        if comments and part[1] is None:
            return part[0]
        return re.sub(r"[^\n]", " ", part[0])

    return scanner(sign).sub(blank, text)
