"""How SQLite would run the queries that a page has asked."""

from collections.abc import Iterable, Iterator

from django.db import connection


def plans(table: str, asked: Iterable[dict[str, str]]) -> Iterator[tuple[str, str]]:
    """The plan and the text of each query of that table."""
    for each in asked:
        if f'"{table}"' in each["sql"]:
            with connection.cursor() as cursor:
                cursor.execute("EXPLAIN QUERY PLAN " + each["sql"].replace("%", "%%"))
                yield " ".join(str(row[3]) for row in cursor.fetchall()), each["sql"]
