"""From what a person types to an anchor with the fingerprint of what is there; the nearest names where it is not."""

from __future__ import annotations

import os
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, UsageError
from ai_lessons.features.anchors import definitions
from ai_lessons.features.anchors.anchors import Anchor, parse
from ai_lessons.features.anchors.fingerprints import UNREADABLE, CodeVerdict, verdict_on
from ai_lessons.features.anchors.looks import file_stamp
from ai_lessons.features.anchors.pins import in_range, package_name
from ai_lessons.git import external_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.features.anchors.code_folder import CodeFolder

# So many names are offered in place of one that is not there
_FEW = 3


def anchor_as_typed(text: str, cwd: Path, top: Path | None) -> Anchor:
    """An anchor as it was typed: from the top of the repository, else from the caller's folder.

    Raises UsageError.
    """
    path, mark, symbol = text.strip().partition("::")
    expanded = os.path.expanduser(path)
    whole = os.path.normpath(cwd / expanded)
    try:
        with suppress(ValueError):
            anchor = parse(text)
            if anchor.package or top is None:
                return anchor
            if os.path.lexists(top / anchor.path) or not os.path.lexists(whole):
                return anchor
        base = top
        if os.path.isabs(expanded):
            base = external_files.top_of(Path(whole).parent) or top or cwd
        if base and whole.startswith(f"{base}{os.sep}"):
            path = os.path.relpath(whole, base) + "/" * path.endswith("/")
            return parse(f"{path}{mark}{symbol}")
        return parse(text)
    except ValueError as error:
        hint = "path, path::symbol, path::NAME=value or pypi/name<8.2"
        raise UsageError(f"{text!r} names no code: {error}", hint=hint) from error


def resolved(code: CodeFolder, text: str, cwd: Path) -> Anchor:
    """The anchor of a text with the fingerprint of what is there now.

    Raises NotFound, UsageError; as `CodeFolder.state`.
    """
    anchor = anchor_as_typed(text, cwd, code.top)
    if anchor.package:
        return _resolved_package(code, anchor)
    if file_stamp(code.top / anchor.path.rstrip("/")) is None:
        raise NotFound("file or folder", anchor.path, hint=_near(_paths_like(code, anchor.path)))
    now = code.state(anchor.path, anchor.symbol)
    if now is None:
        near = _symbols_like(code, anchor)
        raise NotFound(f"name in {anchor.path}", anchor.symbol, hint=_near(near))
    if now == UNREADABLE:
        hint = "mend it, or name the file alone"
        raise UsageError(f"Python cannot parse {anchor.path}", hint=hint)
    if anchor.value is None:
        return anchor._replace(seen=now.fingerprint)
    if verdict_on(anchor, now) is CodeVerdict.HOLDS:
        return anchor
    held = f"no plain value for {anchor.symbol}"
    if now.value is not None:
        held = f"{anchor.symbol}={now.value}"
    raise NotFound(
        f"value in {anchor.path}", f"{anchor.symbol}={anchor.value}", hint=f"it has {held}"
    )


def _resolved_package(code: CodeFolder, anchor: Anchor) -> Anchor:
    pins = code.pins()
    version, path = pins.get(package_name(anchor), ("", ""))
    if not version:
        near = get_close_matches(package_name(anchor), pins, _FEW, 0.5)
        raise NotFound("package that this project pins", anchor.package, hint=_near(near))
    if not in_range(anchor.versions, version):
        raise UsageError(
            f"{anchor} does not hold here: {path} has {version.lstrip('@')}",
            hint="name versions that it holds for",
        )
    return anchor


def _paths_like(code: CodeFolder, path: str) -> list[str]:
    """Paths that are spelt nearly so, else files of that name in other folders."""
    near = get_close_matches(path, code.project.paths, _FEW, 0.4)
    if near:
        return near
    name = path.rpartition("/")[2]
    same_name = [candidate for candidate in code.project.paths if candidate.endswith(f"/{name}")]
    return same_name[:_FEW]


def _symbols_like(code: CodeFolder, anchor: Anchor) -> Sequence[str]:
    """Names in the file that end as this one, else those that are spelt nearly so."""
    every = definitions.names(anchor.path, code.text(anchor.path))
    last = anchor.symbol.rpartition(".")[2]
    same_end = [name for name in every if name.rpartition(".")[2] == last]
    return same_end[:_FEW] or get_close_matches(anchor.symbol, every, _FEW, 0.4)


def _near(names: Iterable[str]) -> str:
    listed = " or ".join(names)
    if listed:
        return f"did you mean {listed}?"
    return "--no-about leaves it out"
