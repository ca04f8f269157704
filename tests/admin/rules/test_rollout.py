"""From shadow to enforce: the box on top of a rule's page, its buttons and their undo."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratewindow.admin.rules.rollout_figures import Stage, since
from ratewindow.conf import time_zone
from ratewindow.models import Edit, RateRule, ThrottleStat
from ratewindow.reporting import counters
from ratewindow.reporting.sums import Sums
from ratewindow.rulebook import reading
from tests.support.rule_pages import ADD, change, count, define, errors, said, typed

pytestmark = pytest.mark.django_db

UNDO = reverse("admin:ratewindow_raterule_stage_undo")


def stage(rule: RateRule) -> str:
    return reverse("admin:ratewindow_raterule_stage", args=[rule.pk])


def now(rule: RateRule) -> str:
    rule.refresh_from_db()
    return str(Stage.of(rule))


def press(page: Client, rule: RateRule, to: str, **fields: str) -> Any:
    return page.post(stage(rule), {"to": to, "seen": str(Stage.of(rule)), **fields}, follow=True)


def undo(page: Client, response: Any) -> Any:
    """Press the button of a message."""
    (moves,) = re.findall(r'name="moves" value="([^"]+)"', response.content.decode())
    return page.post(UNDO, {"moves": moves, "reason": "Undone"}, follow=True)


class TestBox:
    def test_in_shadow_it_says_what_the_rule_would_have_refused(self, page: Client) -> None:
        rule = define()
        count(login=Sums(passed=41_230, would_refuse=312))
        words = said(page.get(change(rule)))
        assert "In shadow since" in words
        assert "it met 41,230 requests and would have refused 312 of them (0.8 %). Who?" in words

    def test_enforced_for_some_it_says_what_it_refused_and_what_not_of_the_others(self, page: Client) -> None:
        rule = define(mode="enforce", enforce_percent=10)
        count(login=Sums(passed=90, refused=10, would_refuse=45))
        words = said(page.get(change(rule)))
        assert "Enforced for 10 % of clients since" in words
        expected = "it met 100 requests and refused 10 of them (10 %); of the other clients it would have refused 45 (45 %)."
        assert expected in words

    def test_what_nobody_met_is_said_and_has_no_clients(self, page: Client) -> None:
        words = said(page.get(change(define())))
        assert re.search(r"From [\d: -]+ on, in whole minutes, no request met it\.", words) and "Who?" not in words

    def test_a_mode_of_two_hours_ago_is_counted_from_the_minute_of_its_change_on_and_says_so(self, page: Client) -> None:
        rule = define(mode="enforce")
        changed = time_zone.now() - timedelta(hours=2)
        Edit.objects.update(at=changed)
        minute = changed.replace(second=0, microsecond=0)
        for ago, passed in ((0, 3), (1, 100)):
            start = minute - timedelta(minutes=ago)
            ThrottleStat.objects.create(rule="login", resolution="minute", start=start, passed=passed, refused=1)
        expected = "on, in whole minutes, it met 4 requests and refused 1 of them (25 %)."
        assert f"{time_zone.local(minute):%H:%M} {expected}" in said(page.get(change(rule)))

    def test_while_redis_is_away_it_says_what_is_not_known(self, page: Client, settings: Any) -> None:
        rule = define()
        settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}
        assert "Without Redis it is not known what it has met." in said(page.get(change(rule)))

    def test_a_mode_of_long_ago_is_reported_for_the_last_day_alone(self, page: Client) -> None:
        rule = define()
        Edit.objects.update(at=time_zone.now() - timedelta(days=6), by="ann")
        start = time_zone.now().replace(minute=0, second=0, microsecond=0)
        for days, passed in ((0, 7), (3, 100)):
            row = {"rule": "login", "start": start - timedelta(days=days), "passed": passed}
            ThrottleStat.objects.create(resolution="minute", **row)
            ThrottleStat.objects.create(resolution="hour", **row)
        words = said(page.get(change(rule)))
        assert re.search(r"In shadow since [^.]+\.[^.]*\.?[^.]*\.? by ann", words)
        assert "In the last 24 hours, it met 7 requests and would have refused 0 of them (0 %)." in words

    @pytest.mark.django_db(transaction=True)  # each request is an edit of its own
    def test_since_when_is_the_last_change_of_mode_or_percentage_and_of_nothing_else(self, page: Client, boss: User) -> None:
        rule = define()
        press(page, rule, "percent", percent="20")
        changed = Edit.objects.latest("at")
        rule.refresh_from_db()
        page.post(change(rule), typed(("7", "1m"), stored=rule, mode="enforce", enforce_percent="20", why="a higher limit"))
        assert Edit.objects.count() == 3
        found = since(rule)
        assert found is not None and (found.at, found.by) == (changed.at, "boss")

    def test_it_counts_the_clients_and_those_of_them_that_were_signed_in(self, page: Client, boss: User) -> None:
        rule = define("search", "1/m", path="/search/", key="user_or_ip")
        reading.reload()
        signed_in = Client()
        signed_in.force_login(boss)
        for number in range(3):
            for _ in range(3):
                Client(REMOTE_ADDR=f"203.0.113.{number}").get("/search/")
        for _ in range(3):
            signed_in.get("/search/")
        counters.flush()
        words = said(page.get(change(rule)))
        assert (
            "it met 12 requests and would have refused 8 of them (67 %). They came from 4 clients, 1 of them signed in." in words
        )
        assert "Most often: ip:203.0.113.0 (2), ip:203.0.113.1 (2), ip:203.0.113.2 (2)." in words
        table = said(page.get(f"{reverse('admin:ratewindow_report')}?rule=search"))
        assert "would be full for 4 clients" in table
        press(page, rule, "enforce")
        Edit.objects.update(at=time_zone.now() - timedelta(days=2))
        assert "signed in" not in said(page.get(change(rule)))  # none has been refused

    def test_they_are_masked_for_who_may_not_see_them_and_unnamed_for_who_may_not_read_the_report(self, client: Client) -> None:
        rule = define("search", "1/m", path="/search/")
        reading.reload()
        for _ in range(3):
            client.get("/search/", REMOTE_ADDR="203.0.113.9")
        counters.flush()
        rights = ["view_raterule"]
        for right, expected in (("view_raterule", False), ("view_throttlestat", True)):
            rights.append(right)
            user = User.objects.create(username=right, is_staff=True)
            user.user_permissions.set(Permission.objects.filter(codename__in=rights))
            client.force_login(user)
            words = said(client.get(change(rule)))
            assert ("Most often: ip:203.0.113.x (2)." in words) is expected and "203.0.113.9" not in words

    def test_a_new_rule_has_none(self, page: Client) -> None:
        assert "rw-rollout" not in re.sub(r"rollout\.css", "", page.get(ADD).content.decode())

    def test_it_asks_the_database_as_often_after_many_edits_as_after_one(self, page: Client) -> None:
        rule = define()
        page.get(change(rule))
        with CaptureQueriesContext(connection) as few:
            page.get(change(rule))
        for percent in range(2, 12):
            press(page, rule, "percent", percent=str(percent))
            rule.refresh_from_db()
        with CaptureQueriesContext(connection) as many:
            page.get(change(rule))
        assert len(many) == len(few)


class TestButtons:
    @pytest.mark.django_db(transaction=True)
    def test_from_shadow_to_ten_percent_to_all_and_back_each_with_an_undo(self, page: Client, boss: User) -> None:
        rule = define()
        steps = [("percent", "enforce-10", "Now enforced for 10 % of clients: login (was: in shadow)."),
                 ("enforce", "enforce-100", "Now enforced for all clients: login (was: enforced for 10 % of clients)."),
                 ("shadow", "shadow-100", "Now in shadow: login (was: enforced for all clients)."),
                 ("off", "off-100", "Now off: login (was: in shadow).")]  # fmt: skip
        for to, stage, message in steps:
            before = now(rule)
            response = press(page, rule, to, percent="10", reason=f"step {to}")
            assert message in said(response) and now(rule) == stage
            edit = Edit.objects.latest("at")
            assert (edit.by, edit.way, edit.reason) == ("boss", "admin", f"step {to}")
            undone = undo(page, response)
            assert now(rule) == before
            assert Edit.objects.latest("at").reason == "Undone"
            undo(page, undone)
            assert now(rule) == stage

    @pytest.mark.parametrize("percent", ["0", "101", "ten", "", "1e1", "-5", "²", "9" * 5000])
    def test_a_percentage_that_is_none_is_quoted_and_changes_nothing(self, page: Client, percent: str) -> None:
        rule = define()
        assert "is not a percentage of clients: enter a whole number from 1 to 100." in said(
            press(page, rule, "percent", percent=percent)
        )
        assert now(rule) == "shadow-100"

    def test_nor_does_a_button_that_does_not_exist(self, page: Client) -> None:
        rule = define()
        assert "is not a mode. Use the buttons." in said(press(page, rule, "delete"))

    def test_a_button_of_an_old_page_changes_nothing(self, page: Client) -> None:
        rule = define()
        RateRule.objects.filter(pk=rule.pk).update(mode="off")
        response = press(page, rule, "enforce")
        assert "Nothing is changed: meanwhile somebody else has put login off. Look again." in said(response)
        assert now(rule) == "off-100"

    def test_an_undo_leaves_what_somebody_else_has_changed_since(self, page: Client) -> None:
        rule = define()
        response = press(page, rule, "enforce")
        RateRule.objects.filter(pk=rule.pk).update(mode="off")
        assert "changed meanwhile and stay as they are: login." in said(undo(page, response))
        assert now(rule) == "off-100"

    def test_an_undo_cannot_be_made_up(self, page: Client) -> None:
        rule = define()
        assert "This can no longer be undone." in said(page.post(UNDO, {"moves": f"[[{rule.pk}]]"}, follow=True))

    def test_enforcing_what_would_refuse_its_author_is_asked_about(self, page: Client) -> None:
        rule = define("all", "0/m", applies_to="all")
        asked = page.post(stage(rule), {"to": "enforce", "seen": "shadow-100"})
        assert "Rule all meets /admin/" in said(asked) and now(rule) == "shadow-100"
        page.post(stage(rule), {**dict(asked.context["post_data"]), "lockout_known": "on"})
        assert now(rule) == "enforce-100"

    def test_so_is_an_undo(self, page: Client) -> None:
        rule = define("all", "0/m", applies_to="all", mode="enforce")
        response = press(page, rule, "shadow")
        assert "Rule all meets /admin/" in said(undo(page, response)) and now(rule) == "shadow-100"

    def test_a_rule_that_is_gone_is_not_found(self, page: Client) -> None:
        rule = define()
        response = press(page, rule, "off")
        url = stage(rule)
        rule.delete()
        assert page.post(url, {"to": "off", "seen": "shadow-100"}).status_code == 404
        assert undo(page, response).status_code == 200


class TestWhoMayNotEnforce:
    @pytest.fixture
    def editor(self, client: Client) -> Client:
        user = User.objects.create(username="editor", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=["view_raterule", "change_raterule", "add_raterule"]))
        client.force_login(user)
        return client

    def test_has_no_button_for_it_and_none_that_does_it(self, editor: Client) -> None:
        rule = define()
        text = editor.get(change(rule)).content.decode()
        assert 'value="percent"' not in text and "Enforcing takes the permission “Can enforce rules”." in text
        for to in ("enforce", "percent"):
            assert press(editor, rule, to, percent="10").status_code == 403
        assert now(rule) == "shadow-100"

    def test_may_put_a_rule_in_shadow_and_learns_that_the_way_back_takes_more(self, editor: Client) -> None:
        rule = define(mode="enforce")
        response = press(editor, rule, "shadow")
        assert "Enforcing again takes the permission" in said(response) and 'name="moves"' not in response.content.decode()
        assert now(rule) == "shadow-100"

    def test_may_not_enforce_for_more_clients_by_the_form(self, editor: Client) -> None:
        rule = define(mode="enforce", enforce_percent=10)
        sent = typed(("5", "1m"), stored=rule, mode="enforce")
        (error,) = errors(editor.post(change(rule), {**sent, "enforce_percent": "50"}))
        assert "You may not enforce rules for more clients" in error
        assert editor.post(change(rule), {**sent, "enforce_percent": "5"}).status_code == 302
        assert now(rule) == "enforce-5"

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
    assert buttons.findall(page.get(ADD).content.decode()) == ["_preview", "_save", "_enforce"]
    saved = page.get(change(RateRule.objects.get(name="one"))).content.decode()
    assert 'name="_enforce"' not in saved and 'name="_saveasnew"' in saved
