"""What `--json` prints of tiers and promotions."""

from typing import Any

import pytest

from ai_lessons.features.tiers.evaluation import EvaluationFinding, EvaluationReport
from ai_lessons.features.tiers.promotion import Promoted
from ai_lessons.features.tiers.states import TierState
from ai_lessons.interfaces import output
from interfaces.test_terminal import LESSON, WRITTEN, WROTE

FOUND = EvaluationReport((EvaluationFinding("duplicates", "stop", "it is there"),))

SHAPED: list[tuple[Any, Any]] = [
    (TierState("user", "reads", "/p", "why"),
     {"tier": "user", "state": "reads", "path": "/p", "why": "why", "hint": ""}),
    (Promoted(LESSON, "project", "user", "copied", FOUND, copy=WRITTEN),
     {"id": "01J", "handle": "L-1", "title": "t", "from": "project", "to": "user", "outcome": "copied",
      "copy": WROTE, "proposal": None, "policy": "", "decided_in": "",
      "notes": [],
      "evaluation": {"recommendation": "reject", "findings": [
          {"check": "duplicates", "severity": "stop", "message": "it is there", "where": ""}]}}),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "data"), SHAPED, ids=lambda value: type(value).__name__)
def test_an_answer_has_its_documented_shape(answer: Any, data: Any) -> None:
    assert output.encode(answer) == data
