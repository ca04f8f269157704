"""The setting: what it may say, and how it is told when it says something else."""

from dataclasses import fields
from datetime import timedelta
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from django.test import override_settings

from ratewindow import conf


def problem(**setting: Any) -> str:
    """The one thing wrong with a setting, as people read it."""
    found = conf.read(setting)[1]
    assert len(found) == 1, found
    return " ".join(filter(None, (found[0].message, found[0].hint)))


def test_every_key_is_optional() -> None:
    assert conf.read({}) == (conf.Conf(), [])


def test_every_field_has_a_key_that_is_read_into_it() -> None:
    assert sorted(name for name, _ in conf._READERS.values()) == sorted(each.name for each in fields(conf.Conf))


def test_every_key_is_read() -> None:
    read, problems = conf.read(
        {
            "REDIS": "redis://cache/1",
            "KEY_PREFIX": "shop",
            "ENABLED": False,
            "TIMEOUT": "250ms",
            "TRUSTED_PROXIES": ["10.0.0.0/8", "::1", ip_network("192.0.2.0/24")],
            "IPV4_PREFIX": 24,
            "IPV6_PREFIX": 56,
            "HEADERS": ["x-ratelimit"],
            "REFRESH": timedelta(seconds=3),
            "STATS": False,
            "RETENTION": {"minute": "1d"},
        }
    )
    assert problems == []
    assert read == conf.Conf(
        redis="redis://cache/1",
        key_prefix="shop",
        enabled=False,
        timeout_s=0.25,
        trusted_proxies=(ip_network("10.0.0.0/8"), ip_network("::1"), ip_network("192.0.2.0/24")),
        ipv4_prefix=24,
        ipv6_prefix=56,
        headers=("x-ratelimit",),
        refresh_s=3.0,
        stats=False,
        retention={"minute": timedelta(days=1), "hour": timedelta(days=60), "day": timedelta(days=730)},
    )


@pytest.mark.parametrize(
    ("key", "nearest"), [("REDDIS", "REDIS"), ("redis", "REDIS"), ("TRUSTED_PROXY", "TRUSTED_PROXIES"), ("HEADER", "HEADERS")]
)
def test_an_unknown_key_names_the_nearest_known_one(key: str, nearest: str) -> None:
    assert problem(**{key: "x"}) == f"RATEWINDOW has an unknown key {key!r}. Did you mean {nearest!r}?"


def test_an_unknown_key_like_no_other_lists_the_known_ones() -> None:
    assert "Known keys: REDIS, KEY_PREFIX, " in problem(zzz=1)


def test_a_key_that_is_no_text_is_unknown_too() -> None:
    (found,) = conf.read({5: "x"})[1]
    assert found.message == "RATEWINDOW has an unknown key 5."


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("REDIS", None, "None is not an address of a Redis: write a URL such as redis://localhost:6379/0, or an alias in CACHES"),
        ("REDIS", "", "'' is not an address of a Redis: write a URL such as redis://localhost:6379/0"),
        ("KEY_PREFIX", "a:b", "'a:b' is not 1 to 16 letters, digits, dots, dashes or underscores"),
        ("KEY_PREFIX", "{rw}", "'{rw}' is not 1 to 16 letters"),
        ("ENABLED", "no", "'no' is neither True nor False"),
        ("STATS", 1, "1 is neither True nor False"),
        ("TIMEOUT", 0.1, "0.1 has no unit: write text such as 10s"),
        ("TIMEOUT", "100", "'100' has no unit: write 100s for seconds"),
        ("TIMEOUT", "0s", "'0s' is zero: write at least 1ms"),
        ("TIMEOUT", "soon", "'soon' is not a duration: write 10s"),
        ("REFRESH", "300000w", "'300000w' is too long: write at most 1d"),
        ("TRUSTED_PROXIES", "10.0.0.1", "'10.0.0.1' is neither a list of networks nor a number of hops"),
        ("TRUSTED_PROXIES", True, "True is neither a list of networks nor a number of hops"),
        ("TRUSTED_PROXIES", -1, "-1 hops: write 0 or more"),
        ("TRUSTED_PROXIES", ["proxy.local"], "'proxy.local' is not a network: write for example '10.0.0.0/8'"),
        ("TRUSTED_PROXIES", [1], "1 is not a network: write for example '10.0.0.0/8'"),
        ("IPV4_PREFIX", 33, "33 is not a whole number from 1 to 32"),
        ("IPV6_PREFIX", "64", "'64' is not a whole number from 1 to 128"),
        ("HEADERS", "ratelimit", "'ratelimit' is not a list of header families"),
        ("HEADERS", ["ratelimit", "ratelimit-draft-7"], "'ratelimit' and 'ratelimit-draft-7' are two forms of the same headers"),
        ("HEADERS", ["draft-3"], "'draft-3' is unknown: choose from ratelimit, x-ratelimit"),
        ("RETENTION", "2d", "'2d' is not a dict of minute, hour and day"),
        ("RETENTION", {"week": "2d"}, "'week' is unknown: choose from minute, hour, day"),
        ("RETENTION", {"day": 730}, "730 has no unit"),
        ("RETENTION", {"day": "9999999999d"}, "'9999999999d' is too long: write at most 10000d"),
    ],
)
def test_a_bad_value_is_named_with_its_key_and_the_remedy(key: str, value: Any, told: str) -> None:
    message = problem(**{key: value})
    assert message.startswith(f"RATEWINDOW[{key!r}]: ")
    assert told in message


def test_a_key_with_a_bad_value_keeps_its_default_and_the_others_are_read() -> None:
    read, _ = conf.read({"TIMEOUT": "soon", "KEY_PREFIX": "shop"})
    assert (read.timeout_s, read.key_prefix) == (0.1, "shop")


def test_a_setting_that_is_no_dict_says_what_to_write() -> None:
    (found,) = conf.read("redis://localhost")[1]
    assert found.message == "RATEWINDOW is 'redis://localhost', not a dict."
    assert found.hint == 'Write RATEWINDOW = {"REDIS": "..."}.'


@pytest.mark.parametrize("written", ["::ffff:10.0.0.0/104", "64:ff9b:1::10.0.0.0/104"])
def test_a_proxy_network_of_ipv4_written_as_ipv6_is_the_ipv4_network(written: str) -> None:
    (network,) = conf.read({"TRUSTED_PROXIES": [written]})[0].trusted_proxies  # type: ignore[misc]
    assert ip_address("10.1.2.3") in network


def test_a_changed_setting_is_read_anew() -> None:
    before = conf.current().key_prefix
    with override_settings(RATEWINDOW={"KEY_PREFIX": "other"}):
        assert conf.current().key_prefix == "other"
    assert conf.current().key_prefix == before


def test_a_server_with_a_bad_setting_serves_on_with_the_default_and_logs_it_once(caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(RATEWINDOW={"KEY_PREFIX": "other", "REDDIS": "redis://cache"}):
        assert conf.current() is conf.current()
        assert conf.current().key_prefix == "other"
    assert [record.getMessage() for record in caplog.records] == [
        "ratewindow: RATEWINDOW has an unknown key 'REDDIS'. Did you mean 'REDIS'?"
    ]
