"""The report page: what it says, to whom, and that nothing on it can be turned against its reader."""

import re
import time
from datetime import timedelta
from urllib.parse import urlencode

import pytest
import redis
from django.contrib.auth.models import Permission, User
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

import ratewindow
from benchmarks import year_of_counts
from ratewindow.counting import minutes
from ratewindow.counting.collecting import store_sums
from ratewindow.counting.sums import Sums
from ratewindow.models import RateRule, ThrottleStat

pytestmark = pytest.mark.django_db

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def page(admin_client):
    def read(**query):
        response = admin_client.get(f"{reverse('admin:ratewindow_report')}?{urlencode(query)}")
        assert response.status_code == 200
        return re.sub(r"\s+", " ", response.content.decode())

    return read


def row(rule="login", ago=timedelta(minutes=5), resolution="minute", **counts):
    start = (timezone.now() - ago).replace(second=0, microsecond=0)
    if resolution == "hour":
        start = start.replace(minute=0)
    ThrottleStat.objects.create(rule=rule, resolution=resolution, start=start, **counts)


def test_the_changelist_of_the_statistics_is_the_report():
    assert reverse("admin:ratewindow_report") == reverse("admin:ratewindow_throttlestat_changelist")


def test_a_calm_hour_in_one_sentence_and_four_figures(page):
    row("api", passed=41_230, refused=9, would_refuse=3, fallback=2)
    html = page()
    assert ">41,230 passed, 9 refused in the last hour.<" in html
    assert [re.sub("<[^>]+>", "", each) for each in re.findall(r"<dt>(.*?)</dt><dd><strong>(?:.*?)</strong>", html)] == [
        "Passed",
        "Refused",
        "Would refuse",
        "Decided without Redis",
    ]
    assert re.findall(r"<dd><strong>(.*?)</strong>", html) == ["41,230", "9", "3", "2"]


def test_rules_are_listed_with_mode_and_link_those_that_refuse_most_first(page):
    rule, _ = RateRule.objects.define("login", "5/m", path="/login/", mode="enforce")
    RateRule.objects.define("search", "5/m", mode="shadow")
    row("search", passed=500, would_refuse=7)
    row("login", passed=100, refused=300)
    row("past", passed=1)
    html = page()
    table = html[html.index('id="rw-rules"') :]
    assert [table.index(name) for name in ("login", "search", "past")] == sorted(
        table.index(n) for n in ("login", "search", "past")
    )
    assert f'<a href="{reverse("admin:ratewindow_raterule_look", args=[rule.pk])}">login</a>' in table
    assert re.findall(r'rw-mode-(\w+)">([^<]+)<', table) == [("enforce", "Enforce"), ("shadow", "Shadow"), ("gone", "Deleted")]
    assert "75 %" in table


@pytest.mark.parametrize(
    ("query", "shown"),
    [({}, "1"), ({"period": "15m"}, "1"), ({"period": "24h"}, "3"), ({"period": "7d"}, "4"), ({"period": "30d"}, "4")],
)
def test_a_period_is_chosen_by_a_link(page, query, shown):
    now = timezone.now().replace(second=0, microsecond=0)
    for ago, passed in ((5, 1), (12 * 60, 2), (40 * 60, 1)):
        store_sums({(now - timedelta(minutes=ago), "login"): Sums(passed=passed)})
    html = page(**query)
    assert re.findall(r"<dd><strong>(.*?)</strong>", html)[0] == shown
    assert html.count('aria-current="true"') == 1


def test_dates_of_ones_own_are_read_in_the_current_time_zone(page):
    row(ago=timedelta(minutes=30), passed=5)
    row(ago=timedelta(minutes=90), passed=7)
    with override_settings(TIME_ZONE="Asia/Tokyo"):
        start = timezone.localtime(timezone.now() - timedelta(minutes=120))
        end = timezone.localtime(timezone.now() - timedelta(minutes=60))
        html = page(start=start.strftime("%Y-%m-%dT%H:%M"), end=end.strftime("%Y-%m-%dT%H:%M"))
    assert re.findall(r"<dd><strong>(.*?)</strong>", html)[0] == "7"
    assert "Asia/Tokyo" in html
    assert 'aria-current="true"' not in html


