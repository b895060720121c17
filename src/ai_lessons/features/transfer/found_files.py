"""The files below the folders that are taken in.

Which of them links bring, and which are left out, with the reason.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.features.transfer.exporters import OTHER, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# A file by the name to show; whether the caller named it.
FoundFile = tuple[str, Path, bool]

# Parts that bring nothing, as (where, one of `FATES`, why).
LeftOut = list[tuple[str, str, str]]

_NEVER_ENTERED = frozenset((".git", ".hg", "node_modules", "__pycache__", ".venv"))
_LEADS_OUT = "a link out of the folder: name what it leads to, to take that in"
_LEADS_AROUND = "a link to a folder that it lies in"


def below(folder: Path, left: LeftOut) -> Iterator[tuple[str, Path]]:
    """Every file below a folder, hidden ones too, by its path there; what is installed is left out.

    What a link within the folder leads to is taken in by the name of the link, unless it comes by
    its own. Links that lead out are named in `left`.
    """
    top, links = folder.resolve(), list[Path]()
    for place, folders, names in os.walk(folder):
        links += [
            Path(place, name)
            for name in sorted(folders)
            if os.path.islink(os.path.join(place, name))
        ]
        folders[:] = sorted(name for name in folders if name not in _NEVER_ENTERED)
        for path in (Path(place, name) for name in sorted(names)):
            if path.is_symlink():
                links.append(path)
            elif path.is_file():
                yield path.relative_to(folder).as_posix(), path
    for link in links:
        name, real = link.relative_to(folder).as_posix(), Path(os.path.realpath(link))
        if not real.is_relative_to(top):
            left.append((name, SKIPPED, _LEADS_OUT))
        elif real.is_file():
            yield name, link
        elif link.parent.resolve().is_relative_to(real):
            left.append((name, SKIPPED, _LEADS_AROUND))
        elif real.is_dir():
            for path in sorted(link.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    yield path.relative_to(folder).as_posix(), path
        else:
            left.append((name, SKIPPED, "a link to nothing"))


def each_once(
    files: Sequence[FoundFile], is_read: Callable[[Path], bool], left: LeftOut
) -> list[FoundFile]:
    """The files without links to those that are there themselves, if they are read by their own name."""
    names = {os.path.realpath(path): name for name, path, _ in files if not path.is_symlink()}
    kept = list[FoundFile]()
    for name, path, is_named in files:
        real = os.path.realpath(path)
        own_name = names.get(real)
        if is_named or own_name is None or own_name == name or not is_read(Path(real)):
            kept.append((name, path, is_named))
        else:
            left.append((name, OTHER, f"a link to {own_name}"))
    return kept
