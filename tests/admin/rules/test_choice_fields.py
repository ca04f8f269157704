"""Choices in words for what a rule stores as text."""

import re
from typing import Any

import pytest
from django.test import Client

from ratewindow import limits, ratekey
from ratewindow.identity import custom_keys
from ratewindow.identity.site_answers import SiteFunctions
from ratewindow.models import RateRule
from ratewindow.rules import limits_from
from tests.support.rule_pages import ADD, change, define, errors, look, said, typed

pytestmark = pytest.mark.django_db


def chosen(response: Any, field: str) -> tuple[str, str]:
    """The choice and the text of a field, as the page shows them."""
    text = response.content.decode()
    select = re.search(rf'<select name="{field}".*?</select>', text, re.DOTALL)
    assert select is not None
    (choice,) = re.findall(r'value="([^"]*)" selected', select[0])
    typed_text = re.search(rf'name="{field}_other"[^>]*', text)
    assert typed_text is not None
    value = re.search(r'value="([^"]*)"', typed_text[0])
    return choice, value[1] if value else ""


def ticked(response: Any) -> list[str]:
    boxes = re.findall(r'<input type="checkbox" name="methods"[^>]*>', response.content.decode())
    return [re.findall(r'value="(\w+)"', box)[0] for box in boxes if " checked" in box]


class TestCountPer:
    @pytest.mark.parametrize("key", ["ip", "user_or_ip", "user", "ip+post:username", "session", "header:x-api-key", "global"])
    def test_what_is_chosen_in_words_is_stored_as_a_key(self, page: Client, key: str) -> None:
        assert errors(page.post(ADD, typed(("5", "1m"), key=key, key_other=""))) == []
        rule = RateRule.objects.get()
        assert rule.key == key
        assert chosen(page.get(change(rule)), "key") == (key, "")

    def test_something_else_is_typed(self, page: Client) -> None:
        assert errors(page.post(ADD, typed(("5", "1m"), key="other", key_other=" jwt:tenant+ip "))) == []
        rule = RateRule.objects.get()
        assert rule.key == "jwt:tenant+ip"
        assert chosen(page.get(change(rule)), "key") == ("other", "jwt:tenant+ip")

    def test_a_wrong_text_stays_beside_its_error(self, page: Client) -> None:
        response = page.post(ADD, typed(("5", "1m"), key="other", key_other="shoe_size"))
        (message,) = errors(response)
        assert message.startswith("'shoe_size' is not a key: choose from ip, user, ")
        assert chosen(response, "key") == ("other", "shoe_size")

    @pytest.mark.parametrize("sent", [{"key": "other", "key_other": " "}, {"key": ""}])
    def test_nothing_chosen_or_typed_is_an_error(self, page: Client, sent: dict[str, str]) -> None:
        assert errors(page.post(ADD, typed(("5", "1m"), **sent))) == ["Choose what is counted apart, such as each address."]

    def test_a_key_of_the_site_is_a_choice(self, page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(custom_keys, "_registered", {})
        ratekey("tenant")(lambda request: "a")
        assert '<option value="tenant">tenant (a key of this site&#x27;s code)</option>' in page.get(ADD).content.decode()

    def test_a_key_that_stays_is_no_change(self, page: Client) -> None:
        rule = define(path="/login/", key="jwt:tenant")
        sent = {**typed(("5", "1m"), stored=rule), "key": "other", "key_other": "jwt:tenant", "count_when": "always"}
        form = page.post(change(rule), {**sent, "pattern": "x"}).context["adminform"].form
        assert "pattern" in form.changed_data
        assert not {"key", "count_when", "methods"} & set(form.changed_data)


class TestCountWhen:
    @pytest.mark.parametrize(
        ("sent", "stored"),
        [
            ({"count_when": "login_failed"}, "login_failed"),
            ({"count_when": "4xx"}, "4xx"),
            ({"count_when": "other", "count_when_other": "401, 403"}, "401,403"),
        ],
    )
    def test_it_is_a_choice_or_text(self, page: Client, sent: dict[str, str], stored: str) -> None:
        assert errors(page.post(ADD, typed(("5", "1m"), **sent))) == []
        assert RateRule.objects.get().count_when == stored


class TestMethods:
    def test_those_that_are_ticked_are_stored(self, page: Client) -> None:
        assert errors(page.post(ADD, {**typed(("5", "1m")), "methods": ["PUT", "GET"]})) == []
        rule = RateRule.objects.get()
        assert rule.methods == "GET,PUT"
        assert ticked(page.get(change(rule))) == ["GET", "PUT"]

    def test_none_means_all(self, page: Client) -> None:
        sent = typed(("5", "1m"))
        del sent["methods"]
        assert errors(page.post(ADD, sent)) == []
        assert RateRule.objects.get().methods == ""

    def test_the_same_ones_are_no_change_also_one_that_few_use(self, page: Client) -> None:
        rule = define(path="/login/", methods="PUT,DELETE,PROPFIND")
        sent = {**typed(("5", "1m"), stored=rule), "methods": ["DELETE", "PUT", "PROPFIND"], "pattern": "x"}
        assert ticked(page.get(change(rule))) == ["PUT", "DELETE", "PROPFIND"]
        changed = page.post(change(rule), sent).context["adminform"].form.changed_data
        assert "pattern" in changed and "methods" not in changed


class TestLimitsFrom:
    @pytest.fixture(autouse=True)
    def _a_function(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits_from, "registered", SiteFunctions("limits", limits_from._HOLDS))
        limits("by plan")(lambda identity: "9/m")

    def test_a_function_of_the_site_is_a_choice(self, page: Client) -> None:
        assert '<option value="by plan">by plan</option>' in page.get(ADD).content.decode()
        assert errors(page.post(ADD, typed(("5", "1m"), limits_from="by plan"))) == []
        rule = RateRule.objects.get()
        assert rule.limits_from == "by plan"
        assert "Each address: as “by plan” gives, else at most 5 in 1 minute, on /login/." in said(page.get(look(rule)))

    def test_one_that_has_gone_stays_a_choice_with_its_error(self, page: Client) -> None:
        rule = define(path="/login/", limits_from="by plan")
        limits_from.registered.clear()
        assert '<option value="by plan" selected>' in page.get(change(rule)).content.decode()
        (message,) = errors(page.post(change(rule), typed(("5", "1m"), stored=rule, limits_from="by plan")))
        assert message == "no code registers 'by plan', nor any other: a developer can register it in a module ratekeys."

    def test_a_site_without_functions_has_nothing_to_choose(self, page: Client) -> None:
        limits_from.registered.clear()
        assert '<input type="hidden" name="limits_from"' in page.get(ADD).content.decode()
