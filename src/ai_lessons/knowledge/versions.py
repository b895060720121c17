"""How well the versions of an entry fit those that were asked for, and which of them come nearest.

A version says a set: one release, a series, a range, or a name that is none of these.
"""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.knowledge.entries import UNVERSIONED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from packaging.version import Version

EXACT = 1.00
MORE = 0.95
FEWER = 0.85
OVERLAP = 0.75
NONE_STATED = 0.70

AUTO = "auto"  # Asks for the versions in use by the caller's own project

_COMMA = re.compile(r"\s*,\s*")
_BOUND = re.compile(r"[<>]|[!~]=")


def score(asked: Iterable[str], have: Iterable[str]) -> float | None:
    """The factor of design 7: 1.00 for the same versions, less the further apart, None where none is in common.

    A version is a release (`v3.5`, which is `3.5` and `3.5.0`), a series (`3.x`), a range (`>=1.4 <2`, `^1.2`), what is
    in use (`@3.5.1`, which `3.5` and `3` fit as well), or a name (`lts`, in any case). `1.10` is not near `1.9`, and
    `3` is not `3.5`. Nothing asked fits everything. An entry without versions fits everything a little; only such
    entries fit `unversioned`.
    """
    wanted, stated = _names(asked), _names(have) - {UNVERSIONED}
    if wanted == {UNVERSIONED}:
        return None if stated else EXACT
    wanted -= {UNVERSIONED}
    if not wanted or wanted == stated:
        return EXACT
    if not stated:
        return NONE_STATED
    one, other = asked_and_stated(wanted, stated)
    if not one.meets(other):
        return None
    return {(True, True): EXACT, (True, False): MORE, (False, True): FEWER}.get(
        (one.within(other), other.within(one)), OVERLAP
    )


def newest_first(versions: Iterable[str]) -> tuple[str, ...]:
    """Versions as people sort them: releases from the newest down, then names."""
    every = sorted(set(versions))
    if len(every) < 2:  # and nothing is loaded that compares
        return tuple(every)
    known = {name: found for name in every if (found := release(name)) is not None}
    return (*sorted(known, key=known.__getitem__, reverse=True), *(name for name in every if name not in known))


def listed(text: str) -> tuple[str, ...]:
    """The versions of a list with commas, each once. Commas inside a range, as in `>=1.4,<2`, part nothing."""
    parts: list[str] = []
    for part in _COMMA.split(text.strip()):
        if parts and _BOUND.match(part) and _BOUND.match(parts[-1]):
            parts[-1] += f" {part}"
        elif part:
            parts.append(part)
    return tuple(dict.fromkeys(parts))


def _names(versions: Iterable[str]) -> frozenset[str]:
    return frozenset(_comparable(version) for version in versions if version.strip())


def _comparable(version: str) -> str:
    name = version.strip().casefold()
    return name[1:] if name[:1] == "v" and name[1:2].isdigit() else name


# --- versions as sets ---

IN_USE = "@"  # Before a release: what somebody uses. A version that names its series, `2.32` for 2.32.3, fits it, too
LONGEST = 100  # Characters; what is longer is a name: nobody writes such a version, and long numbers are slow

Cut = tuple[int, Any, int]
"""A place between releases, just before (0) or just after (1) one; the first number is -1 and 1 at both ends of all."""

_FIRST: Cut = (-1, 0, 0)
_LAST: Cut = (1, 0, 0)
_ALL = "*"
_RELEASE = r"v?[0-9][0-9a-z.+!_-]*"
_WILDCARD = re.compile(r"v?([0-9]+(?:\.[0-9]+)*)(?:\.[x*])+$")
_COMPARED = re.compile(rf"(>=|<=|={{1,3}}|!=|~=|>|<|\^|~)\s*({_RELEASE}|v?[0-9][0-9.]*\.[x*])")
_RELEASE_IN = re.compile(r"(?<![0-9.])v?([0-9]+(?:\.[0-9]+)*)")
_MOVING = frozenset({"latest", "newest", "current", "stable", "edge", "main", "master", "head", "next"})
_BETWEEN = re.compile(rf"({_RELEASE})\s+-\s+({_RELEASE})")