def test_the_report_of_one_rule_keeps_it_in_the_links(page):
    RateRule.objects.define("login", "5/m")
    row(passed=5)
    row("api", passed=7)
    html = page(rule="login")
    assert re.findall(r"<dd><strong>(.*?)</strong>", html)[0] == "5"
    assert "?period=24h&amp;rule=login" in html


def test_a_deleted_rule_can_still_be_asked_for(page):
    row("past", passed=5)
    assert re.findall(r"<dd><strong>(.*?)</strong>", page(rule="past"))[0] == "5"


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"start": "yesterday"}, "From: Enter a valid date/time."),
        ({"end": "2026-01-01T00:00"}, "From: Enter a start before the end"),
        ({"start": "2026-02-01T00:00", "end": "2026-01-01T00:00"}, "From: Enter a start before the end"),
        ({"start": "2999-01-01T00:00"}, "From: Enter a start before the end"),
        ({"start": "1970-01-01T00:00"}, "at most three years earlier"),
        ({"period": "2y"}, "Select a valid choice"),
        ({"rule": "no-such-rule"}, "Rule: Select a valid choice"),
    ],
)
def test_a_wrong_choice_is_named_beside_the_last_hour(page, query, error):
    row(passed=1)
    html = page(**query)
    assert error in html
    assert "1 passed, 0 refused in the last hour." in html


def test_a_quiet_site_with_rules_is_told_that_nothing_met_them(page):
    RateRule.objects.define("login", "5/m")
    assert "No request has matched a rule in this period" in page()


def test_without_redis_it_says_so_and_shows_the_rows(page, monkeypatch):
    def away(*_):
        raise redis.ConnectionError

    monkeypatch.setattr(minutes, "waiting", away)
    row(passed=5)
    html = page()
    assert html.count("Redis does not answer") == 1
    assert "The last minutes may be missing" in html and "5 passed, 0 refused in the last hour." in html
    assert "Decided without Redis" not in html


def test_without_redis_an_empty_page_does_not_say_that_nothing_was_met(page, monkeypatch):
    def away(*_):
        raise redis.ConnectionError

    monkeypatch.setattr(minutes, "waiting", away)
    RateRule.objects.define("login", "5/m")
    html = page()
    assert "The latest counts are in Redis, which does not answer." in html
    assert "No request has matched a rule" not in html


@pytest.mark.parametrize("rule", [EVIL, "</script><script>alert(1)</script>"])
def test_nothing_stored_is_ever_markup(page, rule):
    row(rule, passed=100, refused=300)
    for html in (page(), page(rule=rule), page(rule=f"{rule}2"), page(period=rule), page(start=rule)):
        assert rule not in html
        assert "<script>alert" not in html


