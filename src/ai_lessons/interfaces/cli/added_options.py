"""Options that features add to commands of the core, and to the tools of agents that these are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ai_lessons import extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ai_lessons.interfaces.cli.command import Argument

Function = TypeVar("Function", bound="Callable[..., Any]")


class AddedOptions(NamedTuple):
    """Options for one command: `option` puts them on it, `names` are those of its parameters.

    `common`: which of them stand among the common ones in the help. `arguments`: what an agent gives.
    """

    option: Callable[[Any], Any]
    names: tuple[str, ...]
    common: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()


class Added:
    """All options that features add to one command."""

    def __init__(self, rows: Sequence[AddedOptions]) -> None:
        self._rows = rows

    @property
    def common(self) -> str:
        """Those among the common options of the command."""
        return " ".join(name for row in self._rows for name in row.common)

    @property
    def arguments(self) -> list[Argument]:
        """What an agent gives, who calls the command as a tool."""
        return [argument for row in self._rows for argument in row.arguments]

    def __call__(self, command: Function) -> Function:
        """Put the options on the command, as a decorator."""
        for row in reversed(self._rows):
            command = row.option(command)
        return command

    def taken(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Take the values of these options out of all that a command was called with.

        Those that were not given are left out.
        """
        values = {}
        for row in self._rows:
            for name in row.names:
                value = fields.pop(name)
                if value not in (None, (), False):
                    values[name] = value
        return values


def added_to(command: str) -> Added:
    """The options that features add to a command, by its words: `contribute update`."""
    rows: list[AddedOptions] = []
    for feature in extensions.rows():
        place = feature.options.get(command)
        if place is not None:
            rows.append(extensions.load(feature.place(place)))
    return Added(rows)