class ReleaseSpan(NamedTuple):
    """All releases from one cut to the next."""

    low: Cut = _FIRST
    high: Cut = _LAST


class VersionSet(NamedTuple):
    """Names, and spans that neither touch nor overlap, in order."""

    names: frozenset[str] = frozenset()
    spans: tuple[ReleaseSpan, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.spans)

    def meets(self, other: VersionSet) -> bool:
        """Whether they have a version in common."""
        return bool(self.names & other.names or _common(self.spans, other.spans))

    def within(self, other: VersionSet) -> bool:
        """Whether all of this is in the other."""
        return self.names <= other.names and all(
            any(whole.low <= part.low and part.high <= whole.high for whole in other.spans) for part in self.spans
        )


def asked_and_stated(asked: Iterable[str], stated: Iterable[str]) -> tuple[VersionSet, VersionSet]:
    """Both as sets. What names the series of a release that is asked for as in use counts as that release."""
    wanted = list(asked)
    used = [version for text in wanted if (version := _in_use(text)) is not None]
    covering = (
        union([_point(version) for version in used if _names_series(text, version)]) or parsed(text) for text in stated
    )
    return union(parsed(text) for text in wanted), union(covering)


def union(sets: Iterable[VersionSet]) -> VersionSet:
    """What is in any of them."""
    every = list(sets)
    names = frozenset(chain.from_iterable(one.names for one in every))
    return VersionSet(names, _merged(chain.from_iterable(one.spans for one in every)))


@lru_cache(maxsize=4096)
def parsed(text: str) -> VersionSet:
    """One version as somebody wrote it; what makes no sense as a release or range is a name."""
    plain = text.strip().casefold().removeprefix(IN_USE).strip()
    if len(plain) > LONGEST:
        return VersionSet(frozenset({plain}))
    try:
        spans = _merged(chain.from_iterable(_spans(part.strip()) for part in plain.split("||")))
    except ValueError:
        spans = ()
    return VersionSet(frozenset(), spans) if spans else VersionSet(frozenset({plain}))


def release(text: str) -> Version | None:
    """The release that a version as people write it names: of `stable-2.16.1`, `^2.16` and `2.x` 2.16.1, 2.16 and 2."""
    plain = text.strip()[:LONGEST]
    found = _RELEASE_IN.search(plain)
    return _plain(plain) or (_version(found[1]) if found else None)


def nearest(asked: str, stored: Iterable[str]) -> str | None:
    """The stored version that comes nearest to one that is not stored; None: none of the same major version.

    Of the same minor version if there is one; the newest that is not above, else the next above. Where less is named
    (`2`, `2.16`), the newest of that series; of a name like `latest` the newest of all.
    """
    known = {name: found for name in stored if (found := release(name)) is not None}
    wanted = release(asked)
    if wanted is None:
        return max(known, key=known.__getitem__, default=None) if asked.strip().casefold() in _MOVING else None
    same = {name: one for name, one in known.items() if one.major == wanted.major}
    count = len(wanted.release)
    minor = {name: one for name, one in same.items() if count > 1 and one.release[:2] == wanted.release[:2]}
    pool = minor or same
    below = {name: one for name, one in pool.items() if one <= wanted or count == 1 or (count == 2 and minor)}
    if below:
        return max(below, key=below.__getitem__)
    return min(pool, key=pool.__getitem__, default=None)


def _in_use(text: str) -> Version | None:
    mark, _, release = text.strip().partition(IN_USE)
    return None if mark or not release else _plain(release.strip())


def _names_series(text: str, used: Version) -> bool:
    """Whether the text is a plain release whose numbers are the first ones of what is used: 2 and 2.32 of 2.32.3."""
    named = _plain(text)
    count = len(named.release) if named else 0
    return named is not None and not named.is_prerelease and (used.release + (0,) * count)[:count] == named.release


def _plain(text: str) -> Version | None:
    """The release that this is; None for anything else, and for what is too long."""
    try:
        return _version(text) if len(text) <= LONGEST else None
    except ValueError:
        return None


def _version(text: str) -> Version:
    """Without its local part: `1.4+cu118` is a build of 1.4. Raises ValueError: none, or one of endless numbers."""
    from packaging.version import Version  # noqa: PLC0415  # it takes 8 ms to load

    return Version(Version(text).public)


