"""The cleaner takes what cannot be a count as it is: other types, times far ahead, expiries far away or none."""

import time

import pytest

from ratewindow.limiter import RedisStore
from ratewindow.limiter.types import Check, Window
from ratewindow.models import RateRule
from ratewindow.operations.cleaning.orphans import Cleaned, clean_orphans
from ratewindow.rulebook import reading
from ratewindow.store import state_keys
from tests.support.count_keys import DAYS_MS, key
from tests.support.doors import behind_middleware, plain, statuses
from tests.support.histories import ALGORITHMS

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", ["list", "hash", "set", "zset"])
def test_state_that_somebody_has_overwritten_with_another_type_goes(keys, redis_client, kind):
    RateRule.objects.define("login", "5/m", prefix="/login/")
    healthy, harmed = key("login"), key("login", client="ip:203.0.113.10")
    keys(healthy)
    {
        "list": lambda: redis_client.rpush(harmed, "x"),
        "hash": lambda: redis_client.hset(harmed, "x", 1),
        "set": lambda: redis_client.sadd(harmed, "x"),
        "zset": lambda: redis_client.zadd(harmed, {"x": 1}),
    }[kind]()
    assert clean_orphans(dry_run=True) == Cleaned(seen=2, harmed=1, dry_run=True)
    assert clean_orphans() == Cleaned(seen=2, harmed=1)
    assert keys.left() == {healthy}


def test_a_log_is_a_list_and_text_in_its_place_goes(keys, redis_client):
    rule, _ = RateRule.objects.define("login", "5/m", prefix="/login/")
    rule.windows.update(algorithm="sliding_log")
    window = Window(5, 60_000, "sliding_log")
    healthy, harmed = key("login", window), key("login", window, client="ip:203.0.113.10")
    redis_client.rpush(healthy, "1")
    redis_client.expire(healthy, 60)
    keys(harmed)
    assert clean_orphans() == Cleaned(seen=2, harmed=1)
    assert keys.left() == {healthy}


def test_a_client_whose_state_was_overwritten_is_counted_again_after_cleaning(redis_client):
    RateRule.objects.define("login", "1/m", prefix="/", key="ip", mode="enforce")
    reading.reload()
    site = behind_middleware(plain(False))
    assert statuses(site, 1) == [200]
    (harmed,) = redis_client.keys("rw:s:*")
    redis_client.delete(harmed)
    redis_client.sadd(harmed, "not ours")
    assert statuses(site, 3) == [200] * 3
    clean_orphans()
    assert statuses(site, 2) == [200, 429]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_was_counted_while_the_clock_was_far_ahead_goes_and_what_counts_now_stays(redis_client, algorithm):
    rule, _ = RateRule.objects.define("ahead", "5/m", prefix="/")
    rule.windows.update(algorithm=algorithm, buckets=None)
    window = reading.read_rules()[0].windows[0]
    now_ms, store = time.time_ns() // 1_000_000, RedisStore(redis_client)
    ahead, now, forced = (key("ahead", window, client) for client in ("ip:192.0.2.1", "ip:192.0.2.2", "ip:192.0.2.3"))
    store.run([Check("ahead", (window,), (ahead,))], "hit", now_ms + DAYS_MS)
    redis_client.pexpire(ahead, DAYS_MS + 60_000)
    store.run([Check("ahead", (window,), (now,))], "hit", now_ms)
    store.run([Check("ahead", (window,), (forced,), cost=100_000)], "charge", now_ms)
    clean_orphans(dry_run=True)
    assert redis_client.exists(ahead, now, forced) == 3
    clean_orphans()
    assert (redis_client.exists(ahead), redis_client.exists(now, forced)) == (0, 2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_count_whose_expiry_somebody_has_moved_far_away_or_taken_goes(redis_client, algorithm):
    rule, _ = RateRule.objects.define("kept", "5/m", prefix="/")
    rule.windows.update(algorithm=algorithm, buckets=None)
    window = reading.read_rules()[0].windows[0]
    late, never, usual = (key("kept", window, client) for client in ("ip:192.0.2.1", "ip:192.0.2.2", "ip:192.0.2.3"))
    for each in (late, never, usual):
        RedisStore(redis_client).run([Check("kept", (window,), (each,))], "hit")
    redis_client.pexpire(late, DAYS_MS)
    redis_client.persist(never)
    assert clean_orphans(dry_run=True).harmed == 2
    assert clean_orphans() == Cleaned(seen=3, harmed=2)
    assert redis_client.keys("rw:s:*") == [usual]


def lock(rule, client):
    return state_keys.state_prefix() + state_keys.lock_name(rule, False).removeprefix(":s:") + state_keys.client_tag(client)


def test_a_lock_is_kept_for_as_long_as_it_was_to_last_and_not_for_longer(redis_client):
    RateRule.objects.define("login", "5/m", penalty="1m")
    now_ms = time.time_ns() // 1_000_000
    usual, once_longer, ahead, late = (lock("login", f"ip:192.0.2.{number}") for number in range(4))
    redis_client.set(usual, f"{now_ms} 60000", px=60_000)
    redis_client.set(once_longer, f"{now_ms} {DAYS_MS}", px=DAYS_MS)  # before somebody shortened the penalty
    redis_client.set(ahead, f"{now_ms + DAYS_MS} 60000", px=DAYS_MS + 60_000)
    redis_client.set(late, f"{now_ms} 60000", px=DAYS_MS)
    assert clean_orphans() == Cleaned(seen=4, harmed=2)
    assert set(redis_client.keys("rw:s:*")) == {usual, once_longer}
