"""Scopes as groove writes them: `global`, `user:NAME`, `project:PATH`. Here the tier and the project say the same."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ai_lessons.errors import Refused, UsageError
from ai_lessons.knowledge.entries import GLOBAL_PROJECT
from ai_lessons.knowledge.layout import check_path, slug

GLOBAL, USER, PROJECT = "global", "user", "project"
_NAMES = {GLOBAL: "Global", USER: "User", PROJECT: "Project"}
_KINDS = {name: kind for kind, name in _NAMES.items()}


class Scope(NamedTuple):
    """Where something holds: everywhere, for one user, or in the project at a path. `global` has no value."""

    kind: str
    value: str = ""

    def __str__(self) -> str:
        return self.kind if self.kind == GLOBAL else f"{self.kind}:{self.value}"

    @property
    def tier(self) -> str:
        """Of whose repository it belongs into: what holds in one project travels with it, all else is the user's."""
        return PROJECT if self.kind == PROJECT else USER

    @property
    def project(self) -> str:
        """Its project here: the last part of the path; what a user keeps for all of them lies in `global`.

        Raises:
            UsageError: no name is left of the path.
        """
        return project_of(self.value) if self.kind == PROJECT else GLOBAL_PROJECT

    @property
    def tagged(self) -> str | dict[str, str]:
        """As groove's export has it: `"Global"`, `{"User": NAME}`, `{"Project": PATH}`."""
        return _NAMES[self.kind] if self.kind == GLOBAL else {_NAMES[self.kind]: self.value}


def parse(text: str) -> Scope:
    """The scope that a string names.

    Raises:
        UsageError: none.
    """
    kind, colon, value = text.partition(":")
    if (text == GLOBAL) or (colon and kind in {USER, PROJECT}):
        return Scope(kind, value)
    raise UsageError(f"no scope {text!r}"[:100], hint="one of: global, user:NAME, project:PATH")


def is_scope(text: str) -> bool:
    """Whether a string names a scope."""
    try:
        parse(text)
    except UsageError:
        return False
    return True


def read(said: Any) -> Scope:
    """The scope in an export, in either spelling; nothing stated is `global`.

    Raises:
        UsageError: it is none.
    """
    if isinstance(said, dict) and len(said) == 1:
        name, value = next(iter(said.items()))
        kind = _KINDS.get(str(name).capitalize())
        if kind in {USER, PROJECT} and isinstance(value, str):
            return Scope(str(kind), value)
    elif said is None or said in ("", "Global"):
        return Scope(GLOBAL)
    elif isinstance(said, str):
        return parse(said)
    raise UsageError(f"no scope {said!r}"[:100])


def of_entry(project: str, stated: object = None) -> Scope:
    """The scope of an entry of this project: the one that it states, as long as it lies where that belongs."""
    try:
        scope = parse(stated) if isinstance(stated, str) else None
        if scope and scope.project == project:
            return scope
    except UsageError:  # a file may say anything; `validate` names it
        pass
    return Scope(GLOBAL) if project == GLOBAL_PROJECT else Scope(PROJECT, project)


def project_named(text: str) -> str:
    """What a caller names as a project: its name, or a scope in the spelling of groove.

    Raises:
        UsageError: no name is left of the path.
    """
    if text.partition(":")[0] in {USER, PROJECT} and ":" in text:
        return parse(text).project
    return text


def project_of(name: object) -> str:
    """A project for a scope of another tool: the last part of a path, as one plain folder name.

    Raises:
        UsageError: no name is left.
    """
    last = re.split(r"[/\\]", str(name).rstrip("/\\"))[-1].strip()
    if last in {"", "global"}:
        return GLOBAL_PROJECT
    for wanted in (last, slug(last)):
        try:
            check_path(wanted)
        except Refused:
            continue
        return wanted
    raise UsageError(f"{last!r} cannot be a project")
