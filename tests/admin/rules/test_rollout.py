"""From shadow to enforce: the switch on a rule's page, the buttons of a new one, and the actions of the list."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from ratewindow.conf import time_zone
from ratewindow.models import RateRule
from tests.support.rule_pages import ADD, LIST, change, define, errors, look, said, typed

pytestmark = pytest.mark.django_db


def address(rule: RateRule) -> str:
    return reverse("admin:ratewindow_raterule_mode", args=[rule.pk])


def mode(rule: RateRule) -> str:
    rule.refresh_from_db()
    return rule.mode


def press(page: Client, rule: RateRule, to: str, **fields: str) -> Any:
    return page.post(address(rule), {"to": to, **fields}, follow=True)


def test_since_when_is_the_last_change_of_mode_and_of_nothing_else(page: Client) -> None:
    rule = define()
    RateRule.objects.update(mode_since=time_zone.now() - timedelta(days=3))
    press(page, rule, "enforce")
    rule.refresh_from_db()
    changed = rule.mode_since
    assert time_zone.now() - changed < timedelta(minutes=1)
    page.post(change(rule), typed(("7", "1m"), stored=rule))
    rule.refresh_from_db()
    assert (rule.windows.get().limit, rule.mode, rule.mode_since) == (7, "enforce", changed)


class TestButtons:
    def test_from_shadow_to_enforce_and_back(self, page: Client) -> None:
        rule = define(enforce_percent=10)
        for to, words in (("enforce", "Enforce 10 %"), ("shadow", "Shadow"), ("off", "Off")):
            answer = press(page, rule, to)
            assert answer.redirect_chain == [(look(rule), 302)]
            assert f"Saved: login: {words}." in said(answer) and mode(rule) == to
        assert LogEntry.objects.count() == 3
        assert "Nothing to change." in said(press(page, rule, "off"))

    def test_a_mode_that_does_not_exist_is_none(self, page: Client) -> None:
        rule = define()
        assert press(page, rule, "delete").status_code == 400 and mode(rule) == "shadow"
        assert page.get(address(rule)).status_code == 405

    def test_enforcing_what_would_refuse_its_author_is_asked_about(self, page: Client) -> None:
        rule = define("all", "0/m", applies_to="all")
        asked = page.post(address(rule), {"to": "enforce"})
        assert "/admin/" in said(asked) and mode(rule) == "shadow"
        page.post(address(rule), {**dict(asked.context["post_data"]), "lockout_known": "on"})
        assert mode(rule) == "enforce"


@pytest.mark.parametrize(("action", "becomes"), [("enforce", "enforce"), ("switch_off", "off")])
def test_an_action_moves_the_selected_rules_at_once(page: Client, action: str, becomes: str) -> None:
    rules = [define(name) for name in ("one", "two")]
    done = page.post(LIST, {"action": action, "_selected_action": [rule.pk for rule in rules]}, follow=True)
    assert [mode(rule) for rule in rules] == [becomes] * 2
    assert "Saved: one: " in said(done)


class TestWhoMayNotEnforce:
    @pytest.fixture
    def editor(self, client: Client) -> Client:
        user = User.objects.create_user("editor", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=["view_raterule", "add_raterule", "change_raterule"]))
        client.force_login(user)
        return client

    def test_presses_no_button_for_that(self, editor: Client) -> None:
        rule = define()
        text = editor.get(look(rule)).content.decode()
        assert 'name="to" value="enforce"' not in text and "Enforcing takes the permission “Can enforce rules”." in text
        assert press(editor, rule, "enforce").status_code == 403 and mode(rule) == "shadow"

    def test_may_put_a_rule_in_shadow(self, editor: Client) -> None:
        rule = define(mode="enforce")
        press(editor, rule, "shadow")
        assert mode(rule) == "shadow"

    def test_may_not_enforce_for_more_clients_by_the_form(self, editor: Client) -> None:
        rule = define(mode="enforce", enforce_percent=10)
        sent = typed(("5", "1m"), stored=rule)
        (error,) = errors(editor.post(change(rule), {**sent, "enforce_percent": "50"}))
        assert "You may not enforce rules for more clients" in error
        assert editor.post(change(rule), {**sent, "enforce_percent": "5"}).status_code == 302
        rule.refresh_from_db()
        assert rule.enforce_percent == 5

    def test_a_new_rule_can_only_be_saved_in_shadow(self, editor: Client) -> None:
        text = editor.get(ADD).content.decode()
        assert 'value="Save in shadow"' in text and 'name="_enforce"' not in text
        (error,) = errors(editor.post(ADD, {**typed(("5", "1m")), "_enforce": "Save and enforce"}))
        assert error.startswith("You may not enforce rules.")
        editor.post(ADD, {**typed(("5", "1m")), "_save": "Save in shadow"})
        assert RateRule.objects.get().mode == "shadow"


def test_a_new_rule_is_saved_as_its_button_says(page: Client) -> None:
    page.post(ADD, {**typed(("5", "1m"), name="one"), "_save": "1"})
    page.post(ADD, {**typed(("5", "1m"), name="two"), "_enforce": "1"})
    assert dict(RateRule.objects.values_list("name", "mode")) == {"one": "shadow", "two": "enforce"}
    buttons = re.compile(r'<input type="submit"[^>]*? name="(_\w+)"')
    assert buttons.findall(page.get(ADD).content.decode()) == ["_save", "_enforce"]
    saved = page.get(change(RateRule.objects.get(name="one"))).content.decode()
    assert 'name="_enforce"' not in saved and 'name="_saveasnew"' in saved
