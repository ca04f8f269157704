"""A flush that takes little time: every transactional test ends with one."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.commands import flush
from django.db import connection


def keep_rows_of_migrations(patch: pytest.MonkeyPatch) -> None:
    """Put back what ``migrate`` has written, where Django would work it out again from all models, which takes 15 ms."""
    statements = [_insert(model) for model in (ContentType, Permission)]
    emit = flush.emit_post_migrate_signal

    def put_back(verbosity: int, interactive: bool, db: str, **options: Any) -> None:
        if db != connection.alias:
            emit(verbosity, interactive, db, **options)
            return
        with connection.cursor() as cursor:
            for statement, rows in statements:
                cursor.executemany(statement, rows)
        ContentType.objects.clear_cache()

    patch.setattr(flush, "emit_post_migrate_signal", put_back)


def _insert(model: type[ContentType | Permission]) -> tuple[str, list[Any]]:
    fields = [field.attname for field in model._meta.concrete_fields]
    rows = list(model._default_manager.order_by("pk").values_list(*fields))
    return f"INSERT INTO {model._meta.db_table} ({', '.join(fields)}) VALUES ({', '.join(['%s'] * len(fields))})", rows