def test_there_is_no_inline_script_or_style(page):
    row(passed=100, refused=300)
    html = page()
    assert re.findall(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", html) == []
    assert "<style" not in html
    assert re.findall(r"\s(?:style|on\w+)=", html) == []


def member(client, *permissions):
    user = User.objects.create_user("staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    return client


def test_staff_without_permission_do_not_see_it(client):
    assert member(client, "view_raterule").get(reverse("admin:ratewindow_report")).status_code == 403
    client.logout()
    assert client.get(reverse("admin:ratewindow_report")).status_code == 302


def test_who_may_only_view_the_report_sees_it_without_links_to_rules(client):
    RateRule.objects.define("login", "5/m")
    row(passed=5)
    html = member(client, "view_throttlestat").get(reverse("admin:ratewindow_report")).content.decode()
    assert ">5 passed, 0 refused" in html
    assert "/raterule/" not in html


def test_nobody_adds_changes_or_deletes_what_was_counted(admin_client):
    row(passed=5)
    for name in ("add", "change", "delete"):
        with pytest.raises(NoReverseMatch):
            reverse(f"admin:ratewindow_throttlestat_{name}", args=[1] if name != "add" else [])
    base = reverse("admin:ratewindow_report")
    assert {admin_client.post(base + path).status_code for path in ("add/", "1/change/", "1/delete/")} == {404}
    admin_client.post(base, {"action": "delete_selected", "_selected_action": ThrottleStat.objects.get().pk, "post": "yes"})
    assert ThrottleStat.objects.count() == 1


def test_reasons_are_told_in_words_and_by_their_names(page):
    row(passed=90, refused=10, fallback=4, reasons={"limit": 9, "block": 1, "store:timeout": 4}, latency={"0.128": 96, "65.5": 4})
    html = page()
    part = html[html.index('id="rw-reasons"') :]
    assert part.index("Over the limit <code>limit</code>") < part.index("Blocked <code>block</code>")
    assert "Redis did not answer in time <code>store:timeout</code>" in part


def test_a_reason_of_a_newer_version_is_shown_as_it_is(page):
    row(passed=1, refused=1, reasons={"store:quantum": 1})
    assert "<code>store:quantum</code>" in page()


def test_without_any_there_are_no_reasons(page):
    row(passed=1)
    assert "rw-reasons" not in page()


def test_refusals_of_blocks_where_no_rule_was_met_have_a_line_of_their_own(page):
    row("blocks", refused=1_204)
    html = page()
    table = html[html.index('id="rw-rules"') :]
    assert "blocks <span" in table and "rw-mode" not in table
    assert "Requests of blocked clients that matched no enforced rule." in html
    assert "Deleted" not in html


def test_no_rule_can_be_named_as_that_line_is():
    with pytest.raises(ValidationError, match="'blocks' is reserved for the counts of blocked requests"):
        RateRule(name="blocks", applies_to="all").full_clean()
    with pytest.raises(ValueError, match="choose another name"):
        ratewindow.ratelimit("blocks", "5/m")


def test_shares_add_up_to_what_was_met(page):
    row("login", passed=60, refused=30, other=10)
    html = page()
    assert "Refused by another rule" in html
    shares = dict(re.findall(r"<dt>(.*?)</dt><dd><strong>.*?</strong> <span>(\d+) % of 100</span>", html))
    assert shares == {"Passed": "60", "Refused": "30", "Refused by another rule": "10"}
    assert re.search(r'data-label="By another rule">10<', html)


def test_the_table_over_time_says_what_another_rule_refused(page):
    row("login", passed=60, refused=30, other=10, would_refuse=5)
    table = re.search(r'<div class="rw-scroll".*?</table>', page())[0]
    columns = re.findall(r'<th scope="col".*?>(.*?)</th>', table)
    assert columns == ["From", "Passed", "Refused", "By another rule", "Would refuse"]
    lines = [re.findall(r'<td class="rw-number">(.*?)</td>', line) for line in table.split("<tr>")]
    assert [line for line in lines if any(number != "0" for number in line)] == [["60", "30", "10", "5"]]


@pytest.mark.parametrize("query", [{}, {"rule": "rule-1"}, {"mode": "enforce"}])
def test_a_year_of_many_rules_takes_as_many_queries_as_of_few(query, admin_client, django_assert_num_queries):
    for number in range(12):
        RateRule.objects.define(f"rule-{number}", "5/m", mode="enforce")
    year_of_counts.make(2, timezone.now(), days=40)
    address = f"{reverse('admin:ratewindow_report')}?{urlencode({'period': '1y', **query})}"
    admin_client.get(address)
    with CaptureQueriesContext(connection) as few:
        assert "rule-1" in admin_client.get(address).content.decode()
    year_of_counts.make(10, timezone.now(), days=60, first=2)
    with django_assert_num_queries(len(few)):
        assert admin_client.get(address).status_code == 200


def test_the_part_that_changes_is_asked_for_alone(page):
    row("login", passed=5)
    html = page(live="1")
    assert html.lstrip().startswith('<div class="rw-summary') and ">5 passed, 0 refused" in html and "<body" not in html
    assert 'id="rw-live"' in page() and 'id="rw-live"' not in page(start="2026-01-01T00:00", end="2026-01-02T00:00")


def test_when_nobody_collects_it_says_what_to_run(page):
    now_s = time.time()
    minutes.send({int(now_s) // 60 - ago: {"p|login": Sums(passed=1)} for ago in range(20)}, now_s)
    assert "Nobody collects: run" not in page()
    minutes.send({int(now_s) // 60 - 70: {"p|login": Sums(passed=1)}}, now_s)
    assert "Nobody collects: run" not in page()  # a process was late
    minutes.send({int(now_s) // 60 - 71: {"p|login": Sums(passed=1)}}, now_s - 3700)
    assert "Nobody collects: run" in page()


def test_a_start_in_the_future_is_wrong_whatever_the_end(page):
    row("login", passed=5)
    html = page(start="2999-01-01T00:00", end="2999-01-02T00:00")
    assert "Enter a start before the end" in html
