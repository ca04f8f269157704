"""Which server the setting means, and whose time limits its connections keep."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.core import mail
from django.core.cache.backends.redis import RedisCache
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import override_settings

import ratewindow
from ratewindow.models import RateRule
from ratewindow.rulebook import kill_switch
from ratewindow.store import process_clients, stores


class OurCache(RedisCache):
    """A project's own backend."""


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    process_clients.close()


def means(setting: str, **caches: Any) -> tuple[str, dict[str, Any]]:
    with override_settings(RATEWINDOW={"REDIS": setting}, CACHES=caches):
        return process_clients.address()


def kwargs(setting: str, **caches: Any) -> dict[str, Any]:
    """What the connections for decisions are made with."""
    with override_settings(RATEWINDOW={"REDIS": setting, "TIMEOUT": "80ms"}, CACHES=caches):
        pool = process_clients.client().connection_pool
        return {**pool.connection_kwargs, "max_connections": pool.max_connections}


@pytest.mark.parametrize(
    "url",
    [
        "redis://cache:6380/2",
        "rediss://user:pass@cache/0",
        "unix:///run/redis.sock?db=3",
        "redis+cluster://one:7000,two:7000",
        "redis+sentinel://one:26379,two:26379/mymaster/0",
        "memory://",
    ],
)
def test_a_url_is_taken_as_it_is(url: str) -> None:
    assert means(url) == (url, {})


def test_the_default_is_the_default_cache() -> None:
    with override_settings(
        RATEWINDOW={}, CACHES={"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "redis://c/1"}}
    ):
        assert process_clients.address() == ("redis://c/1", {})


def test_a_django_redis_alias_gives_its_address_and_password() -> None:
    cache = {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": "redis://cache/1",
        "OPTIONS": {
            "CLIENT_CLASS": "django_redis.client.DefaultClient",
            "USERNAME": "shop",
            "PASSWORD": "secret",
            "CONNECTION_POOL_KWARGS": {"db": 3},
        },
    }
    assert means("sessions", sessions=cache) == ("redis://cache/1", {"db": 3, "username": "shop", "password": "secret"})


def test_a_django_redis_alias_behind_sentinels_names_the_line_to_write() -> None:
    options = {"SENTINELS": [("one", 26379)], "CLIENT_CLASS": "django_redis.client.SentinelClient"}
    cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "redis://mymaster/0", "OPTIONS": options}
    with pytest.raises(ImproperlyConfigured, match=r'"REDIS": "redis\+sentinel://one:26379,two:26379/mymaster/0"'):
        means("default", default=cache)


def test_an_alias_of_djangos_own_backend_gives_its_address_and_options() -> None:
    cache = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": "redis://cache/1",
        "OPTIONS": {"db": 3, "pool_class": "redis.BlockingConnectionPool"},
    }
    assert means("default", default=cache) == ("redis://cache/1", {"db": 3})


@pytest.mark.parametrize("backend", [f"{__name__}.OurCache", "django.core.cache.backends.redis.RedisCache"])
@pytest.mark.parametrize("location", ["redis://a/1; redis://b/1", "redis://a/1,redis://b/1", ["redis://a/1", "redis://b/1"]])
def test_of_several_servers_the_first_one_counts(location: Any, backend: str) -> None:
    assert means("default", default={"BACKEND": backend, "LOCATION": location}) == ("redis://a/1", {})


def test_an_alias_that_is_not_redis_names_the_line_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(mail, "outbox")  # as where no tests run
    with pytest.raises(ImproperlyConfigured) as told:
        means("default", default={"BACKEND": "django.core.cache.backends.locmem.LocMemCache"})
    assert str(told.value) == (
        "CACHES['default'] is django.core.cache.backends.locmem.LocMemCache, which is not Redis. "
        'Write for example RATEWINDOW = {"REDIS": "redis://localhost:6379/0"}.'
    )


