"""The files beside a script that it may load or read.

A pull may change them as well as the script, so that they are trusted, copied and shown with it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.app.trust import interpreter_of
from ai_lessons.git import external_files
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.model.entries import Entry

CODE = frozenset(
    (".py", ".js", ".cjs", ".mjs", ".json", ".pl", ".pm", ".rb", ".sh", ".bash", ".zsh")
)
# A line that loads another file
_LOADS = expression(
    r"^.*\b(?:import|from|use|do|require|require_relative|load|source)\b.*$", re.MULTILINE
)
# Files that a program loads by the name of their folder
_OF_A_FOLDER = frozenset(("__init__.py", "index.js", "package.json"))
# How a script names its working folder
HERE = expression(
    r"(?<![\w./])\.(?:/|[\"'\s]|$)|-I\s*\.|\*\.\w|\s-[cm]\s|\"\"|''|\b(?:getcwd|cwd|PWD|pwd)\b",
    re.MULTILINE,
)


def files_beside(
    repo: RepositorySession, entry: Entry, file: Path, data: bytes, where: Path
) -> dict[str, bytes]:
    """What the script may load or read of its folder, by path in it.

    What its text names, and all of the folder where the script is run there (`where`).
    """
    text = f"{data.decode('utf-8', 'replace')}\n{interpreter_of(entry)}"
    root = repo.store.root
    if file.is_relative_to(root):
        runs_there = Path(os.path.realpath(where)).is_relative_to(os.path.realpath(file.parent))
        whole = runs_there and HERE.search(text) is not None

        def stored(path: Path) -> bytes:
            return repo.store.read(path.relative_to(root).as_posix())

        return neighbours(file, text, stored, whole=whole)

    # outside of the repository a name may lead to anything: only code is read
    named = neighbours(file, text, _code_of, in_place=True)
    return {name: content for name, content in named.items() if content}


def _code_of(path: Path) -> bytes:
    if path.suffix in CODE and path.is_file():
        return external_files.read(path)[0]
    return b""


def neighbours(
    script: Path,
    text: str,
    read: Callable[[Path], bytes],
    *,
    whole: bool = False,
    in_place: bool = False,
) -> dict[str, bytes]:
    """Files below a script's folder that its text names, and those that these name; by path.

    `whole`: every file of the folder but Markdown. `in_place`: a module of Python's own may be
    hidden by a file of its name.
    """
    contents: dict[str, bytes] = {}
    while True:
        words = _loaded_names(text)
        if in_place:
            words |= sys.stdlib_module_names
        folders: str | None = text
        if whole:
            folders = None
        new = []
        for name in _below(script.parent, folders):
            if name in contents or name == script.name:
                continue
            if (whole and not name.endswith(".md")) or _is_named(Path(name), text, words):
                new.append(name)
        if not new:
            return contents
        for name in new:
            contents[name] = read(script.parent / name)
            text += f"\n{contents[name].decode('utf-8', 'replace')}"


def _loaded_names(text: str) -> frozenset[str]:
    """The words of lines that load something, without the modules of Python itself."""
    words = re.findall(r"[\w-]+", " ".join(_LOADS.findall(text)))
    return frozenset(words) - sys.stdlib_module_names


def _is_named(path: Path, text: str, words: frozenset[str]) -> bool:
    if path.name in _OF_A_FOLDER and len(path.parts) > 1:
        return True
    if path.suffix in CODE and path.stem in words:
        return True
    before = r"(?<![\w.-])"
    if "." not in path.name:
        # a name such as `test` is also a word of many languages
        before = "/"
    return re.search(rf"{before}{re.escape(path.name)}(?![\w-])", text) is not None


def _below(folder: Path, text: str | None) -> Iterator[str]:
    """Files and links in folders that the text names; in all folders where it is None."""
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        # what stays in this list is walked next
        folders[:] = [name for name in folders if name != ".git" and (text is None or name in text)]
        for name in sorted([*names, *links]):
            yield Path(place, name).relative_to(folder).as_posix()
