"""`RateRule.objects`: define rules from code."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models, router, transaction
from django.utils.functional import Promise

from ratewindow.identity import recipe
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.types import Window
from ratewindow.models import origin
from ratewindow.rules import rate_options
from ratewindow.rules.count_when import ALWAYS, parse_count_when, written
from ratewindow.rules.regex import check_room
from ratewindow.rules.rule import (
    APPLIES_TO,
    MODES,
    ON_ERROR,
    ON_MISSING,
    check_candidate,
    check_hold,
    check_lease,
    check_methods,
    check_name,
    check_pattern,
)

if TYPE_CHECKING:
    from ratewindow.models import RateRule, RuleWindow


class RateRuleManager(models.Manager["RateRule"]):
    use_in_migrations = True

    def get_by_natural_key(self, name: str) -> "RateRule":
        return self.get(name=name)

    def define(
        self,
        name: str,
        rate: str,
        *,
        path: str | None = None,
        prefix: str | None = None,
        regex: str | None = None,
        route: str | None = None,
        overwrite: bool = False,
        **fields: Any,
    ) -> tuple["RateRule", bool]:
        """Create the rule of this name unless it exists; returns ``(rule, created)``. Works in data migrations.

        ``define("login", "5/m; 20/h", path="/login/", key="ip", mode="enforce")``. An existing rule is left as it is,
        unless `overwrite`. Raises ValueError for an invalid name, rate or field.
        """
        windows = self.checked(name, rate, {"path": path, "prefix": prefix, "regex": regex, "route": route}, fields)
        if fields.get("applies_to") == "regex" and (overwrite or not self.filter(name=name).exists()):
            stored = dict(self.filter(applies_to="regex").values_list("name", "pattern"))
            if stored.pop(name, None) != fields["pattern"]:
                check_room(fields["pattern"], stored.values())
        with origin.code_edits("define"), transaction.atomic(using=self._db or router.db_for_write(self.model)):
            rule, created = self.get_or_create(name=name, defaults=fields)
            if created or overwrite:
                for field, value in fields.items():
                    setattr(rule, field, value)
                rule.save()
                rule.windows.all().delete()
                for window in windows:
                    period = timedelta(milliseconds=window.period_ms)
                    rule.windows.create(limit=window.limit, period=period, **rate_options.said(window))
        return rule, created

    def checked(self, name: str, rate: str, places: dict[str, str | None], fields: dict[str, Any]) -> tuple[Window, ...]:
        """The windows of a rule defined in code; adds ``applies_to`` and ``pattern`` to `fields`. Raises ValueError."""
        given = {kind: pattern for kind, pattern in places.items() if pattern is not None}
        if len(given) > 1:
            raise ValueError(f"rule {name!r}: give one of {', '.join(f'{kind}=' for kind in places)}, not {len(given)}")
        for kind, pattern in given.items():
            fields |= {"applies_to": kind, "pattern": pattern}
        check_name(name)
        if "status" in fields:  # as in code
            if "response_status" in fields:
                raise ValueError(f"rule {name!r}: status is another name of response_status: give one of them")
            fields["response_status"] = fields.pop("status")
        windows = rate_options.windows(rate, **{each: fields.pop(each) for each in rate_options.OF_LIMITS if each in fields})
        if not windows:
            raise ValueError(f"rule {name!r}: an empty rate limits nothing: write for example 5/m")
        self._check_fields(name, fields)
        return windows

    def _check_fields(self, name: str, fields: dict[str, Any]) -> None:
        """The checks of `RateRule.clean`, which the historical models of a migration do not have."""
        if isinstance(fields.get("methods"), list | tuple | set | frozenset):
            fields["methods"] = ",".join(map(str, fields["methods"]))
        self._check_types(name, fields)
        recipe(fields.get("key", "ip"))
        if "methods" in fields:
            fields["methods"] = ",".join(sorted(check_methods(fields["methods"])))
        for field, known in (
            ("mode", MODES),
            ("on_missing", ON_MISSING),
            ("on_error", ON_ERROR),
            ("applies_to", APPLIES_TO),
        ):
            if fields.get(field, known[0]) not in known:
                raise ValueError(f"rule {name!r}: {field} {fields[field]!r} is unknown: choose from {', '.join(known)}")
        parse_count_when(fields.get("count_when", ALWAYS))
        if "count_when" in fields:
            fields["count_when"] = written(fields["count_when"])
        check_candidate(fields.get("candidate", ""), bool(fields.get("count_refused")))
        check_hold(bool(fields.get("hold")), fields.get("count_when", ALWAYS))
        check_lease(
            fields.get("lease"), bool(fields.get("penalty")), bool(fields.get("count_refused")), fields.get("count_when", ALWAYS)
        )
        check_pattern(fields.get("applies_to", "named"), fields.get("pattern", ""))
        if fields.get("applies_to") == "regex":
            check_room(fields["pattern"])
        try:
            self.model(name=name, **fields).clean_fields()
        except ValidationError as error:
            problems = "; ".join(f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items())
            raise ValueError(f"rule {name!r}: {problems}") from None

    def _check_types(self, name: str, fields: dict[str, Any]) -> None:
        """Raise ValueError for a value of the wrong type, since a field would convert 1.5 and True to 1, and anything to text."""
        for column in self.model._meta.concrete_fields:
            if column.name not in fields:
                continue
            value = fields[column.name]
            for columns, wanted, words in _TYPES:
                if isinstance(column, columns) and (not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))):
                    raise ValueError(f"rule {name!r}: {column.name} {value!r} has the wrong type: write {words}")


_TYPES: tuple[tuple[Any, Any, str], ...] = (
    ((models.CharField, models.TextField), (str, Promise), "text"),
    (models.BooleanField, bool, "True or False"),
    (models.IntegerField, int, "a whole number"),
)


class RuleWindowManager(models.Manager["RuleWindow"]):
    def get_by_natural_key(self, rule: str, period: str, algorithm: str) -> "RuleWindow":
        return self.get(rule__name=rule, period=timedelta(milliseconds=parse_duration(period)), algorithm=algorithm)
