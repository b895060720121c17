"""What `admin forget` says to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.interfaces.output import clean, columns, line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.features.forget.jobs import Forgetting, Place
    from ai_lessons.interfaces.output import View


def forgetting(value: Forgetting, view: View) -> str:
    """What was done, where it still is, and the commands of each step."""
    blocks = []
    if value.done:
        blocks.append("\n".join(["Done:", *(f"  {line(sentence)}" for sentence in value.done)]))
    if value.places:
        blocks.append(f"{line(value.target)} is still in:\n{_table(value, view)}")
    else:
        blocks.append(f"{line(value.target)} is nowhere that is known from here.")
    for number, step in enumerate(value.steps, 1):
        rows = [f"{number}. {line(step.title)}"]
        if step.commands:
            # a command that is wrapped could not be copied
            rows += ["```sh", *map(clean, step.commands), "```"]
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def _table(value: Forgetting, view: View) -> str:
    rows = []
    for place in value.places:
        rows.append((f"  {place.what}", f"{place.number:,}", place.removed_by, _where(place, view)))
    return columns(rows, view)


def _where(place: Place, view: View) -> str:
    named = ", ".join(line(name) for name in _names(place))
    if not named:
        return view.short(line(place.where))
    return f"{view.short(line(place.where))}: {named}"


def _names(place: Place) -> Iterator[str]:
    """Names within the folder, and how many more there are."""
    for name in place.names:
        yield name.removeprefix(f"{place.where}/").removeprefix("refs/heads/").removeprefix("refs/")
    if place.number > len(place.names) > 1 and place.what != "history":
        yield f"and {place.number - len(place.names)} more"
