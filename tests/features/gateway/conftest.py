"""A server behind a gateway."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from features.gateway.gateway_world import write_settings
from interfaces.http_world import Served, serving


@pytest.fixture
def gated(knowledge: Path) -> Iterator[Served]:
    """A server that is asked through a gateway with a secret, on the shared repository."""
    write_settings()
    with serving("--http", "127.0.0.1:0", "--tools", "all") as served:
        yield served
