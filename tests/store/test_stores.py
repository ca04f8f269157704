"""A store for each event loop, closed with it."""

import asyncio
import gc
from typing import Any

import pytest
from redis.exceptions import ResponseError

from ratewindow.limiter.types import Check, Window
from ratewindow.store import state_keys, stores

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

    before = len(stores.held.of_loop)
    for _ in range(20):
        asyncio.run(leave())
    gc.collect()
    assert len(stores.held.of_loop) == before


def test_two_loops_have_two_stores() -> None:
    assert asyncio.run(stores.astore()) is not asyncio.run(stores.astore())


def test_a_loop_that_was_only_closed_is_forgotten_by_the_next() -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(stores.astore())
    loop.close()
    asyncio.run(stores.astore())
    assert loop not in stores.held.of_loop


def test_a_probe_looks_where_the_states_of_clients_are() -> None:
    assert state_keys.probe().startswith(state_keys.state_prefix())


@pytest.mark.parametrize("what", [("RPUSH", "x"), ("SET", "garbage"), ("SET", "-1"), ("HSET", "a", "b")], ids=str)
def test_what_somebody_wrote_under_the_key_of_the_probe_is_no_fault_of_the_server(
    redis_client: Any, what: tuple[str, ...]
) -> None:
    redis_client.execute_command(what[0], state_keys.probe(), *what[1:])
    stores.probe()
    assert redis_client.exists(state_keys.probe())  # nor deleted


def test_a_fault_of_the_server_is_raised_and_nothing_removed_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise ResponseError("upstream failure")

    monkeypatch.setattr(stores.store(), "run", refuse)
    monkeypatch.setattr(stores.store(), "reset", lambda _: pytest.fail("it was removed"))
    with pytest.raises(ResponseError):
        stores.probe()
