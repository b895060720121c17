"""What a setting of a repository may be: readers that take a value of the file and give the one that is meant.

The file may be pulled, so everything is checked. Each reader says in `Nonsense` what the value must be instead.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Nonsense(ValueError):
    """What a value must be instead."""


def truth(value: Any) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise Nonsense("true or false")
    return value


def truth_or_auto(value: Any) -> bool | None:
    """Yes, no, or None for what the program decides."""
    if value in (None, "auto"):
        return None
    if not isinstance(value, bool):
        raise Nonsense("auto, true or false")
    return value


def sharing(value: Any) -> bool | None:
    """Whether events are shared; None for what the program decides."""
    if value in (None, "auto"):
        return None
    if value not in ("local", "shared"):
        raise Nonsense("auto, local or shared")
    return bool(value == "shared")


def up_to(high: int, what: str) -> Callable[[Any], int]:
    """A reader of whole numbers from 1."""

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= high:
            raise Nonsense(f"a number of {what} from 1 to {high}")
        return value

    return read


def one_of(*words: str) -> Callable[[Any], str]:
    """A reader that takes these words and no others."""

    def read(value: Any) -> str:
        if value not in words:
            raise Nonsense(f"{', '.join(words[:-1])} or {words[-1]}")
        return str(value)

    return read


_BRANCH = re.compile(r"(?!.*(?:\.\.|@\{|//|/\.|\.lock(?:/|$)))[\w][^\x00-\x20\x7f~^:?*\[\\]*(?<![./])")


def branch(value: Any) -> str:
    """The short name of a branch."""
    if not isinstance(value, str) or not _BRANCH.fullmatch(value) or value.startswith("refs/"):
        raise Nonsense("the name of a branch")
    return value


def name(value: Any) -> str:
    """The name of a model, which is no path."""
    if not isinstance(value, str) or not re.fullmatch(r"[\w][\w./-]{0,199}", value) or ".." in value:
        raise Nonsense("the name of a model")
    return value


def place(value: Any) -> str | None:
    """An address in object storage; None for the git directory."""
    if value in (None, ""):
        return None
    if not isinstance(value, str) or not re.fullmatch(r"(?:s3|gs|az|abfss?)://[^\s\x00-\x1f]{1,1000}", value):
        raise Nonsense("empty, or an address that starts with s3://, gs:// or az://")
    return value


def aliases(value: Any) -> dict[str, str]:
    """Each alias with the tag that it leads to in the end."""
    if not isinstance(value, dict) or not all(isinstance(x, str) and x.strip() for x in value.values()):
        raise Nonsense("lines of `alias: tag`")
    return {alias: _end_of(alias, value) for alias in value}


def _end_of(alias: str, aliases: Mapping[str, str]) -> str:
    """Where a chain of aliases ends."""
    seen = {alias}
    while (alias := aliases[alias]) in aliases:
        if alias in seen:
            raise Nonsense("aliases that do not lead round in a circle")
        seen.add(alias)
    return alias
