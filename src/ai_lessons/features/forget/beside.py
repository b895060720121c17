"""Files that are not ours, in which a text may stand: what was told, exported or typed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.connectors import agent_hosts
from ai_lessons.git import external_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_lessons.features.forget.target import Target
    from ai_lessons.model import Where

# Bytes of a transcript or text that are read
_LARGEST: Final = 256 << 20
# Folders below the home of a user, in which hosts have theirs
_SHARED: Final = frozenset({".config", ".local", "share", "Library", "Application Support"})
_DEPTHS: Final = ("*.md", "*/*.md", "*/*/*.md")
_HISTORIES: Final = (
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
)


class Beside(NamedTuple):
    """Files that hold it: transcripts of hosts, instructions of hosts and folders, histories of shells."""

    transcripts: tuple[Path, ...] = ()
    instructions: tuple[Path, ...] = ()
    histories: tuple[Path, ...] = ()


def files_beside(where: Where, folders: Iterable[Path], target: Target) -> Beside:
    """The files of agent hosts, of these folders and of shells that hold it."""
    places = agent_hosts.transcripts(where)
    transcripts: set[Path] = set()
    for place, pattern in places:
        for file in external_files.matches(place, pattern.split("/"), hidden=True):
            if _holds(file, target):
                transcripts.add(file)
    texts: dict[Path, None] = {}
    for folder in (*_folders_of_hosts(where, (place for place, _ in places)), *folders):
        texts.update(dict.fromkeys(_texts_below(folder)))
    instructions = [file for file in texts if file not in transcripts and _holds(file, target)]
    histories = []
    for file in _histories(where):
        if _holds(file, target):
            histories.append(file)
    return Beside(tuple(sorted(transcripts)), tuple(instructions), tuple(histories))


def _folders_of_hosts(where: Where, places: Iterable[Path]) -> Iterator[Path]:
    """The folder of each host in the home of the user, by where it keeps transcripts."""
    for place in places:
        if place.is_relative_to(where.home):
            folder = where.home
            for part in place.relative_to(where.home).parts:
                folder /= part
                if part not in _SHARED:
                    break
            if folder != where.home:
                yield folder


def _texts_below(folder: Path) -> Iterator[Path]:
    for pattern in _DEPTHS:
        with suppress(OSError):
            yield from sorted(folder.glob(pattern))


def _histories(where: Where) -> Iterator[Path]:
    named = where.environ.get("HISTFILE", "")
    if named:
        yield Path(named)
    for name in _HISTORIES:
        file = where.home / name
        if str(file) != named:
            yield file


def _holds(file: Path, target: Target) -> bool:
    """Whether a plain file holds it. What cannot be read holds nothing."""
    with suppress(OSError):
        if file.is_file() and file.stat().st_size <= _LARGEST:
            return target.is_in(file.read_bytes())
    return False
