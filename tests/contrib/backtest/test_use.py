"""From a backtest to the form of a rule."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.contrib.backtest.support.pages import offered, sent
from tests.support.log_files import a_day
from tests.support.rule_pages import ADD, change, define, said
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
    assert (offer["windows-0-limit"], offer["windows-1-limit"]) == ("8", "1000")
    form = filled_in(page.get(ADD, {**offer, "windows-0-limit": "12"}))
    assert form["pattern"] == "/login/" and form["applies_to"] == "prefix" and form["key"] == "ip"
    limits = [(form[f"windows-{row}-limit"], form[f"windows-{row}-period"]) for row in (0, 1)]
    assert limits == [("12", "1m"), ("1000", "1d")]


def test_the_form_of_the_rule_that_was_tried_is_filled_in_and_nothing_is_saved(page: Client) -> None:
    rule = define("login", "30/m; 90/h", path="/login/", mode="enforce", algorithm="sliding_log")
    offer = offered(sent(page, a_day(), rule="login", rates="", path=""))
    form = filled_in(page.get(change(rule), {**offer, "windows-0-limit": "12"}))
    assert [form[f"windows-{row}-limit"] for row in (0, 1)] == ["12", offer["windows-1-limit"]]
    assert [row.limit for row in rule.windows.all()] == [30, 90]


def test_limits_that_the_rule_does_not_have_leave_its_form_as_it_is(page: Client) -> None:
    rule = define("login", "30/m", path="/login/")
    asked = {"windows-0-limit": "12", "windows-0-period": "1h", "windows-0-algorithm": "sliding_window"}
    assert filled_in(page.get(change(rule), asked))["windows-0-limit"] == "30"


def test_only_the_rule_that_was_tried_is_offered(page: Client) -> None:
    define("backtest", "30/m", path="/other/", mode="enforce")  # the name that a rule by its rates has meanwhile
    text = sent(page, a_day()).content.decode()
    assert "Use this limit" not in text and "Make this a shadow rule" in text


@pytest.mark.parametrize(
    ("permissions", "may_change", "may_add"),
    [(["change_raterule"], True, False), (["add_raterule"], False, False), ([], False, False)],
    ids=["change", "add", "neither"],
)
def test_each_button_is_for_whoever_may_do_that(permissions: list[str], may_change: bool, may_add: bool) -> None:
    define("login", "30/m", path="/login/", mode="enforce")
    page = staff("view_raterule", "view_throttlestat", *permissions)
    text = said(sent(page, a_day(), rule="login", rates="", path=""))
    assert (("Use this limit" in text), ("Make this a shadow rule" in text)) == (may_change, may_add)
