"""The files below the folders that are taken in.

Which of them links bring, and which are left out, with the reason.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.transfer.arriving import OTHER, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class FoundFile(NamedTuple):
    """A file by the name to show; whether the caller `named` it."""

    name: str
    path: Path
    named: bool = False

    @property
    def hidden(self) -> bool:
        """Whether a part of its name begins with a dot."""
        return any(part.startswith(".") for part in self.name.split("/"))


# Parts that bring nothing, as (where, one of `FATES`, why).
LeftOut = list[tuple[str, str, str]]

_NEVER_ENTERED = frozenset((".git", ".hg", "node_modules", "__pycache__", ".venv"))
_LEADS_OUT = "a link out of the folder: name what it leads to, to take that in"
_LEADS_AROUND = "a link to a folder that it lies in"


def all_files(places: Sequence[Path], left: LeftOut) -> list[FoundFile]:
    """The files that are named, then those below the folders that are; what stays out is in `left`."""
    files = []
    for place in places:
        if not place.is_dir():
            files.append(FoundFile(place.name, place, named=True))
    for place in places:
        if place.is_dir():
            files += below(place, left)
    return files


def below(folder: Path, left: LeftOut) -> Iterator[FoundFile]:
    """Every file below a folder, hidden ones too, by its path there; what is installed is left out.

    What a link within the folder leads to is taken in by the name of the link, unless it comes by
    its own. Links that lead out are named in `left`.
    """
    links: list[Path] = []
    for place, folders, names in os.walk(folder):
        for name in sorted(folders):
            if os.path.islink(os.path.join(place, name)):
                links.append(Path(place, name))
        # what is left in this list is walked next
        folders[:] = sorted(name for name in folders if name not in _NEVER_ENTERED)
        for name in sorted(names):
            path = Path(place, name)
            if path.is_symlink():
                links.append(path)
            elif path.is_file():
                yield FoundFile(path.relative_to(folder).as_posix(), path)
    top = folder.resolve()
    for link in links:
        yield from _behind(link, folder, top, left)


def _behind(link: Path, folder: Path, top: Path, left: LeftOut) -> Iterator[FoundFile]:
    """The files that a link brings. `top`: the folder without links."""
    name, real = link.relative_to(folder).as_posix(), Path(os.path.realpath(link))
    if not real.is_relative_to(top):
        left.append((name, SKIPPED, _LEADS_OUT))
    elif real.is_file():
        yield FoundFile(name, link)
    elif link.parent.resolve().is_relative_to(real):
        left.append((name, SKIPPED, _LEADS_AROUND))
    elif real.is_dir():
        for path in sorted(link.rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield FoundFile(path.relative_to(folder).as_posix(), path)
    else:
        left.append((name, SKIPPED, "a link to nothing"))


def each_once(
    files: Sequence[FoundFile], is_read: Callable[[Path], bool], left: LeftOut
) -> list[FoundFile]:
    """The files without links to those that are there themselves, if they are read by their own name."""
    own_names = {}
    for file in files:
        if not file.path.is_symlink():
            own_names[os.path.realpath(file.path)] = file.name
    kept = []
    for file in files:
        real = os.path.realpath(file.path)
        own_name = own_names.get(real)
        comes_by_itself = own_name not in (None, file.name) and is_read(Path(real))
        if comes_by_itself and not file.named:
            left.append((file.name, OTHER, f"a link to {own_name}"))
        else:
            kept.append(file)
    return kept
