"""From a backtest to a rule in shadow."""

import re
from typing import Any

import pytest
from django.test import Client

from ratewindow.models import RateRule
from tests.support.backtest_pages import MAKE, PAGE, RATES, beside, offered, sent
from tests.support.log_files import a_day, line
from tests.support.rule_pages import define, said
from tests.support.staff import staff

pytestmark = pytest.mark.django_db


def filled_in(response: Any) -> dict[str, str]:
    """The form of a new rule, as far as it is text, numbers and choices."""
    text = response.content.decode()
    inputs = re.findall(r'<input type="(?:text|number)" name="([\w-]+)" value="([^"]*)"', text)
    selects = re.findall(r'<select name="([\w-]+)".*?</select>', text, re.DOTALL)
    chosen = {
        name: re.search(r'<option value="([^"]*)" selected', text[text.index(f'<select name="{name}"') :])[1] for name in selects
    }
    return dict(inputs) | chosen


def test_the_form_of_a_new_rule_is_filled_in_with_the_limit_that_was_chosen(page: Client) -> None:
    offer = offered(sent(page, a_day(), rates="30/m; 1000/d"))
    assert offer["rates"] == ["8/m", "1000/d"]
    form = filled_in(page.post(MAKE, {**offer, "rates": ["12/m", "1000/d"]}))
    assert form["pattern"] == "/login/" and form["applies_to"] == "path" and form["key"] == "ip"
    limits = [(form[f"windows-{row}-limit"], form[f"windows-{row}-period"]) for row in (0, 1)]
    assert limits == [("12", "1m"), ("1000", "1d")]
    assert form["why"] == "From a backtest"


def test_a_rule_of_the_site_is_copied_without_its_name_and_with_its_options(page: Client) -> None:
    fields = {"key": "header:x-key", "count_when": "401,5xx", "penalty": "10m", "methods": "POST"}
    define("login", "2/m", path="/login/", algorithm="sliding_log", **fields)
    response = sent(page, [line(0)], decides="rule", rule="login", rates="")
    form = filled_in(page.post(MAKE, offered(response)))
    assert (form["key_other"], form["count_when_other"]) == ("header:x-key", "401,5xx")
    assert (form["penalty"], form["windows-0-algorithm"], form["windows-0-limit"]) == ("10m", "sliding_log", "2")
    assert not form.get("name")


class TestBesideTheLiveRule:
    def test_the_chosen_limits_are_tried_beside_a_rule_that_is_enforced(self, page: Client) -> None:
        rule = define("login", "30/m", path="/login/", mode="enforce")
        address, fields = beside(sent(page, a_day(), decides="rule", rule="login", rates=""))
        text = said(page.post(address, {**fields, "rates": "12/m"}, follow=True))
        assert "Tried in shadow, beside the limits that are enforced: 12 in 1 minute." in text
        rule.refresh_from_db()
        assert rule.candidate == "12/m" and rule.windows.get().limit == 30

    def test_limits_of_several_periods_are_tried_together(self, page: Client) -> None:
        rule = define("login", "30/m; 90/h", path="/login/", mode="enforce")
        address, fields = beside(sent(page, a_day(), decides="rule", rule="login", rates=""))
        page.post(address, {**fields, "rates": ["30/m", "60/h"]})
        rule.refresh_from_db()
        assert rule.candidate == "30/m; 60/h"

    @pytest.mark.parametrize("rates", ["30/m", "", "often"])
    def test_what_would_change_nothing_or_is_no_limit_is_not_tried(self, page: Client, rates: str) -> None:
        rule = define("login", "30/m", path="/login/", mode="enforce")
        address, fields = beside(sent(page, a_day(), decides="rule", rule="login", rates=""))
        assert "Tried in shadow" not in said(page.post(address, {**fields, "rates": rates}, follow=True))
        rule.refresh_from_db()
        assert rule.candidate == ""

    def test_what_somebody_else_has_tried_meanwhile_stays(self, page: Client) -> None:
        rule = define("login", "30/m", path="/login/", mode="enforce")
        address, fields = beside(sent(page, a_day(), decides="rule", rule="login", rates=""))
        RateRule.objects.update(candidate="20/m")
        assert "meanwhile somebody else has changed" in said(page.post(address, {**fields, "rates": "12/m"}, follow=True))
        rule.refresh_from_db()
        assert rule.candidate == "20/m"

    @pytest.mark.parametrize("fields", [{"mode": "shadow"}, {"enforce_percent": 10}, {"count_refused": True}], ids=str)
    def test_it_is_not_offered_where_nothing_would_be_judged(self, page: Client, fields: dict[str, Any]) -> None:
        define("login", "30/m", path="/login/", **{"mode": "enforce", **fields})
        text = sent(page, a_day(), decides="rule", rule="login", rates="").content.decode()
        assert "Try beside the live rule" not in text and "Make this a shadow rule" in text

    def test_it_is_offered_beside_the_rule_that_was_tried_and_no_other(self, page: Client) -> None:
        define("backtest", "30/m", path="/other/", mode="enforce")  # the name that a rule by its rates has meanwhile
        text = sent(page, a_day()).content.decode()
        assert "Try beside the live rule" not in text and "Make this a shadow rule" in text

    def test_who_may_change_rules_and_add_none_has_this_button_alone(self) -> None:
        define("login", "30/m", path="/login/", mode="enforce")
        changing = staff("view_raterule", "change_raterule", "view_throttlestat")
        text = sent(changing, a_day(), decides="rule", rule="login", rates="").content.decode()
        assert "Try beside the live rule" in text and "Make this a shadow rule" not in text


def test_what_nobody_offered_makes_no_rule(page: Client) -> None:
    offer = offered(sent(page, [line(0)]))
    forged = page.post(MAKE, {**offer, "token": offer["token"][:-2] + "xx"}, follow=True)
    assert "This result can no longer be made a rule. Run the backtest again." in said(forged)
    for rates in ("often", "", "; "):
        text = said(page.post(MAKE, {**offer, "rates": rates}, follow=True))
        assert "No rule is made: " in text


def test_it_takes_a_post_by_somebody_who_may_add_rules(page: Client) -> None:
    offer = offered(sent(page, [line(0)]))
    assert page.get(MAKE).status_code == 405
    looking = staff("view_raterule", "view_throttlestat")
    assert looking.post(MAKE, offer).status_code == 403
    assert "Make this a shadow rule" not in said(looking.post(PAGE, {**RATES, "log": ""}))
