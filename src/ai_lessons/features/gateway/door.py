"""The door that `[gateway]` in `config.toml` puts before the server over HTTP."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from ai_lessons.errors import UsageError
from ai_lessons.features.gateway.log import CallLog
from ai_lessons.features.gateway.names import NO_GATEWAY, caller_of, refuse_strangers
from ai_lessons.features.gateway.stated import gateway_settings
from ai_lessons.features.gateway.tiers import settings_of_caller, shared_tiers
from ai_lessons.interfaces.mcp.callers import NotAdmitted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ai_lessons.features.gateway.stated import GatewaySettings
    from ai_lessons.interfaces.mcp.callers import Caller
    from ai_lessons.settings import Settings

# below the state folder
CALLS = "calls"


def door(table: object, stated: Settings, *, here_only: bool) -> Gateway:
    """The door that a table of `config.toml` describes, with its log opened.

    Raises UsageError: it makes no sense. StorageFailed: the log cannot be written.
    """
    gateway = gateway_settings(table, stated.places.file)
    if gateway.secret_file is None and not here_only:
        raise UsageError(
            "the gateway is known by its address on this machine, and others can reach the server",
            hint="listen on this machine only: --http :PORT, or give the gateway a secret_file",
        )
    if not shared_tiers(stated, gateway.people) and gateway.people is None:
        raise UsageError(
            "there is nothing to serve but your own repository, which is for you alone",
            hint="name what all share: --repo PATH or --tier enterprise:NAME",
        )
    log = CallLog(stated.folders.state / CALLS, gateway.log_days)
    log.open()
    return Gateway(gateway, log)


class Gateway:
    """Admits what a gateway sends; see `interfaces.mcp.callers.Door`."""

    def __init__(self, gateway: GatewaySettings, log: CallLog) -> None:
        self._gateway, self._log = gateway, log
        self.secret_file: Path | None = gateway.secret_file

    def admit(
        self, headers: Iterable[tuple[bytes, bytes]], peer: str, secret: str | None
    ) -> Caller:
        """The person whom the gateway names. Raises NotAdmitted."""
        headers = list(headers)
        if secret is not None:
            refuse_strangers(headers, self._gateway.headers, secret)
        elif not _is_here(peer):
            raise NotAdmitted(403, NO_GATEWAY)
        return caller_of(headers, self._gateway.headers)

    def settings_of(self, caller: Caller, stated: Settings) -> Settings:
        """The settings with this person's tiers. Raises UsageError: there are none."""
        people = self._gateway.people
        return settings_of_caller(stated, shared_tiers(stated, people), people, caller.name)

    def note(self, caller: Caller, what: str, code: int) -> None:
        """A line of the log."""
        self._log.note(caller.name, what, code)


def _is_here(peer: str) -> bool:
    """Whether an address is of this machine."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
