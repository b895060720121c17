"""How well the versions of an entry fit the requested ones, and which of them come nearest."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.entries import UNVERSIONED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packaging.ranges import VersionRange
    from packaging.version import Version

# The factor of an entry that has the very versions that are asked for
EXACT = 1.00
# Asks for the versions in use by the caller's own project
AUTO = "auto"

_BOUND = expression(r"[<>]|[!~]=")


def score(asked: Iterable[str], have: Iterable[str]) -> float | None:
    """The factor of a score.

    1.00 for the same versions, less the further apart, None where none is in common.

    A version is a release (`v3.5`, which is `3.5` and `3.5.0`), a series (`3.x`), a range (`>=1.4
    <2`, `^1.2`), what is in use (`@3.5.1`, which `3.5` and `3` fit as well), or a name (`lts`, in
    any case). `1.10` is not near `1.9`, and `3` is not `3.5`. Nothing asked fits everything. An
    entry without versions fits everything a little; only such entries fit `unversioned`.
    """
    wanted_names, stated = _names(asked), _names(have) - {UNVERSIONED}
    if wanted_names == {UNVERSIONED}:
        if stated:
            return None
        return EXACT
    wanted_names -= {UNVERSIONED}
    if not wanted_names or wanted_names == stated:
        return EXACT
    # what states no version may hold for any: less than what fits, and no reason to leave it out
    if stated:
        return _fit(wanted_names, stated)
    return 0.70


@lru_cache(maxsize=4096)
def _fit(asked: frozenset[str], stated: frozenset[str]) -> float | None:
    marked = (text.strip().partition(IN_USE) for text in asked)
    releases_in_use = [
        version
        for before, _, text in marked
        if text and not before and (version := _plain(text.strip())) is not None
    ]
    asked_set = _union(map(_parsed, asked))
    # what names the series of a release in use counts as that release
    stated_sets = []
    for text in stated:
        in_series = [str(used) for used in releases_in_use if _names_series(text, used)]
        stated_sets.append(_parsed("||".join(in_series) or text))
    stated_set = _union(stated_sets)
    if asked_set.names.isdisjoint(stated_set.names) and asked_set.releases.is_disjoint(
        stated_set.releases
    ):
        return None
    if asked_set.within(stated_set):
        if stated_set.within(asked_set):
            return EXACT
        # stated for all that is asked and more, it holds surely
        return 0.95
    if stated_set.within(asked_set):
        # for a part of it, only perhaps
        return 0.85
    # for parts of both, least
    return 0.75


def newest_first(versions: Iterable[str]) -> tuple[str, ...]:
    """Versions as people sort them: releases from the newest down, then names."""
    every = sorted(set(versions))
    if len(every) < 2:
        # and nothing is loaded that compares
        return tuple(every)
    releases = _releases_of(every)
    names = [name for name in every if name not in releases]
    return (*sorted(releases, key=releases.__getitem__, reverse=True), *names)


def _releases_of(versions: Iterable[str]) -> dict[str, Version]:
    """The releases that these versions name; those that name none are left out."""
    releases = {}
    for name in versions:
        parsed = release(name)
        if parsed is not None:
            releases[name] = parsed
    return releases


def released_first(versions: Iterable[str]) -> tuple[str, ...]:
    """As `newest_first`, with what is not released behind all that is."""
    ordered = newest_first(versions)
    if len(ordered) < 2:
        return ordered
    early, released = [], []
    for name in ordered:
        parsed = release(name)
        if parsed is not None and parsed.is_prerelease:
            early.append(name)
        else:
            released.append(name)
    return (*released, *early)


def listed(text: str) -> tuple[str, ...]:
    """The versions of a list with commas, each once.

    Commas inside a range, as in `>=1.4,<2`, part nothing.
    """
    parts: list[str] = []
    for part in map(str.strip, text.split(",")):
        if parts and _BOUND.match(part) and _BOUND.match(parts[-1]):
            parts[-1] += f" {part}"
        elif part:
            parts.append(part)
    return tuple(dict.fromkeys(parts))


def _names(versions: Iterable[str]) -> frozenset[str]:
    """As they are compared: `V3` is `3`."""
    names = []
    for name in versions:
        if name.strip():
            names.append(re.sub(r"^v(?=\d)", "", name.strip().casefold()))
    return frozenset(names)


# --- versions as sets ---

# Before a release: it is in use. A version that names its series, `2.32` for 2.32.3, fits it, too
IN_USE = "@"
# Characters; a longer one is a name, because long numbers are slow
LONGEST = 100

_ALL = "*"
_RELEASE = r"v?[0-9][0-9a-z.+!_-]*"
_WILDCARD = expression(r"v?([0-9]+(?:\.[0-9]+)*)(?:\.[x*])+$")
_COMPARED = expression(rf"(>=|<=|={{1,3}}|!=|~=|>|<|\^|~)\s*({_RELEASE}|v?[0-9][0-9.]*\.[x*])")
_RELEASE_IN = expression(r"(?<![0-9.])v?([0-9]+(?:\.[0-9]+)*)")
# Words of other programs for what is not released yet, as PEP 440 orders them
_EARLY = {
    "dev": "snapshot nightly canary dev insider insiders experimental unstable edge wip",
    "a": "alpha milestone m ea",
    "b": "beta preview pre next",
    "rc": "rc cr",
}
_EARLY_OF = {word: stage for stage, words in _EARLY.items() for word in words.split()}
_EARLY_WORD = expression(rf"(?<![a-z])({'|'.join(_EARLY_OF)})[.-]?(\d{{0,4}})(?![a-z0-9])")
_MOVING = frozenset(
    {"latest", "newest", "current", "stable", "edge", "main", "master", "head", "next"}
)
# These mean what is not released yet
_AHEAD = frozenset({"edge", "main", "master", "head", "next"})
_BETWEEN = expression(rf"({_RELEASE})\s+-\s+({_RELEASE})")


class VersionSet(NamedTuple):
    """Names, and all releases that are in some ranges."""

    names: frozenset[str]
    releases: VersionRange

    def within(self, other: VersionSet) -> bool:
        """Whether all of this is in the other."""
        return self.names <= other.names and self.releases.is_subset(other.releases)


def _union(sets: Iterable[VersionSet]) -> VersionSet:
    """What is in any of them, which are not none."""
    names, releases = zip(*sets, strict=True)
    return VersionSet(frozenset().union(*names), reduce(or_, releases))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> VersionSet:
    """One version as written; what is no release or range is a name."""
    from packaging.ranges import VersionRange  # noqa: PLC0415  # these take 15 ms to load
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415

    plain = text.strip().casefold().removeprefix(IN_USE).strip()
    releases = VersionRange.empty()
    if len(plain) <= LONGEST:
        with suppress(ValueError):
            parts = (_specifiers(part.strip()) for part in plain.split("||"))
            releases = reduce(or_, (SpecifierSet(part).to_range() for part in parts))
    return VersionSet(frozenset({plain} if releases.is_empty else ()), releases)


def release(text: str) -> Version | None:
    """The release that a version as people write it names.

    Of `stable-2.16.1`, `^2.16` and `2.x` 2.16.1, 2.16 and 2; of `1.3-SNAPSHOT` one before 1.3.
    """
    plain = text.strip()[:LONGEST]
    match = _RELEASE_IN.search(plain)
    whole = _plain(plain)
    if whole is None and match:
        beside = f"{plain[: match.start()]} {plain[match.end() :]}".casefold()
        early = _EARLY_WORD.search(beside)
        if early:
            return _version(f"{match[1]}.{_EARLY_OF[early[1]]}{early[2] or 0}")
        return _version(match[1])
    return whole


def nearest(asked: str, stored: Iterable[str]) -> str | None:
    """The stored version that comes nearest to one that is not stored.

    None: none of the same major version.

    Of the same minor version if there is one; the newest that is not above, else the next above.
    Where less is named (`2`, `2.16`), the newest of that series; of a name like `latest` the newest
    of all. What is released comes before what is not, unless that is asked for.
    """
    releases = _releases_of(stored)
    target, name = release(asked), asked.strip().casefold()
    if target is None and name not in _MOVING:
        return None
    if name not in _AHEAD and not (target and target.is_prerelease):
        released = {}
        for stored_name, version in releases.items():
            if not version.is_prerelease:
                released[stored_name] = version
        nearest_released = _nearest_to(target, released)
        # Better one that is not released than none
        if nearest_released is not None:
            return nearest_released
    return _nearest_to(target, releases)


def _nearest_to(target: Version | None, releases: dict[str, Version]) -> str | None:
    """The newest of all where no release is asked for, else the nearest of its series."""
    if target is None:
        return max(releases, key=releases.__getitem__, default=None)
    return _nearest_of_series(target, releases)


def _nearest_of_series(target: Version, releases: dict[str, Version]) -> str | None:
    """The name of the release that is nearest to the target, of its minor or else its major version."""
    count = len(target.release)
    same, minor = {}, {}
    for name, version in releases.items():
        if version.major != target.major:
            continue
        same[name] = version
        if count > 1 and version.release[:2] == target.release[:2]:
            minor[name] = version
    pool = minor or same
    # `2` and `2.16` name a series, of which the newest is wanted
    names_series = count == 1 or (count == 2 and bool(minor))
    below = {}
    for name, version in pool.items():
        if names_series or version <= target:
            below[name] = version
    if below:
        return max(below, key=below.__getitem__)
    return min(pool, key=pool.__getitem__, default=None)


def _names_series(text: str, used: Version) -> bool:
    """Whether the text is a plain release whose numbers are the first ones of what is used.

    2 and 2.32 of 2.32.3.
    """
    named = _plain(text)
    if named is None or named.is_prerelease:
        return False
    count = len(named.release)
    # 2 is 2.0: the numbers that are not written are 0
    return (used.release + (0,) * count)[:count] == named.release


def _plain(text: str) -> Version | None:
    """The release that this is; None for anything else, and for what is too long."""
    if len(text) > LONGEST:
        return None
    try:
        return _version(text)
    except ValueError:
        return None


def _version(text: str) -> Version:
    """Without its local part: `1.4+cu118` is a build of 1.4.

    Raises ValueError: none, or one of endless numbers.
    """
    from packaging.version import Version  # noqa: PLC0415  # it takes 8 ms to load

    return Version(Version(text).public)


def _specifiers(text: str) -> str:
    """A release, series or range as PEP 440 writes it. Raises ValueError: it is none."""
    if text == _ALL:
        return ">=0.dev0"
    if between := _BETWEEN.fullmatch(text):
        return f"{_specifier('>=', between[1])},{_specifier('<=', between[2])}"
    compared = _COMPARED.findall(text)
    if compared and not _COMPARED.sub("", text).strip(", "):
        specifiers = []
        for comparison in compared:
            specifiers.append(_specifier(*comparison))
        return ",".join(specifiers)
    return _specifier("==", text)


def _specifier(operator: str, text: str) -> str:
    series = _WILDCARD.match(text)
    if series:
        version = _version(series[1])
        # before all that is not released of the series
        first = f"{version}.dev0"
    else:
        version = _version(text)
        first = str(version)
    numbers = version.release
    kept = {
        "~=": max(len(numbers) - 1, 1),  # `~=1.4.2` is 1.4.2 and later of 1.4 (PEP 440)
        "~": 2,  # `~1.4.2` and `~1.4` are of 1.4, `~1` is of 1 (npm, Cargo)
        # npm and Cargo: `^1.4.2` is 1.4.2 and later of 1, `^0.4.2` of 0.4, for the first number
        # that is not 0 stays
        "^": next((n for n, number in enumerate(numbers, 1) if number), len(numbers)),
    }
    if operator in kept:
        return f">={first},<{_next(numbers[: kept[operator]])}"
    if series and operator == "<=":
        return f"<{_next(numbers)}"
    if series and operator == ">":
        return f">={_next(numbers)}.dev0"
    if operator in {"=", "==", "==="}:
        operator = "=="
    if operator in {"==", "!="} and series:
        return f"{operator}{version}.*"
    if operator == ">=":
        return f">={first}"
    return f"{operator}{version}"


def _next(numbers: Sequence[int]) -> str:
    return ".".join(map(str, (*numbers[:-1], numbers[-1] + 1)))
