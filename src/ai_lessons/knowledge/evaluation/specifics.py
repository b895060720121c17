"""What ties a text to one place: names, addresses, hosts, paths, tickets. Pure: finds, judges nothing, changes nothing.

Only what is meant to be somebody's is found. Documentation's own examples (`example.com`, 192.0.2.1, `/home/user`),
public sites and the paths that every system has are left alone: a check that cries at each of them is not read.
"""

from __future__ import annotations

import ipaddress
import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.evaluation.anybodys import FILE_SUFFIXES, FOLDERS, FORGES, HOSTS, IPS, NO_TICKETS, USERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Sort(StrEnum):
    """What sort of thing ties the text down, the more telling first: where two meet, the first one counts."""

    ADDRESS = "address"
    HOST = "host"
    IP = "ip"
    PATH = "path"
    TICKET = "ticket"
    PERSON = "person"
    PROJECT = "project"


PLACEHOLDER = {
    Sort.ADDRESS: "ADDRESS",
    Sort.HOST: "HOST",
    Sort.IP: "HOST",
    Sort.PATH: "PATH",
    Sort.TICKET: "TICKET",
    Sort.PERSON: "NAME",
    Sort.PROJECT: "PROJECT",
}
"""What stands in the place of such a thing in a text that names none."""

TOLD = {
    Sort.ADDRESS: "e-mail address",
    Sort.HOST: "host",
    Sort.IP: "network address",
    Sort.PATH: "path of one machine",
    Sort.TICKET: "ticket",
    Sort.PERSON: "name of a person",
    Sort.PROJECT: "name of a project",
}


class Names(NamedTuple):
    """What the caller knows to be somebody's. Words shorter than three letters are not looked for."""

    people: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class Specific(NamedTuple):
    """One such thing, at `start` to `end` of the text."""

    sort: Sort
    value: str
    start: int
    end: int


NOBODY = Names()

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_EMAIL = re.compile(
    rf"(?<![\w.+:/@-])([a-z0-9][\w.+-]{{0,63}})@((?:{_LABEL}\.){{1,6}}([a-z]{{2,24}}))(?![\w-]|\.\w)", re.IGNORECASE
)
_EXAMPLE_DOMAINS = re.compile(
    r"(?:^|\.)(?:example|invalid|test|localhost)$|(?:^|\.)example\.\w+(?:\.\w+)?$"
    r"|^(?:bar|johndoe|company|domain|email|foo|host|hostname|mail|mycompany|mydomain|myhost|server|site|some-?domain|some-?host"
    r"|test|website|your-?company|your-?domain|your-?site|yourhost)\.[a-z]{2,5}$"
    r"|^users\.noreply\.github\.com$",
    re.IGNORECASE,
)

_INTERNAL = re.compile(
    rf"(?<![\w.@$%{{<-])((?:{_LABEL}\.){{1,6}}(?:corp|intra|intranet|internal|lan|local))(?![\w(-]|\.\w)", re.IGNORECASE
)
_SCHEME = re.compile(r"\w{2,12}://(?:[^\s/@'\"]{1,80}@)?$")
_EVERYWHERE = re.compile(
    r"\.cluster\.local$|^com\.|^\w{0,12}rc\.|^(?:host|gateway|kubernetes)\.docker\.internal$|\.docker\.internal$|^metadata\.google\.internal$"
    r"|^(?:my-?\w*|your-?\w*|foo|bar|host|hostname|name|server|some-?\w*|raspberrypi|machine|env|settings|config|git"
    r"|example|this|self|usr|user|module|app|a|b)\.(?:corp|intra|intranet|internal|lan|local)$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\bhttps?://(?:[^\s/@'\"]{1,80}@)?([a-z][a-z0-9-]{2,62})(?=:\d{2,5}\b|/[\w])", re.IGNORECASE)
_TENANT = re.compile(
    rf"(?<![\w.@-])((?:{_LABEL}\.){{1,4}}(?:atlassian\.net|azurecr\.io|azurewebsites\.net|blob\.core\.windows\.net"
    r"|database\.windows\.net|dkr\.ecr\.[a-z0-9-]{5,20}\.amazonaws\.com|elb\.amazonaws\.com|my\.salesforce\.com"
    r"|okta\.com|rds\.amazonaws\.com|service-now\.com|sharepoint\.com|slack\.com|vault\.azure\.net|zendesk\.com))(?![\w-])",
    re.IGNORECASE,
)
_PUBLIC_TENANTS = re.compile(
    r"^(?:[a-z0-9.-]*\.)?(?:api|app|auth|developer|docs|example|files|help|hooks|join|my-?\w*|status|support|tenant|team|region"
    r"|workspace|www|your-?[\w-]*|my-?[\w-]*|host|company|mycompany|account|registry|name|foo|storageaccount|account-?\w*|[0-9]{12})\."
    r"(?:dkr\.ecr\.[\w-]+\.)?[a-z0-9-]+\.",
    re.IGNORECASE,
)

