"""The list of blocks and exemptions: those in force first, how many there are, and no row read that is not shown."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ratewindow.admin.overrides.override_admin import OverrideAdmin
from ratewindow.models import Override
from tests.support.override_pages import LIST
from tests.support.query_plans import plans
from tests.support.rule_pages import said

pytestmark = pytest.mark.django_db


def add(count: int, **hours: float | None) -> None:
    """Blocks that begin and end so many hours from now."""
    now = timezone.now()
    moments = {name: None if value is None else now + timedelta(hours=value) for name, value in hours.items()}
    numbers = range(Override.objects.count(), Override.objects.count() + count)
    rows = [Override(action="block", identity=f"user:{each}", reason=f"n{each}.", **moments) for each in numbers]
    Override.objects.bulk_create(rows)


def shown(response: Any) -> list[int]:
    return [int(number) for number in re.findall(r"· n(\d+)\. ·", response.content.decode())]


@pytest.fixture
def every_state(db: None) -> None:
    for hours in ({"expires_at": -2}, {"expires_at": 9}, {"starts_at": 5}, {"starts_at": 1, "expires_at": 2}, {}):
        add(1, **hours)
    for hours in ({"expires_at": -1}, {"expires_at": 3, "starts_at": -1}, {}):
        add(1, **hours)


IN_ORDER = [6, 1, 7, 4, 3, 2, 5, 0]


def test_those_in_force_come_first_by_their_end_then_the_next_to_begin_then_the_last_that_ended(
    page: Client, every_state: None
) -> None:
    assert shown(page.get(LIST)) == IN_ORDER


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_every_page_continues_where_the_one_before_ended(
    page: Client, every_state: None, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OverrideAdmin, "list_per_page", size)
    pages = [shown(page.get(LIST, {"p": number})) for number in range(1, -(-8 // size) + 1)]
    assert [number for each in pages for number in each] == IN_ORDER
    assert {len(each) for each in pages[:-1]} <= {size}
    assert shown(page.get(LIST, {"all": ""})) == IN_ORDER


def test_a_filter_a_search_and_a_column_to_sort_by_work_as_ever(page: Client, every_state: None) -> None:
    assert shown(page.get(LIST, {"state": "now"})) == [6, 1, 7, 4]
    assert shown(page.get(LIST, {"state": "waiting"})) == [3, 2]
    assert shown(page.get(LIST, {"state": "ended"})) == [5, 0]
    assert shown(page.get(LIST, {"q": "n7"})) == [7]
    assert shown(page.get(LIST, {"o": "2"})) == list(range(8))


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "None in force."),
        ([{"expires_at": -1}], "None in force. 1 has ended."),
        ([{}], "1 in force."),
        ([{"expires_at": 50 * 24}], r"1 in force, it ends at [\d: -]+\."),
        ([{}, {"expires_at": 1}, {"expires_at": 2}], r"3 in force, the next one ends at [\d: -]+\."),
        (
            [{}, {"starts_at": 1}, {"starts_at": 2}, {"expires_at": -1}, {"expires_at": -2}],
            "1 in force. 2 wait to begin. 2 have ended.",
        ),
        ([{"starts_at": 1, "expires_at": 2}], "None in force. 1 waits to begin."),
    ],
)
def test_it_says_how_many_there_are(page: Client, rows: list[dict[str, float]], told: str) -> None:
    for hours in rows:
        add(1, **hours)
    assert re.search(told, said(page.get(LIST)))


def test_the_choices_of_the_filter_say_how_many(page: Client, every_state: None) -> None:
    told = said(page.get(LIST))
    assert "In force (4)" in told and "Waiting to begin (2)" in told and "Ended (2)" in told


def fill(count: int) -> None:
    for hours in ({"expires_at": 1.0}, {"expires_at": -1.0}, {}, {"starts_at": 1.0}):
        add(count // 4, **hours)


def test_a_page_asks_as_often_for_many_as_for_few(page: Client, boss: User, django_assert_num_queries: Any) -> None:
    fill(400)
    page.get(LIST)
    with CaptureQueriesContext(connection) as few:
        assert len(shown(page.get(LIST))) == 100
    fill(4000)
    with django_assert_num_queries(len(few)):
        assert len(shown(page.get(LIST))) == 100
    assert len(few) <= 14


@pytest.mark.skipif(connection.vendor != "sqlite", reason="this reads SQLite's plans")
def test_no_query_of_the_list_reads_rows_that_are_not_shown(page: Client) -> None:
    """A count may walk an index, as Django's own does."""
    fill(400)
    for query in ({}, {"p": 3}, {"state": "now"}, {"state": "ended"}, {"state": "waiting"}, {"rule": "login"}):
        with CaptureQueriesContext(connection) as asked:
            page.get(LIST, query)
        for plan, sql in plans("ratewindow_override", asked.captured_queries):
            assert "TEMP B-TREE" not in plan, (plan, sql)
            assert "SCAN ratewindow_override" not in plan or "USING COVERING INDEX" in plan, (plan, sql)


COPY_2500_TIMES = """
    INSERT INTO ratewindow_override
        (action, rule, identity, rate, starts_at, expires_at, reason, source, created_at, changed_at)
    WITH RECURSIVE copies (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copies WHERE number < 2500)
    SELECT action, rule, identity || '.' || number, rate, starts_at, expires_at, reason, source, created_at, changed_at
    FROM ratewindow_override CROSS JOIN copies
"""


@pytest.mark.slow
def test_a_million_are_listed_by_as_many_queries_as_a_hundred(page: Client, django_assert_num_queries: Any) -> None:
    fill(400)
    page.get(LIST)
    with CaptureQueriesContext(connection) as few:
        page.get(LIST)
    with connection.cursor() as cursor:
        cursor.execute(COPY_2500_TIMES)
        assert cursor.rowcount == 1_000_000
    with django_assert_num_queries(len(few)):
        assert len(shown(page.get(LIST))) == 100
