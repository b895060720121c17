"""What the tests of the doors share: how a run ended, and a small knowledge repository.

Its handles are those that the examples of the help name.
"""

import contextlib
import io
import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.interfaces import cli
from real_world import put_program, typed

PROGRAM = (sys.executable, "-m", "ai_lessons")
_PATIENTLY = (
    "from ai_lessons import __main__; from ai_lessons.interfaces import hook; from ai_lessons.app import daemon_client;"
    "hook.PATIENCE = hook.PATIENCE_TO_BEGIN = 600;"
    "daemon_client.PATIENT = daemon_client.PATIENT._replace(greeting=600, lifeless=600); __main__.main()"
)
PATIENT = (sys.executable, "-c", _PATIENTLY)
"""The program where a host and a helper wait for each other as long as a machine takes that is busy with other work."""


def program_in(folder: Path) -> Path:
    """The folder, made, with our program in it for a PATH."""
    return put_program(
        folder / "ai-lessons", f'#!/bin/sh\nexec {shlex.join(PATIENT)} "$@"\n'
    ).parent


def environment(**more: str) -> dict[str, str]:
    """The environment of this test for a program of its own."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | more


@dataclass(frozen=True)
class Outcome:
    """What a run of the program left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_inside(words: Sequence[str], cwd: Path, stdin: str = "", **environ: str) -> Outcome:
    """Run `ai-lessons` in this process as if it were one of its own: a third of the time, but only Python's output."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        pytest.MonkeyPatch.context() as patch, contextlib.chdir(cwd), typed(stdin),
        contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
    ):  # fmt: skip
        for name, value in environ.items():
            patch.setenv(name, value)
        code = cli.run(list(words))
    said = []
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
        said.append(stream.read())
    return Outcome(code, *said)


Run = Callable[..., Outcome]

LESSON = "01JD3Z8QK5W7M2X9V4T68F3K2A"
DOC = "01JD3Z8QK5W7M2X9V4T64T7QZM"
SCRIPT = "01JD3Z8QK5W7M2X9V4T69XW2RB"
RULE = "01JD3Z8QK5W7M2X9V4T65N1QTC"

FILES = {
    "jira-api/lessons/2026-11/put-replaces-8F3K2A.md": f"""---
id: {LESSON}
kind: lesson
title: PUT /workflows replaces the entire resource
tags:
  - jira-api
  - workflows
confidence: high
source: tested
from: ai
status: active
created: 2026-11-21T20:14:00Z
pattern:
  when: updating a Jira workflow
  do: GET it first and send every status back
  because: PUT deletes the statuses that the payload omits
links:
  - related_to: {DOC}
---
Seen on the sandbox: two statuses were gone after one workflow update.
""",
    "jira-api/docs/v3/workflows-api.md": f"""---
id: {DOC}
kind: doc
title: Jira Workflows API
versions:
  - v3
tags:
  - jira-api
source_path: ~/source/workflows-api.md
created: 2026-11-20T10:00:00Z
---
# Workflows API

Create, update and delete workflows and their transitions.

## Limits

At most 100 statuses a workflow.

## Errors

409 means that somebody else has changed it.
""",
    "jira-api/scripts/v3/update-workflow.sh": """#!/bin/sh
# Updates a Jira workflow and keeps its statuses.
echo "workflow $*"
""",
    "jira-api/scripts/v3/update-workflow.sh.md": f"""---
id: {SCRIPT}
kind: script
title: update-workflow.sh
versions:
  - v3
tags:
  - jira-api
created: 2026-11-20T10:00:00Z
---
Updates a workflow with proper status preservation.
""",
    "jira-api/notes.md": "# Plain notes on the workflow sandbox\n\nReset it on Mondays.\n",
}

PROPOSAL_BRANCH = "rules/R-5N1QTC-get-before-put"
PROPOSAL = {
    "jira-api/rules/get-before-put-5n1qtc.md": f"""---
id: {RULE}
kind: rule
title: GET a workflow before you PUT it
rationale: PUT replaces the whole resource
tags:
  - jira-api
applies_to:
  - "**/workflows/*.py"
links:
  - related_to: {LESSON}
created: 2026-11-21T21:00:00Z
---
Send back every status that GET returned.
"""
}
"""One proposed rule; the handle is the one that the examples name."""
