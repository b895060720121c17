"""From one version of the file format to the next: a step for each, pure. The newest version is `config.FORMAT`.

A step is given the files of a repository and says which of them change. It never touches `.ai-lessons/config.yaml`:
the version is written there by `admin migrate`. Rules are not among the files, because their text was approved.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.config import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Files = Mapping[str, bytes]
    """Files of entries by path, scripts and side files included."""

    Changes = Mapping[str, bytes | None]
    """New contents by path; None takes a file away."""


class Migration(NamedTuple):
    """From one version to the next: what it does, for people, and how."""

    says: str
    change: Callable[[Files], Changes]


STEPS: Mapping[int, Migration] = MappingProxyType({})
"""The step *from* each version. Version 1 is the first and the newest, so there is none yet."""


def plan(
    files: Files, stated: int, target: int = FORMAT, steps: Mapping[int, Migration] = STEPS
) -> dict[str, bytes | None]:
    """What all steps from the stated version to the target change together."""
    now: dict[str, bytes] = dict(files)
    for version in range(stated, target):
        for path, data in steps[version].change(now).items():
            if data is None:
                now.pop(path, None)
            else:
                now[path] = data
    gone: dict[str, bytes | None] = {path: None for path in files if path not in now}
    return gone | {path: data for path, data in now.items() if files.get(path) != data}
