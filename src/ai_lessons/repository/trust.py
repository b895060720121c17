"""The scripts that this user lets run: the SHA-256 of every text added or trusted here, in the user's own folder."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.repository.files import append_lines, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CODE = frozenset((".py", ".js", ".cjs", ".mjs", ".json", ".pl", ".pm", ".rb", ".sh", ".bash", ".zsh"))
_LOADS = re.compile(r"^.*\b(?:import|from|use|do|require|require_relative|load|source)\b.*$", re.MULTILINE)
_OF_A_FOLDER = frozenset(("__init__.py", "index.js", "package.json"))
HERE = re.compile(
    r"(?<![\w./])\.(?:/|[\"'\s]|$)|-I\s*\.|\*\.\w|\s-[cm]\s|\"\"|''|\b(?:getcwd|cwd|PWD|pwd)\b", re.MULTILINE
)  # How a script names its working folder


def fingerprint(data: bytes, interpreter: str = "") -> str:
    """The mark of a script: the hash of its bytes, and the interpreter that its side file names."""
    return f"{sha256(data).hexdigest()} {interpreter}".rstrip()


class Trust:
    """A list of marks in a folder that no pull writes to. Safe with several processes: a line is added by one write."""

    def __init__(self, state_dir: Path, kind: str = "script") -> None:
        """Each `kind` of marks has a list of its own."""
        self._kind, self._file = kind, state_dir / f"trusted-{kind}s.jsonl"

    def add(self, path: str, data: bytes, interpreter: str = "") -> None:
        """Trust one text; see `add_all`."""
        self.add_all([(path, fingerprint(data, interpreter))])

    def add_all(self, scripts: Iterable[tuple[str, str]]) -> None:
        """Trust texts from now on: (path for people, mark) each. Raises StorageFailed: no place for it."""
        trusted = self.marks()
        new = {mark: path for path, mark in scripts if mark not in trusted}
        if not new:
            return
        lines = "".join(json.dumps({self._kind: mark, "path": path}) + "\n" for mark, path in new.items())
        with translated(str(self._file), writing=True):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            append_lines(self._file, lines.encode(), private=True)

    def knows(self, data: bytes, interpreter: str = "") -> bool:
        """True if exactly this text is trusted. Raises StorageFailed: the list cannot be read."""
        return fingerprint(data, interpreter) in self.marks()

    def marks(self) -> frozenset[str]:
        """All marks in the list. Raises StorageFailed: the list exists and cannot be read."""
        with translated(str(self._file)):
            text = self._file.read_text(errors="replace") if self._file.exists() else ""
        marks = set()
        for line in text.split("\n"):
            with suppress(ValueError, KeyError, TypeError):  # a damaged line trusts nothing
                marks.add(json.loads(line)[self._kind])
        return frozenset(mark for mark in marks if isinstance(mark, str))


def neighbours(
    script: Path, text: str, read: Callable[[Path], bytes], *, whole: bool = False, in_place: bool = False
) -> dict[str, bytes]:
    """Files below a script's folder that its text names, and those that these name; by path."""
    contents: dict[str, bytes] = {}
    while True:
        words = frozenset(re.findall(r"[\w-]+", " ".join(_LOADS.findall(text)))) - sys.stdlib_module_names
        words |= sys.stdlib_module_names if in_place else frozenset()
        new = [
            name
            for name in _below(script.parent, None if whole else text)
            if name not in contents
            and name != script.name
            and ((whole and not name.endswith(".md")) or _is_named(Path(name), text, words))
        ]
        if not new:
            return contents
        contents |= {name: read(script.parent / name) for name in new}
        text = "\n".join([text, *(contents[name].decode("utf-8", "replace") for name in new)])


def _is_named(path: Path, text: str, words: frozenset[str]) -> bool:
    if (path.name in _OF_A_FOLDER and len(path.parts) > 1) or (path.suffix in CODE and path.stem in words):
        return True
    before = r"(?<![\w.-])" if "." in path.name else "/"  # a name such as `test` is also a word of many languages
    return re.search(rf"{before}{re.escape(path.name)}(?![\w-])", text) is not None


def _below(folder: Path, text: str | None) -> Iterator[str]:
    """Files and links in folders that the text names; in all folders where it is None."""
    for place, folders, names in os.walk(folder):
        names += [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = [name for name in folders if name != ".git" and (text is None or name in text)]
        yield from (Path(place, name).relative_to(folder).as_posix() for name in sorted(names))
