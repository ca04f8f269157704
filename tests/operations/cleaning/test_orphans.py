"""Cleaning takes the state of no rule, and nothing else."""

import re

import pytest
from django.test import override_settings
from redis.client import Pipeline

from ratewindow.limiter.types import Window
from ratewindow.models import Override, RateRule
from ratewindow.operations.cleaning import deleting, orphans
from ratewindow.operations.cleaning.orphans import Cleaned, clean_orphans
from ratewindow.operations.shared_prefix import SharedPrefix, announce_site
from ratewindow.rulebook import reading
from ratewindow.rules import code_rates
from ratewindow.store import state_keys
from tests.support.count_keys import DAYS_MS, key
from tests.support.doors import behind_middleware, plain, statuses

pytestmark = pytest.mark.django_db


FOREIGN = [
    "rw:token",
    "rw:sites",
    "session:1",
    "rw:s:short:{x}",
    "rw:s:0123456789abcdef",
    "other:s:0123456789abcdef:{x}",
    "rw:{minutes}",
]


@pytest.fixture
def in_code(monkeypatch):
    monkeypatch.setattr(code_rates, "names", lambda: {"export"})


def test_the_state_of_a_deleted_rule_goes_and_all_other_keys_stay(redis_client):
    for name in ("login", "search"):
        RateRule.objects.define(name, "5/m; 20/h", path=f"/{name}/", mode="enforce")
    reading.reload()
    site = behind_middleware(plain(False))
    assert statuses(site, 6, "/login/") == [200] * 5 + [429]
    before = set(redis_client.keys())
    assert statuses(site, 6, "/search/") == [200] * 5 + [429]
    of_search = set(redis_client.keys("rw:s:*")) - before
    assert len(of_search) == 2
    assert clean_orphans() == Cleaned(seen=4)
    all_keys = set(redis_client.keys())
    RateRule.objects.get(name="search").delete()
    assert clean_orphans() == Cleaned(seen=4, orphans=2)
    assert set(redis_client.keys()) == all_keys - of_search
    assert all(redis_client.ttl(name) > 0 for name in redis_client.keys("rw:s:*"))


@pytest.mark.parametrize("mode", ["off", "shadow", "enforce"])
def test_a_rule_keeps_its_state_in_every_mode(keys, mode):
    RateRule.objects.define("login", "5/m", mode=mode)
    keys(key("login"), key("login", is_beside=True))
    clean_orphans()
    assert keys.left() == {key("login"), key("login", is_beside=True)}


def test_an_edited_limit_keeps_the_state_and_an_edited_period_does_not(keys):
    rule, _ = RateRule.objects.define("login", "5/m")
    keys(key("login"))
    rule.windows.update(limit=8)
    clean_orphans()
    assert keys.left() == {key("login")}
    window = rule.windows.get()
    window.period *= 2
    window.save()
    clean_orphans()
    assert keys.left() == set()


def test_a_rule_with_its_rate_in_code_keeps_all_its_state(keys, in_code):
    keys(key("export"), key("export", Window(9, 1000)), key("gone"))
    clean_orphans()
    assert keys.left() == {key("export"), key("export", Window(9, 1000))}


def test_the_state_of_a_deleted_shadow_beside_code_goes(keys, in_code):
    keys(key("export"), key("export", is_beside=True))
    clean_orphans()
    assert keys.left() == {key("export")}


def test_a_row_that_cannot_be_read_as_a_rule_keeps_its_state(keys):
    RateRule.objects.define("login", "5/m")
    RateRule.objects.update(key="no such key")
    assert reading.read_rules() == []
    keys(key("login"))
    clean_orphans()
    assert keys.left() == {key("login")}


def test_keys_that_do_not_look_like_ours_stay(keys, redis_client):
    for name in FOREIGN:
        if name != "rw:sites":
            redis_client.set(name, "1")
    clean_orphans()
    assert keys.left() == set(FOREIGN) - {"rw:sites"}


def test_a_dry_run_tells_and_deletes_nothing(keys):
    keys(key("gone"), key("gone", client="user:42"))
    cleaned = clean_orphans(dry_run=True)
    assert cleaned.orphans == 2
    assert re.fullmatch(r"2 keys seen, 2 of no rule would be deleted \(0\.0 MB, exactly\)", str(cleaned))
    assert len(keys.left()) == 2


def test_many_orphans_go_in_batches_and_the_living_among_them_stay(keys, redis_client, monkeypatch):
    monkeypatch.setattr(orphans, "AT_ONCE", 300)
    RateRule.objects.define("login", "5/m")
    living = {key("login", client=f"ip:{number}") for number in range(500)}
    keys(*living, *(key("gone", client=f"ip:{number}") for number in range(1500)))
    cleaned = clean_orphans()
    assert (cleaned.orphans, cleaned.complete) == (1500, True)
    assert cleaned.seen >= 2000  # SCAN may show a key twice
    assert keys.left() == living


