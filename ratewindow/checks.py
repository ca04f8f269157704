"""System checks: what is wrong with settings and code, said before a request meets it."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError

from ratewindow import coderules, conf, redis_address, rulebook
from ratewindow.coderules import CodeRate
from ratewindow.models import RateRule

TAG = "ratewindow"


@checks.register(TAG)
def check_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[checks.CheckMessage]:
    """E001: a key of RATEWINDOW that is unknown or says something impossible. E002: REDIS names no Redis."""
    found: list[checks.CheckMessage] = [
        checks.Error(problem.message, hint=problem.hint, id="ratewindow.E001") for problem in conf.problems()
    ]
    if not found:
        try:
            redis_address.address()
        except ImproperlyConfigured as error:
            found.append(checks.Error(str(error), id="ratewindow.E002"))
    return found


@checks.register(TAG)
def check_code(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[checks.CheckMessage]:
    """E003: one name with two rates in code."""
    _import_views()
    return list(_names_with_two_rates())


def _import_views() -> None:
    """The names in code are known once their modules are imported; checks run in no order, and urls' may come later."""
    if getattr(settings, "ROOT_URLCONF", None):
        rulebook.code_names()


def _names_with_two_rates() -> Iterator[checks.CheckMessage]:
    for name, uses in sorted(coderules.uses().items()):
        rates = sorted({(use.words, use.key) for use in uses if use.rate is not None})
        if len(rates) > 1:
            told = ", ".join(f"{rate} per {key}" for rate, key in rates)
            places = _places({use for use in uses if use.rate is not None})
            yield checks.Error(
                f"Code gives the name {name!r} two rates: {told} ({places}).",
                hint="Use two names, or one rate.",
                id="ratewindow.E003",
            )


def _places(uses: set[CodeRate]) -> str:
    return ", ".join(sorted({use.place for use in uses}))


@checks.register(checks.Tags.database)  # not TAG too: Django 6.1 would then read rows for `check --tag ratewindow`
def check_names(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[checks.CheckMessage]:
    """W001: code names a rule that nobody has defined, so that it lets every request pass."""
    if not databases:
        return []
    _import_views()
    named = {name: uses for name, uses in coderules.uses().items() if all(use.rate is None for use in uses)}
    try:
        missing = sorted(set(named) - set(RateRule.objects.filter(name__in=named).values_list("name", flat=True)))
    except DatabaseError as error:
        return [checks.Warning(f"The rules cannot be read: {error}", hint="Run manage.py migrate.", id="ratewindow.W002")]
    return [
        checks.Warning(
            f"Code names rule {name!r}, which nobody has defined: requests pass.",
            hint=f"Add it in the admin, or give the decorator a rate. Named in {_places(named[name])}.",
            id="ratewindow.W001",
        )
        for name in missing
    ]
