"""Versions: which the project pins, whether an anchor holds for them, and what asks for a package."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from ai_lessons.features.anchors.looks import file_stamp
from ai_lessons.model import expression

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.features.anchors.anchors import Anchor
    from ai_lessons.features.anchors.looks import Looks, Stamp

_PINNING = expression(
    r"(?:uv|poetry|Cargo)\.lock|requirements.*\.txt|package(?:-lock)?\.json|pnpm-lock\.yaml|go\.mod|pyproject\.toml"
)
_MANIFEST = expression(
    r"(?:.*/)?(?:pyproject\.toml|setup\.(?:py|cfg)|[\w-]*requirements[\w-]*\.(?:txt|in)|package\.json|Cargo\.toml|go\.mod)"
)
_INSTALL = r"(?m)(?:^|[|;&])[ \t]*(?!git\b)(?:[^\s|;&]+[ \t]+){1,3}?(?:add|install|i|get|require)[ \t][^|;&\n]*?"
_IMPORT = r"(?m)^[ \t]*(?:(?:import|from|use|export)\b.*?|.*\b(?:require|import)[ \t]*\([\"' \t]*|(?:[\w.]+[ \t]+)?\")"

# by the package, `pypi/click`: the version (`@8.1.7` where it is exact) and the file that says so
Pins = dict[str, tuple[str, str]]


def pins(cwd: Path, top: Path, looks: Looks) -> Pins:
    """What the lock and manifest files nearest to a folder pin; they are read when they changed."""
    stamps = _stamps(cwd, top)
    row = looks.get("packages", str(cwd))
    if row is None or row[0] != stamps:
        row = [stamps, _read(cwd)]
        looks.put("packages", str(cwd), row)
    versions: Pins = {}
    for package, (version, path) in row[1].items():
        versions[package] = (version, path)
    return versions


def _stamps(cwd: Path, top: Path) -> dict[str, Stamp | None]:
    """The stamps of all files that may pin something, from a folder up to the top."""
    folders = [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(top)]
    stamps: dict[str, Stamp | None] = {}
    for folder in folders or [top]:
        with suppress(OSError):
            for name in sorted(os.listdir(folder)):
                if _PINNING.fullmatch(name):
                    stamps[str(folder / name)] = file_stamp(folder / name)
    return stamps


def _read(cwd: Path) -> dict[str, tuple[str, str]]:
    # reads TOML and lock files, which a look that finds nothing changed need not
    from ai_lessons.connectors import manifests

    versions = {}
    for package, (first, *_) in manifests.pins(manifests.stating(cwd)).items():
        versions[package] = (first.version, first.path)
    return versions


def package_name(anchor: Anchor) -> str:
    """The package of an anchor as `pins` writes it: Python's names are one however they are spelt."""
    registry, _, name = anchor.package.partition("/")
    return f"{registry}/{re.sub(r'[-_.]+', '-', name.casefold())}"


def in_range(versions: str, used: str) -> bool:
    """Whether a version, or range of versions, in use is among those of an anchor.

    As far as can be known.
    """
    # few entries name versions
    from ai_lessons.model.versions import score

    stated, in_use = versions.replace(",", " "), used.replace(",", " ")
    if not re.search(r"\d", in_use):
        return True
    return score({in_use}, {stated}) is not None


def brings(package: str, path: str, text: str) -> bool:
    r"""Whether a command line installs a package, or a file that is written asks for it.

    A command line has no `path`. To import a package is to ask for it.

    >>> brings("pypi/typing-extensions", "", "uv add 'typing_extensions>=4'"), brings("npm/ms", "", "git add ms")
    (True, False)
    >>> brings("pypi/click", "a.py", "import os\nfrom click.testing import run"), brings("pypi/click", "a.py", "click")
    (True, False)
    """
    if not path:
        before = _INSTALL
    elif _MANIFEST.fullmatch(path):
        before = ""
    else:
        before = _IMPORT
    parts = re.split(r"[-_.]+", package.partition("/")[2])
    name = r"[-_.]+".join(map(re.escape, parts))
    return re.search(rf"{before}(?<![\w./@-]){name}(?![\w-])", text, re.IGNORECASE) is not None
