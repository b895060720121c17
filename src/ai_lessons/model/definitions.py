"""Where a file defines a name or a key, and in what lines: Python by its tree, settings by their keys, else by lines."""

from __future__ import annotations

import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ai_lessons.model.code_comments import scanner, skeleton, style
from ai_lessons.model.texts import toml

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
        """The tree as text, without positions and empty fields.

        These differ between versions of Python.
        """
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