def test_what_somebody_else_wrote_under_a_key_of_ours_goes_since_it_would_stay_for_ever(keys, redis_client):
    RateRule.objects.define("login", "5/m")
    keys(key("login"))
    redis_client.set(key("login", client="user:1"), "x")
    redis_client.rpush(key("login", client="user:2"), "not ours")
    told = str(clean_orphans(dry_run=True))
    assert told == "3 keys seen, 0 of no rule would be deleted, 2 overwritten by others or expiring too late would be deleted"
    assert clean_orphans() == Cleaned(seen=3, harmed=2)
    assert keys.left() == {key("login")}


def test_a_rule_made_while_keys_are_scanned_keeps_its_first_counts(keys, monkeypatch):
    keys(key("gone"))
    scan = orphans.scan

    def meanwhile(*arguments):
        RateRule.objects.define("login", "5/m")
        keys(key("login"))
        return scan(*arguments)

    monkeypatch.setattr(orphans, "scan", meanwhile)
    clean_orphans()
    assert keys.left() == {key("login")}


def test_nothing_is_deleted_when_the_rules_cannot_be_read(keys, monkeypatch):
    def unreadable():
        raise RuntimeError("no such table")

    monkeypatch.setattr(reading, "read_rules", unreadable)
    keys(key("gone"))
    with pytest.raises(RuntimeError):
        clean_orphans()
    assert keys.left() == {key("gone")}


def test_keys_of_another_prefix_are_not_ours(keys, settings):
    keys("shop:s:" + key("gone").removeprefix("rw:s:"))
    clean_orphans()
    assert len(keys.left()) == 1
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "KEY_PREFIX": "shop"}):
        clean_orphans()
    assert keys.left() == set()


def test_cleaning_refuses_where_another_site_was_seen_and_names_the_remedy(keys, settings):
    keys(key("gone"))
    with override_settings(SECRET_KEY="of another site"):
        announce_site()
    with pytest.raises(SharedPrefix, match=r"'rw'.*KEY_PREFIX.*DEL rw:sites"):
        clean_orphans()
    assert key("gone") in keys.left()


def test_our_own_announcement_does_not_stop_us(redis_client):
    announce_site()
    clean_orphans()
    assert redis_client.ttl(state_keys.sites()) > 0


def test_names_with_a_rate_in_code_come_from_the_decorated_views():
    used = code_rates.uses()
    assert code_rates.names() <= set(used)


def test_in_memory_there_is_nothing_to_clean(settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        assert clean_orphans() == Cleaned()


def test_another_rate_for_some_clients_keeps_its_counts_and_no_longer_than_they_last(keys, redis_client):
    RateRule.objects.define("login", "5/m")
    Override.objects.create(action="rate", identity="user:1", rule="login", rate="9/h")
    window = Window(9, 3_600_000)
    keys(key("login", window, "user:1"))
    redis_client.set(key("login", window, "user:2"), "1", px=DAYS_MS)
    assert clean_orphans() == Cleaned(seen=2, harmed=1)
    assert keys.left() == {key("login", window, "user:1")}


def test_a_client_that_is_counted_again_at_that_moment_is_not_taken_for_what_was_read_before(keys, redis_client, monkeypatch):
    """Between the look at a key and its deletion the limiter writes it: as it is then, it stays."""
    RateRule.objects.define("login", "5/m")
    redis_client.set(key("login"), "1")
    suspects = deleting.suspects

    def counted_meanwhile(*arguments):
        found = list(suspects(*arguments))
        keys(key("login"))
        return found

    monkeypatch.setattr(deleting, "suspects", counted_meanwhile)
    assert clean_orphans().harmed == 0
    assert keys.left() == {key("login")}


def test_the_memory_that_is_freed_is_measured_by_the_server_and_estimated_for_many(keys, redis_client):
    keys(*(key("gone", client=f"ip:{number}") for number in range(5)))
    size = sum(redis_client.memory_usage(name) for name in redis_client.scan_iter())
    cleaned = clean_orphans()
    assert (cleaned.freed, cleaned.measured) == (size, 5)
    keys(*(key("gone", client=f"ip:{number}") for number in range(2000)))
    size = sum(redis_client.memory_usage(name) for name in redis_client.scan_iter())
    cleaned = clean_orphans()
    assert cleaned.orphans == 2000 and cleaned.measured < 200
    assert abs(cleaned.freed - size) < size / 20
    assert f"estimated from {cleaned.measured})" in str(cleaned)


def test_where_redis_does_not_say_how_large_keys_are_they_are_deleted_all_the_same(keys, monkeypatch):
    keys(key("gone"))
    monkeypatch.setattr(Pipeline, "memory_usage", lambda pipe, name: pipe.execute_command("NO SUCH COMMAND", name))
    cleaned = clean_orphans()
    assert (cleaned.orphans, cleaned.freed) == (1, None)
    assert "lacks +memory|usage" in str(cleaned)
    assert keys.left() == set()


def test_rules_are_read_once_for_many_keys(keys, django_assert_max_num_queries):
    RateRule.objects.define("login", "5/m")
    keys(*(key("login", client=f"ip:{number}") for number in range(1000)))
    with django_assert_max_num_queries(12):
        clean_orphans()
