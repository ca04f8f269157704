"""Rates that only code defines: listed below the rules, each with a link to edit it as a rule."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from ratewindow.admin import last_hour as hour
from ratewindow.admin.addresses import reverse
from ratewindow.admin.wording import sentence_in_code
from ratewindow.conf.in_words import listed
from ratewindow.limiter.types import Window
from ratewindow.models import RateRule
from ratewindow.models.fields import to_text
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate
from ratewindow.rules.rate_options import USUAL, said


@dataclass(frozen=True)
class CodeLine:
    name: str
    sentence: str
    places: str
    last_hour: SafeString
    url: str  # of the form that adds a rule of this name; empty for users who may not add rules


def lines(request: HttpRequest, may_add: bool) -> Iterator[CodeLine]:
    """The names that have a rate in code and no row."""
    names = code_rates.names() - set(RateRule.objects.values_list("name", flat=True))
    for name in sorted(names):
        rated = code_rates.rated(name)
        first = rated[0]
        yield CodeLine(
            name,
            sentence_in_code(first),
            listed(dict.fromkeys(gettext(use.place) for use in rated)),
            hour.cell(request, name),
            f"{reverse('admin:ratewindow_raterule_add')}?{urlencode(_fields(first))}" if may_add else "",
        )


def _fields(use: CodeRate) -> dict[str, str]:
    """What the rate says, as fields of the form, which begins in shadow: people enforce a rule when they have looked at it."""
    fields = {"name": use.name, "applies_to": "named", "key": use.key, "methods": ",".join(sorted(use.methods))}
    if use.normalise:
        fields["normalise"] = "True"
    usual = USUAL.of_rule
    more = {field: to_text(value) for field, value in use.options.of_rule.items() if field != "mode" and value != usual[field]}
    return {**fields, **more}


def initial_windows(request: HttpRequest) -> list[dict[str, Any]]:
    """The initial limits of the form that adds a rule: those in code, if the query string names such a rate."""
    name = request.GET.get("name", "") if request.method == "GET" else ""
    rule = code_rates.rule(name) if name and name in code_rates.names() else None
    return [initial(window) for window in rule.windows] if rule is not None else []


def initial(window: Window) -> dict[str, Any]:
    return {"limit": window.limit, "period": timedelta(milliseconds=window.period_ms), **said(window)}
