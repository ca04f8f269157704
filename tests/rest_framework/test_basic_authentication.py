"""Passwords that REST framework takes in a header of any request, which no rule for a page to log in sees."""

from base64 import b64encode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import path
from rest_framework.authentication import BasicAuthentication
from rest_framework.authtoken.views import obtain_auth_token

from ratewindow.models import RateRule
from tests.support.rest_views import throttled
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)

SITE = [path("orders/", throttled(authentication_classes=[BasicAuthentication])), path("token/", obtain_auth_token)]


def guess(where: str, method: str, password: str, address: str = "203.0.113.9") -> int:
    header = b64encode(f"ann:{password}".encode()).decode()
    body = {"username": "decoy", "password": "x"} if method == "POST" else {}
    asked = Client().generic(
        method, where, str(body), "application/json", REMOTE_ADDR=address, HTTP_AUTHORIZATION=f"Basic {header}"
    )
    return int(asked.status_code)


@pytest.mark.parametrize(("where", "method"), [("/orders/", "GET"), ("/token/", "GET"), ("/token/", "POST")])
def test_a_rule_for_all_requests_that_counts_failed_logins_stops_one_address(where: str, method: str) -> None:
    User.objects.create_user("ann", password="right")
    shared = {"applies_to": "all", "count_when": "login_failed", "hold": True, "on_error": "local", "mode": "enforce"}
    RateRule.objects.define("logins.address", "20/h", key="ip", **shared)
    with site(*SITE):
        assert guess("/orders/", "GET", "right") == 200
        assert [guess(where, method, f"wrong{number}") == 429 for number in range(60)] == [False] * 20 + [True] * 40
        assert guess("/orders/", "GET", "right") == 429
        assert guess("/orders/", "GET", "right", "198.51.100.7") == 200
