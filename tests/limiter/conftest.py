"""The stores that tests of the limiter run over: real servers, one or several, fakeredis, and memory; and a clock."""

from collections.abc import Iterator

import pytest

from ratewindow.limiter import Limiter
from ratewindow.limiter.limiter import Store
from tests.support.clock import Clock
from tests.support.stores import never_expiring, open_store

__all__ = ["never_expiring"]


@pytest.fixture(params=["server", "fakeredis", "memory"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store of each kind that one process or one server is enough for."""
    yield from open_store(request.param, request)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(store: Store, clock: Clock) -> Limiter:
    return Limiter(store, clock_ms=clock)
