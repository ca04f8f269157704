"""`manage.py ratewindow show`: how one client stands."""

import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from ratewindow.management.subcommands import show
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from tests.support.commands import define, from_me, run, wrong
from tests.support.doors import decorated, get

pytestmark = pytest.mark.django_db(transaction=True)

ME = "203.0.113.9"


def shown(*more: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("show", ME, "--json", *more))
    return found


def test_what_is_used_of_each_limit_and_when_it_is_free_again() -> None:
    define("api", "3/h; 9/d", applies_to="all")
    define("login", "9/h", path="/login/")
    from_me(4)
    text = run("show", ME)
    assert "3 of 3 used in 1 hour, 3 of 9 used in 1 day" in text
    assert "in 60 min" in text
    assert re.search(r"Nothing is counted for it under \d+ more rules?\.\Z", text)
    (rule,) = shown()["rules"]
    assert (rule["rule"], rule["mode"], rule["allowed"], rule["reason"]) == ("api", "enforce", False, "limit")
    assert 3500 < rule["retry_after"] <= 3600
    assert [(each["rate"], each["remaining"]) for each in rule["windows"]] == [("3/h", 0), ("9/d", 6)]


def test_it_counts_nothing() -> None:
    define("api", "3/h", applies_to="all")
    from_me(1)
    for _ in range(5):
        assert shown()["rules"][0]["windows"][0]["remaining"] == 2
    assert from_me(3) == [200, 200, 429]


def test_a_rule_alone_a_penalty_and_one_in_shadow() -> None:
    define("one", "1/h", applies_to="all", penalty="2h")
    RateRule.objects.define("two", "5/h", applies_to="all", mode="shadow")
    from_me(2)
    assert [(each["rule"], each["reason"]) for each in shown("--rule", "one")["rules"]] == [("one", "penalty")]
    found = {each["rule"]: (each["mode"], each["windows"][0]["remaining"]) for each in shown()["rules"]}
    assert found == {"one": ("enforce", 0), "two": ("shadow", 4)}, "a refused request costs no other rule"


def test_blocks_and_exemptions_that_hold_are_shown_with_their_end() -> None:
    define("api", "3/h", applies_to="all")
    run("block", "203.0.113.0/24", "--for", "1h", "--reason", "scraping")
    run("block", "203.0.113.77")
    found = shown()["overrides"]
    assert [(each["action"], each["identity"], each["reason"]) for each in found] == [("block", "ip:203.0.113.0/24", "scraping")]
    assert "scraping" in run("show", ME)
    assert "It is no single client, so it has no counts." in run("show", "203.0.113.0/24")


def test_another_rate_is_what_counts() -> None:
    define("api", "3/h", applies_to="all")
    Override.objects.create(action="rate", identity=f"ip:{ME}", rule="api", rate="7/h")
    reading.reload()
    from_me(2)
    assert [each["windows"][0]["rate"] for each in shown()["rules"]] == ["7/h"]


def test_the_one_client_of_a_rule_that_counts_all_together_is_shown_and_everybody_has_no_counts() -> None:
    define("all", "3/h", applies_to="all", key="global")
    from_me(2)
    (rule,) = json.loads(run("show", "global", "--json"))["rules"]
    assert [each["remaining"] for each in rule["windows"]] == [1]
    assert "It is no single client" in run("show", "*")


def test_a_rate_in_code_is_shown() -> None:
    get(decorated(False, "shown.in.code", "2/h"), REMOTE_ADDR=ME)
    assert [each["rule"] for each in shown("--rule", "shown.in.code")["rules"]] == ["shown.in.code"]


def test_a_row_and_the_rate_in_code_that_it_replaces_have_the_same_counts_and_are_shown_once() -> None:
    limited = decorated(False, "shown.in.both", "2/h")
    define("shown.in.both", "2/h")
    get(limited, REMOTE_ADDR=ME)
    assert [each["rule"] for each in shown("--rule", "shown.in.both")["rules"]] == ["shown.in.both"]


def test_it_is_shown_again_and_again_until_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    define("api", "3/h", applies_to="all")

    def ask_meanwhile(seconds: float) -> None:
        assert seconds == show.EVERY_S
        if 429 in from_me(1):
            raise KeyboardInterrupt

    monkeypatch.setattr(show.time, "sleep", ask_meanwhile)
    lines = [json.loads(line) for line in run("show", ME, "--json", "--watch").splitlines()]
    assert [each["rules"][0]["windows"][0]["remaining"] for each in lines if each["rules"]] == [2, 1, 0]


def test_what_is_wrong_is_said_with_the_remedy() -> None:
    assert "lists them" in wrong("show", ME, "--rule", "nothing")
    assert "write" in wrong("show", "session:#WyJk0dGx4mP3q8aB.7f2c")
    define("api", "3/h", applies_to="all")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert "Redis does not answer" in run("show", ME)
