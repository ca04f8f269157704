"""A row as plain values, and back: text, numbers, booleans, lists and dicts, in the order of the model's fields.

A field that has its default is left out, so a document shows what somebody has decided. Primary keys and what the
program fills in are no part of it: a rule is known by its name.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import models

from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow
from ratewindow.models.fields import to_text

Values = dict[str, Any]

ALWAYS = {
    RateRule: ("name", "mode", "applies_to", "key"),
    RuleWindow: ("limit", "period", "algorithm"),
    Override: ("action", "identity"),
    LimitSwitch: ("off",),
}
"""Fields that are written also if they have their default: without them a reader would have to guess."""

NEVER = {
    RateRule: ("id",),
    RuleWindow: ("id", "rule"),
    Override: ("id", "source", "created_by", "created_at", "changed_at"),
    LimitSwitch: ("id", "changed_by", "changed_at"),
}
"""Fields that say how the row came to be, not what it does."""


def fields(model: type[models.Model]) -> "list[models.Field[Any, Any]]":
    """The fields that a document has, in their order."""
    return [field for field in model._meta.concrete_fields if field.name not in NEVER[model]]


def defaults(model: type[models.Model]) -> Values:
    """What each field has if a document leaves it out."""
    return {field.name: _plain(field.get_default()) for field in fields(model)}


def of_rule(rule: RateRule, windows: Iterable[RuleWindow] | None = None) -> Values:
    """The rule with its `windows`, by default those that are saved, as ``limits`` in the order of their periods."""
    found = sorted(rule.windows.all() if windows is None else windows, key=lambda window: (window.period, window.algorithm))
    return {**_of_row(rule), "limits": [_of_row(window) for window in found]}


def of_override(override: Override) -> Values:
    """The block, exemption or other rate; a secret identity as it is stored, a hash."""
    return _of_row(override)


def of_switch(switch: LimitSwitch) -> Values:
    return _of_row(switch)


def _of_row(row: models.Model) -> Values:
    model = type(row)
    always = ALWAYS[model]
    found = ((field, getattr(row, field.attname)) for field in fields(model))
    return {field.name: _plain(value) for field, value in found if field.name in always or value != field.get_default()}


def _plain(value: Any) -> Any:
    """A duration as ``2h30m``, a time in UTC as ``2026-01-31T12:00:00Z``."""
    if isinstance(value, models.Choices):
        return value.value
    if isinstance(value, timedelta):
        return to_text(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value