_IPV4 = re.compile(r"(?<![\w.-])(\d{1,3}(?:\.\d{1,3}){3})(/\d{1,2})?(?![\w-]|\.\d)")
_IPV6 = re.compile(
    r"(?<![\w:.])((?:[0-9a-f]{1,4}:){2,7}(?::?[0-9a-f]{1,4}|:)(?::[0-9a-f]{1,4}){0,6})(?![\w:.])", re.IGNORECASE
)
_EXAMPLE_NETS = tuple(
    ipaddress.ip_network(net)
    for net in (
        "0.0.0.0/8",
        "127.0.0.0/8",
        "192.0.2.0/24",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
        "172.17.0.0/24",
    )
)
_EXAMPLE_HOSTS_OF = frozenset({"192.168.0", "192.168.1", "10.0.0", "10.10.10", "10.0.2", "172.16.0"})

_PART = r"[\w.@+%-]{1,80}"
_HOME = re.compile(rf"(?<![\w.~$}}-])/(?:home|Users)/([\w.-]{{1,40}})(?:/{_PART}){{0,12}}/?")
_WINDOWS = re.compile(
    r"(?<![\w])[A-Za-z]:\\{1,2}Users\\{1,2}([\w.-]{1,40})(?:\\{1,2}[\w.@+ -]{1,80}){0,12}", re.IGNORECASE
)
_MOUNTED = re.compile(rf"(?<![\w.~$}}/-])/(?:srv|mnt|Volumes)/(?![a-z]/)({_PART})/{_PART}(?:/{_PART}){{0,12}}/?")
_WORKING = re.compile(
    rf"(?<![\w/])~/(?:clients?|code|customers?|dev|git|projects?|repos?|repositories|source|src|work|workspaces?)/"
    rf"({_PART})(?:/{_PART}){{0,12}}/?",
    re.IGNORECASE,
)

_TICKET = re.compile(r"(?<![\w/.:#@&=-])([A-Z][A-Z0-9]{1,9})-([1-9]\d{0,5})(?![\w]|[.-]\w)")

_NAME = r"[A-Z][\w'\u2019-]{1,30}(?: (?:[A-Z]\.|van|von|de|der|da|del|la)){0,2} [A-Z][\w'\u2019-]{1,30}"
_SIGNED = re.compile(
    r"^[>*\s-]{0,6}(?:Acked-by|Assignee|Author(?:ed)?(?: by)?|Co-authored-by|Contact|Owner|Maintainer|Reported-by"
    rf"|Reviewed-by|Signed-off-by|Tested-by):?[ \t]+({_NAME})(?![\w])",
    re.MULTILINE,
)
_ASKED = re.compile(rf"\b(?:[Aa]sk(?:ed)?|[Tt]old|[Pp]ing(?:ed)?|[Tt]hanks to|cc|h/t) ({_NAME})(?![\w])")
_MENTIONED = re.compile(
    r"\b(?i:asked|ask|by|cc|credit to|from|h/t|ping|pinged|thanks to|thanks|told) @([a-z][a-z0-9_-]{2,38})(?![\w/.(@-])"
)
_NO_PERSON = re.compile(
    r"\b(?:Team|Group|Inc|Ltd|GmbH|Corporation|Foundation|Project|Code|Overflow|Studio|Support|Actions|Copilot|Cloud"
    r"|Server|Engineering|Department|Office|Desk|Security|Contributors|Authors|Community|Unix|Linux|API|The|Your|My)\b"
)


def specifics(text: str, names: Names = NOBODY) -> list[Specific]:
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
    yield from _addresses(text)
    yield from _hosts(text, names.hosts)
    yield from _ips(text)
    yield from _paths(text)
    for match in _TICKET.finditer(text):
        if match[1] not in NO_TICKETS:
            yield _whole(Sort.TICKET, match)
    yield from _people(text, names.people)
    yield from _known(Sort.PROJECT, text, names.projects)


def _whole(sort: Sort, match: re.Match[str], group: int = 0) -> Specific:
    return Specific(sort, match[group], match.start(group), match.end(group))


