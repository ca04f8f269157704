"""A search or a filter that leaves few rows walks through them once; one that leaves many lists them page by page."""

import re
from itertools import chain
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from ratewindow.admin import few_rows
from ratewindow.models import Edit

pytestmark = pytest.mark.django_db
LIST = reverse("admin:ratewindow_history")


@pytest.fixture(autouse=True)
def edits(db: None) -> None:
    row = {"at": timezone.now(), "kind": "rule", "action": "changed", "way": "admin", "after": {}, "before": {}}
    Edit.objects.bulk_create(Edit(subject="login", by=f"staff-{n % 2}", reason=f"n{n}.", **row) for n in range(120))


def shown(response: Any) -> list[int]:
    return [int(number) for number in re.findall(r"</span> n(\d+)\.", response.content.decode())]


def queries_of_edits(page: Client, **query: str) -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        page.get(LIST, query)
    about = [each["sql"] for each in asked.captured_queries if 'FROM "ratewindow_edit"' in each["sql"]]
    return [each for each in about if f"LIMIT {2000}" not in each]  # those of the filters


@pytest.mark.parametrize("most", [500, 119, 59, 1], ids=lambda most: f"most {most}")
def test_the_pages_are_the_same_whether_they_are_few_or_not(page: Client, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(few_rows, "MOST", most)
    newest_first = list(range(119, -1, -1))
    pages = [shown(page.get(LIST, {"kind__exact": "rule", "p": number})) for number in (1, 2, 3)]
    assert [len(each) for each in pages] == [50, 50, 20] and list(chain(*pages)) == newest_first
    assert shown(page.get(LIST, {"kind__exact": "rule", "all": ""})) == newest_first
    assert shown(page.get(LIST, {"q": "n7."})) == [7]
    assert shown(page.get(LIST, {"q": "staff-1"}))[:3] == [119, 117, 115]
    assert shown(page.get(LIST, {"q": "nothing"})) == []


def test_one_walk_finds_those_of_a_search(page: Client) -> None:
    assert len(queries_of_edits(page, q="n7. staff-1")) == 1
    assert len(queries_of_edits(page, q="nothing at all")) == 1


def test_all_rows_are_counted_and_not_read(page: Client) -> None:
    count, rows = queries_of_edits(page)
    assert "COUNT" in count and "LIMIT 50" in rows
