"""Keys from headers, cookies and the query string."""

from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from ratewindow.identity import recipe


def who(key: str, path: str = "/", normalise: bool = False, **extra: Any) -> str | None:
    return recipe(key, normalise).identity(RequestFactory().get(path, **extra))


def test_a_cookie_is_a_client() -> None:
    assert who("cookie:basket", HTTP_COOKIE="basket=abc; other=1") == "cookie:basket:abc"
    assert who("cookie:Basket", HTTP_COOKIE="basket=abc") is None
    assert who("cookie:basket", HTTP_COOKIE="basket=") is None
    assert who("cookie:basket") is None


def test_a_field_of_the_query_string_is_a_client() -> None:
    assert who("query:token", "/?token=abc&x=1") == "query:token:abc"
    assert who("get:token", "/?token=abc") == "query:token:abc"
    assert who("query:token", "/?token=") is None
    assert who("query:token", "/?Token=abc") is None
    assert who("query:token", "/?token=%ff%fe%00") == "query:token:\ufffd\ufffd\x00"


def test_of_what_is_sent_twice_what_a_view_sees_counts() -> None:
    request = RequestFactory().get("/?token=random&token=real", HTTP_COOKIE="basket=random; basket=real")
    assert recipe("query:token").identity(request) == f"query:token:{request.GET['token']}" == "query:token:real"
    assert recipe("cookie:basket").identity(request) == f"cookie:basket:{request.COOKIES['basket']}" == "cookie:basket:real"


def test_more_fields_than_django_takes_are_missing() -> None:
    assert who("query:token", "/?" + "&".join(f"a{n}=1" for n in range(2000)) + "&token=x") is None


@pytest.mark.parametrize("value", [" ", "\t", "\u00a0", "\u3000 "])
@pytest.mark.parametrize("normalise", [False, True])
def test_nothing_but_blanks_is_missing(value: str, normalise: bool) -> None:
    assert who("header:x-name", HTTP_X_NAME=value, normalise=normalise) is None


def test_where_the_rule_says_normalise_spellings_are_one_client() -> None:
    spellings = ["Ann@Example.com", " ann@example.com ", "ANN@EXAMPLE.COM", "ａｎｎ@example.com"]
    assert {who("header:x-name", HTTP_X_NAME=each, normalise=True) for each in spellings} == {"header:x-name:ann@example.com"}
    assert len({who("header:x-name", HTTP_X_NAME=each) for each in spellings}) == len(spellings)


def test_normalising_touches_no_user_and_no_address() -> None:
    class Who:
        is_authenticated, pk = True, "Ann "

    request: HttpRequest = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9")
    request.user = Who()  # type: ignore[assignment]
    assert recipe("user", normalise=True).identity(request) == "user:Ann "
    assert recipe("ip", normalise=True).identity(request) == "ip:203.0.113.9"


@pytest.mark.parametrize(
    "key",
    [
        "cookie:",
        "query:a b",
        "post:a:b",
        "json:",
        "query:" + "x" * 101,
        "post:a\x00",
        "cookie:a\r\nb",
        "json:\u202ea",
        "query:get:a",
    ],
)
def test_what_is_no_name_of_a_field_is_named(key: str) -> None:
    with pytest.raises(ValueError, match="write for example"):
        recipe(key)


def test_a_field_may_have_a_name_in_any_script() -> None:
    assert who("query:größe", "/?gr%C3%B6%C3%9Fe=XL") == "query:größe:XL"
