"""Columns with a meaning: a duration that people type as ``2h30m``, and whom a block or an exemption is about."""

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models

from ratewindow.limiter.algorithms.base import DAY_MS, MOST_UNIT_MS
from ratewindow.limiter.durations import EXAMPLES, format_duration, parse_duration
from ratewindow.overrides.subjects import parse_subject, stored


def to_timedelta(value: Any) -> timedelta | None:
    """A timedelta from text or a timedelta; ValidationError names the value and the remedy."""
    if value is None or value == "":
        return None
    try:
        milliseconds = parse_duration(value)
    except ValueError as error:
        raise ValidationError("%(error)s.", code="invalid", params={"error": str(error)}) from None
    if milliseconds > MOST_UNIT_MS:  # a column holds no more than twice as much
        told = {"value": str(value)[:64], "most": f"{MOST_UNIT_MS // DAY_MS}d"}
        raise ValidationError("%(value)s is too long to be counted: write at most %(most)s.", code="invalid", params=told)
    return timedelta(milliseconds=milliseconds)


def to_text(value: Any) -> str:
    """``2h30m`` for a timedelta; text stays as it was typed, and what is no duration can at least be seen."""
    if isinstance(value, timedelta):
        with suppress(ValueError):
            return format_duration(parse_duration(value))
    return "" if value is None else str(value)


if TYPE_CHECKING:
    _DurationField = models.DurationField[Any, Any]
    _CharField = models.CharField[Any, Any]
else:
    _DurationField = models.DurationField
    _CharField = models.CharField


class PeriodFormField(forms.CharField):
    def prepare_value(self, value: Any) -> str:
        return to_text(value)

    def to_python(self, value: Any) -> timedelta | None:  # type: ignore[override]
        return to_timedelta(value if isinstance(value, timedelta) else super().to_python(value))

    def run_validators(self, value: Any) -> None:
        """A timedelta has no length of its own to check; `to_python` has checked it."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return self.to_python(initial) != self.to_python(data)
        except ValidationError:
            return True


class PeriodField(_DurationField):
    """A `DurationField` that reads and writes ``10s``, ``1m``, ``2h30m``; a timedelta in Python."""

    def to_python(self, value: Any) -> timedelta | None:
        return to_timedelta(value)

    def get_prep_value(self, value: Any) -> Any:
        return super().get_prep_value(self.to_python(value))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(value if prepared else self.get_prep_value(value), connection, prepared)

    def value_to_string(self, obj: models.Model) -> str:
        return to_text(self.value_from_object(obj))

    def formfield(self, **kwargs: Any) -> Any:
        widget = forms.TextInput(attrs={"size": 10, "placeholder": "1m"})
        given = {"form_class": PeriodFormField, "widget": widget, "help_text": f"For example {EXAMPLES}.", **kwargs}
        return models.Field.formfield(self, **given)


class SubjectField(_CharField):
    """Whom it is about, in one form however it was typed, and a secret only as a hash: in rows, and when rows are looked up."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = self.get_prep_value(super().pre_save(model_instance, add))
        setattr(model_instance, self.attname, value)
        return value

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        try:
            return stored(parse_subject(text)) if text else text
        except ValueError:
            return text  # `clean` has said so, or nobody asked; reading the row leaves it out, and says so
