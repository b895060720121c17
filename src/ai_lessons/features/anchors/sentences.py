"""What became of one anchor, in a word and a sentence."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.anchors.fingerprints import CodeVerdict

if TYPE_CHECKING:
    from ai_lessons.features.anchors.anchors import Anchor
    from ai_lessons.features.anchors.fingerprints import State
    from ai_lessons.git.commits import ChangingCommit


class AnchorVerdict(NamedTuple):
    """What became of one anchor, in a word and (unless it holds) a sentence.

    `commit`, `author` and `date` (ISO 8601) are of the change, empty while that is not committed.
    `place`: where it is now, if elsewhere. `changes`: how many commits changed it since.
    """

    anchor: str
    verdict: CodeVerdict
    detail: str = ""
    commit: str = ""
    author: str = ""
    date: str = ""
    place: str = ""
    changes: int = 0


def elsewhere(anchor: Anchor) -> AnchorVerdict:
    """That nothing is known of an anchor."""
    return AnchorVerdict(str(anchor), CodeVerdict.ELSEWHERE)


def out_of_range(anchor: Anchor, version: str, path: str) -> AnchorVerdict:
    """That the project uses another version, as a file says."""
    detail = f"it speaks of {anchor}, and {version.lstrip('@')} is in use here ({path})"
    return AnchorVerdict(str(anchor), CodeVerdict.OUT_OF_RANGE, detail)


def not_holding(
    anchor: Anchor,
    verdict: CodeVerdict,
    commit: ChangingCommit | None,
    place: str,
    now: State | None,
) -> AnchorVerdict:
    """The verdict on an anchor that does not hold: since when, and what there is now."""
    since = ""
    if commit is not None:
        since = f" on {_day(commit.day)} ({commit.name}, {commit.author})"
    if verdict is CodeVerdict.MOVED:
        detail = f"the code it speaks of moved: {anchor._replace(value=None)} is {place} now"
    elif verdict is CodeVerdict.GONE:
        detail = f"the code it speaks of is gone{since.replace(' on', ' since', 1)}: {anchor}"
    elif verdict is CodeVerdict.ELSEWHERE:
        detail = ""
    else:
        detail = f"the code it speaks of changed{since}: check first, {anchor}"
        if place:
            detail += f" (now {place})"
        if anchor.value is not None and now is not None and now.value is not None:
            detail += f", now {now.value}"
    row = AnchorVerdict(str(anchor), verdict, detail, place=place)
    if commit is None:
        return row
    return row._replace(commit=commit.name, author=commit.author, date=commit.day)


def _day(text: str) -> str:
    """A day as people say it: 3 November, with its year unless it is this one."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    words = f"{day.day} {day:%B}"
    if day.year != date.today().year:
        words += f" {day.year}"
    return words
