"""The stores that tests of the limiter run over: real servers, one or several, fakeredis, and memory; and a clock."""

import os
from collections.abc import Iterator

import pytest

from ratewindow.limiter import Limiter
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.redis import insides, thread_deadline
from ratewindow.store import clients
from tests.support.clock import Clock
from tests.support.stores import never_expiring, open_store

__all__ = ["never_expiring"]


HIDDEN = bool(os.environ.get("RATEWINDOW_PUBLIC_WAY"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items if HIDDEN else ():
        if item.get_closest_marker("inside"):
            item.add_marker(pytest.mark.skip(reason="the parts of redis-py that it is about are hidden"))


@pytest.fixture(autouse=True)
def public_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """With RATEWINDOW_PUBLIC_WAY=1 every test runs as on a redis-py that has nothing but its public names."""
    if HIDDEN:
        for name in ("SOCKET", "_READER", "_FREE", "_IS_NEW"):
            monkeypatch.setattr(insides, name, "hidden by the tests")
        for timed in (thread_deadline._Timed, clients._Prepared):
            monkeypatch.delattr(timed, "_connect")
        monkeypatch.delattr(thread_deadline._Timed, "_wrap_socket_with_ssl")


@pytest.fixture(params=["server", pytest.param("fakeredis", marks=pytest.mark.fakeredis), "memory"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store of each kind that one process or one server is enough for."""
    yield from open_store(request.param, request)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(store: Store, clock: Clock) -> Limiter:
    return Limiter(store, clock_ms=clock)
