"""`manage.py ratewindow explain`."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory, override_settings

from ratewindow import limits, ratelimit
from ratewindow.contrib.explain import codes
from ratewindow.counting.counters import counters
from ratewindow.identity.site_answers import SiteFunctions
from ratewindow.models import Override
from ratewindow.rules import limits_from
from tests.support.commands import define, from_me, run, wrong
from tests.support.doors import answer, plain

pytestmark = pytest.mark.django_db(transaction=True)


def a_code(**sent: str) -> str:
    """The code of a refusal that has been sent to Redis, as another process would have it."""
    view = ratelimit("explained.code", "0/h", key="ip+post:username")(plain(False))
    request = RequestFactory().post("/login/", sent, REMOTE_ADDR="203.0.113.9", headers={"Accept": "application/problem+json"})
    code = json.loads(answer(view, request).content)["code"]
    counters.flush()
    codes.of_process.send()
    return str(code)


def test_a_request_is_explained_as_a_table() -> None:
    define("login", "1/h", path="/")
    define("api", "9/h", prefix="/api/")
    assert from_me(2) == [200, 429]
    said = run("explain", "GET", "/", "--ip", "203.0.113.9").splitlines()
    assert said[0] == "GET /, route /"
    assert said[1].startswith("REFUSED by login: its limit is reached. Next let through at ")
    assert said[2:6] == ["Limits: on", "Exemptions: none", "Blocks: none", "Other rates: none"]
    assert said[7].split() == ["RULE", "MODE", "WHY", "USED", "FREE"]
    assert said[9].split(maxsplit=3) == ["login", "enforce", "refuses", said[9].split(maxsplit=3)[3]]
    assert "counted per ip" in said[9] and "1 of 1 in 1h" in said[9]
    assert said[10].split(maxsplit=3) == ["api", "enforce", "does", "not match  the path is not below /api/"]


def test_with_user_headers_and_fields() -> None:
    User.objects.create(username="ann")
    define("login", "5/h", path="/login/", key="user+header:x-app+post:name")
    said = run("explain", "post", "/login/", "--user", "ann", "--header", "X-App: k", "--field", "name=a=b")
    assert "PASSES" in said and "counted per user+header:x-app+post:name" in said and "0 of 5 in 1h" in said


def test_whose_limits_hold_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = {"ip:203.0.113.9": "7/h"}
    monkeypatch.setattr(limits_from, "registered", SiteFunctions("limits", limits_from._HOLDS))
    limits("by plan")(lambda identity: plans.get(identity))
    define("api", "2/h", path="/", limits_from="by plan")
    said = run("explain", "GET", "/", "--ip", "203.0.113.9")
    assert "with the limits that “by plan” gives" in said and "0 of 7 in 1h" in said
    said = run("explain", "GET", "/", "--ip", "203.0.113.8")
    assert "“by plan” gives this client no limits, or fails, so the rule's own hold" in said and "0 of 2 in 1h" in said
    plans["ip:203.0.113.9"] = "2/h"  # the same as the rule's own
    assert "with the limits that “by plan” gives" in run("explain", "GET", "/", "--ip", "203.0.113.9")
    Override.objects.rate("ip:203.0.113.9", "9/h", rule="api")
    said = run("explain", "GET", "/", "--ip", "203.0.113.9")
    assert "by plan" not in said.split("RULE")[1] and "0 of 9 in 1h" in said


def test_a_code_is_explained() -> None:
    code = a_code(username="ann; rm -rf '/'")
    said = run("explain", code).splitlines()
    assert said[0].startswith(f"{code}: refused at ") and said[0].endswith(", on POST /login/")
    assert said[3].split(maxsplit=3) == ["explained.code", "limit", "0/h", "ip:203.0.113.9 + post:username:ann; rm -rf '/'"]
    assert run("explain", f"[{code.upper()}]").splitlines() == said


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("GET",), "GET has no path: write for example explain GET /login/ --ip 203.0.113.9"),
        (("zzzzz",), "No refusal with this code is known. It may be mistyped, older than an hour"),
        (("k1f2q",), "'k1f2q' is not a code: it has five letters and digits, and never 0, 1, i, l or o"),
        (("GET", "/", "--header", "x"), "'x' has no ':'"),
        (("GET", "/", "--field", "x"), "'x' has no '='"),
        (("GET", "/", "--ip", "x"), "'x' is not an address"),
    ],
)
def test_what_cannot_be_explained_says_what_to_write(arguments: tuple[str, ...], said: str) -> None:
    assert f"Not explained: {said}" in wrong("explain", *arguments)


@override_settings(RATEWINDOW={"STATS": False})
def test_without_statistics_there_are_no_codes() -> None:
    assert "the setting STATS is off" in wrong("explain", "zzzzz")
