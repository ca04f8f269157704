"""Addresses of one server, of a Cluster, and of Sentinels, taken apart."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from ratewindow.store import address as redis_address
from ratewindow.store.url import PLAIN, of_sentinels, parse, shown


@pytest.mark.parametrize("scheme", PLAIN)
def test_the_address_of_one_server_is_left_to_redis_py(scheme: str) -> None:
    assert parse(f"{scheme}user:pass@host/2?health_check_interval=3").url == f"{scheme}user:pass@host/2?health_check_interval=3"


def test_options_of_the_limiters_own_are_left_out() -> None:
    assert parse("redis://host?timeout=3&db=1", frozenset(["timeout"])).url == "redis://host?db=1"
    server = parse("redis+sentinel://one/m?timeout=3&sentinel_timeout=3&db=1", frozenset(["timeout"]))
    assert (server.options, server.sentinel_options) == ({"db": 1}, {})


def test_a_cluster_is_some_of_its_nodes() -> None:
    server = parse("redis+cluster://user:p%40ss@one:7000,two,[::1]:7002/0?health_check_interval=3")
    assert (server.kind, server.nodes) == ("cluster", (("one", 7000), ("two", 6379), ("::1", 7002)))
    assert server.options == {"username": "user", "password": "p@ss", "db": 0, "health_check_interval": 3.0}


def test_sentinels_are_followed_by_the_name_of_their_master_and_the_database() -> None:
    server = parse("redis+sentinel://:secret@one,two:26380/my%20master/2?sentinel_username=u&sentinel_password=p")
    assert (server.kind, server.nodes, server.service) == ("sentinel", (("one", 26379), ("two", 26380)), "my master")
    assert server.options == {"password": "secret", "db": 2}
    assert server.sentinel_options == {"username": "u", "password": "p"}
    assert "db" not in parse("redis+sentinel://one/mymaster").options


@pytest.mark.parametrize("url", ["redis://", "redis:///3", "redis://h/", "redis://h/3/", "redis://[::1]:6379/3", "unix:///a/b"])
def test_what_may_be_left_out_may_be(url: str) -> None:
    assert parse(url).url == url


def test_with_rediss_all_connections_use_tls_and_one_authority() -> None:
    server = parse("rediss+sentinel://one/mymaster?ssl_ca_certs=/ca.pem")
    assert server.options == server.sentinel_options == {"ssl": True, "ssl_ca_certs": "/ca.pem"}
    assert parse("rediss+cluster://one").options["ssl"] is True


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("redis-cluster://:hidden@one:7000", "its scheme is none of redis://, rediss://, unix://, redis\\+cluster://"),
        ("redis+cluster://:hidden@one:7000/3", "a Cluster has no databases"),
        ("redis+cluster://:hid/den@one:7000", "its port is not a number, or its password has a /"),
        ("redis+cluster://", "it names no server"),
        ("redis+cluster://one:7000,,two", "it names no server"),
        ("redis+cluster://one:70000", "its port is not a number"),
        ("redis+cluster://one:7000,", "it names no server"),
        ("redis+cluster://:hidden@one :7000", "it contains a space"),
        (" redis://:hidden@one", "it contains a space"),
        ("redis://:hid den@one", "it contains a space"),
        ("redis://:hidden@one/prod", "not the number of a database"),
        ("redis://:hidden@one/-1", "not the number of a database"),
        ("redis://:hidden@one/0/1", "not the number of a database"),
        ("redis://:hidden@one?db=-1", "not the number of a database"),
        ("unix:///run/redis.sock?db=-1", "not the number of a database"),
        ("redis://:hidden@one,redis://two", "it lists several servers"),
        ("redis://user/hidden@one/0", "its password has a /"),
        ("redis+sentinel://:hidden@one/mymaster/x", "not the number of a database"),
        ("redis+sentinel://:hidden@one/mymaster?db=-1", "not the number of a database"),
        ("redis+sentinel://:hidden@one/mymaster/-1", "not the number of a database"),
        ("redis+sentinel://:hidden@one:26379", "it names no service, as in redis\\+sentinel://host:26379/mymaster/0"),
        ("redis+sentinel://:hidden@one:26379/", "it names no service"),
        ("redis+sentinel://:hidden@one:26379/a/b/c", "it names no service"),
        ("redis+sentinel://:hidden@one/mymaster?db=x", "Invalid value for .db."),
    ],
)
def test_what_is_wrong_is_said_without_the_password(url: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as error:
        parse(url)
    assert "hid" not in str(error.value)


@pytest.mark.parametrize(
    ("location", "address"),
    [
        ("redis://mymaster/2", "redis+sentinel://one:26379,[::1]:26380/mymaster/2"),
        ("rediss://u:p@mymaster?is_master=0&db=1", "rediss+sentinel://u:p@one:26379,[::1]:26380/mymaster/?db=1"),
    ],
)
def test_a_location_of_django_redis_and_its_sentinels_become_one_address(location: str, address: str) -> None:
    assert of_sentinels(location, [("one", 26379), ("::1", 26380)]) == address
    assert parse(address).service == "mymaster"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis://cache:6380/2", "redis://cache:6380/2"),
        ("redis://:secret@cache?password=secret", "redis://:***@cache"),
        ("redis+sentinel://me:secret@one,[::1]:2/m/0?sentinel_password=secret", "redis+sentinel://me:***@one,[::1]:2/m/0"),
        ("unix:///run/redis.sock?password=secret", "unix:///run/redis.sock"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, text: str) -> None:
    assert shown(url) == text


@pytest.mark.parametrize("url", ["sentinel://one:26379", "sentinels://:secret@one:26379;sentinel://two:26379"])
def test_celerys_address_of_sentinels_is_refused_with_the_one_to_write(url: str) -> None:
    with pytest.raises(ValueError, match=r"name of the master.s service.*redis\+sentinel://") as told:
        parse(url)
    assert "secret" not in str(told.value)
    with override_settings(RATEWINDOW={"REDIS": url}), pytest.raises(ImproperlyConfigured) as said:
        redis_address.address()
    assert '"redis+sentinel://one:26379,two:26379/mymaster/0"' in str(said.value)
