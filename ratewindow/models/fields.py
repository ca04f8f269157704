"""Model fields: a user, a duration typed as ``2h30m``, a penalty, a time with a zone also without ``USE_TZ``, an override's
identity."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django import forms
from django.apps import apps
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import migrations, models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import translated
from ratewindow.limiter.durations import EXAMPLES, format_duration, parse_duration
from ratewindow.limiter.penalties import countable_ms, in_one_form
from ratewindow.overrides.subjects import parse_subject, stored


def user_field(column: str, **options: Any) -> Any:
    """A foreign key to users; on a site without them a number that stays empty, in the same column."""
    if has_users():
        return models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+", **options)
    return models.BigIntegerField(null=True, blank=True, db_column=column, **options)


def has_users() -> bool:
    """Whether there is an app for users: models ask before all of them are loaded."""
    return settings.AUTH_USER_MODEL.partition(".")[0] in apps.app_configs


def dependency_on_users() -> list[Any]:
    """What a migration with such a field depends on."""
    return [migrations.swappable_dependency(settings.AUTH_USER_MODEL)] if has_users() else []


def to_timedelta(value: Any) -> timedelta | None:
    """A timedelta from text or a timedelta. Raises ValidationError."""
    return cast("timedelta | None", _read(value, lambda given: timedelta(milliseconds=countable_ms(given))))


def _read(value: Any, parse: Callable[[Any], Any]) -> Any:
    """What is parsed, or None of nothing. Raises ValidationError."""
    if value is None or value == "":
        return None
    try:
        return parse(value)
    except ValueError as error:
        raise ValidationError(_("%(error)s."), code="invalid", params={"error": translated(error)}) from None


def to_text(value: Any) -> str:
    """``2h30m`` for a timedelta; any other value as text, so that a form shows what was typed."""
    if isinstance(value, timedelta):
        with suppress(ValueError):
            return format_duration(parse_duration(value))
    return "" if value is None else str(value)


class PeriodFormField(forms.Field):
    def prepare_value(self, value: Any) -> str:
        return to_text(value)

    def to_python(self, value: Any) -> timedelta | None:
        return to_timedelta(value.strip() if isinstance(value, str) else value)


class PeriodField(models.DurationField):  # type: ignore[type-arg]
    """A `DurationField` that reads and writes ``10s``, ``1m``, ``2h30m``; a timedelta in Python."""

    def to_python(self, value: Any) -> timedelta | None:
        return to_timedelta(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(self.to_python(value), connection, prepared)

    def value_to_string(self, obj: models.Model) -> str:
        return to_text(self.value_from_object(obj))

    def formfield(self, **kwargs: Any) -> Any:
        widget = forms.TextInput(attrs={"size": 10, "placeholder": "1m"})
        options = {"form_class": PeriodFormField, "widget": widget, "help_text": _("For example %s.") % _(EXAMPLES), **kwargs}
        return models.Field.formfield(self, **options)


class MomentField(models.DateTimeField):  # type: ignore[type-arg]
    """A `DateTimeField` whose values have a time zone in Python also if ``USE_TZ`` is False.

    Then the column has no zone in most databases and holds UTC, in which no hour occurs twice; forms and fixtures have
    naive times, as everywhere on such a site. If ``USE_TZ`` is True this is Django's own field.
    """

    def deconstruct(self) -> Any:
        """As a `DateTimeField`: the column is the same, so migrations need not import this class."""
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.DateTimeField", arguments, options

    def to_python(self, value: Any) -> Any:
        moment = super().to_python(value)
        return moment if moment is None or settings.USE_TZ else time_zone.aware(moment)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        value = value if prepared else self.get_prep_value(value)
        if isinstance(value, datetime) and not settings.USE_TZ and not connection.features.supports_timezones:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return super().get_db_prep_value(value, connection, prepared=True)

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """In UTC: a database whose columns have zones would return local time, which is ambiguous for one hour a year."""
        if not settings.USE_TZ and compiler.connection.features.supports_timezones:
            sql = f"({sql}) AT TIME ZONE 'UTC'"
        return sql, params

    def from_db_value(self, value: datetime | None, expression: Any, connection: Any) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None and not settings.USE_TZ else value

    def value_from_object(self, obj: models.Model) -> Any:
        """For forms and fixtures: naive if the site's datetimes are."""
        value = super().value_from_object(obj)
        return value if value is None or settings.USE_TZ else timezone.make_naive(time_zone.aware(value))


class ExactField(models.CharField):  # type: ignore[type-arg]
    """Text of which ``ABC`` and ``abc`` are two values, also on MySQL and MariaDB, whose other collations take them for one."""

    def db_parameters(self, connection: Any) -> Any:
        return super().db_parameters(connection) | ({"collation": "utf8mb4_bin"} if connection.vendor == "mysql" else {})


class _CanonicalField(ExactField):
    """Text that is saved in one form, which a row has from then on."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = self.get_prep_value(super().pre_save(model_instance, add))
        setattr(model_instance, self.attname, value)
        return value


class PenaltyField(_CanonicalField):
    """Text of a penalty, ``15m`` or ``1m; 5m; 1h within 1d``; a timedelta is taken, too. None where there is none."""

    def to_python(self, value: Any) -> Any:
        return _read(value, in_one_form)


class SubjectField(_CanonicalField):
    """Text of a `Subject`, saved and looked up in its canonical form, with a secret only as a hash."""

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        try:
            return stored(parse_subject(text)) if text else text
        except ValueError:
            return text  # `clean` reports it, or was not called; `rulebook` then leaves the row out and logs it
