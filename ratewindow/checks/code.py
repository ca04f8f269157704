"""What is wrong with names and rates in code."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks

from ratewindow import coderules, rulebook
from ratewindow.checks.messages import TAG, Told, error, warning
from ratewindow.coderules import CodeRate


@checks.register(TAG)
def check_code(app_configs: Sequence[AppConfig] | None, **_: Any) -> Told:
    """E003: one name with two rates in code. W010: the same of throttles, of which one scope may have several."""
    import_views()
    return list(_names_with_two_rates())


def import_views() -> None:
    """The names in code are known once their modules are imported; checks run in no order, and urls' may come later."""
    if getattr(settings, "ROOT_URLCONF", None):
        rulebook.code_names()


def _names_with_two_rates() -> Iterator[checks.CheckMessage]:
    for name, uses in sorted(coderules.uses().items()):
        rates = sorted({(use.words, use.key) for use in uses if use.rate is not None})
        if len(rates) > 1:
            told = ", ".join(f"{rate} per {key}" for rate, key in rates)
            places = places_of({use for use in uses if use.rate is not None})
            if any(use.shared for use in uses):
                message = f"Throttles of the scope {name!r} have two rates, which share one rule: {told} ({places})."
                yield warning(10, message, "Give each class a scope of its own.")
            else:
                yield error(3, f"Code gives the name {name!r} two rates: {told} ({places}).", "Use two names, or one rate.")


def places_of(uses: set[CodeRate]) -> str:
    return ", ".join(sorted({use.place for use in uses}))
