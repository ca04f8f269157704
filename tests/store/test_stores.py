"""A store for each event loop, closed with it."""

import asyncio
import gc
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from redis.exceptions import ResponseError

from ratewindow.limiter.redis.connections import UNUSED_S
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

    before = len(stores._held.of_loop)
    for _ in range(20):
        asyncio.run(leave())
    gc.collect()
    assert len(stores._held.of_loop) == before


def test_two_loops_have_two_stores() -> None:
    assert asyncio.run(stores.astore()) is not asyncio.run(stores.astore())


def test_a_loop_that_was_only_closed_is_forgotten_by_the_next() -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(stores.astore())
    loop.close()
    asyncio.run(stores.astore())
    assert loop not in stores._held.of_loop


def test_a_process_closes_the_connections_that_its_threads_need_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    store = stores.store()
    monkeypatch.setattr(store, "close_unused", asked.append)
    stores.close_unused()
    assert asked == [UNUSED_S]


def test_a_probe_looks_where_the_states_of_clients_are() -> None:
    assert state_keys.probe().startswith(state_keys.state_prefix())


@pytest.mark.parametrize("what", [("RPUSH", "x"), ("SET", "garbage"), ("SET", "-1"), ("HSET", "a", "b")], ids=str)
def test_what_somebody_wrote_under_the_key_of_the_probe_is_no_fault_of_the_server(
    redis_client: Any, what: tuple[str, ...]
) -> None:
    redis_client.execute_command(what[0], state_keys.probe(), *what[1:])
    stores.probe()
    assert 0 < redis_client.pttl(state_keys.probe()) < 10_000 or not redis_client.exists(state_keys.probe())
    stores.probe()


def test_so_it_is_at_each_server_of_a_cluster(cluster_url: str, cluster: Any) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": cluster_url}):
        nodes = [cluster.get_redis_connection(node) for node in cluster.get_primaries()]
        for node in nodes:
            node.config_resetstat()
        stores.probe_all()
        # What a probe writes ends after a second, which may be over by now; that it was written is counted.
        assert [node.info("commandstats")["cmdstat_set"]["calls"] >= 1 for node in nodes] == [True] * 3
        store: Any = stores.store()
        servers = store.servers()
        assert len(servers) == 3
        keys = [store.probe_key(server, state_keys.probe()) for server in servers]
        for server, key in zip(servers, keys, strict=True):
            cluster.delete(key)
            cluster.rpush(key, "x")
            stores.shards.failed(server, TimeoutError())
        stores.probe_all()
        assert {cluster.type(key) for key in keys} <= {b"string", b"none"}  # and no list any more


def test_a_fault_of_the_server_is_raised_and_nothing_removed_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise ResponseError("upstream failure")

    monkeypatch.setattr(stores.store(), "run", refuse)
    monkeypatch.setattr(stores.store(), "reset", lambda _: pytest.fail("it was removed"))
    with pytest.raises(ResponseError):
        stores.probe()
