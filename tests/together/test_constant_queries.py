"""Each page takes as many queries for many rows as for some."""

import pytest

from tests.support.page_queries import by_size

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_pages_ask_as_often_for_many_rows_as_for_some() -> None:
    some, many = by_size()
    assert len(some) > 20
    assert some == many
