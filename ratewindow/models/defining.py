"""Rules that code defines, also in data migrations, and the checks of their values that forms make, too."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models, router, transaction

from ratewindow.identity import recipe
from ratewindow.limiter.types import Window
from ratewindow.rules import limits_from, rate_options
from ratewindow.rules.regex import check_bounds
from ratewindow.rules.rule import (
    BLOCKS,
    check_hold,
    check_name,
    check_pattern,
    check_soft,
    parse_count_when,
    parse_methods,
    written,
)

if TYPE_CHECKING:
    from ratewindow.models.rules import RateRule

PLACES = ("path", "prefix", "regex", "route")  # of AppliesTo, as keywords


class RateRuleManager(models.Manager["RateRule"]):
    use_in_migrations = True

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
            self.check_bounds(name, fields["pattern"])
        with transaction.atomic(using=self._db or router.db_for_write(self.model)):
            write = self.update_or_create if overwrite else self.get_or_create
            rule, created = write(name=name, defaults=fields)
            if created or overwrite:
                write_limits(rule, windows)
        return rule, created

    def checked(self, name: str, rate: str, places: dict[str, str | None], fields: dict[str, Any]) -> tuple[Window, ...]:
        """The windows of a rule defined in code; adds ``applies_to`` and ``pattern`` to `fields`. Raises ValueError."""
        spell_out(name, places, fields)
        check_name(name)
        rate_options.check_types(fields, self.model())  # a column would convert 1.5 and True to 1, and anything to text
        windows = take_limits(name, rate, fields)
        row = self.model(name=name, **fields)
        try:
            row.clean_fields()
        except ValidationError as error:
            wrong = "; ".join(f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items())
            raise ValueError(f"rule {name!r}: {wrong}") from None
        check_soft(getattr(row, "soft", False), windows)  # a migration may be older
        for problem in problems(row).values():
            raise problem
        tidy(row)
        fields |= {field: getattr(row, field) for field in ("methods", "count_when") if field in fields}
        return windows

    def check_bounds(self, name: str, pattern: str) -> None:
        """Raise ValueError if an expression is too large together with those of all other rules, also those that are off."""
        stored = dict(self.filter(applies_to="regex").values_list("name", "pattern"))
        if stored.pop(name, None) != pattern:
            check_bounds(pattern, stored.values())


def spell_out(name: str, places: dict[str, str | None], fields: dict[str, Any]) -> None:
    """Write ``path=`` or another of PLACES, and a list of methods, into `fields` as columns have them. Raises ValueError."""
    given = {kind: pattern for kind, pattern in places.items() if pattern is not None}
    if len(given) > 1:
        raise ValueError(f"rule {name!r}: give one of {', '.join(f'{kind}=' for kind in places)}, not {len(given)}")
    for kind, pattern in given.items():
        fields |= {"applies_to": kind, "pattern": pattern}
    if isinstance(fields.get("methods"), list | tuple | set | frozenset):
        fields["methods"] = ",".join(map(str, fields["methods"]))


def take_limits(name: str, rate: str, fields: dict[str, Any]) -> tuple[Window, ...]:
    """The windows of a rate, with the options of limits, which are taken out of `fields`. Raises ValueError."""
    of_limits = {each: fields.pop(each) for each in rate_options.OF_LIMITS if each in fields}
    windows = rate_options.Options(**of_limits).windows(rate)
    if not windows:
        raise ValueError(f"rule {name!r}: an empty rate limits nothing: write for example 5/m")
    return windows


def write_limits(rule: Any, windows: Iterable[Window]) -> None:
    """Replace the limits of a rule. Also of one of a migration, whose class has no methods."""
    rule.windows.all().delete()
    for window in windows:
        period = timedelta(milliseconds=window.period_ms)
        rule.windows.create(limit=window.limit, period=period, **rate_options.said(window))


def problems(row: Any) -> dict[str, ValueError]:
    """What is wrong with the values of a rule, by field. Also of a row of a migration, whose class has no `clean`."""
    checks: dict[str, Callable[[], object]] = {
        "name": lambda: check_name(row.name) if row.name == BLOCKS else None,  # the field's validator checks the rest
        "key": lambda: recipe(row.key),
        "pattern": lambda: check_pattern(row.applies_to, row.pattern),
        "methods": lambda: parse_methods(row.methods),
        "count_when": lambda: parse_count_when(row.count_when),
        "hold": lambda: check_hold(row.hold, row.count_when),
        "limits_from": lambda: limits_from.registered.named(row.limits_from) if row.limits_from else None,
        "forgive": lambda: check_hold(row.forgive, row.count_when),
    }
    found: dict[str, ValueError] = {}
    for field, check in checks.items():
        if getattr(row, field, None) is None or (
            field in ("hold", "forgive") and (row.count_when is None or "count_when" in found)
        ):
            continue  # reported by the field, or before
        try:
            check()
        except ValueError as error:
            found[field] = error
    return found


def tidy(row: Any) -> None:
    """Write the values of a valid rule in one form."""
    row.methods = ",".join(sorted(parse_methods(row.methods)))
    row.count_when = written(row.count_when)
