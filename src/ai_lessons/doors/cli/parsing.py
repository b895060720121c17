"""Text that people type into options, as values. Every complaint names the part that is wrong and ends with code 2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from ai_lessons.errors import UsageError
from ai_lessons.knowledge.entries import Kind, Relation
from ai_lessons.knowledge.versions import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from enum import StrEnum


def words(text: str) -> tuple[str, ...]:
    """`a, b,a` -> `("a", "b")`: the parts between commas, without blanks and repetitions, in their order."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def flat(values: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """What an option that may be repeated and may hold commas says in all."""
    return tuple(dict.fromkeys(one for value in values for one in value))


def changes(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of the options of an update. An empty list of tags, or an empty text in a list, clears it.

    Raises:
        UsageError: nothing was given.
    """
    found = {name: value for name, value in given.items() if value is not None and (value != () or name == "tags")}
    if not found:
        raise UsageError("nothing to change was given", hint="see the same command with --help")
    return {name: tuple(filter(None, value)) if isinstance(value, tuple) else value for name, value in found.items()}


def kinds(names: Iterable[str]) -> frozenset[Kind]:
    """The kinds of a repeated `--type`; empty for all."""
    return frozenset(Kind(name) for name in names)


class Words(click.ParamType[tuple[str, ...]]):
    """A list with commas."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ARG002  # click's signature
        """Split; an empty list is allowed (it clears)."""
        return value if isinstance(value, tuple) else words(value)


class VersionList(Words):
    """A list of versions; a comma inside a range like `>=1.4,<2` parts nothing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ARG002  # click's signature
        """Split."""
        return value if isinstance(value, tuple) else listed(value)


class ContextTags(click.ParamType[dict[str, float | None]]):
    """`reviewer,jira-api=1.5`: tags of the situation one is in, with a weight where one matters more."""

    name = "tags"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, float | None]:
        """Split into tag and weight; no weight is None."""
        if isinstance(value, dict):
            return value
        found: dict[str, float | None] = {}
        for part in words(value):
            tag, equals, number = (piece.strip() for piece in part.partition("="))
            if not tag:
                self.fail(f"{part!r} has no tag before '='", param, ctx)
            if tag in found:
                self.fail(f"{tag!r} is given twice", param, ctx)
            if equals and not re.fullmatch(r"\d{1,3}(\.\d+)?|\.\d+", number):
                self.fail(f"the weight of {tag!r} must be a number from 0 to 999 like 1.5, not {number!r}", param, ctx)
            found[tag] = float(number) if equals else None
        return found


class OneOf(click.ParamType[str]):
    """One value of an enumeration, in any case and with `-` or `_`."""

    def __init__(self, values: type[StrEnum], name: str) -> None:
        self.name = name
        self.values = [value.value for value in values]
        self.listed = ", ".join(self.values)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value as it is written in files."""
        for known in self.values:
            if _folded(known) == _folded(str(value)):
                return known
        return self.fail(f"{value!r} is not one of: {self.listed}", param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002  # click's signature
        """One word; the values stand in the help text, where they can be wrapped."""
        return self.name.upper()

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's signature
        param: click.Parameter,  # noqa: ARG002  # click's signature
        incomplete: str,
    ) -> list[click.shell_completion.CompletionItem[str]]:
        """The values that begin so."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(known) for known in self.values if known.startswith(incomplete)]


class NewLink(click.ParamType[tuple[str, str]]):
    """`ID`, or `RELATION=ID`."""

    name = "link"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Relation and target; an empty relation means the one that fits the kind of the target."""
        if isinstance(value, tuple):
            return value
        relation, equals, target = value.partition("=")
        if not equals:
            return "", value
        if not target.strip():
            self.fail(f"{value!r} names no entry after '='", param, ctx)
        return OneOf(Relation, "relation").convert(relation.strip(), param, ctx), target.strip()


def _folded(text: str) -> str:
    return text.strip().lower().replace("-", "_")
