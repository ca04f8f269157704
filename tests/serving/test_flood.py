"""A flood of clients that come once: what a process remembers of them is bounded, whoever counts."""

import functools
import gc
import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from ratewindow.limiter import reply
from ratewindow.limiter.memory import MemoryStore
from ratewindow.request import without_redis
from ratewindow.rulebook import current
from ratewindow.store import outage, stores
from tests.serving.flood import flood, site

# Caches hold 4,096 at most; what holds more is made smaller here, so that all of it is full early.
FULL = 4500
MORE = 300
KEPT = 300


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(reply, "MOST_KNOWN", KEPT)
    monkeypatch.setattr(without_redis, "MOST_STATES", KEPT)
    monkeypatch.setattr(stores._memory, "most_keys", KEPT)
    before = current.replace(None)
    yield site()
    current.replace(before)


def entries() -> int:
    """How much all that this process holds, holds."""
    gc.collect()
    return sum(len(each) for each in gc.get_objects() if issubclass(type(each), dict | list | set | deque))


@pytest.mark.slow
@pytest.mark.pace
@pytest.mark.parametrize("where", ["redis", "local"])
def test_a_process_that_has_seen_many_clients_holds_no_more_for_as_many_again(handler: Any, where: str) -> None:
    address = {"redis": settings.RATEWINDOW["REDIS"], "local": "redis://127.0.0.1:1/0"}[where]
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": address}):
        assert flood(handler, 0, FULL) == FULL
        held = [entries()]
        for number in range(3):
            assert flood(handler, FULL + number * MORE, MORE) == MORE
            held.append(entries())
        # Other parts of the process may hold more once; what each client leaves behind would be there each time.
        assert min(after - before for before, after in itertools.pairwise(held)) < MORE / 10, held
        assert len(outage.refusals.known) <= KEPT
        kept = [len(each) for each in gc.get_objects() if type(each) is MemoryStore]
        assert max(kept, default=0) <= KEPT


def test_every_cache_that_requests_fill_has_an_end() -> None:
    """Others hold one entry for each thing that code or settings name."""
    named = {
        "algorithms.algorithm",
        "thread_deadline.timed",
        "clients.prepared",
        "commands._join",
        "rate_argument._imported",
        "state_keys._secret",
        "translation._pattern",
    }
    endless = {
        f"{each.__module__}.{each.__qualname__}"
        for each in gc.get_objects()
        if type(each) is functools._lru_cache_wrapper and each.cache_parameters()["maxsize"] is None
    }
    ours = {".".join(name.split(".")[-2:]) for name in endless if name.startswith("ratewindow.")}
    assert ours <= named