def _addresses(text: str) -> Iterator[Specific]:
    for match in _EMAIL.finditer(text) if "@" in text else ():
        local, domain, top = match[1].lower(), match[2].lower(), match[3].lower()
        if top in FILE_SUFFIXES or _EXAMPLE_DOMAINS.search(domain):
            continue
        if local == "git":
            if domain not in FORGES:
                yield _whole(Sort.HOST, match, 2)
        elif local not in USERS and not (match[1].isupper() and "_" in local):
            yield _whole(Sort.ADDRESS, match)


def _hosts(text: str, known: Iterable[str]) -> Iterator[Specific]:
    for match in _INTERNAL.finditer(text):
        deep = match[1].count(".") > 1
        said = _SCHEME.search(text[max(match.start() - 100, 0) : match.start()])
        port = re.match(r":\d{2,5}\b", text[match.end() : match.end() + 6])
        if (deep or said or port) and not _EVERYWHERE.search(match[1]) and not _EXAMPLE_DOMAINS.search(match[1]):
            yield _whole(Sort.HOST, match, 1)
    for match in _ALONE.finditer(text):
        if match[1].lower().rstrip("0123456789-") not in HOSTS and not match[1].isupper():
            yield _whole(Sort.HOST, match, 1)
    for match in _TENANT.finditer(text):
        if not _PUBLIC_TENANTS.match(match[1]):
            yield _whole(Sort.HOST, match, 1)
    folded = text.casefold()
    for domain in dict.fromkeys(map(str.casefold, known)):
        if len(domain) > 2 and domain not in FORGES and domain in folded:
            found = re.finditer(
                rf"(?<![\w.-])(?:[\w-]{{1,63}}\.){{0,6}}{re.escape(domain)}(?![\w-])", text, re.IGNORECASE
            )
            yield from (_whole(Sort.HOST, match) for match in found)


def _ips(text: str) -> Iterator[Specific]:
    for match in _IPV4.finditer(text):
        try:
            address = ipaddress.ip_address(match[1])
        except ValueError:
            continue
        example = any(address in net for net in _EXAMPLE_NETS) or match[1].rpartition(".")[0] in _EXAMPLE_HOSTS_OF
        network = match[1].endswith(".0")
        if not (example or network or match[1] in IPS or _is_version(text, match.start())):
            yield _whole(Sort.IP, match, 1)
    for match in _IPV6.finditer(text) if "::" in text or text.count(":") > 6 else ():
        try:
            six = ipaddress.IPv6Address(match[1])
        except ValueError:
            continue
        if (six.is_global or six in ipaddress.ip_network("fc00::/7")) and len(match[1]) > 8:
            yield _whole(Sort.IP, match, 1)


def _is_version(text: str, start: int) -> bool:
    """Whether four numbers are what a program calls itself, and no address: the word before says so."""
    before = text[max(start - 24, 0) : start].lower()
    return bool(re.search(r"(?:version|release|chrome/|ver\.?|build|oid|==|>=|<=|\bto|\bv)[\s:=\"'`]*$", before))


def _paths(text: str) -> Iterator[Specific]:
    for pattern, anybody in ((_HOME, USERS), (_WINDOWS, USERS), (_MOUNTED, FOLDERS), (_WORKING, FOLDERS)):
        for match in pattern.finditer(text):
            word = match[1].lower().strip(".")
            if word and word not in anybody and not match[1].isupper() and not word.startswith(("your", "my-", "some")):
                yield _trimmed(match)


def _trimmed(match: re.Match[str]) -> Specific:
    """The path without the end of the sentence it stands in."""
    value = match[0].rstrip(".%")
    return Specific(Sort.PATH, value, match.start(), match.start() + len(value))


def _people(text: str, known: Iterable[str]) -> Iterator[Specific]:
    for pattern in (_SIGNED, _ASKED):
        yield from (
            _whole(Sort.PERSON, match, 1) for match in pattern.finditer(text) if not _NO_PERSON.search(match[1])
        )
    for match in _MENTIONED.finditer(text) if "@" in text else ():
        if match[1].lower() not in USERS:
            yield Specific(Sort.PERSON, "@" + match[1], match.start(1) - 1, match.end(1))
    yield from _known(Sort.PERSON, text, (name for name in known if name.casefold() not in USERS))


def _known(sort: Sort, text: str, names: Iterable[str]) -> Iterator[Specific]:
    """Whole words, in any case. A name that is one of our placeholders would be found in what we write."""
    folded = text.casefold()
    for name in dict.fromkeys(" ".join(name.split()) for name in names):
        if len(name) < 3 or name.upper() in PLACEHOLDER.values() or name.split()[0].casefold() not in folded:
            continue
        spaced = r"\s+".join(re.escape(word) for word in name.split())
        yield from (_whole(sort, match) for match in re.finditer(rf"(?<!\w){spaced}(?!\w)", text, re.IGNORECASE))
