"""Whose repository a remote's address names: host and owner, compared whole. Pure.

An address that could be read in two ways names none: who is wrong here tells strangers a company's
knowledge.
"""

from __future__ import annotations

from typing import NamedTuple

from ai_lessons.model import expression

SCHEMES = ("ssh", "git+ssh", "ssh+git", "https", "http", "git")
# Ports that an address need not name
_USUAL = {
    "ssh": "22",
    "git+ssh": "22",
    "ssh+git": "22",
    "https": "443",
    "http": "80",
    "git": "9418",
}
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_USER = r"[A-Za-z0-9._~!$&'()*+,;=:-]*"
_URL = expression(rf"([a-z+]+)://(?:{_USER}@)?({_HOST})(?::([0-9]{{1,5}}))?/(.+)")
# as scp has it; git takes it for a local path where a slash stands before the colon
_SHORT = expression(rf"(?:[A-Za-z0-9._-]+@)?({_HOST}):(.+)")
_OWNER = expression(rf"({_HOST})(?::([0-9]{{1,5}}))?/(.+)")
# One folder of a path: neither `..` nor a home, nothing that a server would decode or split
_PART = expression(r"(?!\.\.?$)[A-Za-z0-9._+@ -]*[A-Za-z0-9._+@-]")
LONGEST = 1000


class Owner(NamedTuple):
    """A part of a host that one party owns: `acme`, or `acme/team` where groups are nested.

    `port` is empty for the usual one, and in settings for any.
    """

    host: str
    port: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        host = self.host
        if self.port:
            host += f":{self.port}"
        return "/".join((host, *self.path))

    def owns(self, other: Owner) -> bool:
        """Whether this is the other, or a group around it."""
        if self.host != other.host or (self.port and self.port != other.port):
            return False
        return other.path[: len(self.path)] == self.path


def owner_stated(text: str) -> Owner | None:
    """An owner as settings state it, `forge.example/acme`; None for anything else."""
    match = _OWNER.fullmatch(text)
    if match is None or len(text) > LONGEST:
        return None
    parts = _parts(match[3])
    if not parts:
        return None
    return Owner(match[1].lower(), match[2] or "", parts)


def owner_of(address: str) -> Owner | None:
    """The owner of the repository at this address of a remote.

    None for a path on this machine, a helper (`ext::`), and what could be read in two ways.
    """
    if len(address) > LONGEST or "::" in address:
        return None
    if url := _URL.fullmatch(address):
        scheme, host, port, path = url.groups()
        if scheme not in SCHEMES:
            return None
        if port == _USUAL[scheme]:
            port = ""
    elif "://" not in address and (short := _SHORT.fullmatch(address)):
        host, path = short.groups()
        port = ""
    else:
        return None
    parts = _parts(path.removeprefix("/").removesuffix("/").removesuffix(".git"))
    # the last names the repository
    if len(parts) < 2:
        return None
    return Owner(host.lower(), port or "", parts[:-1])


def _parts(path: str) -> tuple[str, ...]:
    """The folders of a path; none of them where one is odd."""
    parts = tuple(path.split("/"))
    if all(_PART.fullmatch(part) for part in parts):
        return parts
    return ()
