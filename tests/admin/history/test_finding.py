"""What narrows the page of all edits uses indexes where it can, and offers the values of late."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from ratewindow.admin.history import finding
from ratewindow.models import Edit
from tests.support.query_plans import plans
from tests.support.rule_pages import said

pytestmark = pytest.mark.django_db
LIST = reverse("admin:ratewindow_history")


def edit(ago: int = 0, **values: Any) -> Edit:
    given = {"kind": "rule", "subject": "login", "action": "changed", "by": "ann", "way": "admin", "before": {}, "after": {}}
    return Edit.objects.create(at=timezone.now() - timedelta(hours=ago), **{**given, **values})


def found(term: str) -> list[int]:
    return sorted(finding.search(Edit.objects.all(), term).values_list("pk", flat=True))


def test_the_filters_offer_who_edited_lately_and_who_is_chosen(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "LATELY", 2)
    edit(3, by="long-ago")
    edit(2, by="carl", way="command mode")
    edit(1, by="beth")
    told = page.get(LIST).content.decode()
    assert "?by=carl" in told and "?by=beth" in told and "?by=long-ago" not in told and "?way=command+mode" in told
    assert "?by=long-ago" in page.get(LIST, {"by": "long-ago"}).content.decode()
    assert "1 edit" in said(page.get(LIST, {"by": "long-ago"}))


def test_edits_that_nobody_made_are_offered_by_a_name(page: Client) -> None:
    edit(by="")
    assert re.search(r'<a href="\?by=">\s*nobody\s*</a>', page.get(LIST).content.decode())


def test_one_word_that_names_a_rule_or_a_person_finds_their_edits_alone() -> None:
    of_rule, by_ann, by_login = edit(by="beth"), edit(subject="search"), edit(subject="search", by="login")
    edit(subject="login.slow", by="beth", reason="login of beth")
    assert found("login") == [of_rule.pk, by_login.pk]
    assert found("ann") == [by_ann.pk]


def test_other_words_are_found_anywhere_and_must_all_be_found() -> None:
    first, second = edit(reason="Too many complaints"), edit(subject="search.fast", reason="complaints")
    assert found("complaints") == [first.pk, second.pk]
    assert found("complaints FAST") == [second.pk]
    assert found("sear") == [second.pk]
    assert found("complaints nobody") == []


def test_the_number_of_a_block_is_not_found_as_if_it_were_a_name() -> None:
    edit(kind="override", subject="12345")
    assert found("12345") == [] and found("234") == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="this reads SQLite's plans")
@pytest.mark.parametrize("query", [{}, {"p": 2}, {"q": "login"}, {"kind__exact": "rule"}, {"by": "ann"}], ids=str)
def test_no_query_sorts_or_reads_rows_that_are_not_shown(page: Client, query: dict[str, Any]) -> None:
    edit()
    with CaptureQueriesContext(connection) as asked:
        page.get(LIST, query)
    for plan, sql in plans("ratewindow_edit", asked.captured_queries):
        assert "TEMP B-TREE" not in plan, (plan, sql)
        assert "SCAN ratewindow_edit" not in plan or "USING" in plan, (plan, sql)
