"""A page that is served."""

from collections.abc import Iterator

import pytest

from features.look.look_world import Served, serve


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page that the tests of a file share."""
    served = serve(tmp_path_factory.mktemp("look"))
    yield served
    served.stop()
