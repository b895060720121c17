"""What `--json` prints of an import and an export."""

from typing import Any

import pytest

from ai_lessons.app.written import Skipped
from ai_lessons.features.transfer.exports import Exported, ExportedFile
from ai_lessons.features.transfer.jobs import Ported, SourcePart
from ai_lessons.interfaces import output
from interfaces.test_terminal import PROPOSED, SAID, WRITTEN, WROTE

SHAPED: list[tuple[Any, Any]] = [
    (Ported((WRITTEN,), 0, (Skipped("p", "r"),), "c", (), 1, 2, 3, (PROPOSED,), "B1", (SourcePart("p", "skipped", "r"),)),
     {"written": [WROTE], "unchanged": 0, "skipped": [{"path": "p", "reason": "r"}], "relations": 1, "params": 2,
      "events": 3, "queued": [SAID], "batch": "B1", "commit": "c", "dry_run": False, "notes": [],
      "seen": [{"where": "p", "became": "skipped", "about": "r"}], "old_files": []}),
    (Exported("f", (ExportedFile("p", "written"),), skipped=(Skipped("q", "r"),)),
     {"form": "f", "files": [{"path": "p", "done": "written"}], "lessons": 0, "rules": 0, "docs": 0, "scripts": 0,
      "events": 0, "skipped": [{"path": "q", "reason": "r"}], "notes": []}),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "data"), SHAPED, ids=lambda value: type(value).__name__)
def test_an_answer_has_its_documented_shape(answer: Any, data: Any) -> None:
    assert output.encode(answer) == data
