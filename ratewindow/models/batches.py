"""Rows read in batches, each by a query of its own.

Unlike with `QuerySet.iterator`, no server-side cursor stays open between two batches, which would be lost behind a pooler
such as pgbouncer; nor a transaction, in which SQLite might keep writers waiting.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet


def in_batches(rows: "QuerySet[Any]", *columns: str, size: int = 5000) -> Iterator[tuple[Any, ...]]:
    """The primary key and `columns` of each row, ordered by key. A key must not occur twice, as a join may cause."""
    rows = rows.order_by("pk").values_list("pk", *columns)
    batch = list(rows[:size])
    while batch:
        yield from batch
        batch = list(rows.filter(pk__gt=batch[-1][0])[:size]) if len(batch) == size else []
