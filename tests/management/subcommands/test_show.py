"""`manage.py ratewindow show`: how one client stands."""

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from ratewindow.management.subcommands import clients
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from tests.support.commands import define, from_me, run, wrong
from tests.support.doors import decorated, get

pytestmark = pytest.mark.django_db(transaction=True)

ME = "203.0.113.9"
END = timezone.now() + timedelta(hours=1)


def test_what_is_used_of_each_limit_and_when_it_is_free_again() -> None:
    define("api", "3/h; 9/d", applies_to="all")
    define("login", "9/h", path="/login/")
    from_me(4)
    text = run("show", ME)
    assert re.search(r"api +enforce +3 of 3 in 1h, 3 of 9 in 1d +in (1h|59m)", text)


def test_it_counts_nothing() -> None:
    define("api", "3/h", applies_to="all")
    from_me(1)
    for _ in range(5):
        assert "1 of 3 in 1h" in run("show", ME)
    assert from_me(3) == [200, 200, 429]


def test_a_rule_alone_a_penalty_and_one_in_shadow() -> None:
    define("one", "1/h", applies_to="all", penalty="2h")
    RateRule.objects.define("two", "5/h", applies_to="all", mode="shadow")
    from_me(2)
    assert re.search(r"one +enforce +1 of 1 in 1h +in (2h|1h59m)", run("show", ME, "--rule", "one"))
    assert re.search(r"two +shadow +1 of 5 in 1h", run("show", ME)), "a refused request costs no other rule"


def test_blocks_and_exemptions_that_hold_are_shown_with_their_end() -> None:
    define("api", "3/h", applies_to="all")
    run("block", "203.0.113.0/24", "--for", "1h", "--reason", "scraping")
    run("block", "203.0.113.77")
    text = run("show", ME)
    assert re.search(r"block +all +ip:203\.0\.113\.0/24 +until .* +scraping", text) and "203.0.113.77" not in text
    for who in ("ip:203.0.113.0/24", "group:staff", "*"):
        Override.objects.create(action="allow", identity=who, rule="api", expires_at=END)
        text = run("show", who)
        assert "It is no single client, so it has no counts." in text and re.search(r"allow +api ", text)
    assert re.search(r"block +all +ip:203\.0\.113\.0/24 ", run("show", "203.0.113.0/24"))


def test_a_count_that_a_row_in_shadow_and_code_have_is_shown_once() -> None:
    RateRule.objects.define("export", "3/h")
    get(decorated(False, "export", "3/h"), REMOTE_ADDR=ME)
    assert [line.split()[1] for line in run("show", ME).splitlines() if line.startswith("export ")] == ["enforce", "shadow"]


def test_another_rate_is_what_counts() -> None:
    define("api", "3/h", applies_to="all")
    Override.objects.create(action="rate", identity=f"ip:{ME}", rule="api", rate="7/h")
    reading.reload()
    from_me(2)
    assert "2 of 7 in 1h" in run("show", ME)


def test_the_one_client_of_a_rule_that_counts_all_together_is_shown_and_everybody_has_no_counts() -> None:
    define("all", "3/h", applies_to="all", key="global")
    from_me(2)
    assert "2 of 3 in 1h" in run("show", "global")
    assert "It is no single client" in run("show", "*")


def test_a_rate_in_code_is_shown() -> None:
    get(decorated(False, "shown.in.code", "2/h"), REMOTE_ADDR=ME)
    assert run("show", ME, "--rule", "shown.in.code").count("shown.in.code") == 1


def test_a_row_and_the_rate_in_code_that_it_replaces_have_the_same_counts_and_are_shown_once() -> None:
    limited = decorated(False, "shown.in.both", "2/h")
    define("shown.in.both", "2/h")
    get(limited, REMOTE_ADDR=ME)
    assert run("show", ME, "--rule", "shown.in.both").count("shown.in.both") == 1


def test_it_is_shown_again_and_again_until_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    define("api", "3/h", applies_to="all")

    def ask_meanwhile(seconds: float) -> None:
        assert seconds == clients.EVERY_S
        if 429 in from_me(1):
            raise KeyboardInterrupt

    monkeypatch.setattr(clients.time, "sleep", ask_meanwhile)
    assert re.findall(r"(\d) of 3 in 1h", run("show", ME, "--watch")) == ["1", "2", "3"]


def test_what_is_wrong_is_said_with_the_remedy() -> None:
    assert "lists them" in wrong("show", ME, "--rule", "nothing")
    assert "write" in wrong("show", "session:#WyJk0dGx4mP3q8aB.7f2c")
    define("api", "3/h", applies_to="all")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert "Redis does not answer" in run("show", ME)
