"""Addresses of one server, of a Cluster, and of Sentinels, taken apart."""

import pytest

from ratewindow.store.clients import parse


@pytest.mark.parametrize("scheme", ["redis://", "rediss://", "unix://"])
def test_the_address_of_one_server_is_left_to_redis_py(scheme: str) -> None:
    assert parse(f"{scheme}user:pass@host/2?health_check_interval=3").url == f"{scheme}user:pass@host/2?health_check_interval=3"


def test_options_of_the_limiters_own_are_left_out() -> None:
    assert parse("redis://host?timeout=3&db=1", frozenset(["timeout"])).url == "redis://host?db=1"
    server = parse("redis+sentinel://one/m?timeout=3&sentinel_timeout=3&db=1", frozenset(["timeout"]))
    assert (server.options, server.sentinel_options) == ({"db": 1}, {})


def test_a_cluster_is_some_of_its_nodes() -> None:
    server = parse("redis+cluster://user:p%40ss@one:7000,two,[::1]:7002/0?health_check_interval=3")
    assert (server.kind, server.nodes) == ("cluster", (("one", 7000), ("two", 6379), ("::1", 7002)))
    assert server.options == {"username": "user", "password": "p@ss", "health_check_interval": 3.0}


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
        ("sentinels://:hidden@one:26379", "its scheme is none of .*redis\\+sentinel://"),
        ("redis+cluster://:hidden@one:7000/3", "it does not have the form redis\\+cluster://"),
        ("redis+cluster://:hid/den@one:7000", "a / in a password is written as %2F"),
        ("redis+cluster://", "it does not have the form"),
        ("redis+cluster://one:7000,,two", "it does not have the form"),
        (" redis://:hidden@one", "its scheme is none of"),
        ("redis://:hid den@one", "it does not have the form"),
        ("redis://:hidden@one/prod", "host\\[:port\\]\\[/database\\]"),
        ("redis://:hidden@one/0/1", "it does not have the form"),
        ("redis://:hidden@one,redis://two", "it does not have the form"),
        ("redis://user/hidden@one/0", "it does not have the form"),
        ("redis+sentinel://:hidden@one/mymaster/x", "/service\\[/database\\]"),
        ("redis+sentinel://:hidden@one:26379", "/service\\[/database\\]"),
        ("redis+sentinel://:hidden@one:26379/a/b/c", "/service\\[/database\\]"),
        ("redis+sentinel://:hidden@one/mymaster?db=x", "Invalid value for .db."),
    ],
)
def test_what_is_wrong_is_said_without_the_password(url: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as error:
        parse(url)
    assert "hid" not in str(error.value)
