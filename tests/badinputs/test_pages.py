"""Every page of the app in the admin, found by itself: looking changes nothing, a change needs a token and the right to it,
and a million rows are never read.
"""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core import serializers
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow, ThrottleStat
from ratewindow.operations import switch_off
from tests.support.admin_addresses import addresses

pytestmark = pytest.mark.django_db

ROWS = (RateRule, RuleWindow, Override, LimitSwitch, ThrottleStat)
EVERYTHING = {  # what some page or other takes for an order
    "action": "enforce", "_selected_action": "1", "post": "yes", "_save": "1", "to": "on", "length": "15m", "reason": "x",
    "before": "x", "mode": "off", "confirm": "1", "rule": "login", "identity": "ip:203.0.113.9", "duration": "1h",
}  # fmt: skip


@pytest.fixture(autouse=True)
def rows(db: None) -> None:
    """One of each, with the number 1 in every address."""
    RateRule.objects.define("login", "5/m", path="/login/", mode="shadow")
    Override.objects.block("ip:203.0.113.9", duration="1h", reason="trying passwords")
    start = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=5)
    ThrottleStat.objects.create(rule="login", resolution="minute", start=start, passed=5, refused=2)


def test_there_are_pages_of_every_kind() -> None:
    told = " ".join(addresses())
    for part in ("/raterule/", "/override/", "/throttlestat/", "/add/", "/change/", "/delete/", "/history/", "/end/", "/switch/"):
        assert part in told


@pytest.fixture
def unchanged() -> Iterator[None]:
    """Nothing is stored, logged or turned in the test."""

    def state() -> tuple[Any, ...]:
        stored = [json.loads(serializers.serialize("json", model._base_manager.order_by("pk"))) for model in ROWS]
        return (stored, LogEntry.objects.count(), switch_off.current().off)

    before = state()
    yield
    assert state() == before


def boss() -> User:
    return User.objects.create(username="boss", is_staff=True, is_superuser=True)


def logged_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def test_looking_at_any_page_changes_nothing_whatever_its_address_says(unchanged: None) -> None:
    client = logged_in(boss())
    for address in addresses():
        for query in ({}, EVERYTHING):
            # 400: a list takes no filter by what it does not show; 403: nobody writes history
            assert client.get(address, query).status_code in (200, 302, 400, 403, 404, 405), address
            assert client.head(address, query).status_code in (200, 302, 400, 403, 404, 405), address
        for method in ("PUT", "PATCH", "DELETE", "BREW"):
            told = client.generic(method, address, "to=on&action=enforce&_selected_action=1", HTTP_X_HTTP_METHOD_OVERRIDE="POST")
            assert told.status_code in (200, 302, 403, 404, 405), (method, address)


def test_no_page_takes_a_post_without_a_token(unchanged: None) -> None:
    client = logged_in(boss(), enforce_csrf_checks=True)
    for address in addresses():
        assert client.post(address, EVERYTHING).status_code == 403, address
        assert client.post(address, {**EVERYTHING, "csrfmiddlewaretoken": "a" * 64}).status_code == 403, address


def test_who_is_not_logged_in_or_no_staff_gets_no_page(unchanged: None) -> None:
    for client in (Client(), logged_in(User.objects.create(username="ann"))):
        for address in addresses():
            for told in (client.get(address), client.post(address, EVERYTHING)):
                assert told.status_code == 302, address
                assert told["Location"].startswith("/admin/login/"), address


def test_staff_without_any_permission_sees_nothing(unchanged: None) -> None:
    client = logged_in(User.objects.create(username="new", is_staff=True))
    for address in addresses():
        for told in (client.get(address), client.post(address, EVERYTHING)):
            assert told.status_code in (403, 404, 405) or (told.status_code == 302 and told["Location"] == "/admin/"), address


@pytest.fixture
def viewer() -> Client:
    user = User.objects.create(username="viewer", is_staff=True)
    only = Permission.objects.filter(content_type__app_label="ratewindow", codename__startswith="view_")
    user.user_permissions.set(only)
    return logged_in(user)


def test_staff_that_may_only_look_is_forbidden_every_change(viewer: Client, unchanged: None) -> None:
    report = reverse("admin:ratewindow_report")
    index, pages = reverse("admin:app_list", args=["ratewindow"]), ("explain", "backtest")
    looks = (report, index, *(reverse(f"admin:ratewindow_{page}") for page in pages))
    seen = 0
    for address in addresses():
        seen += viewer.get(address).status_code == 200
        told = viewer.post(address, EVERYTHING)
        if address in looks or "/history/" in address or "/state/" in address or re.fullmatch(r".*/raterule/[0-9]+/", address):
            assert told.status_code in (200, 302), address  # a page that changes nothing
        else:
            assert told.status_code in (403, 404, 405), address
    assert seen >= 6


