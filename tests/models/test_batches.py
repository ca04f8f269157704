"""Rows read in batches."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ratewindow.models import RateRule
from ratewindow.models.batches import in_batches

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("rows", "queries"), [(0, 1), (1, 1), (2, 2), (5, 3)])
def test_every_row_is_read_once_by_as_many_queries_as_it_takes(rows: int, queries: int) -> None:
    for number in range(rows):
        RateRule.objects.create(name=f"rule.{number}")
    with CaptureQueriesContext(
        connection,
    ) as captured:
        found = list(in_batches(RateRule.objects.order_by("-name"), "name", size=2))
    assert [name for _, name in found] == [f"rule.{number}" for number in range(rows)]
    assert len(captured) == queries


def test_rows_that_are_added_meanwhile_are_read_too() -> None:
    for number in range(2):
        RateRule.objects.create(name=f"rule.{number}")
    found = in_batches(RateRule.objects.all(), "name", size=2)
    next(found)
    RateRule.objects.create(name="rule.2")
    assert [name for _, name in found] == ["rule.1", "rule.2"]
