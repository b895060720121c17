"""What a person states below `[gateway]` in `config.toml`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import UsageError
from ai_lessons.features.gateway.names import DOMAIN, NameHeaders
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Mapping

# A name of a header: with an underscore some proxies drop it, and others take it for a hyphen
_HEADER = expression(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*")
_HINT = """for example:
[gateway]
name_header = "X-Forwarded-User"
email_header = "X-Forwarded-Email"
secret_file = "~/.config/ai-lessons/gateway-secret\""""
# Days for which it is kept who asked what
DAYS = 30


class GatewaySettings(NamedTuple):
    """How the gateway is known, how it names people, what each has, and how long calls are kept.

    `secret_file`: the gateway sends what it holds; None: it is on this machine. `people`: the
    folder with a repository for each; None: there are none.
    """

    headers: NameHeaders
    secret_file: Path | None
    people: Path | None
    log_days: int


def gateway_settings(table: object, file: str) -> GatewaySettings:
    """The settings that a table of `file` states.

    Raises UsageError: it makes no sense, also an unknown key: a mistyped one may open a door.
    """
    if not isinstance(table, dict):
        raise UsageError(f"{file}: gateway must be a table", hint=_HINT)
    reading = _Table(table, file)
    secret_file = reading.path("secret_file")
    if (secret_file is not None) == reading.flag("loopback"):
        raise UsageError(
            f"{file}: gateway has either a secret_file or loopback = true, not both, not none",
            hint=_HINT,
        )
    secret_header = None
    if secret_file is not None:
        secret_header = reading.header("secret_header", "X-Gateway-Secret")
    settings = GatewaySettings(
        reading.names(secret_header),
        secret_file,
        reading.path("people"),
        reading.days("log_days"),
    )
    reading.refuse_unknown()
    return settings


class _Table:
    """The table, and which of its keys were read."""

    def __init__(self, table: Mapping[str, Any], file: str) -> None:
        self._table, self._file = table, file
        self._keys: set[str] = set()

    def _wrong(self, key: str, what: str) -> UsageError:
        return UsageError(f"{self._file}: gateway.{key} must be {what}", hint=_HINT)

    def _value(self, key: str) -> Any:
        self._keys.add(key)
        return self._table.get(key)

    def names(self, secret_header: str | None) -> NameHeaders:
        name = self.header("name_header")
        if name is None:
            raise self._wrong("name_header", "the header with the name of who asks")
        email, domain = self.header("email_header"), self._value("domain")
        if (email is None) == (domain is None):
            raise UsageError(
                f"{self._file}: gateway has either an email_header or a domain", hint=_HINT
            )
        if domain is not None and not (isinstance(domain, str) and re.fullmatch(DOMAIN, domain)):
            raise self._wrong("domain", 'what stands behind the @ of addresses, as "acme.example"')
        if secret_header is not None and secret_header in {name, email}:
            raise UsageError(f"{self._file}: gateway.secret_header names a person, too", hint=_HINT)
        return NameHeaders(name, email, domain or "", secret_header)

    def header(self, key: str, default: str | None = None) -> str | None:
        value = self._value(key)
        if value is None:
            value = default
        if value is None:
            return None
        if not isinstance(value, str) or not _HEADER.fullmatch(value):
            raise self._wrong(key, "a name of a header: letters, digits and hyphens")
        return value.lower()

    def path(self, key: str) -> Path | None:
        value = self._value(key)
        if value is None:
            return None
        place = None
        if isinstance(value, str):
            place = Path(os.path.expanduser(value))
        if place is None or not place.is_absolute():
            raise self._wrong(key, "a path that begins with / or ~/")
        return place

    def flag(self, key: str) -> bool:
        value = self._value(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def days(self, key: str) -> int:
        value = self._value(key)
        if value is None:
            return DAYS
        if type(value) is not int or not 1 <= value <= 3_650:
            raise self._wrong(key, "a number of days, 1 to 3650")
        return value

    def refuse_unknown(self) -> None:
        for key in self._table:
            if key not in self._keys:
                keys = ", ".join(sorted(self._keys))
                raise UsageError(
                    f"{self._file}: gateway has a key that means nothing", hint=f"keys: {keys}"
                )
