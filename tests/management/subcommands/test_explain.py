"""`manage.py ratewindow explain`."""

import json
import shlex

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory, override_settings

from ratewindow import ratelimit
from ratewindow.reporting import counters
from tests.support.commands import define, from_me, run, wrong
from tests.support.doors import answer, plain

pytestmark = pytest.mark.django_db(transaction=True)


def a_code(**sent: str) -> str:
    """The code of a refusal that has been sent to Redis, as another process would have it."""
    view = ratelimit("explained.code", "0/h", key="ip+post:username")(plain(False))
    request = RequestFactory().post("/login/", sent, REMOTE_ADDR="203.0.113.9", headers={"Accept": "application/problem+json"})
    code = json.loads(answer(view, request).content)["code"]
    counters.flush()
    counters.forget()
    return str(code)


def test_a_request_is_explained_as_a_table() -> None:
    define("login", "1/h", path="/")
    define("api", "9/h", prefix="/api/")
    assert from_me(2) == [200, 429]
    said = run("explain", "GET", "/", "--ip", "203.0.113.9").splitlines()
    assert said[0] == "GET /, route /"
    assert said[1].startswith("REFUSED by login: 1 of 1 used in 1 hour. Next let through at ")
    assert said[2:5] == ["Limits switched on: yes", "Exemptions: none", "Blocks: none"]
    assert said[6].split() == ["RULE", "MODE", "WHY", "USED", "FREE"]
    assert said[8].startswith("login  enforce  refuses  counted per ip")
    assert said[9].split(maxsplit=3) == ["api", "enforce", "not", "met  the path is not below /api/"]


def test_as_json_with_user_headers_and_fields() -> None:
    ann = User.objects.create(username="ann")
    define("login", "5/h", path="/login/", key="user+header:x-app+post:name")
    said = json.loads(run("explain", "post", "/login/", "--user", "ann", "--header", "X-App: k", "--field", "name=a=b", "--json"))
    assert (said["passes"], said["limits_on"], said["redis"], said["method"]) == (True, True, "ok", "POST")
    (rule,) = said["rules"]
    assert rule["identity"] == f"user:{ann.pk} + header:x-app:k + post:name:a=b"
    assert rule["windows"] == [{"window": "5/h", "used": 0, "limit": 5, "remaining": 5, "free_in": 0.0, "next_free_in": 0.0}]


def test_a_code_is_explained_with_the_command_for_now() -> None:
    code = a_code(username="ann; rm -rf '/'")
    said = run("explain", code).splitlines()
    assert said[0].startswith(f"{code}: refused at ") and said[0].endswith(", on POST /login/")
    assert said[3].split(maxsplit=3) == ["explained.code", "limit", "0/h", "ip:203.0.113.9 + post:username:ann; rm -rf '/'"]
    command = shlex.split(said[4].removeprefix("Now: "))
    assert command[3:] == ["POST", "/login/", "--ip", "203.0.113.9", "--field", "username=ann; rm -rf '/'"]
    assert "REFUSED" not in run(*command[2:])  # no rule of that name is met there
    assert json.loads(run("explain", f"[{code.upper()}]", "--json"))["by"][0]["rule"] == "explained.code"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("GET",), "GET has no path: write for example explain GET /login/ --ip 203.0.113.9"),
        (("zzzzz",), "no refusal with the code zzzzz is known. It may be mistyped, older than an hour"),
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


@override_settings(RATEWINDOW={"REDIS": "memory://"})
def test_in_memory_each_process_knows_its_own() -> None:
    assert "with memory:// each knows its own alone" in wrong("explain", "zzzzz")