@pytest.mark.parametrize(
    "action", ["enforce", "shadow", "switch_off", "end_now", "extend", "delete_selected", "release", "export"]
)
def test_nor_does_any_action_of_a_list_run_for_them(viewer: Client, unchanged: None, action: str) -> None:
    for model in (RateRule, Override, ThrottleStat):
        address = reverse(f"admin:ratewindow_{model._meta.model_name}_changelist")
        numbers = [str(row.pk) for row in model._base_manager.all()]
        told = viewer.post(address, {"action": action, "_selected_action": numbers, "post": "yes", "select_across": "1"})
        assert told.status_code == (200 if model is ThrottleStat else 403)  # the report has no actions


# A million rows: not read, and not sorted. Plans are SQLite's; the numbers of queries are any database's.


def many() -> None:
    now = timezone.now().replace(second=0, microsecond=0)
    Override.objects.bulk_create(
        [
            Override(
                action="block",
                identity=f"ip:10.0.{n // 250}.{n % 250}",
                reason=f"reason {n}",
                expires_at=now + timedelta(n - 300),
            )
            for n in range(600)
        ]
    )
    ThrottleStat.objects.bulk_create(
        [ThrottleStat(rule=f"rule-{n % 7}", resolution="hour", start=now - timedelta(hours=n), passed=n) for n in range(600)]
    )
    rules = RateRule.objects.bulk_create([RateRule(name=f"rule-{n}") for n in range(150)])
    RuleWindow.objects.bulk_create([RuleWindow(rule=rule, limit=5, period=timedelta(minutes=1)) for rule in rules])


LISTS = [
    ("override", ""),
    ("override", "action__exact=block"),
    ("override", "q=10.0.1"),
    ("override", "q=nobody"),
    ("override", "p=5"),
    ("override", "p=99999999999999999999"),
    ("override", "all="),
    ("override", "o=2.-3.1"),
    ("override", "_facets=1"),
    ("raterule", ""),
    ("raterule", "mode__exact=enforce"),
    ("raterule", "q=rule-1"),
    ("raterule", "_facets=1"),
    ("throttlestat", ""),
    ("throttlestat", "period=30d"),
    ("throttlestat", "rule=rule-3&period=7d"),
    ("throttlestat", "rule=%00gone"),
    ("throttlestat", "start=0001-01-01T00:00&end=9999-12-31T23:59"),
]


@pytest.mark.parametrize("model, query", LISTS)
def test_a_list_of_many_rows_is_a_page_of_them_for_as_few_questions_as_one_of_few(model: str, query: str) -> None:
    client, address = logged_in(boss()), reverse(f"admin:ratewindow_{model}_changelist")
    asked = []
    for make in (lambda: None, many):
        make()
        with CaptureQueriesContext(connection) as queries:
            told = client.get(f"{address}?{query}")
        if told.status_code == 302:  # what is no page is the first one
            assert told["Location"].endswith("?e=1")
            return
        assert told.status_code == 200
        assert told.content.count(b"<tr") <= 210
        asked.append([each["sql"] for each in queries if each["sql"].startswith("SELECT")])
    # The four parts of the overrides are counted and cut one by one, where there are several pages. Limits of rules are asked
    # for where there are any, and earlier days and who is refused where something was counted.
    more = {"override": 8, "throttlestat": 12}.get(model, 4)
    assert len(asked[1]) <= len(asked[0]) + more, "\n".join(asked[1])
    if connection.vendor == "sqlite":
        for sql in asked[1]:
            _is_found_by_an_index(sql, may_scan="q=" in query or "o=" in query)


def _is_found_by_an_index(sql: str, may_scan: bool) -> None:
    """Blocks come in the order of their numbers, statistics by their index; what people search for, or sort, is looked
    through once."""
    if not any(f'"ratewindow_{name}"' in sql for name in ("override", "throttlestat")):
        return
    with connection.cursor() as cursor:
        plan = " | ".join(row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {sql.replace('%', '%%')}").fetchall())
    if not may_scan:
        assert not ("SCAN ratewindow_override" in plan and "TEMP B-TREE FOR ORDER BY" in plan), (sql, plan)
    if '"ratewindow_throttlestat"' in sql:
        assert "INDEX" in plan, (sql, plan)
