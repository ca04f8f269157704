"""Recipes: how a request becomes a client."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.test import RequestFactory
from hypothesis import given, strategies as st

from ratewindow.identity import recipe
from ratewindow.identity.recipe import _UNNAMED, TEXTS
from ratewindow.identity.request_attributes import load_user
from ratewindow.store import state_keys
from tests.support.doors import decorated, get, statuses

pytestmark = pytest.mark.django_db(transaction=True)


def request(user: Any = None, **headers: str) -> HttpRequest:
    made = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9")
    made.META.update({f"HTTP_{name.upper()}": value for name, value in headers.items()})
    if user is not None:
        made.user = user
    return made


def who(key: str, *arguments: Any, **headers: str) -> str | None:
    return recipe(key).identity(request(*arguments, **headers))


def test_an_identity_is_always_typed() -> None:
    assert who("ip") == "ip:203.0.113.9"
    assert who("user", User(pk=42)) == "user:42"
    assert who("user_or_ip", User(pk=42)) == "user:42"
    assert who("user_or_ip", AnonymousUser()) == "ip:203.0.113.9"
    assert who("global") == "global"
    assert who("header:X-API-Key", x_api_key="abc") == "header:x-api-key:abc"


def test_a_user_named_like_an_address_is_not_that_address() -> None:
    assert who("user", User(pk="203.0.113.9")) != who("ip")
    assert who("header:x-user", x_user="1") != who("user", User(pk=1))


def test_what_is_missing_is_none() -> None:
    assert who("user") is None  # no AuthenticationMiddleware
    assert who("user", AnonymousUser()) is None
    assert who("header:x-api-key") is None
    assert who("header:x-api-key", x_api_key="") is None
    assert who("ip+user", AnonymousUser()) is None
    assert who("header:x-api-key+ip") is None


def test_joined_parts_cannot_be_mistaken_for_each_other() -> None:
    key = "header:a+header:b"
    values = [("a:b", "c"), ("a", "b:c"), ("a+b", "c"), ("a", "b+c"), ("1:a", "c"), ("a", "1:c")]
    assert len({who(key, a=first, b=second) for first, second in values}) == len(values)


texts = st.text(min_size=1, max_size=12).filter(lambda text: not text.isspace())


@given(texts, texts, texts, texts)
def test_different_parts_are_different_clients(a: str, b: str, c: str, d: str) -> None:
    key = "header:a+header:b"
    assert (who(key, a=a, b=b) == who(key, a=c, b=d)) == ((a, b) == (c, d))


def test_a_joined_key_and_a_single_one_are_different_clients() -> None:
    assert who("header:a+header:b", a="x", b="y") != who("header:a", a="x+y")


@pytest.mark.parametrize("key", ["header:x-api-key", "header:X-Api-Key", " header:x-api-key "])
def test_the_name_of_a_header_is_written_in_any_case(key: str) -> None:
    assert who(key, x_api_key="Abc") == "header:x-api-key:Abc"


def test_content_type_is_a_header_like_any_other() -> None:
    made = RequestFactory().post("/", "{}", content_type="application/json")
    assert recipe("header:content-type").identity(made) == "header:content-type:application/json"


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (
            "",
            "'' is not a key: choose from ip, user, user_or_ip, session, global, route, path, method, scope, header:NAME",
        ),
        ("shoe_size", "'shoe_size' is not a key: choose from ip"),
        ("IP", "'IP' is not a key"),
        ("ip+", "'' is not a key"),
        ("ip,user", "'ip,user' is not a key"),
        ("header", "'header' is not a key"),
        ("header:", "'header:' has no valid name: write for example header:x-api-key"),
        ("header:x api", "'header:x api' has no valid name"),
        ("header:x\ny", "has no valid name"),
        ("header:schlüssel", "has no valid name"),
        ("ip:1.2.3.4", "'ip:1.2.3.4' is not a key"),
        ("ip+user+path+method+route+session+header:x", "7 parts are joined with +: write at most 6"),
        (None, "None is not a key: write text such as ip"),
    ],
)
def test_a_bad_key_names_the_part_and_what_may_stand_there(key: str, told: str) -> None:
    with pytest.raises(ValueError) as error:
        recipe(key)
    assert told in str(error.value)


@pytest.mark.parametrize("key", ["user", "user_or_ip", "ip + user", "user+header:x"])
def test_a_key_that_asks_who_is_logged_in_says_so(key: str) -> None:
    assert recipe(key).loaders == (load_user,)


@pytest.mark.parametrize("key", ["ip", "global", "header:x-user", "ip+header:x-user"])
def test_any_other_key_does_not_touch_the_session(key: str) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> None:
            raise AssertionError("the user was asked for")

    assert recipe(key).loaders == ()
    who(key, Untouchable(), x_user="1")


@pytest.mark.parametrize(
    "value", ["x" * 7000, "a\x00b", "a\r\nX-Evil: 1", "{curly}", "}{", "\udcff\udcfe", "ü" * 2000, "%s%n", "\t"]
)
def test_any_header_makes_a_short_key_and_no_error(value: str, redis_client: Any, caplog: pytest.LogCaptureFixture) -> None:
    view = decorated(False, "by-key", "1/m", key="header:x-api-key")
    first = get(view, HTTP_X_API_KEY=value)
    assert (first.status_code, get(view, HTTP_X_API_KEY=value).status_code) == (200, 429)
    assert all(value not in line for line in str(first.headers).split("\n"))
    (key,) = redis_client.keys("rw:s:*")
    assert len(key) <= 70
    assert key.count("{") == key.count("}") == 1
    assert caplog.records == []


def test_nobody_reads_an_identity_from_its_key() -> None:
    assert "203.0.113.9" not in state_keys.client_tag("ip:203.0.113.9")


def test_without_the_header_clients_count_by_address_and_not_each_request_anew() -> None:
    view = decorated(False, "by-key", "1/m", key="header:x-api-key")
    assert statuses(view, 2) == [200, 429]
    assert statuses(view, 1, REMOTE_ADDR="203.0.113.77") == [200]


def test_every_key_is_in_the_docs() -> None:
    told = (Path(__file__).parents[2] / "docs" / "developers" / "keys.md").read_text()
    rows = [line.split("|")[1] for line in told.splitlines() if line.startswith("| `")]
    for key in [*_UNNAMED, *(f"{kind}:{'CLAIM' if kind == 'jwt' else 'NAME'}" for kind in TEXTS)]:
        assert any(f"`{key}`" in row for row in rows), key
