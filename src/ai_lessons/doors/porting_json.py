"""What moving in, out and back tells, as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ai_lessons.doors.as_json import writes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.library.migrating import Migrated
    from ai_lessons.library.porting.import_bundle import Ported
    from ai_lessons.library.porting.porting_export import Exported
    from ai_lessons.library.restoring import Restored, Snapshot, Taken


def ported(value: Ported) -> dict[str, Any]:
    """An import; `to_embed` counts the entries whose vectors the next search makes."""
    skipped = [{"path": where, "reason": reason} for where, reason in value.skipped]
    return asdict(value) | {"written": writes(value.written), "skipped": skipped, "to_embed": value.to_embed}


def exported(value: Exported) -> dict[str, Any]:
    """An export; where no file was named, the document itself."""
    if value.document is not None:
        return value.document
    data = asdict(value)
    del data["document"]
    return data | {
        "files": [{"path": path, "done": done} for path, done in value.files],
        "skipped": [{"path": path, "reason": reason} for path, reason in value.skipped],
    }


def migrated(value: Migrated) -> dict[str, Any]:
    """A migration; `snapshot` is null where nothing was to be done."""
    return asdict(value)


def taken(value: Taken) -> dict[str, Any]:
    """A snapshot that was made."""
    return asdict(value)


def snapshots(values: Sequence[Snapshot]) -> list[dict[str, Any]]:
    """Every snapshot, newest first."""
    return [asdict(one) for one in values]


def restored(value: Restored) -> dict[str, Any]:
    """What came back; `commit` is null where nothing changed."""
    return asdict(value)
