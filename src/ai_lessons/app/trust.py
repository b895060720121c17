"""What this user trusts.

Texts of scripts that may run here, and files outside of a repository that are read for it.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound
from ai_lessons.git import external_files, files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ai_lessons.git.store import Store
    from ai_lessons.model.entries import Entry

SOURCE = "source"


def fingerprint(data: bytes, interpreter: str = "") -> str:
    """The mark of a script: the hash of its bytes, and the interpreter that its side file names."""
    return f"{sha256(data).hexdigest()} {interpreter}".rstrip()


def interpreter_of(entry: Entry) -> str:
    """The interpreter that the side file of a script names; empty if none.

    It decides what runs as much as the code does.
    """
    return str(entry.fields.get("interpreter") or "")


def file_of_script(store: Store, entry: Entry) -> tuple[Path, bytes]:
    """Where the runnable file of a script is, and its bytes. Raises NotFound: it is gone."""
    if store.exists(entry.path):
        return store.root / entry.path, store.read(entry.path)
    where = entry.fields.get("path")
    if not where:
        back = "bring it back with git, or delete what is left: ai-lessons contribute delete ID"
        raise NotFound("script file", entry.path, hint=back)
    file = external_files.expanded(str(where))
    return file, external_files.read(file)[0]


class Trust:
    """A list of marks in a folder that no pull writes to.

    Safe with several processes: a line is added by one write.
    """

    def __init__(self, state_dir: Path, kind: str = "script") -> None:
        """Each `kind` of marks has a list of its own."""
        self._kind, self._file = kind, state_dir / f"trusted-{kind}s.jsonl"

    def add(self, path: str, data: bytes, interpreter: str = "") -> None:
        """Trust one text; see `add_all`."""
        self.add_all([(path, fingerprint(data, interpreter))])

    def add_all(self, scripts: Iterable[tuple[str, str]]) -> None:
        """Trust texts from now on: (path for people, mark) each.

        Raises StorageFailed: no place for it.
        """
        trusted = self.marks()
        new = {}
        for path, mark in scripts:
            if mark not in trusted:
                new[mark] = path
        if not new:
            return
        lines = "".join(
            json.dumps({self._kind: mark, "path": path}) + "\n" for mark, path in new.items()
        )
        with files.translated(str(self._file), writing=True):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            files.append_lines(self._file, lines.encode(), private=True)

    def knows(self, data: bytes, interpreter: str = "") -> bool:
        """True if exactly this text is trusted. Raises StorageFailed: the list cannot be read."""
        return fingerprint(data, interpreter) in self.marks()

    def marks(self) -> frozenset[str]:
        """All marks in the list. Raises StorageFailed: the list exists and cannot be read."""
        with files.translated(str(self._file)):
            if self._file.exists():
                text = self._file.read_text(errors="replace")
            else:
                text = ""
        marks = set()
        for line in text.split("\n"):
            with suppress(ValueError, KeyError, TypeError):
                # a damaged line trusts nothing
                marks.add(json.loads(line)[self._kind])
        results = []
        for mark in marks:
            if isinstance(mark, str):
                results.append(mark)
        return frozenset(results)


def is_url(source: str) -> bool:
    """Whether a source is a page and no file."""
    return source.startswith(("https://", "http://"))


def known_sources(state_dir: Path) -> frozenset[str]:
    """What was added, or was let be read again, in the clone of this state, each by its `source_mark`."""
    return Trust(state_dir, SOURCE).marks()


def remember_sources(state_dir: Path, sources: Sequence[tuple[str, str]]) -> None:
    """Let docs and scripts that were added here be read again from where they came, each as (id, path)."""
    Trust(state_dir, SOURCE).add_all(
        (source, source_mark(entry_id, source)) for entry_id, source in sources
    )


def source_mark(entry_id: str, source: str) -> str:
    """Names an entry with this path and the file behind it."""
    return sha256("\0".join((entry_id, source, real(source))).encode(errors="replace")).hexdigest()


def real(source: str) -> str:
    """The file that a path leads to, without links.

    A page, and a path that no file can have, lead to themselves.
    """
    if "\0" in source or is_url(source):
        return source
    return os.path.realpath(external_files.expanded(source))
