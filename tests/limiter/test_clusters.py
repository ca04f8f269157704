"""A request of several clients on a cluster: agreed on by their servers, and never above a limit."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
import redis.asyncio

from ratewindow.limiter import AsyncClusterStore, AsyncRedisStore, ClusterStore, RedisStore, SlidingCounter, Window
from ratewindow.limiter.arguments import merged
from ratewindow.limiter.keys import identity_tag
from ratewindow.limiter.redis.commands import Call
from ratewindow.limiter.redis.thread_deadline import limited, running
from ratewindow.limiter.reply import decision
from ratewindow.limiter.types import Check, Decision
from tests.support.servers import until

HOUR_MS = 3_600_000
NOW_MS = 1_732_094_855_123


def rule(name: str, limit: int, **more: Any) -> Check:
    """One of several rules of a request; each sees another client in it."""
    key = f"{name}:{identity_tag(name)}"
    return Check(name, (Window(limit, HOUR_MS),), (key,), lock=f"{key}:lock", **more)


class Interrupted(ClusterStore):
    """A store in which somebody else may come in between two rounds of a request."""

    def __init__(self, client: redis.RedisCluster) -> None:
        super().__init__(client)
        self.rounds: list[list[str]] = []
        self.before: dict[int, Callable[[], object]] = {}

    def _send(self, calls: list[Call]) -> list[Any]:
        self.before.get(len(self.rounds), lambda: None)()
        self.rounds.append([_what(call) for call in calls])
        return super()._send(calls)

    def ask(self, *checks: Check, what: Any = "hit") -> Decision:
        self.rounds.clear()
        return decision(list(checks), self.run(list(checks), what), what)


def _what(call: Call) -> str:
    _, *arguments = call.words[int(call.words[0]) :]
    return "hit" if len(arguments) < 6 else str(arguments[0] or "refund")  # the usual call says nothing but its window


@pytest.fixture
def store(cluster: redis.RedisCluster) -> Interrupted:
    return Interrupted(cluster)


def remaining(store: ClusterStore, check: Check) -> int:
    return ClusterStore.run(store, [check], "peek")[0].windows[0].remaining


def test_all_are_looked_at_together_and_then_charged_together(store: Interrupted) -> None:
    assert store.ask(rule("ip", 5), rule("user", 3)).remaining == 2
    assert store.rounds == [["look", "look"], ["hit", "hit"]]


def test_a_request_of_one_client_is_one_call(store: Interrupted) -> None:
    one = rule("ip", 5)
    two = Check("burst", (Window(2, 1000),), (one.keys[0] + ":burst",))
    assert store.ask(*merged([one, two]))
    assert store.rounds == [["hit"]]


def test_a_refusal_costs_the_others_nothing_and_one_round(store: Interrupted) -> None:
    ip, user = rule("ip", 5), rule("user", 1)
    store.ask(ip, user)
    refused = store.ask(ip, user)
    assert (refused.allowed, refused.rule, refused.reason) == (False, "user", "limit")
    assert [part.outcome for part in refused.decisions] == ["other", "refused"]
    assert store.rounds == [["look", "look"]]
    assert remaining(store, ip) == 4


def test_what_counts_refused_requests_hears_of_a_refusal_elsewhere(store: Interrupted) -> None:
    ip, user = rule("ip", 5, counts_refused=True), rule("user", 1)
    store.ask(ip, user)
    store.ask(ip, user)
    assert store.rounds == [["look", "look"], ["refused"]]
    assert remaining(store, ip) == 3


def test_a_full_rule_with_a_penalty_locks_and_once_it_has_it_is_only_looked_at(store: Interrupted) -> None:
    ip, user = rule("ip", 5), rule("user", 1, penalty_ms=2 * HOUR_MS)
    store.ask(ip, user)
    assert store.ask(ip, user).reason == "penalty"
    assert store.rounds == [["look", "look"], ["refused"]]
    locked = store.ask(ip, user)
    assert (locked.reason, locked.rule) == ("penalty", "user")
    assert locked.retry_after is not None and locked.retry_after > 3600
    assert store.rounds == [["look", "look"]]


def test_who_loses_the_race_for_the_last_unit_gives_back_what_the_others_charged(store: Interrupted) -> None:
    ip, user, shadow = rule("ip", 5), rule("user", 1), rule("header", 5, enforce=False)
    counting = rule("counting", 5, counts_refused=True)
    rival = ClusterStore(store._client)
    store.before = {1: lambda: rival.run([user], "hit")}
    refused = store.ask(ip, user, shadow, counting)
    assert store.rounds[0] == ["look"] * 3 and store.rounds[1:] == [["hit"] * 4, ["refund"] * 2]
    assert (refused.allowed, refused.rule) == (False, "user")
    assert [part.outcome for part in refused.decisions] == ["other", "refused", "other", "other"]
    assert (remaining(store, ip), remaining(store, shadow), remaining(store, counting)) == (5, 5, 4)
    assert [part.windows[0].charged_at_ms >= 0 for part in refused.decisions] == [False, False, False, True]


def test_a_request_that_was_refused_stays_refused_though_room_is_made_meanwhile(store: Interrupted) -> None:
    ip, user = rule("ip", 5, counts_refused=True), rule("user", 1)
    store.ask(ip, user)
    store.before = {1: lambda: store.reset(user.keys)}
    assert not store.ask(ip, rule("user", 1, counts_refused=True))


def test_a_refund_that_fails_does_not_turn_a_refusal_into_an_error(store: Interrupted) -> None:
    def fail() -> None:
        raise redis.TimeoutError("away")

    ip, user = rule("ip", 5), rule("user", 1)
    store.before = {1: lambda: ClusterStore(store._client).run([user], "hit"), 2: fail}
    assert not store.ask(ip, user)


def test_force_charge_refund_and_reset_reach_every_slot(store: Interrupted) -> None:
    ip, user = rule("ip", 5), rule("user", 1)
    forced = [store.ask(ip, user, what="force") for _ in range(3)][-1]
    assert forced.allowed and forced.forced and store.rounds == [["force", "force"]]
    assert remaining(store, ip) == 2
    store.refund([refund for part in forced.decisions for refund in part.refunds(1)])
    assert remaining(store, ip) == 3
    store.reset([*ip.keys, *user.keys])
    assert (remaining(store, ip), remaining(store, user)) == (5, 1)


def test_after_scripts_are_flushed_nothing_is_lost(store: Interrupted, cluster: redis.RedisCluster) -> None:
    ip, user = rule("ip", 5), rule("user", 5)
    for left in (4, 3, 2):
        cluster.script_flush()
        assert store.ask(ip, user).remaining == left


def test_two_clients_racing_never_exceed_a_limit_and_leave_nothing_charged(cluster: redis.RedisCluster) -> None:
    """Each request asks for a unit of two clients: what is charged in the end is what was admitted."""
    ours = [rule("ip", 60), rule("user", 40)]
    theirs = [rule("ip", 60), rule("header", 40)]
    barrier = threading.Barrier(8)

    def race(number: int) -> list[bool]:
        store = ClusterStore(cluster)
        checks = ours if number % 2 else theirs
        barrier.wait()
        return [decision(checks, store.run(checks, "hit")).allowed for _ in range(25)]

    with ThreadPoolExecutor(8) as pool:
        admitted = list(pool.map(race, range(8)))
    by_user, by_header = (sum(map(sum, admitted[start::2])) for start in (1, 0))
    assert by_user <= 40 and by_header <= 40 and by_user + by_header <= 60
    left = [remaining(ClusterStore(cluster), check) for check in (ours[0], ours[1], theirs[1])]
    assert left == [60 - by_user - by_header, 40 - by_user, 40 - by_header]
    assert by_user + by_header > 50  # races are lost now and then, not always


async def test_on_asyncio_too_and_who_stops_waiting_leaves_nothing_charged(
    cluster_ports: list[int], cluster: redis.RedisCluster
) -> None:
    checks = [rule("ip", 60), rule("user", 40)]
    client = redis.asyncio.RedisCluster(host="127.0.0.1", port=cluster_ports[0])
    store = AsyncClusterStore(client)
    waiting = [store.run(checks, "hit") for _ in range(100)]
    for each in waiting[::4]:
        each.cancel()
    replies = [reply for reply in await asyncio.gather(*waiting, return_exceptions=True) if not isinstance(reply, BaseException)]
    admitted = sum(decision(checks, reply).allowed for reply in replies)
    while store._lanes._following:
        await asyncio.gather(*store._lanes._following)
    left = [decision([check], await store.run([check], "peek"), "peek").remaining or 0 for check in checks]
    await client.aclose()
    assert len(replies) == 75 and 0 < admitted <= 40
    assert left[0] - left[1] == 20 and left[1] <= 40 - admitted


async def test_a_node_that_is_silent_holds_up_no_other(cluster_ports: list[int], cluster: redis.RedisCluster) -> None:
    client = redis.asyncio.RedisCluster(host="127.0.0.1", port=cluster_ports[0])
    store = AsyncClusterStore(client)
    one, other = _on_two_nodes(cluster)
    await asyncio.gather(store.run([one], "hit"), store.run([other], "hit"))
    node = cluster.get_node_from_key(one.keys[0])
    assert node is not None
    cluster.execute_command("CLIENT PAUSE", 400, "ALL", target_nodes=node)
    silent = store.run([one], "hit")
    await asyncio.wait_for(store.run([other], "hit"), 0.3)
    assert not silent.done()
    await silent
    await client.aclose()


def _on_two_nodes(cluster: redis.RedisCluster) -> tuple[Check, Check]:
    one = rule("one", 5)
    others = (rule(f"other{number}", 5) for number in range(100))
    home = cluster.get_node_from_key(one.keys[0])
    return one, next(each for each in others if cluster.get_node_from_key(each.keys[0]) != home)


def _owner(client: redis.Redis, slot: int) -> str:
    """The id of the server that has the slot, by what this one knows."""
    lines = [line.split() for line in client.execute_command("CLUSTER", "NODES").decode().splitlines()]
    ranges = {words[0]: [each.split("-") for each in words[8:] if not each.startswith("[")] for words in lines}
    return next(owner for owner, slots in ranges.items() if any(int(each[0]) <= slot <= int(each[-1]) for each in slots))


def test_a_moved_slot_is_found_again(cluster: redis.RedisCluster, cluster_ports: list[int]) -> None:
    """MOVED by a client whose map of the slots is wrong; ASK while a slot is on its way."""
    store = ClusterStore(cluster)
    one, other = _on_two_nodes(cluster)
    store.run([one, other], "hit")
    slot = cluster.keyslot(one.keys[0])
    home, away = cluster.get_node_from_key(one.keys[0]), cluster.get_node_from_key(other.keys[0])
    assert home is not None and away is not None
    home_client, away_client = cluster.get_redis_connection(home), cluster.get_redis_connection(away)
    home_id, away_id = (each.execute_command("CLUSTER MYID").decode() for each in (home_client, away_client))
    try:
        store.reset(one.keys)  # an empty slot on its way: every call of it is sent on
        away_client.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", home_id)
        home_client.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", away_id)
        assert decision([one, other], store.run([one, other], "hit")).remaining == 3
        assert decision([one], store.run([one], "hit")).remaining == 3
        away_client.execute_command("CLUSTER SETSLOT", slot, "NODE", away_id)
        home_client.execute_command("CLUSTER SETSLOT", slot, "NODE", away_id)
        cluster.nodes_manager.slots_cache[slot] = [home]
        assert decision([one, other], store.run([one, other], "hit")).remaining == 2
    finally:
        nodes = [cluster.get_redis_connection(node) for node in cluster.get_primaries()]
        for client in (home_client, away_client):
            store.reset(one.keys)
            client.execute_command("CLUSTER SETSLOT", slot, "STABLE")
        for client in nodes:
            client.execute_command("CLUSTER SETSLOT", slot, "NODE", home_id)
        # What the other has said as the owner may still be on its way: the later epoch goes before it.
        home_client.execute_command("CLUSTER BUMPEPOCH")
        until(lambda: all(_owner(client, slot) == home_id for client in nodes), "the slot did not come home")
        cluster.nodes_manager.initialize()


def test_a_cluster_that_cannot_be_reached_is_a_connection_error(
    cluster: redis.RedisCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ClusterStore(cluster)
    monkeypatch.setattr(cluster.nodes_manager, "slots_cache", {})
    with pytest.raises(redis.ConnectionError, match="no server of the cluster is known"):
        store.run([rule("ip", 5), rule("user", 5)], "hit")


async def test_a_client_of_a_cluster_is_not_for_the_store_of_one_server(cluster: redis.RedisCluster) -> None:
    with pytest.raises(TypeError, match="give it to ClusterStore"):
        RedisStore(cluster)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="give it to AsyncClusterStore"):
        AsyncRedisStore(redis.asyncio.RedisCluster(host="127.0.0.1"))  # type: ignore[arg-type]


def test_a_counter_counts_on_a_cluster_as_on_one_server(cluster: redis.RedisCluster) -> None:
    counter = SlidingCounter("1h", name="calls", store=cluster)
    counter.add(3)
    assert SlidingCounter("1h", name="calls", store=cluster).get() == 3


def test_a_second_call_of_a_decision_has_what_the_first_has_left_of_the_time(cluster: redis.RedisCluster) -> None:
    store, limits_s = Interrupted(cluster), []
    store.before[0] = lambda: limits_s.append(running.until_s)
    with limited(60.0, time.monotonic() - 55.0):
        store.ask(rule("one", 5))
    assert len(limits_s) == 1 and 0.0 < limits_s[0] < time.monotonic() + 6.0
