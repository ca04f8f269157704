"""Cleaning takes the state of no rule, what would never expire, and blocks that ended long ago, and nothing else."""

from datetime import timedelta

import pytest
import time_machine
from django.test import override_settings
from django.utils import timezone

from ratewindow import limits, tasks
from ratewindow.identity.site_answers import SiteFunctions
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
from ratewindow.models import Override, RateRule
from ratewindow.operations import cleaning
from ratewindow.operations.cleaning import clean_ended, clean_orphans
from ratewindow.rulebook import reading
from ratewindow.rules import code_rates, limits_from
from ratewindow.store import state_keys
from ratewindow.store.shared_prefix import SharedPrefix, announce_site
from tests.support.commands import run
from tests.support.count_keys import key
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
def keys(redis_client):
    """Makes keys as the limiter would, and tells which are left."""

    def make(*names):
        for name in names:
            redis_client.set(name, "1", ex=60)

    make.left = lambda: set(redis_client.keys())
    return make


@pytest.fixture
def in_code(monkeypatch):
    monkeypatch.setattr(code_rates, "load_names", lambda: {"export"})


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
    assert clean_orphans() == "4 keys seen, 0 of no rule and 0 without an expiry deleted"
    all_keys = set(redis_client.keys())
    RateRule.objects.get(name="search").delete()
    assert clean_orphans() == "4 keys seen, 2 of no rule and 0 without an expiry deleted"
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


@pytest.mark.parametrize("kind", ["string", "list", "hash", "set"])
def test_what_never_expires_goes_whatever_somebody_wrote_there(keys, redis_client, kind):
    RateRule.objects.define("login", "5/m")
    keys(key("login"))
    endless = key("login", client="user:1")
    {
        "string": lambda: redis_client.set(endless, "x"),
        "list": lambda: redis_client.rpush(endless, "x"),
        "hash": lambda: redis_client.hset(endless, "x", 1),
        "set": lambda: redis_client.sadd(endless, "x"),
    }[kind]()
    assert clean_orphans() == "2 keys seen, 0 of no rule and 1 without an expiry deleted"
    assert keys.left() == {key("login")}


def test_a_client_that_is_counted_again_at_that_moment_is_not_taken_for_what_was_read_before(keys, redis_client, monkeypatch):
    """Between the look at a key and its deletion the limiter writes it: as it is then, it stays."""
    RateRule.objects.define("login", "5/m")
    redis_client.set(key("login"), "1")
    ask = cleaning._ask

    def counted_meanwhile(master, commands):
        replies = ask(master, commands)
        keys(key("login"))
        return replies

    monkeypatch.setattr(cleaning, "_ask", counted_meanwhile)
    assert clean_orphans() == "1 keys seen, 0 of no rule and 0 without an expiry deleted"
    assert keys.left() == {key("login")}


def test_a_dry_run_tells_and_deletes_nothing(keys, redis_client):
    RateRule.objects.define("login", "5/m")
    keys(key("gone"), key("gone", client="user:42"))
    redis_client.set(key("login"), "1")
    assert clean_orphans(dry_run=True) == "3 keys seen, 2 of no rule and 1 without an expiry would be deleted"
    assert len(keys.left()) == 3


def test_many_orphans_go_in_batches_and_those_of_rules_among_them_stay(keys, monkeypatch):
    monkeypatch.setattr(cleaning, "BATCH", 300)
    RateRule.objects.define("login", "5/m")
    owned = {key("login", client=f"ip:{number}") for number in range(500)}
    keys(*owned, *(key("gone", client=f"ip:{number}") for number in range(1500)))
    assert clean_orphans().endswith(" keys seen, 1500 of no rule and 0 without an expiry deleted")
    assert keys.left() == owned


def test_it_looks_at_no_more_keys_in_a_second_than_it_may(keys, monkeypatch):
    waits = []
    monkeypatch.setattr(cleaning.time, "sleep", waits.append)
    keys(*(key("gone", client=f"ip:{number}") for number in range(1000)))
    clean_orphans(keys_per_second=400)
    assert set(waits) == {0.5} and 4 <= len(waits) <= 8


