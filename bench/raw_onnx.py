"""The best that onnxruntime does with the pinned model when nothing stands around it: the yardstick of bench/embedding.

Two loops over the same texts: one text at a time (no padding at all), and batches of neighbours in length up to a
budget of tokens. CLS pooling and normalisation are done, since a vector nobody can use would be no yardstick; nothing
is cached, split or stored. onnxruntime and tokenizers are used directly, as the library does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # it ships no types
from tokenizers import Encoding, Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

LONGEST = 512
"""Tokens of one text that the model reads."""

BUDGET = 512
"""Tokens of one batch, padding included."""


class RawModel:
    """The session and the tokenizer, loaded once."""

    def __init__(self, folder: Path, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(folder / "model_quantized.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()
        self.inputs = {i.name for i in self.session.get_inputs()}

    def tokens(self, texts: list[str]) -> int:
        """How many tokens the model sees of these texts, without padding: the unit of throughput for everyone."""
        return sum(len(e.ids) for e in self.tokenizer.encode_batch(texts))

    def one_by_one(self, texts: list[str]) -> list[np.ndarray]:
        """One text a call."""
        return [self._vectors([self.tokenizer.encode(text)])[0] for text in texts]

    def by_budget(self, texts: list[str]) -> list[np.ndarray]:
        """Texts of like length together, as many as fit the budget once padded."""
        encoded = sorted(self.tokenizer.encode_batch(texts), key=lambda e: len(e.ids))
        vectors: list[np.ndarray] = []
        batch: list[Encoding] = []
        for one in encoded:
            if batch and len(one.ids) * (len(batch) + 1) > BUDGET:
                vectors.extend(self._vectors(batch))
                batch = []
            batch.append(one)
        if batch:
            vectors.extend(self._vectors(batch))
        return vectors

    def _vectors(self, batch: list[Encoding]) -> np.ndarray:
        width = max(len(e.ids) for e in batch)
        ids = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros((len(batch), width), dtype=np.int64)
        for row, one in enumerate(batch):
            ids[row, : len(one.ids)] = one.ids
            mask[row, : len(one.ids)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self.session.run(None, {k: v for k, v in feed.items() if k in self.inputs})[0]
        first = np.asarray(hidden, dtype=np.float32)[:, 0]
        return np.asarray(first / np.linalg.norm(first, axis=1, keepdims=True), dtype=np.float32)
