"""Keys by claims: only of tokens that the site's authentication has verified."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory
from django.utils.functional import SimpleLazyObject

from ratewindow.identity import recipe


def who(key: str = "jwt:tenant", **attributes: Any) -> str | None:
    request = RequestFactory().get("/", HTTP_AUTHORIZATION="Bearer a.b.c")
    vars(request).update(attributes)
    return recipe(key).identity(request)


def test_a_claim_may_have_any_name() -> None:
    name = "https://example.com/tenant"
    assert who(f"jwt:{name}", auth={name: "acme"}) == "jwt:https%3A//example.com/tenant:acme"
    assert who("jwt:cognito:username", auth={"cognito:username": "ann"}) == "jwt:cognito%3Ausername:ann"
    assert who(auth={"tenant": 42}) == "jwt:tenant:42"


@pytest.mark.parametrize("claims", [{}, {"Tenant": "a"}, *({"tenant": value} for value in ("", None, ["a"], {"a": 1}))])
def test_a_claim_that_is_absent_or_empty_or_no_text_is_missing(claims: dict[str, Any]) -> None:
    assert who(auth=claims) is None


CLAIMS = {"tenant": "acme"}


@pytest.mark.parametrize(
    "attributes",
    [
        {"auth": CLAIMS},  # a mapping, as many sites and django-ninja's bearers have it
        {"auth": SimpleNamespace(payload=CLAIMS)},  # simplejwt's token
        {"auth": SimpleNamespace(token=SimpleNamespace(payload=CLAIMS))},  # its stateless user, as django-ninja-jwt leaves it
        {"oauth_token": CLAIMS},  # Authlib
        {"user": SimpleNamespace(token=SimpleNamespace(payload=CLAIMS))},  # simplejwt's stateless user
    ],
)
def test_its_claims_are_clients(attributes: dict[str, Any]) -> None:
    assert who(**attributes) == "jwt:tenant:acme"
    assert who("jwt:other", **attributes) is None


@pytest.mark.parametrize("auth", [None, "a.b.c", b"x", 5, object(), User(username="ann")])
def test_what_has_no_claims_has_none(auth: Any) -> None:
    assert who(auth=auth) is None


def test_a_user_that_nobody_has_asked_for_is_not_asked_for() -> None:
    def untouchable() -> Any:
        raise AssertionError("the user was asked for")

    assert who(user=SimpleLazyObject(untouchable)) is None


def test_simplejwt_leaves_its_token_where_rest_framework_has_it() -> None:
    from rest_framework.request import Request
    from rest_framework_simplejwt.authentication import JWTStatelessUserAuthentication
    from rest_framework_simplejwt.tokens import AccessToken

    token = AccessToken()
    token["user_id"], token["tenant"] = "7", "acme"
    under = RequestFactory().get("/", HTTP_AUTHORIZATION=f"Bearer {token}")
    over: Any = Request(under, authenticators=[JWTStatelessUserAuthentication()])
    assert who() is None
    assert over.user.pk == "7"
    for each in (under, over):
        assert recipe("jwt:tenant").identity(each) == "jwt:tenant:acme"
        assert recipe("user").identity(each) == "user:7"