def test_a_rule_made_while_keys_are_scanned_keeps_its_first_counts(keys, monkeypatch):
    keys(key("gone"))
    scan = cleaning._scan

    def meanwhile(*arguments):
        RateRule.objects.define("login", "5/m")
        keys(key("login"))
        return scan(*arguments)

    monkeypatch.setattr(cleaning, "_scan", meanwhile)
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
    assert code_rates.load_names() <= set(used)


def test_in_memory_there_is_nothing_to_clean(settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        assert clean_orphans() == "0 keys seen, 0 of no rule and 0 without an expiry deleted"


@pytest.mark.parametrize("rule", ["login", ""])
def test_the_counts_of_another_rate_for_some_clients_stay_while_it_holds(keys, rule):
    for name in ("login", "api"):
        RateRule.objects.define(name, "5/m")
    (window,) = parse_rates("7/2h")
    keys(key("login", window), key("api", window))
    Override.objects.rate("ip:203.0.113.9", "7/2h", rule=rule, duration="1h")
    clean_orphans()
    assert keys.left() >= {key("login", window)}
    assert (key("api", window) in keys.left()) == (not rule)
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        clean_orphans()
    assert not [name for name in keys.left() if name.startswith("rw:s:")]


def test_the_counts_of_limits_that_code_gives_some_clients_stay(keys, monkeypatch):
    monkeypatch.setattr(limits_from, "registered", SiteFunctions("limits", limits_from._HOLDS))
    limits("by plan")(lambda identity: "7/2h")
    RateRule.objects.define("login", "5/m", limits_from="by plan")
    RateRule.objects.define("api", "5/m")
    (window,) = parse_rates("7/2h")
    keys(key("login", window), key("api", window))
    clean_orphans()
    assert {key("login", window), key("api", window)} & set(keys.left()) == {key("login", window)}


def test_the_server_is_spared_among_the_keys_of_others_too(redis_client, monkeypatch):
    redis_client.mset({f"session:{number}": "1" for number in range(2000)})
    rests_s = []
    monkeypatch.setattr(cleaning.time, "sleep", rests_s.append)
    clean_orphans(keys_per_second=1000)
    assert len(rests_s) >= 8 and set(rests_s) == {cleaning.AT_ONCE / 1000}


def test_rules_are_read_once_for_many_keys(keys, django_assert_max_num_queries):
    RateRule.objects.define("login", "5/m")
    keys(*(key("login", client=f"ip:{number}") for number in range(1000)))
    with django_assert_max_num_queries(12):
        clean_orphans()


def ended(reason, **ago):
    """A block that ended so long ago."""
    override = Override.objects.allow("user:42", reason=reason)
    Override.objects.get_queryset().filter(pk=override.pk).update(expires_at=timezone.now() - timedelta(**ago))


def reasons():
    return set(Override.objects.values_list("reason", flat=True))


def test_blocks_that_ended_a_month_ago_go_and_all_others_stay():
    ended("old", days=31)
    ended("recent", days=29)
    Override.objects.allow("user:42", reason="endless")
    assert clean_ended(dry_run=True) == "1 block or exemption that ended 30 days ago would be deleted"
    assert reasons() == {"old", "recent", "endless"}
    assert clean_ended() == "1 block or exemption that ended 30 days ago deleted"
    assert reasons() == {"recent", "endless"}


def test_many_of_them_go_in_pieces(monkeypatch):
    monkeypatch.setattr(cleaning, "BATCH", 3)
    for _ in range(8):
        ended("old", days=99)
    assert clean_ended().startswith("8 ")
    assert not reasons()


@pytest.mark.django_db(transaction=True)
def test_the_command_and_the_task_clean_all():
    ended("old", days=31)
    assert "1 block or exemption that ended 30 days ago would be deleted" in run("clean", "--dry-run")
    done = tasks.clean_orphans()
    assert "1 block or exemption that ended 30 days ago deleted; " in done and "; 0 keys seen" in done
    assert not reasons()
