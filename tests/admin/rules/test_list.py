"""The list of rules in the admin, and its actions."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratewindow import ratelimit
from ratewindow.counting.sums import Sums
from ratewindow.models import RateRule, ThrottleStat
from tests.support.rule_pages import LIST, change, count, define, said, typed

BY_ADDRESS = "requests without the key are counted by their address."
pytestmark = pytest.mark.django_db


class TestList:
    def test_it_reads_as_short_sentences(self, page: Client) -> None:
        fields = {"key": "ip+user", "methods": "POST", "count_when": "login_failed", "hold": True, "on_error": "local"}
        define(rate="5/m; 20/h", path="/login/", mode="enforce", **fields)
        text = page.get(LIST).content.decode()
        assert (
            "Each address + user: at most 5 in 1 minute and 20 in 1 hour, on POST /login/; only failed logins count.</span>"
            in text
        )
        assert '<span class="rw-mode rw-mode-enforce">Enforce</span>' in text

    def test_it_asks_the_database_as_often_for_many_rules_as_for_one(
        self, page: Client, django_assert_num_queries: Any, django_assert_max_num_queries: Any
    ) -> None:
        define("first")
        with django_assert_max_num_queries(14) as few:
            page.get(LIST)
        for number in range(20):
            define(f"rule-{number}", "5/m; 20/h")
        with django_assert_num_queries(len(few)):
            page.get(LIST)

    def test_it_tells_what_the_last_hour_brought(self, page: Client) -> None:
        for name in ("api", "login", "quiet", "search"):
            define(name)
        count(login=Sums(passed=100, refused=300), api=Sums(passed=9, refused=1), search=Sums(passed=100, would_refuse=2))
        listed = said(page.get(LIST))
        for told in ("100 passed · 300 refused, 75 %", "9 passed · 1 refused, 10 %", "100 passed · 2 would be refused, 2.0 %"):
            assert told in listed

    def test_what_another_rule_refused_is_said_so_that_shares_are_of_what_is_shown(self, page: Client) -> None:
        define()
        count(login=Sums(passed=37, other=7, would_refuse=15))
        assert "37 passed · 7 refused by another rule · 15 would be refused, 34 %" in said(page.get(LIST))

    def test_it_is_there_while_redis_is_away_with_what_was_collected(self, page: Client, settings: Any) -> None:
        define()
        define("other")
        assert "no requests" in said(page.get(LIST))
        now = timezone.now().replace(second=0, microsecond=0)
        ThrottleStat.objects.create(rule="login", resolution="minute", start=now, passed=7, refused=3)
        settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}
        listed = said(page.get(LIST))
        assert "7 passed · 3 refused, 30 %" in listed
        assert "not known" in listed and "no requests" not in listed

    def test_what_only_code_knows_stands_below_and_can_be_edited_here(self, page: Client) -> None:
        ratelimit("code.only", "7/m; 70/h", key="user", methods=["POST"])(lambda request: None)
        ratelimit("code.and.row", "7/m")(lambda request: None)
        define("code.and.row")
        count(**{"code.only": Sums(passed=5)})
        below = said(page.get(LIST)).partition("Only in code")[2]
        assert f"code.only Each user: at most 7 in 1 minute and 70 in 1 hour, on POST where code names it; {BY_ADDRESS}" in below
        assert "5 passed" in below
        assert "code.and.row" not in below
        (url,) = re.findall(r'href="([^"]*name=code.only[^"]*)"', page.get(LIST).content.decode())
        form = page.get(url.replace("&amp;", "&")).content.decode()
        for field, value in {"name": "code.only", "methods": "POST", "windows-0-limit": "7",
                             "windows-0-period": "1m", "windows-1-limit": "70", "windows-1-period": "1h"}.items():  # fmt: skip
            assert re.search(rf'name="{field}"[^>]*value="{value}"|value="{value}"[^>]*name="{field}"', form), field
        assert re.findall(r'<option value="(\w+)" selected', form.partition("windows-group")[0]) == ["named", "user", "ip"]
        sent = typed(("7", "1m"), ("70", "1h"), name="code.only", applies_to="named", pattern="", key="user")
        assert page.post(url.replace("&amp;", "&"), sent).status_code == 302
        assert RateRule.objects.get(name="code.only").windows.count() == 2

    def test_who_looks_for_something_is_not_shown_what_code_has_besides(self, page: Client) -> None:
        assert "Only in code" in said(page.get(LIST))
        assert "Only in code" not in said(page.get(LIST, {"q": "login"}))
        assert "Only in code" not in said(page.get(LIST, {"mode__exact": "off"}))

    def test_a_period_and_a_penalty_that_raw_sql_has_broken_can_be_seen_and_put_right(self, page: Client) -> None:
        from django.db import connection

        rule = define(path="/login/")
        with connection.cursor() as cursor:
            cursor.execute("UPDATE ratewindow_rulewindow SET period = 0")
            cursor.execute("UPDATE ratewindow_raterule SET penalty = 'soon'")
        assert page.get(LIST).status_code == page.get(change(rule)).status_code == 200
        assert page.post(change(rule), typed(("5", "1m"), stored=rule)).status_code == 302

    @pytest.mark.parametrize(
        ("action", "mode", "said"),
        [
            ("enforce", "enforce", "Saved: login: Enforce."),
            ("switch_off", "off", "Saved: login: Off."),
            ("shadow", "shadow", "Nothing to change."),
        ],
    )
    def test_an_action_changes_the_mode_and_says_so(self, page: Client, action: str, mode: str, said: str) -> None:
        rule = define()
        response = page.post(LIST, {"action": action, "_selected_action": [rule.pk]}, follow=True)
        rule.refresh_from_db()
        assert rule.mode == mode
        assert said in response.content.decode()

    def test_only_the_selected_rules_change_and_the_log_says_so(self, page: Client) -> None:
        chosen, other = define("chosen"), define("other")
        page.post(LIST, {"action": "enforce", "_selected_action": [chosen.pk]})
        other.refresh_from_db()
        assert other.mode == "shadow"
        (entry,) = LogEntry.objects.all()
        assert (entry.object_id, entry.get_change_message()) == (str(chosen.pk), "Changed Mode.")

    def test_an_action_is_a_post_with_a_token(self, page: Client, boss: User) -> None:
        rule = define()
        page.get(LIST, {"action": "enforce", "_selected_action": rule.pk})
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(boss)
        assert strict.post(LIST, {"action": "enforce", "_selected_action": [rule.pk]}).status_code == 403
        rule.refresh_from_db()
        assert rule.mode == "shadow"


def test_what_people_wrote_is_shown_and_not_run(page: Client) -> None:
    evil = "<img src=x onerror=alert(1)>"
    rule = define()
    RateRule.objects.update(description=evil, pattern=evil, key=f"header:{evil}", applies_to="path", methods=evil)
    page.post(LIST, {"action": "enforce", "_selected_action": [rule.pk]})
    history = reverse("admin:ratewindow_raterule_history", args=[rule.pk])
    for url in (LIST, f"{LIST}?q={evil}", change(rule), history, reverse("admin:ratewindow_raterule_delete", args=[rule.pk])):
        text = page.get(url).content.decode()
        assert "<img src=x" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.get(LIST).content.decode()
