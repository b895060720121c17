"""A gateway that is known by its address on this machine."""

import os

import pytest

from ai_lessons import settings
from ai_lessons.features.gateway.door import door
from ai_lessons.interfaces.mcp.callers import NotAdmitted
from features.gateway.gateway_world import ANN, EMAIL, NAME, as_bytes

TABLE = {"name_header": NAME, "email_header": EMAIL, "loopback": True}


@pytest.mark.usefixtures("knowledge")
def test_only_addresses_of_this_machine_are_the_gateways() -> None:
    gateway = door(TABLE, settings.load(os.environ), here_only=True)
    headers = as_bytes({NAME: ANN.name, EMAIL: ANN.email})
    for peer in ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"):
        assert gateway.admit(headers, peer, None).author == ANN.author
    for peer in ("", "10.0.0.1", "::ffff:10.0.0.1", "0.0.0.0", "::", "localhost", "fe80::1%eth0"):  # noqa: S104
        with pytest.raises(NotAdmitted) as refused:
            gateway.admit(headers, peer, None)
        assert refused.value.status == 403, peer
