"""Checks of the names and rates in code."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks

from ratewindow import identity
from ratewindow.checks.messages import TAG, Messages, error, warning
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import A_CALL, CodeRate


@checks.register(TAG)
def check_code(app_configs: Sequence[AppConfig] | None, **_: Any) -> Messages:
    """E003: one name has two rates in code. W010: throttles of one scope have two rates. W020: several views share a name
    that was made from theirs."""
    import_views()
    return [*_names_with_two_rates(), *_names_of_several_views()]


def import_views() -> None:
    """Import the URLconf, and so the views that register names; Django's own URL checks may run later."""
    if getattr(settings, "ROOT_URLCONF", None):
        code_rates.names()


def _names_with_two_rates() -> Iterator[checks.CheckMessage]:
    for name, uses in sorted(code_rates.uses().items()):
        rated = {use for use in uses if use.rate is not None and use.place != A_CALL}  # a call may have a rate of its own
        rates = _rates(rated)
        if len(rates) > 1:
            listed = ", ".join(sorted(rates))
            places = places_of(rated)
            if any(use.shared for use in rated):
                message = f"Throttles of the scope {name!r} share one rule and have two rates: {listed} ({places})."
                yield warning(10, message, "Give each class a scope of its own.")
            else:
                yield error(3, f"Code gives the name {name!r} two rates: {listed} ({places}).", "Use two names, or one rate.")


def _names_of_several_views() -> Iterator[checks.CheckMessage]:
    for name, uses in sorted(code_rates.uses().items()):
        views = len({use.made_of for use in uses if use.made_of is not None})
        if views > 1:
            message = f"Rates without a name on {views} views share one count, since all these views are called {name!r}."
            yield warning(20, message, f"Give each rate a name. The views: {places_of(uses)}.")


def _rates(uses: set[CodeRate]) -> set[str]:
    """The different rates, each with its key and options; one rate written in several ways is one."""
    rates: dict[tuple[Any, ...], str] = {}
    for use in sorted(uses, key=lambda use: (use.words, use.key)):
        rates.setdefault((use.limits, identity.canonical(use.key), use.normalise, use.options), use.all_words)
    return set(rates.values())


def places_of(uses: set[CodeRate]) -> str:
    return ", ".join(sorted({use.place for use in uses}))
