"""A server behind a gateway."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from features.gateway.gateway_world import write_settings
from interfaces.http_world import Served, serving_inside


@pytest.fixture
def gated(knowledge: Path) -> Iterator[Served]:
    """A server that is asked through a gateway with a secret, on the shared repository."""
    write_settings()
    with serving_inside() as served:
        yield served
