"""What the site has recorded of a rule, in the place of a log."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ratewindow.models import Evidence, RateRule, RecordedHour
from tests.support.backtest_pages import MAKE, PAGE, offered, sent
from tests.support.log_files import line
from tests.support.recorded_week import recorded_week
from tests.support.rule_pages import ADD, change, define, said, typed
from tests.support.staff import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def rule() -> RateRule:
    rule = define("login", "10/m", path="/login/", mode="enforce")
    recorded_week(rule, refused=20)
    return rule


def looked_at(page: Client, **fields: Any) -> Any:
    """Nothing else is sent: what a browser sends of the fields about logs does not count."""
    response = page.post(PAGE, {"source": "recording", "recording": "login", **fields})
    assert response.status_code == 200
    return response


def test_it_shows_what_the_limit_did_and_the_curve_and_the_suggestion_of_the_rules_own_page(page: Client, rule: RateRule) -> None:
    text, own = said(looked_at(page)), said(page.get(change(rule)))
    figures = "Recorded are 6,220 requests of 300 clients. The limit refused 80 of them (1.3 %), of 1 client, 0 likely innocent."
    assert figures in text and figures in own
    [suggested] = re.findall(r"Suggested: \d+/m\.", text)
    assert suggested in own
    assert "no request is decided again" in text
    assert "Requests refused" not in text and "Who would be refused" not in text


def test_it_is_offered_for_a_rule_that_has_recorded_hours_and_still_has_the_limit(page: Client) -> None:
    rule = define("login", "10/m", path="/login/", mode="enforce")
    define("other", "10/m", path="/other/", mode="enforce")
    assert 'name="source"' not in page.get(PAGE).content.decode()
    recorded_week(rule)
    text = page.get(PAGE, {"rule": "login"}).content.decode()
    assert 'name="source"' in text and '<option value="login" selected>login: 10/m</option>' in text
    assert "other: 10/m" not in text
    rule.windows.update(period=timedelta(hours=1))
    assert 'name="source"' not in page.get(PAGE).content.decode()
    rule.delete()
    assert 'name="source"' not in page.get(PAGE).content.decode()


def test_a_log_is_decided_as_ever_where_something_is_recorded(page: Client, rule: RateRule) -> None:
    text = said(sent(page, [line(each) for each in range(4)], source="log"))
    assert "It would have refused 2 of the 4 requests" in text and "What a recording cannot show" not in text


@pytest.mark.parametrize(
    "typed_for_logs", [{"never": "ip:nothing"}, {"key": "other"}, {"decides": "rates", "rates": "often"}], ids=str
)
def test_what_is_typed_for_logs_is_no_error_then(page: Client, rule: RateRule, typed_for_logs: dict[str, str]) -> None:
    text = looked_at(page, **typed_for_logs).content.decode()
    assert 'role="alert"' not in text and "What is recorded of login" in text


@pytest.mark.parametrize(
    ("name", "problem"), [("", "Choose what was recorded."), ("other", "Select a valid choice."), ("x" * 5000, "Select a valid")]
)
def test_what_is_not_recorded_is_an_error_at_the_field(page: Client, rule: RateRule, name: str, problem: str) -> None:
    text = looked_at(page, recording=name)
    assert problem in said(text) and text.content.decode().count('role="alert"') == 1


def test_hours_without_a_client_say_so(page: Client, rule: RateRule) -> None:
    RecordedHour.objects.update(clients={})
    assert "In the time that was recorded, no client met this limit." in said(looked_at(page))


def test_a_new_shadow_rule_keeps_the_recording_as_its_evidence(page: Client, rule: RateRule) -> None:
    offer = offered(looked_at(page))
    [rate] = offer["rates"]
    form = page.post(MAKE, offer).content.decode()
    assert f'<input type="hidden" name="evidence" value="{offer["token"]}">' in form
    page.post(ADD, {**typed((rate.removesuffix("/m"), "1m"), name="made"), "evidence": offer["token"]})
    made = RateRule.objects.get(name="made")
    text = said(page.get(change(made)))
    assert f"boss chose {rate} on" in text
    assert "by what was recorded of the rule login: from" in text and "6,220 requests of 300 clients." in text
    assert f"Suggested was {rate}." in text
    assert "#" not in str(Evidence.objects.values())


def test_of_a_sample_the_evidence_says_so(page: Client) -> None:
    rule = define("login", "10/m", path="/login/", mode="enforce")
    recorded_week(rule, level=3)
    offer = offered(looked_at(page))
    page.post(ADD, {**typed(("12", "1m"), name="made"), "evidence": offer["token"]})
    assert "These figures are of one of 8 of all clients." in said(page.get(change(RateRule.objects.get(name="made"))))


def test_who_may_only_look_has_no_buttons(rule: RateRule) -> None:
    text = said(looked_at(staff("view_raterule", "view_throttlestat")))
    assert "What is recorded of login" in text
    assert "Make this a shadow rule" not in text and "Try beside the live rule" not in text


def test_a_rule_that_is_wrong_in_the_database_is_shown_without_buttons(page: Client, rule: RateRule) -> None:
    RateRule.objects.update(key="shoe:1")
    text = said(looked_at(page))
    assert "What is recorded of login" in text and "Make this a shadow rule" not in text


def test_the_number_of_queries_depends_on_neither_rules_nor_hours(page: Client, rule: RateRule) -> None:
    looked_at(page)
    with CaptureQueriesContext(connection) as few:
        looked_at(page)
    for name in "abc":
        recorded_week(define(name, "10/m", path=f"/{name}/", mode="enforce"), clients=9)
    with CaptureQueriesContext(connection) as many:
        looked_at(page)
    assert len(many) == len(few)
