"""A rule that refuses nearly everybody, said in the same words by the banner, the list of rules, `check` and the report."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client, RequestFactory
from django.urls import reverse

from ratewindow.counting.counters import counters
from ratewindow.health import emergency, processes
from ratewindow.models import RateRule
from tests.support.made_offenders import met

SENTENCE = r"oops refuses nearly everybody: \d+ % of all requests, 30 clients, since [-\d :]+\."  # the pages' requests pass

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _a_new_process() -> Iterator[None]:
    counters.reset()
    processes.reset()
    RateRule.objects.define("oops", "5/m", applies_to="all", key="global", mode="enforce")
    yield
    counters.reset()


def refuse(visitors: int = 30, outcome: str = "refused") -> None:
    """One request of each."""
    for number in range(visitors):
        request = RequestFactory().get("/", REMOTE_ADDR=f"198.18.{number}.7")
        counters.record([met("global", outcome, "oops")], True, request)
    counters.flush()


def test_nothing_is_said_while_most_pass() -> None:
    refuse(30, "passed")
    refuse(7)
    assert emergency.now() == []


def test_a_rule_that_refuses_everybody_is_said_with_how_many_they_are() -> None:
    refuse()
    (found,) = emergency.now()
    assert found.rule == "oops"
    assert found.sentence.startswith("oops refuses nearly everybody: 100 % of all requests, 30 clients, since ")


def test_what_processes_count_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """One process alone would say that it refuses everybody."""
    refuse(20)
    others = {"lately": {"rules": {"oops": (900, 0)}}}
    assert emergency.of_all([processes.own(), others])["oops"] == [900, 20]
    assert emergency.now([processes.own(), others]) == []
    assert emergency.now([processes.own(), {}]) != []


def test_the_pages_and_the_command_say_it(admin_client: Client, capsys: Any) -> None:
    refuse()
    for page in ("ratewindow_raterule_changelist", "ratewindow_override_changelist", "ratewindow_state", "ratewindow_report"):
        html = admin_client.get(reverse(f"admin:{page}")).content.decode()
        assert len(re.findall(SENTENCE, html)) == 1, page
    assert "refuses nearly everybody</span>" in admin_client.get(reverse("admin:ratewindow_raterule_changelist")).content.decode()
    with pytest.raises(CommandError, match="A rule refuses nearly everybody"):
        call_command("ratewindow", "check")
    assert re.search(rf"^State: {SENTENCE}$", capsys.readouterr().out, re.MULTILINE)


def test_to_shadow_is_pressed_on_the_report_and_ends_it(admin_client: Client) -> None:
    refuse()
    rule = RateRule.objects.get()
    page = admin_client.get(reverse("admin:ratewindow_report")).content.decode()
    address = reverse("admin:ratewindow_raterule_mode", args=[rule.pk])
    assert f'action="{address}"' in page and "Block…" not in page
    response = admin_client.post(address, {"to": "shadow", "report": ""})
    assert response["Location"] == reverse("admin:ratewindow_report")
    assert RateRule.objects.get().mode == "shadow"
    assert emergency.now() == []
    assert "Over now." in admin_client.get(response["Location"]).content.decode()
