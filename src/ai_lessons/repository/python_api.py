"""The public API of a Python package, read from its files by griffe; nothing of it is imported or run."""

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


logging.getLogger("griffe").setLevel(logging.CRITICAL)  # what it cannot read is left out of the page
_LEFT_OUT = re.compile(r"(?:^|\.)(?:_[^.]*|tests?|conftest)(?=\.|$)")


_LARGEST = 4 << 20  # Bytes of one file
_LONG = 1000  # Lines of a file from which its statements are counted
_STEPS = 100_000_000  # A minute: griffe walks over a block once for each statement in it
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # Raised for what Python cannot parse


def pages(site: Path, files: Collection[Path]) -> Iterator[tuple[str, str]]:
    """(module, Markdown) of every public module among `files` below `site`; no private ones, no tests.

    Packages with a file that Python cannot parse, or that would take minutes, are left out.
    """
    loader = GriffeLoader(search_paths=[site], allow_inspection=False)
    paths = {site / file for file in files}
    for top in sorted({file.parts[0].removesuffix(".py") for file in files}):
        if _LEFT_OUT.search(top) or not top.isidentifier():
            continue
        try:
            if _steps(site, top) > _STEPS:
                continue
            loaded: Any = loader.load(top, try_relative_path=False)
            result = [
                (module.path, text)
                for module in _modules(loaded)
                if not isinstance(module.filepath, list) and module.filepath in paths and (text := _page(module))
            ]
        except (LoadingError, ImportError, *_UNREADABLE):
            continue  # a script beside the package, or of another Python
        yield from result


def _steps(site: Path, top: str) -> int:
    """The most steps that griffe takes for the files of a package. Raises as Python's parser."""
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
        for submodule in module.modules.values():
            if not submodule.is_alias:
                yield from _modules(submodule)


def _page(module: Module) -> str:
    """The module as Markdown; empty if nothing in it is documented."""
    rows = (row for member in _members(module) for row in _entry(member, member.name, "##"))
    blocks = [block for block in (_docstring(module), *rows) if block]
    return "\n\n".join([f"# {module.path}", *blocks]) + "\n" if blocks else ""


def _members(owner: Object) -> Iterator[Object]:
    """Public members that are defined here or in a private module without a page, in the order of the file."""
    for name, item in owner.members.items():
        member: Any = item
        if name.startswith("_"):
            continue
        if member.is_alias:
            try:
                member = member.final_target
            except (AliasResolutionError, CyclicAliasError):
                continue
            inside = member.path.split(".")[0] == owner.path.split(".")[0]
            hidden = _LEFT_OUT.search(member.module.path) and (owner.exports is None or name in owner.exports)
            if not (inside and hidden):
                continue
        yield member


def _entry(member: Object, name: str, level: str) -> Iterator[str]:
    """Heading, signature, docstring and members of a class, a function, or a documented attribute."""
    if isinstance(member, Class | Function):
        keyword = "class" if isinstance(member, Class) else "async def" if "async" in member.labels else "def"
        yield f"{level} {name}"
        yield f"```python\n{keyword} {member.signature()}\n```"
        yield _docstring(member)
        if isinstance(member, Class):
            for inner in _members(member):
                yield from _entry(inner, f"{name}.{inner.name}", f"{level}#")
    elif member.is_attribute and _docstring(member):
        yield f"{level} {name}"
        yield _docstring(member)


def _docstring(member: Object) -> str:
    return member.docstring.value.strip() if member.docstring else ""
