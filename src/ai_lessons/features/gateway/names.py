"""Reads who asks out of the headers that a gateway sends. Pure."""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Iterable
from typing import Final, NamedTuple

from ai_lessons.interfaces.mcp.callers import Caller, NotAdmitted
from ai_lessons.model import expression

Headers = Iterable[tuple[bytes, bytes]]

# Longest name, and longest address (RFC 5321: 254 characters)
LONGEST_NAME: Final = 100
LONGEST_ADDRESS: Final = 254
DOMAIN: Final = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*"
# The address is also the name of a folder, and a column of the log: no slash, no space, no dot first
_ADDRESS = expression(rf"[A-Za-z0-9_][A-Za-z0-9._%+='~-]*@{DOMAIN}")
# `<` and `>` end a name in a commit; a comma is where a proxy has joined two headers
_NEVER_IN_A_NAME = frozenset('<>,"\\')

NO_NAME = "the gateway has not said who asks"
NOT_ONE = "a header that names who asks came more than once"
NO_GATEWAY = "this server answers its gateway alone"
TOO_LONG = "a header that names who asks is too long"
NO_PERSON = "a header that names who asks holds no name of a person"


class NameHeaders(NamedTuple):
    """Headers by which a gateway names who asks, in small letters.

    The address comes in `email`, or is the name at the `domain`. `secret`: the header of the
    gateway's own secret; None: it has none.
    """

    name: str
    email: str | None
    domain: str
    secret: str | None


def values_of(headers: Headers, header: str) -> list[bytes]:
    """The values of a header, also where it is spelled so that some program takes it for this one."""
    values = []
    for name, value in headers:
        if name.lower().replace(b"_", b"-") == header.encode():
            values.append(value)
    return values


def refuse_strangers(headers: Headers, named_by: NameHeaders, secret: str) -> None:
    """Raises NotAdmitted: the request does not come from the gateway, which alone has the secret."""
    sent = values_of(headers, named_by.secret or "")
    # in constant time: how long a comparison takes must not tell how much of a guess is right
    if len(sent) != 1 or not hmac.compare_digest(sent[0], secret.encode()):
        raise NotAdmitted(403, NO_GATEWAY)


def caller_of(headers: Headers, named_by: NameHeaders) -> Caller:
    """The caller, by address. Raises NotAdmitted: the headers name none, or none that can be one."""
    headers = list(headers)
    name = _text(headers, named_by.name)
    if named_by.email:
        address = _text(headers, named_by.email)
    elif "@" in name:
        # what comes with a name need not be of this company
        raise NotAdmitted(400, NO_PERSON)
    else:
        address = f"{name}@{named_by.domain}"
    if len(name) > LONGEST_NAME or len(address) > LONGEST_ADDRESS:
        raise NotAdmitted(431, TOO_LONG)
    if not _is_name(name) or not _ADDRESS.fullmatch(address):
        raise NotAdmitted(400, NO_PERSON)
    # for a provider of identities Ann@ and ann@ are the same person, as for the approvals of rules
    address = address.lower()
    return Caller(address, f"{name} <{address}>")


def _text(headers: Headers, header: str) -> str:
    sent = values_of(headers, header)
    if len(sent) > 1:
        # of two, the gateway may have written only one
        raise NotAdmitted(400, NOT_ONE)
    if not sent or not sent[0].strip():
        raise NotAdmitted(401, NO_NAME)
    if len(sent[0]) > 4 * LONGEST_ADDRESS:
        raise NotAdmitted(431, TOO_LONG)
    try:
        return sent[0].decode().strip(" ")
    except UnicodeDecodeError:
        raise NotAdmitted(400, NO_PERSON) from None


def _is_name(name: str) -> bool:
    """Whether it can stand in a commit, a log and on a terminal as it is."""
    for sign in name:
        category = unicodedata.category(sign)
        # C: control, format (also what turns the direction of a line), surrogate, private, not
        # assigned; Z: spaces, of which only the plain one is seen for what it is
        if category[0] == "C" or (category[0] == "Z" and sign != " "):
            return False
        if sign in _NEVER_IN_A_NAME:
            return False
    return any(sign.isalnum() for sign in name)
