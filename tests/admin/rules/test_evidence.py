"""Why a rule has its limits, kept with it and shown at its box."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ratewindow.models import Evidence, RateRule
from ratewindow.operations.backtest.evidence import MOST_POINTS
from tests.support.backtest_pages import MAKE, beside, offered, sent
from tests.support.log_files import a_day
from tests.support.pseudo_locale import wide_letters
from tests.support.rule_pages import ADD, change, define, said, typed

pytestmark = pytest.mark.django_db


def made(page: Client, **fields: Any) -> RateRule:
    offer = offered(sent(page, a_day(), rates="30/m"))
    form = page.post(MAKE, {**offer, "rates": "12/m"}).content.decode()
    assert f'<input type="hidden" name="evidence" value="{offer["token"]}">' in form
    response = page.post(ADD, {**typed(("12", "1m"), name="made"), "evidence": offer["token"], **fields})
    assert response.status_code == 302
    return RateRule.objects.get(name="made")


def test_whoever_enforces_reads_who_chose_the_limit_from_what_and_why(page: Client) -> None:
    rule = made(page)
    text = said(page.get(change(rule)))
    assert "boss chose 12/m on" in text
    assert "by a backtest of access.log: from" in text and "2,290 requests of 301 clients. There 12 in 1 minute" in text
    assert "Suggested was 8/m. 8 in 1 minute lies in a gap" in text
    assert "The curve of limits" in text


def test_it_names_no_client_and_is_bounded(page: Client) -> None:
    made(page)
    [row] = Evidence.objects.values()
    assert "203.0.113" not in str(row) and "198.51" not in str(row)
    assert all(len(period["points"]) <= MOST_POINTS + 2 for period in row["periods"])


def test_it_stays_in_the_form_while_that_has_errors(page: Client) -> None:
    offer = offered(sent(page, a_day(), rates="30/m"))
    response = page.post(ADD, {**typed(("12", "1m"), name=""), "evidence": offer["token"]})
    assert f'<input type="hidden" name="evidence" value="{offer["token"]}">' in response.content.decode()


@pytest.mark.parametrize("token", ["", "forged", "a:b:c"])
def test_what_this_site_has_not_signed_is_no_evidence(page: Client, token: str) -> None:
    made(page, evidence=token)
    assert not Evidence.objects.exists()


def test_it_is_read_in_the_language_of_its_reader_and_not_of_its_maker(page: Client) -> None:
    with wide_letters():
        rule = made(page)
    assert "Suggested was 8/m. 8 in 1 minute lies in a gap" in said(page.get(change(rule)))


WRONG: tuple[Any, ...] = (
    [{}],
    [None],
    {"a": 1},
    [{"period_ms": 0, "suggestion": None, "points": []}],
    [{"period_ms": 60_000, "suggestion": {"basis": "gap", "halves": 3}, "points": []}],
    [{"period_ms": 60_000, "suggestion": {"basis": "whim", "halves": None}, "points": []}],
)


@pytest.mark.parametrize("periods", WRONG, ids=str)
def test_what_another_program_has_written_leaves_the_page_of_the_rule(page: Client, periods: Any) -> None:
    rule = made(page)
    Evidence.objects.update(periods=periods)
    assert "boss chose 12/m on" in said(page.get(change(rule)))


def test_it_goes_with_its_rule(page: Client) -> None:
    made(page).delete()
    assert not Evidence.objects.exists()


def test_a_rule_that_was_made_by_hand_has_none(page: Client) -> None:
    assert "rw-evidence" not in page.get(change(define("login", "5/m", path="/login/"))).content.decode()


class TestOfLimitsBesideTheRule:
    CHOSE = "boss chose 12/m on"

    @pytest.fixture
    def rule(self, page: Client) -> RateRule:
        """With limits of a backtest beside it."""
        rule = define("login", "30/m", path="/login/", mode="enforce")
        address, fields = beside(sent(page, a_day(), decides="rule", rule="login", rates=""))
        page.post(address, {**fields, "rates": "12/m"})
        return rule

    def press(self, page: Client, rule: RateRule, do: str, **fields: str) -> str:
        rule.refresh_from_db()
        address = reverse("admin:ratewindow_raterule_candidate", args=[rule.pk])
        return said(page.post(address, {"do": do, "seen": rule.candidate, **fields}, follow=True))

    def test_whoever_enforces_them_reads_it_in_their_box_and_later_in_that_of_the_rule(
        self, page: Client, rule: RateRule
    ) -> None:
        text = said(page.get(change(rule)))
        assert text.index("Other limits, tried in shadow: 12 in 1 minute") < text.index(self.CHOSE)
        assert "There 12 in 1 minute catches 1 of 301 clients, and refuses 28 of 2,290 requests. Suggested was 8/m." in text
        html = page.get(change(rule)).content.decode()
        assert re.search(r'aria-current="true">\s*<th[^>]*><span class="rw-curve-mark">chosen</span> 12</th>', html)
        text = self.press(page, rule, "apply")
        assert "Try other limits in shadow" in text and text.count(self.CHOSE) == 1
        assert rule.windows.get().limit == 12

    def test_with_limits_that_are_dropped_it_goes_and_comes_back(self, page: Client, rule: RateRule) -> None:
        assert self.CHOSE not in self.press(page, rule, "drop")
        assert self.CHOSE in self.press(page, rule, "try", candidate="12/m")

    def test_limits_that_are_typed_at_the_rule_have_none(self, page: Client, rule: RateRule) -> None:
        self.press(page, rule, "drop")
        text = self.press(page, rule, "try", **{f"limit-{rule.windows.get().pk}": "13"})
        assert "13 in 1 minute" in text and "boss chose" not in text

    def test_what_this_site_has_not_signed_is_none(self, page: Client, rule: RateRule) -> None:
        self.press(page, rule, "drop")
        self.press(page, rule, "try", rates="14/m", token="forged")
        assert [each.chosen for each in rule.evidence.all()] == ["12/m"]

    def test_that_of_the_rule_stands_in_a_box_of_its_own(self, page: Client) -> None:
        rule = made(page, rates="12/m")
        RateRule.objects.update(mode="enforce")
        address, fields = beside(sent(page, a_day(), decides="rule", rule="made", rates=""))
        page.post(address, {**fields, "rates": "9/m"})
        html = page.get(change(rule)).content.decode()
        text = said(page.get(change(rule)))
        assert text.index("boss chose 12/m on") < text.index("Other limits, tried in shadow") < text.index("boss chose 9/m on")
        assert html.count('id="rw-evidence-60000') == html.count('id="rw-candidate-60000') > 0
