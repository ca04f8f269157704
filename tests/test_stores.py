"""A store for each event loop, closed with it."""

import asyncio
import gc

import pytest

from ratewindow import housekeeping, stores
from ratewindow.limiter.server import UNUSED_S
from ratewindow.limiter.types import Check, Window

CHECKS = [Check("rule", (Window(5, 60_000),), ("rw:s:test",))]


async def test_one_loop_has_one_store() -> None:
    assert await stores.astore() is await stores.astore()


@pytest.mark.parametrize("turns", range(6))
def test_a_loop_that_ends_amid_a_decision_leaves_nothing_open(turns: int) -> None:
    """Warnings are errors here: a socket left open would be one."""

    async def leave() -> None:
        store = await stores.astore()
        pending = asyncio.ensure_future(store.run(CHECKS, "hit"))  # type: ignore[arg-type]
        for _ in range(turns):
            await asyncio.sleep(0)
        pending.cancel()

    before = len(stores._of_loop)
    for _ in range(20):
        asyncio.run(leave())
    gc.collect()
    assert len(stores._of_loop) == before


def test_two_loops_have_two_stores() -> None:
    assert asyncio.run(stores.astore()) is not asyncio.run(stores.astore())


def test_a_loop_that_was_only_closed_is_forgotten_by_the_next() -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(stores.astore())
    loop.close()
    asyncio.run(stores.astore())
    assert loop not in stores._of_loop


def test_a_process_closes_the_connections_that_its_threads_need_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    store = stores.store()
    monkeypatch.setattr(store, "close_unused", asked.append)
    stores._close_unused()
    assert asked == [UNUSED_S]
    assert "_close_unused" in {chore.run.__name__ for each in housekeeping._rounds.values() for chore in each.chores}
