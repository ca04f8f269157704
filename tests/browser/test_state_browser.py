"""The banner, the state and the switch in a real browser: both themes, a phone, a strict policy."""

import json
import time
from typing import Any

import pytest
from django.urls import reverse

from ratewindow.counting import minutes
from ratewindow.counting.sums import Sums
from ratewindow.health import processes
from ratewindow.models import RateRule
from ratewindow.operations import switch_off
from ratewindow.store import process_clients, state_keys
from tests.browser.chromium import CONTRAST, IN_A_BROWSER

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def a_bad_day() -> None:
    """Two of five processes have lost Redis, one is not heard of, and somebody has switched the limits off."""
    client, now_s = process_clients.patient_client(), time.time()
    for number in range(5):
        name = f"{'web-' + 'x' * 30}|{100 + number}|gunicorn|{number}"
        client.zadd(state_keys.processes(), {name: now_s})
        bad = {
            "breaker": "open",
            "degraded_since": processes.moment(now_s - 600),
            "servers": ["Redis"],
            "error": "store:timeout",
        }
        told = {**processes.own(), **(bad if number < 2 else {}), "fallback": {"store:timeout": 31_204} if number < 2 else {}}
        if number < 4:
            client.set(state_keys.process(name), json.dumps(told), px=60_000)
    sums = Sums(passed=900, refused=100, fallback=40, reasons={"limit": 90, "block": 10, "store:timeout": 40})
    minutes.send({int(now_s) // 60: {"p|login": sums._replace(latency={"0.181": 900, "1.45": 90, "65.5": 10})}}, now_s)
    RateRule.objects.define("login", "5/m", path="/login/", mode="enforce")
    switch_off.turn_off(1800, "the rule for the campaign is too strict, ann knows more", "ann")


@pytest.mark.usefixtures("a_bad_day")
def test_a_bad_day_can_be_read_in_both_themes_and_on_a_phone(open_page: Any, look: Any) -> None:
    page = open_page(**look)
    for name in ("state", "switch", "report", "raterule_changelist"):
        page.goto(reverse(f"admin:ratewindow_{name}"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        assert page.locator("li.error, .rw-loud").first.is_visible()
        for each in page.locator(
            ".rw-banner span, .rw-banner a, .rw-button, .rw-processes td, .rw-reasons caption, .rw-switch label, .rw-tabs a, "
            "input.rw-harm"
        ).all():
            assert each.evaluate(CONTRAST) >= 4.5, (name, each.inner_text())
    page.get_by_role("button", name="Switch on").click()
    page.get_by_text("Limits are switched on.").wait_for()
