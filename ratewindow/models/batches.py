"""Rows read a piece at a time, each by a query of its own.

No cursor stays open between two pieces: behind a pooler that gives a connection away after each transaction, such as
pgbouncer, one that the server keeps is lost. Nor does a transaction, in which SQLite might keep writers waiting.
"""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

SIZE = 5000  # rows


def in_batches(rows: "QuerySet[Any]", *columns: str, size: int = SIZE) -> Iterator[tuple[Any, ...]]:
    """The primary key and `columns` of each row, by rising keys. No two rows may have the same key, by a join say."""
    rows = rows.order_by("pk").values_list("pk", *columns)
    piece = list(rows[:size])
    while piece:
        yield from piece
        piece = list(rows.filter(pk__gt=piece[-1][0])[:size]) if len(piece) == size else []
