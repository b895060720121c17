"""What ties a text to one place: names, e-mail addresses, hosts, paths. Pure: finds, judges nothing, changes nothing.

It finds the names that the caller knows, and a few shapes that are nearly always of one place. It misses others: a
person looks at what goes to another tier.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Sort(StrEnum):
    """What sort of thing ties the text down, the more telling first: where two meet, the first one counts."""

    ADDRESS = "address"
    HOST = "host"
    PATH = "path"
    PERSON = "person"
    PROJECT = "project"


PLACEHOLDER = {
    Sort.ADDRESS: "ADDRESS",
    Sort.HOST: "HOST",
    Sort.PATH: "PATH",
    Sort.PERSON: "NAME",
    Sort.PROJECT: "PROJECT",
}
"""What stands in the place of such a thing in a text that names none."""

TOLD = {
    Sort.ADDRESS: "e-mail address",
    Sort.HOST: "host",
    Sort.PATH: "path of one machine",
    Sort.PERSON: "name of a person",
    Sort.PROJECT: "name of a project",
}


class Names(NamedTuple):
    """The names that the caller knows. Words shorter than three letters are not looked for."""

    people: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class Specific(NamedTuple):
    """One such thing, at `start` to `end` of the text."""

    sort: Sort
    value: str
    start: int
    end: int


NO_NAMES = Names()

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_EXAMPLE = r"(?:user|you|your|me|my|name|example|host|server|some|runner|app|project|repo|path|localhost)"
_REST = r"(?:/[\w.@+%-]{1,80}){0,12}/?"
_ADDRESS = re.compile(
    rf"(?<![\w.+:/@-])(?!(?:git|no-?reply)@)[a-z0-9][\w.+-]{{0,63}}@(?!(?:[\w-]+\.)*example\.)"
    rf"(?:{_LABEL}\.){{1,6}}(?!png|jpe?g|svg|service|invalid|test|localhost)[a-z]{{2,24}}(?![\w-]|\.\w)",
    re.IGNORECASE,
)
_HOSTS = (
    re.compile(  # a name below a domain of no registry: two labels before it, or the host of an address
        rf"(?<![\w.@$%{{<-])((?:(?:{_LABEL}\.){{2,6}}|(?<=://)(?:{_LABEL}\.))"
        r"(?:corp|intra|intranet|internal(?<!docker\.internal)|lan|local(?<!cluster\.local)))(?![\w(-]|\.\w)",
        re.IGNORECASE,
    ),
    re.compile(  # one word as the host of an address
        rf"\bhttps?://(?:[^\s/@'\"]{{1,80}}@)?((?!{_EXAMPLE}[\d:/-])[a-z][a-z0-9-]{{2,62}})(?=:\d{{2,5}}\b|/\w)",
        re.IGNORECASE,
    ),
    re.compile(rf"\bgit@((?!git(?:hub|lab)\.com|bitbucket\.org|codeberg\.org)(?:{_LABEL}\.){{1,6}}[a-z]{{2,24}}):"),
)
_PATHS = (
    re.compile(rf"(?<![\w.~$}}-])/(?:home|Users)/(?!{_EXAMPLE}\b)[\w.-]{{1,40}}{_REST}"),
    re.compile(
        rf"(?<!\w)[A-Z]:\\{{1,2}}Users\\{{1,2}}(?!{_EXAMPLE}\b)[\w.-]{{1,40}}(?:\\{{1,2}}[\w.@+ -]{{1,80}}){{0,12}}",
        re.I,
    ),
    re.compile(
        rf"(?<![\w/])~/(?:clients?|code|customers?|git|projects?|src|work)/(?!{_EXAMPLE}\b)[\w.-]{{1,80}}{_REST}"
    ),
)


def specifics(text: str, names: Names = NO_NAMES) -> list[Specific]:
    """Everything in a text that ties it down, in its order; no two overlap. Takes time in proportion to the text."""
    order = {sort: place for place, sort in enumerate(Sort)}
    taken = bytearray(len(text))
    kept = []
    for one in sorted(_all(text, names), key=lambda s: (order[s.sort], s.start - s.end, s.start)):
        if not any(taken[one.start : one.end]):
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
            kept.append(one)
    return sorted(kept, key=lambda s: s.start)


def _all(text: str, names: Names) -> Iterator[Specific]:
    for match in _ADDRESS.finditer(text):
        yield Specific(Sort.ADDRESS, match[0], *match.span())
    for match in (match for shape in _HOSTS for match in shape.finditer(text)):
        if match[1] != PLACEHOLDER[Sort.HOST]:
            yield Specific(Sort.HOST, match[1], *match.span(1))
    for match in (match for shape in _PATHS for match in shape.finditer(text)):
        value = match[0].rstrip(".%")  # the end of the sentence it stands in
        yield Specific(Sort.PATH, value, match.start(), match.start() + len(value))
    yield from _known(Sort.HOST, text, names.hosts, before=r"(?<![\w.-])(?:[\w-]{1,63}\.){0,6}", after=r"(?![\w-])")
    yield from _known(Sort.PERSON, text, names.people)
    yield from _known(Sort.PROJECT, text, names.projects)


def _known(
    sort: Sort, text: str, names: Iterable[str], *, before: str = r"(?<!\w)", after: str = r"(?!\w)"
) -> Iterator[Specific]:
    """Whole words, in any case. A name that is one of our placeholders would be found in what we write."""
    folded = text.casefold()
    for name in dict.fromkeys(" ".join(name.split()) for name in names):
        if len(name) < 3 or name.upper() in PLACEHOLDER.values() or name.split()[0].casefold() not in folded:
            continue
        spaced = r"\s+".join(re.escape(word) for word in name.split())
        for match in re.finditer(f"{before}{spaced}{after}", text, re.IGNORECASE):
            yield Specific(sort, match[0], *match.span())
