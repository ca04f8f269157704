"""Rules about logins are explained as any other: whose name a request tries shows in what it sends."""

import base64
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ratewindow.contrib.logins.devices import COOKIE
from ratewindow.counting.counters import counters
from ratewindow.models import ThrottleStat
from tests.contrib.logins.support.trying import PASSWORD, device, login, stranger
from tests.support.commands import run

codes = pytest.importorskip("ratewindow.contrib.explain.codes")
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "sent", [("--field", "username=ann"), ("--header", f"Authorization: Basic {base64.b64encode(b'ann:x').decode()}")]
)
def test_a_login_is_explained(checked: list[str], ann: Any, sent: tuple[str, str]) -> None:
    for number in range(5):
        login("ann", "x", stranger(number))
    said = run("explain", "POST", "/login/", "--ip", stranger(9), *sent)
    assert "REFUSED by login.name: its limit is reached" in said
    of_rules = {line.split()[0]: line for line in said.splitlines() if line.startswith("login.")}
    assert "5 of 5 in 1m" in of_rules["login.name"] and "counted per login" in of_rules["login.name"]
    assert "no known device tries a password" in of_rules["login.device"]
    assert of_rules["login.name"].split()[1] == "enforce"
    assert len(checked) == 5


def test_who_has_lately_logged_in_there_passes(checked: list[str], ann: Any) -> None:
    login("ann", PASSWORD, stranger(9))
    for number in range(5):
        login("ann", "x", stranger(number))
    said = run("explain", "POST", "/login/", "--ip", stranger(9), "--field", "username=ann@example.com")
    assert "PASSES" in said and "no stranger tries a password" in said


def test_where_an_address_is_trusted_strangers_come_first(checked: list[str], ann: Any) -> None:
    login("ann", PASSWORD, stranger(9))
    said = run("explain", "POST", "/login/", "--ip", stranger(9), "--field", "username=ann")
    assert "PASSES" in said and "no known device tries a password" in said


def test_a_device_that_has_used_up_its_limit_is_explained_as_a_stranger(checked: list[str], ann: Any) -> None:
    browser = device()
    for _ in range(10):
        login("ann", "x", stranger(9), browser)
    cookie = f"Cookie: {COOKIE}={browser.cookies[COOKIE].value}"
    said = run("explain", "POST", "/login/", "--ip", stranger(9), "--field", "username=ann", "--header", cookie)
    assert "PASSES" in said and "no known device tries a password" in said


def test_what_tries_no_password_does_not_match(checked: list[str], ann: Any) -> None:
    said = run("explain", "GET", "/login/", "--ip", stranger(9))
    assert "no stranger tries a password" in said and "it tries no code" in said


def test_the_code_of_a_refusal_is_explained(checked: list[str], ann: Any) -> None:
    for number in range(5):
        login("ann", "x", stranger(number))
    refused = Client().post("/login/", {"username": "ann", "password": "x"}, headers={"Accept": "application/problem+json"})
    counters.flush()
    codes.of_process.send()
    said = run("explain", refused.json()["code"]).splitlines()
    assert said[0].endswith(", on POST /login/") and said[3].split() == ["login.name", "limit", "5/m", "login:ann"]


@pytest.mark.parametrize(
    ("client", "tried"),
    [
        ("login:ann", lambda number: ("ann", stranger(number))),
        (f"ip:{stranger(1)}", lambda number: (f"user{number}", stranger(1))),
    ],
)
def test_what_is_answered_now_is_asked_of_a_login(
    checked: list[str], ann: Any, admin_client: Client, client: str, tried: Callable[[int], tuple[str, str]]
) -> None:
    for number in range(25):
        name, address = tried(number)
        login(name, "x", address)
    counters.flush()
    codes.of_process.send()
    page = admin_client.get(reverse("admin:ratewindow_explain"), {"by": "request", "last": client}, follow=True).content.decode()
    (now,) = re.findall(r'href="([^"]+)">What is answered now<', page)
    assert "REFUSED by login." in admin_client.get(unescape(now)).content.decode()


def test_the_report_counts_logins_as_any_request(checked: list[str], ann: Any) -> None:
    for number in range(7):
        login("ann", "x", stranger(number))
    counters.flush()
    run("collect")
    names = {row.rule: (row.passed, row.refused, row.other) for row in ThrottleStat.objects.filter(resolution="minute")}
    assert names["login.name"] == (5, 2, 0) and names["login.address"] == (5, 0, 2)
