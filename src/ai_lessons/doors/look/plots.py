"""Small plots as values for the templates: where their lines run. Pure."""

from __future__ import annotations

from collections import Counter
from math import exp, lgamma, log
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.library.answers import Parameter

WIDTH, HEIGHT = 240, 60
POINTS, MOST = 60, 24
SHOWN = "injected"
GOOD, BAD = ("helpful", "followed", "worked", "script_ok"), ("contradicted", "recurred", "wrong", "script_failed")


class Bar(NamedTuple):
    """One bar of a month: where it begins, how high it is, and what it counts (shown, good or bad)."""

    x: float
    y: float
    height: float
    sort: str
    label: str


class Plot(NamedTuple):
    """A plot of `WIDTH` by `HEIGHT`: a line through points, or bars; the ends of its axis, and a sentence about it."""

    title: str
    caption: str
    low: str
    high: str
    points: str = ""
    mark: float = 0.0
    bars: Sequence[Bar] = ()


def curve(param: Parameter) -> Plot:
    """What is known of a parameter: the density of its beta distribution over its range."""
    a, b = param.alpha, param.beta
    norm = lgamma(a + b) - lgamma(a) - lgamma(b)
    positions = [(n + 0.5) / POINTS for n in range(POINTS)]
    heights = [exp(norm + (a - 1) * log(x) + (b - 1) * log(1 - x)) for x in positions]
    top = max(heights)
    points = " ".join(
        f"{WIDTH * x:.1f},{HEIGHT - (HEIGHT - 4) * y / top:.1f}" for x, y in zip(positions, heights, strict=True)
    )
    seen = f"{param.observations} observations" if param.observations else "nothing observed yet"
    caption = f"{param.help[:1].upper()}{param.help[1:]}. "
    caption += f"Now {param.value:.3g}, give or take {param.uncertainty:.2g}; {seen}."
    mark = WIDTH * (param.value - param.low) / ((param.high - param.low) or 1)
    return Plot(param.name.replace("_", " "), caption, f"{param.low:g}", f"{param.high:g}", points, mark)


def bars(happened: Sequence[tuple[str, str]]) -> Plot | None:
    """How often an entry was told, helped and did harm, by month; None: never."""
    months = sorted({at[:7] for at, _ in happened})[-MOST:]
    if not months:
        return None
    counts = Counter((at[:7], _sort(word)) for at, word in happened)
    top = max(sum(counts[month, sort] for sort in ("good", "bad", "shown")) for month in months)
    drawn = []
    for n, month in enumerate(months):
        y = float(HEIGHT)
        for sort in ("good", "bad", "shown"):
            height = (HEIGHT - 4) * counts[month, sort] / top
            y -= height
            if height:
                drawn.append(Bar(10.0 * n + 1, round(y, 1), round(height, 1), sort, f"{month}: {counts[month, sort]}"))
    counted = Counter(_sort(word) for _, word in happened)
    caption = f"Times shown: {counted['shown']}; good outcomes: {counted['good']}; bad outcomes: {counted['bad']}."
    return Plot("How it did", caption, months[0], months[-1], bars=drawn)


def _sort(word: str) -> str:
    return "good" if word in GOOD else "bad" if word in BAD else "shown" if word == SHOWN else ""
