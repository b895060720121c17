"""The columns of the table of passages, and what is written into them. A home of pyarrow."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no stubs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.index.rows import Row

FORMAT = 3  # Raised when the columns or what is written into them change: older tables are rebuilt

FTS_COLUMN = "fts_text"


def made_with(model: str, dimensions: int) -> dict[str, str]:
    """What a table must have been made with to be used. An FTS index of an older lancedb may make it panic."""
    return {"format": str(FORMAT), "model": model, "dimensions": str(dimensions), "lancedb": version("lancedb")}


def schema(made: Mapping[str, str]) -> pa.Schema:
    """Columns of the table. A passage without a vector yet has null there."""
    texts = ("project", "status", "title", "heading", "text", FTS_COLUMN, "row_hash", "text_key")
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("entry_id", pa.string(), nullable=False),
            pa.field("ordinal", pa.int32(), nullable=False),
            pa.field("section", pa.int32(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("tags", pa.list_(pa.string())),
            pa.field("versions", pa.list_(pa.string())),
            *(pa.field(name, pa.string(), nullable=False) for name in texts),
            pa.field("vector", pa.list_(pa.float32(), int(made["dimensions"]))),
        ],
        metadata={"ai-lessons": json.dumps(dict(made))},
    )


def vector_column(vectors: Sequence[bytes | None], dimensions: int) -> pa.Array:
    """Packed vectors (little-endian float16) as a column of float32; anything of another length becomes null."""
    good = [vector if vector is not None and len(vector) == 2 * dimensions else None for vector in vectors]
    data = b"".join(vector or bytes(2 * dimensions) for vector in good)
    values = pa.Array.from_buffers(pa.float16(), len(good) * dimensions, [None, pa.py_buffer(data)])
    mask = pa.array([vector is None for vector in good], type=pa.bool_())
    return pa.FixedSizeListArray.from_arrays(values.cast(pa.float32()), dimensions, mask=mask)


def as_arrow(rows: Sequence[Row], vectors: Mapping[str, bytes], made: Mapping[str, str]) -> pa.Table:
    """Rows as a table made as asked; vectors (packed) by text key."""
    kinds, dimensions = schema(made), int(made["dimensions"])
    columns = [
        vector_column([vectors.get(row.text_key) for row in rows], dimensions)
        if column.name == "vector"
        else pa.array([getattr(row, column.name) for row in rows], type=column.type)
        for column in kinds
    ]
    return pa.Table.from_arrays(columns, schema=kinds)