@pytest.mark.parametrize(
    ("setting", "caches", "told"),
    [
        ("nowhere", {}, "RATEWINDOW['REDIS'] is 'nowhere', which is not an alias in CACHES"),
        ("http://user:hidden@cache", {}, "RATEWINDOW['REDIS'] is not an address of a Redis: its scheme is none of redis://"),
        (
            "redis://:hidden/@cache/0",
            {},
            "RATEWINDOW['REDIS'] is not an address of a Redis: it does not have the form redis://",
        ),
        ("redis://:hidden@cache?db=one", {}, "RATEWINDOW['REDIS'] is not an address of a Redis: Invalid value for 'db'"),
        (
            "default",
            {"default": {"BACKEND": "django_redis.cache.RedisCache"}},
            "the LOCATION of CACHES['default'] is not an address",
        ),
        ("default", {"default": {"BACKEND": "nowhere.Cache"}}, "CACHES['default'] is nowhere.Cache, which is not Redis"),
    ],
)
def test_an_address_that_leads_nowhere_is_named_without_its_password(setting: str, caches: dict[str, Any], told: str) -> None:
    with pytest.raises(ImproperlyConfigured) as error:
        means(setting, **caches)
    assert told in str(error.value).replace("`", "'")  # which redis-py 5.0 writes
    assert "hidden" not in str(error.value)
    assert "Write for example RATEWINDOW = " in str(error.value)


@pytest.mark.parametrize(
    ("setting", "caches"),
    [
        ("redis://cache?socket_timeout=30&socket_connect_timeout=30&max_connections=1&decode_responses=yes", {}),
        (
            "default",
            {
                "default": {
                    "BACKEND": "django.core.cache.backends.redis.RedisCache",
                    "LOCATION": "redis://cache?socket_timeout=30",
                    "OPTIONS": {"socket_timeout": 30, "max_connections": 1, "decode_responses": True},
                }
            },
        ),
        (
            "default",
            {
                "default": {
                    "BACKEND": "django_redis.cache.RedisCache",
                    "LOCATION": "redis://cache",
                    "OPTIONS": {
                        "SOCKET_TIMEOUT": 30,
                        "CONNECTION_POOL_KWARGS": {"max_connections": 1, "socket_timeout": 30, "retry_on_timeout": True},
                    },
                }
            },
        ),
    ],
    ids=["url", "django", "django-redis"],
)
def test_the_limiters_own_time_limits_win_over_those_of_a_cache(setting: str, caches: dict[str, Any]) -> None:
    made = kwargs(setting, **caches)
    assert (made["socket_timeout"], made["socket_connect_timeout"]) == (0.08, 0.08)
    assert made["retry"]._retries == 0
    assert made["decode_responses"] is False
    assert made["max_connections"] == 2**31


def test_how_a_cache_keeps_its_connections_is_left_out() -> None:
    options = {
        "CONNECTION_POOL_CLASS": "redis.BlockingConnectionPool",
        "CONNECTION_POOL_KWARGS": {"timeout": 20, "queue_class": "queue.LifoQueue", "client_name": "shop"},
    }
    cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "redis://cache/1", "OPTIONS": options}
    assert means("default", default=cache) == ("redis://cache/1", {"client_name": "shop"})
    made = kwargs("default", default=cache)
    assert made["client_name"] == "shop" and "timeout" not in made


DJANGO_REDIS = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "redis://cache/1"}


@pytest.mark.parametrize(
    ("setting", "caches", "told"),
    [
        ("redis://:hidden@h/0?foo=bar", {}, "RATEWINDOW['REDIS'] has a wrong option: .*'foo'"),
        ("redis://:hidden@h/0?ssl_ca_certs=/x", {}, "RATEWINDOW['REDIS'] has a wrong option: .*'ssl_ca_certs'"),
        ("redis+sentinel://:hidden@a/m?nope=1", {}, "RATEWINDOW['REDIS'] has a wrong option: .*'nope'"),
        ("redis+sentinel://a/m?sentinel_nope=1&sentinel_password=hidden", {}, "RATEWINDOW['REDIS'] has a wrong option: .*'nope'"),
        ("redis+cluster://:hidden@a?nope=1", {}, "RATEWINDOW['REDIS'] has a wrong option: .*'nope'"),
        ("rediss://:hidden@h?ssl_cert_reqs=bogus", {}, "RATEWINDOW['REDIS'] has a wrong option: Invalid SSL Certificate"),
        ("rediss+cluster://:hidden@h?ssl_cert_reqs=bogus", {}, "has a wrong option: Invalid SSL Certificate"),
        ("redis://:hidden@h?health_check_interval=x", {}, "Invalid value for 'health_check_interval' in connection URL. Write"),
        (
            "default",
            {"default": {**DJANGO_REDIS, "OPTIONS": {"PASSWORD": "hidden", "CONNECTION_POOL_KWARGS": {"nope": 1}}}},
            "the LOCATION of CACHES['default'] has a wrong option: .*'nope'",
        ),
    ],
)
def test_an_option_that_no_connection_takes_is_named_with_what_to_do(setting: str, caches: dict[str, Any], told: str) -> None:
    with pytest.raises(ImproperlyConfigured) as error:
        means(setting, **caches)
    assert re.search(told.replace("[", r"\["), str(error.value).replace("`", "'"))  # which redis-py 5.0 writes
    assert "hidden" not in str(error.value) and ".." not in str(error.value)
    with override_settings(RATEWINDOW={"REDIS": setting}, CACHES=caches), pytest.raises(redis.ConnectionError):
        process_clients.client()


