"""What a migration does to code of the version before it."""

from typing import Any

from django.db import migrations
from django.db.models.fields import NOT_PROVIDED

FIRST = "first"  # it makes the tables of an app
ADDITIVE = "additive"  # code of the version before goes on, writing included
REMOVING = "removing"  # it only takes away: code that no longer asks for that goes on
REPLACING = "replacing"  # neither goes on

_REMOVE = (migrations.RemoveField, migrations.DeleteModel)
_HARMLESS = (
    migrations.AddIndex,
    migrations.AlterModelManagers,
    migrations.AlterModelOptions,
    migrations.CreateModel,
    migrations.RemoveConstraint,
    migrations.RemoveIndex,
    migrations.RunPython,
)


def kind_of(migration: migrations.Migration, before: Any) -> str:
    """`before` is the state of the project before it."""
    if migration.initial:
        return FIRST
    state, breaking = before.clone(), []
    for operation in migration.operations:
        if not _is_additive(operation, migration.app_label, state):
            breaking.append(operation)
        operation.state_forwards(migration.app_label, state)
    if not breaking:
        return ADDITIVE
    return REMOVING if all(isinstance(operation, _REMOVE) for operation in breaking) else REPLACING


def _is_additive(operation: Any, app: str, before: Any) -> bool:
    if isinstance(operation, migrations.AddField):
        field = operation.field  # code that does not name the column can add rows
        return bool(field.null or field.many_to_many or field.db_default is not NOT_PROVIDED)
    if isinstance(operation, migrations.AlterField):
        return _column(before.models[app, operation.model_name_lower].fields[operation.name]) == _column(operation.field)
    return isinstance(operation, _HARMLESS)


def _column(field: Any) -> Any:
    """What the database knows of a field."""
    return field.get_internal_type(), field.null, field.unique, field.max_length, field.db_column