def _point(version: Version) -> VersionSet:
    return VersionSet(frozenset(), (ReleaseSpan((0, version, 0), (0, version, 1)),))


def _spans(text: str) -> tuple[ReleaseSpan, ...]:
    """Raises ValueError where the text is no release, series or range."""
    if text == _ALL:
        return (ReleaseSpan(),)
    if between := _BETWEEN.fullmatch(text):
        return _common(_OPERATORS[">="](between[1]), _OPERATORS["<="](between[2]))
    compared = list(_COMPARED.finditer(text))
    if compared and not _COMPARED.sub("", text).strip(", "):
        return reduce(_common, (_OPERATORS[one[1]](one[2]) for one in compared), (ReleaseSpan(),))
    return _equal(text)


def _equal(text: str) -> tuple[ReleaseSpan, ...]:
    if numbers := _series_of(text):
        return (ReleaseSpan(_first_of(numbers), _first_of(_next(numbers))),)
    return _point(_version(text)).spans


def _unequal(text: str) -> tuple[ReleaseSpan, ...]:
    (span,) = _equal(text)
    return ReleaseSpan(_FIRST, span.low), ReleaseSpan(span.high, _LAST)


def _below(text: str) -> tuple[ReleaseSpan, ...]:
    """Betas of the release that is not reached are not below it, as PEP 440 has it, unless a beta is named."""
    if _series_of(text) or _version(text).is_prerelease:
        return (ReleaseSpan(high=_equal(text)[0].low),)
    return (ReleaseSpan(high=_first_of(_version(text).release)),)


def _from_to(kept: Callable[[tuple[int, ...]], int]) -> Callable[[str], tuple[ReleaseSpan, ...]]:
    """From the release that is named up to where the first so many of its numbers change."""

    def spans(text: str) -> tuple[ReleaseSpan, ...]:
        release = _series_of(text) or _version(text).release
        return (ReleaseSpan(_equal(text)[0].low, _first_of(_next(release[: kept(release)]))),)

    return spans


_OPERATORS: dict[str, Callable[[str], tuple[ReleaseSpan, ...]]] = {
    "=": _equal,
    "==": _equal,
    "===": _equal,
    "!=": _unequal,
    ">=": lambda text: (ReleaseSpan(low=_equal(text)[0].low),),
    "<=": lambda text: (ReleaseSpan(high=_equal(text)[0].high),),
    ">": lambda text: (ReleaseSpan(low=_equal(text)[0].high),),
    "<": _below,
    "~=": _from_to(lambda release: max(len(release) - 1, 1)),  # `~=1.4.2` is 1.4.2 and later of 1.4 (PEP 440)
    "~": _from_to(lambda _: 2),  # `~1.4.2` and `~1.4` are of 1.4, `~1` is of 1 (npm, Cargo)
    # `^1.4.2` is 1.4.2 and later of 1, `^0.4.2` of 0.4: the first number that is not 0 stays (npm, Cargo)
    "^": _from_to(lambda release: next((n for n, number in enumerate(release, 1) if number), len(release))),
}


def _series_of(text: str) -> tuple[int, ...]:
    """The numbers of `3.x` or `3.4.*`; none for anything else."""
    found = _WILDCARD.match(text)
    return _version(found[1]).release if found else ()


def _first_of(numbers: tuple[int, ...]) -> Cut:
    """Before the first thing that was ever published as this release."""
    return 0, _version(".".join(map(str, numbers)) + ".dev0"), 0


def _next(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return (*numbers[:-1], numbers[-1] + 1)


def _common(one: tuple[ReleaseSpan, ...], other: tuple[ReleaseSpan, ...]) -> tuple[ReleaseSpan, ...]:
    both = (ReleaseSpan(max(a.low, b.low), min(a.high, b.high)) for a in one for b in other)
    return tuple(span for span in both if span.low < span.high)


def _merged(spans: Iterable[ReleaseSpan]) -> tuple[ReleaseSpan, ...]:
    found: list[ReleaseSpan] = []
    for span in sorted(spans):
        if found and span.low <= found[-1].high:
            found[-1] = ReleaseSpan(found[-1].low, max(found[-1].high, span.high))
        else:
            found.append(span)
    return tuple(found)
