"""The public API of a Python package, read from its files by griffe: nothing of it is imported or run."""

from __future__ import annotations

import ast
import logging
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from griffe import AliasResolutionError, Class, CyclicAliasError, Function, GriffeLoader, LoadingError, Module, Object

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path


logging.getLogger("griffe").setLevel(logging.CRITICAL)  # what it cannot read is left out, and a page says nothing of it
_LEFT_OUT = re.compile(r"(?:^|\.)(?:_[^.]*|tests?|conftest)(?=\.|$)")


_LARGEST = 4 << 20  # Bytes of one file
_LONG = 1000  # Lines of a file from which its statements are counted
_STEPS = 100_000_000  # A minute: griffe walks over a block once for each statement in it
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What Python raises at text that is no program, or one that is nested deeper than its parser goes."""


def pages(site: Path, files: Collection[Path]) -> Iterator[tuple[str, str]]:
    """(module, Markdown) of every public module among `files`, which lie below `site`; no private ones, no tests.

    None of a package with a file that Python cannot parse, or that would take minutes.
    """
    loader = GriffeLoader(search_paths=[site], allow_inspection=False)
    own = {site / file for file in files}
    for top in sorted({file.parts[0].removesuffix(".py") for file in files}):
        if _LEFT_OUT.search(top) or not top.isidentifier():
            continue
        try:
            if _steps(site, top) > _STEPS:
                continue
            loaded: Any = loader.load(top, try_relative_path=False)
            found = [
                (module.path, text)
                for module in _modules(loaded)
                if not isinstance(module.filepath, list) and module.filepath in own and (text := _page(module))
            ]
        except (LoadingError, ImportError, *_UNREADABLE):
            continue  # a script beside the package, or of another Python
        yield from found


def _steps(site: Path, top: str) -> int:
    """How many griffe takes for the files of a package, at most. Raises as Python's parser where it cannot read one."""
    steps = 0
    for file in (*site.glob(f"{top}.py*"), *(site / top).rglob("*.py*")):
        if file.suffix in {".py", ".pyi"} and file.is_file():
            if file.stat().st_size > _LARGEST:
                return _STEPS + 1
            source = file.read_bytes()
            if source.count(b"\n") + source.count(b";") > _LONG:
                with suppress(SyntaxError, ValueError):  # griffe leaves such a file out
                    bodies = (getattr(node, "body", ()) for node in ast.walk(ast.parse(source)))
                    steps += sum(len(body) ** 2 for body in bodies if isinstance(body, list))
    return steps


def _modules(module: Module) -> Iterator[Module]:
    if not _LEFT_OUT.search(module.path):
        yield module
        for one in module.modules.values():
            if not one.is_alias:
                yield from _modules(one)


def _page(module: Module) -> str:
    """The module as Markdown; empty if it says nothing to anybody."""
    said = [_text(module), *(row for one in _members(module) for row in _entry(one, one.name, "##"))]
    blocks = [block for block in said if block]
    return "\n\n".join([f"# {module.path}", *blocks]) + "\n" if blocks else ""


def _members(owner: Object) -> Iterator[Object]:
    """What is public and defined here, or in a private module that no other page shows, in the order of the file."""
    for name, member in owner.members.items():
        one: Any = member
        if name.startswith("_"):
            continue
        if one.is_alias:
            try:
                one = one.final_target
            except (AliasResolutionError, CyclicAliasError):
                continue
            inside = one.path.split(".")[0] == owner.path.split(".")[0]
            hidden = _LEFT_OUT.search(one.module.path) and (owner.exports is None or name in owner.exports)
            if not (inside and hidden):
                continue
        yield one


def _entry(one: Object, name: str, level: str) -> Iterator[str]:
    """A class, a function, or an attribute that is explained: heading, signature, docstring, members."""
    if isinstance(one, Class | Function):
        what = "class" if isinstance(one, Class) else "async def" if "async" in one.labels else "def"
        yield f"{level} {name}"
        yield f"```python\n{what} {one.signature()}\n```"
        yield _text(one)
        if isinstance(one, Class):
            for member in _members(one):
                yield from _entry(member, f"{name}.{member.name}", f"{level}#")
    elif one.is_attribute and _text(one):
        yield f"{level} {name}"
        yield _text(one)


def _text(one: Object) -> str:
    return one.docstring.value.strip() if one.docstring else ""
