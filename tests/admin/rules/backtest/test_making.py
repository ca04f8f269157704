"""From a backtest to a rule in shadow."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.support.backtest_pages import MAKE, PAGE, RATES, offered, sent
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