@pytest.mark.django_db(transaction=True)
def test_with_a_wrong_option_the_kill_switch_turns_and_requests_are_decided_as_without_redis(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with override_settings(RATEWINDOW={"REDIS": "redis://h/0?foo=bar"}):
        RateRule.objects.define("api", "1/m", mode="enforce")
        assert ratewindow.hit("api", "user:1").decisions[0].cause == "store:connection"
        with pytest.raises(CommandError, match="No Redis is configured"):
            call_command("ratewindow", "check")
        call_command("ratewindow", "off")
        assert "has a wrong option" in capsys.readouterr().out
        assert kill_switch.off


def test_background_work_may_wait_longer_than_decisions() -> None:
    with override_settings(RATEWINDOW={"REDIS": "redis://cache", "TIMEOUT": "80ms"}):
        patient = process_clients.patient_client().connection_pool.connection_kwargs
    assert patient["socket_timeout"] == process_clients.PATIENT_S


async def test_an_asynchronous_client_waits_as_long_as_its_store_says_and_repeats_nothing() -> None:
    with override_settings(RATEWINDOW={"REDIS": "redis://cache?socket_timeout=30", "TIMEOUT": "80ms"}):
        made = process_clients.async_client().connection_pool.connection_kwargs
        store: Any = await stores.astore()
    assert (made["socket_timeout"], made["socket_connect_timeout"]) == (None, None)
    assert store._limit_s == pytest.approx(0.072)
    assert made["retry"]._retries == 0


def test_behind_sentinels_both_they_and_the_master_are_asked_with_the_limiters_own_limits() -> None:
    url = (
        "redis+sentinel://:secret@one,two:26380/mymaster/2?socket_timeout=30&sentinel_socket_timeout=30&sentinel_password=theirs"
    )
    with override_settings(RATEWINDOW={"REDIS": url, "TIMEOUT": "80ms"}):
        pool: Any = process_clients.client().connection_pool
        theirs = pool.sentinel_manager.sentinels[0].connection_pool.connection_kwargs
        made = pool.connection_kwargs
    assert (pool.service_name, made["db"], made["password"], theirs["password"]) == ("mymaster", 2, "secret", "theirs")
    assert (theirs["host"], theirs["port"]) == ("one", 26379)
    # Sentinels are asked in turn: one that is silent leaves time for the next.
    for each, timeout_s in ((made, 0.08), (theirs, pytest.approx(0.08 / 3))):
        assert (each["socket_timeout"], each["socket_connect_timeout"]) == (timeout_s, timeout_s)
        assert each["retry"]._retries == 0


def test_a_client_is_made_once_and_anew_when_the_setting_changes() -> None:
    with override_settings(RATEWINDOW={"REDIS": "redis://one"}):
        first = process_clients.client()
        assert process_clients.client() is first
        with override_settings(RATEWINDOW={"REDIS": "redis://two"}):
            assert process_clients.client().connection_pool.connection_kwargs["host"] == "two"


def test_for_a_site_that_runs_a_server_that_is_not_configured_is_one_that_does_not_answer() -> None:
    with override_settings(RATEWINDOW={"REDIS": "nowhere"}), pytest.raises(redis.ConnectionError, match="not an alias in CACHES"):
        process_clients.client()


async def test_and_so_it_is_for_asynchronous_clients() -> None:
    with override_settings(RATEWINDOW={"REDIS": "nowhere"}), pytest.raises(redis.ConnectionError, match="not an alias in CACHES"):
        process_clients.async_client()


def test_a_unix_socket_is_reached_by_its_path() -> None:
    assert kwargs("unix:///run/redis.sock?db=3")["path"] == "/run/redis.sock"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis://cache:6380/2", "redis://cache:6380/2"),
        ("redis://:secret@cache?username=secret", "redis://:***@cache"),
        ("redis+sentinel://me:secret@one,[::1]:2/m/0?sentinel_password=secret", "redis+sentinel://me:***@one,[::1]:2/m/0"),
        ("unix:///run/redis.sock?username=secret", "unix:///run/redis.sock"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, text: str) -> None:
    with override_settings(RATEWINDOW={"REDIS": url}):
        assert process_clients.shown() == text
