"""Passwords that REST framework takes in a header of any request, which no rule for a page to log in sees."""

import re
from base64 import b64encode
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import path
from rest_framework.authentication import BasicAuthentication
from rest_framework.authtoken.views import obtain_auth_token

from ratewindow.models import RateRule
from tests.support.rest_views import throttled
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)

DOCS = Path(__file__).resolve().parents[2] / "docs" / "developers" / "answers.md"
SITE = [
    path("orders/", throttled(authentication_classes=[BasicAuthentication])),
    path("token/", obtain_auth_token),
    path("about/", lambda request: HttpResponse("about us")),
]


@pytest.fixture(autouse=True)
def as_the_docs_say() -> None:
    """Failed logins of an address are limited."""
    User.objects.create_user("ann", password="right")
    [line] = re.findall(r'`(RateRule\.objects\.define\("logins\.address".*?\))`', DOCS.read_text(), re.DOTALL)
    exec(line, {"RateRule": RateRule})


def guess(where: str, method: str, password: str, address: str = "203.0.113.9") -> int:
    header = b64encode(f"ann:{password}".encode()).decode()
    body = {"username": "decoy", "password": "x"} if method == "POST" else {}
    asked = Client().generic(
        method, where, str(body), "application/json", REMOTE_ADDR=address, HTTP_AUTHORIZATION=f"Basic {header}"
    )
    return int(asked.status_code)


@pytest.mark.parametrize(("where", "method"), [("/orders/", "GET"), ("/token/", "GET"), ("/token/", "POST")])
def test_a_rule_for_all_requests_that_counts_failed_logins_stops_one_address(where: str, method: str) -> None:
    with site(*SITE):
        assert guess("/orders/", "GET", "right") == 200
        assert [guess(where, method, f"wrong{number}") == 429 for number in range(60)] == [False] * 20 + [True] * 40
        assert guess("/orders/", "GET", "right") == Client().get("/about/", REMOTE_ADDR="203.0.113.9").status_code == 429
        assert guess("/orders/", "GET", "right", "198.51.100.7") == 200


def test_while_redis_is_away_it_refuses_no_request_but_failed_logins() -> None:
    with site(*SITE), override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert [Client().get("/about/").status_code for _ in range(60)] == [200] * 60
        assert [guess("/orders/", "GET", f"wrong{number}") == 429 for number in range(60)] == [False] * 20 + [True] * 40
