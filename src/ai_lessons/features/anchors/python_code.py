"""What a file of Python defines, by its syntax tree. Pure."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, Any

from ai_lessons.features.anchors.anchors import LONGEST
from ai_lessons.features.anchors.parts import UNPARSED, Definition, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Characters of a file, which takes a second to parse
_LARGEST = 256 << 10
# Characters of a definition; of a longer one the text stands for its syntax tree
_LARGEST_MEANING = 64 << 10
# Of braces: a long f-string takes time with their square
_MOST_BRACES = 20_000
_DOC = "__doc__"

# Fields of nodes that say nothing, or differ between versions of Python
_WITHOUT_MEANING = frozenset({"ctx", "kind", "type_comment"})
_WITH_BODY = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

# by the name under which they are defined
Nodes = dict[str, list[Any]]


def definition(text: str, name: str) -> Definition | None:
    """What the file has under a name; None: nothing."""
    nodes = _nodes(text)
    if nodes is None:
        return UNPARSED
    if name not in nodes:
        return None
    try:
        return _of_nodes(text, nodes[name])
    except RecursionError:
        return UNPARSED


def names(text: str) -> list[str]:
    """The names that the file defines."""
    defined = []
    for name in _nodes(text) or ():
        if not name.endswith(_DOC):
            defined.append(name)
    return defined


def _nodes(text: str) -> Nodes | None:
    """The nodes of functions, classes, methods and constants by their names; None: it is no Python.

    `Class.method`, and `Class.method.__doc__` for its docstring.
    """
    if len(text) > _LARGEST or text.count("{") > _MOST_BRACES:
        return None
    nodes: Nodes = {}
    try:
        with warnings.catch_warnings():
            # Python warns of odd escapes in other people's code
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        docstring = _docstring(module)
        if docstring:
            nodes[_DOC] = docstring
        _collect(module.body, "", nodes)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return nodes


def _collect(body: Iterable[Any], within: str, nodes: Nodes) -> None:
    """Put the nodes of a body, and of what is in it, by their names."""
    for node in body:
        if isinstance(node, _WITH_BODY):
            name = within + node.name
            nodes.setdefault(name, []).append(node)
            docstring = _docstring(node)
            if docstring:
                nodes[f"{name}.{_DOC}"] = docstring
            if isinstance(node, ast.ClassDef):
                _collect(node.body, f"{name}.", nodes)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    nodes.setdefault(within + target.id, []).append(node)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for block in _blocks(node):
                _collect(block, within, nodes)


def _blocks(node: ast.AST) -> Iterator[Sequence[Any]]:
    """What stands under a condition, a `try` or a `with`."""
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, ())
    for handler in getattr(node, "handlers", ()):
        yield handler.body


def _docstring(node: Any) -> list[Any]:
    """The statement that is the docstring of a module, class or function, if it has one."""
    if not node.body:
        return []
    first = node.body[0]
    text = getattr(getattr(first, "value", None), "value", None)
    # `return "text"` counts as one, too: the fingerprints that entries state were made so
    is_text_alone = isinstance(text, str) and first._fields == ("value",)
    if is_text_alone:
        return [first]
    return []


def _of_nodes(text: str, nodes: Sequence[Any]) -> Definition:
    lines = text.split("\n")
    spans = []
    for node in nodes:
        first = node.lineno
        for decorator in getattr(node, "decorator_list", ()):
            first = min(first, decorator.lineno)
        spans.append((first, node.end_lineno))
    # several names may stand on one line
    spans = list(dict.fromkeys(spans))
    parts = "\n".join("\n".join(lines[first - 1 : last]) for first, last in spans)
    if len(parts) > _LARGEST_MEANING:
        means = documented = parts
    else:
        means = "".join(_meaning(node, docs=False) for node in nodes)
        documented = "".join(_meaning(node, docs=True) for node in nodes)
    if documented == means:
        documented = ""
    return Definition(parts, tuple(spans), means, _value(text, nodes), documented)


def _value(text: str, nodes: Sequence[Any]) -> str | None:
    """The value of what is assigned once, if it is short; None of anything else."""
    if len(nodes) != 1:
        return None
    assigned = getattr(nodes[0], "value", None)
    if not assigned:
        return None
    segment = ast.get_source_segment(text, assigned)
    if segment is None or len(segment) >= LONGEST:
        return None
    return plain(segment)


def _meaning(node: Any, *, docs: bool) -> str:
    """The tree as text, without positions and empty fields; `docs`: with docstrings."""
    if isinstance(node, list):
        return f"[{' '.join(_meaning(item, docs=docs) for item in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    stated = []
    for field, value in ast.iter_fields(node):
        if field == "body" and not docs and isinstance(node, _WITH_BODY):
            value = node.body[len(_docstring(node)) :]  # noqa: PLW2901  # the same field
        if field not in _WITHOUT_MEANING and value not in (None, []):
            stated.append(f"{field}={_meaning(value, docs=docs)}")
    return f"{type(node).__name__}({' '.join(stated)})"
