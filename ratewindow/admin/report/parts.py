"""The parts of the report page as plain values: choices of a period, advice."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.admin.addresses import reverse
from ratewindow.admin.report.form import ReportForm
from ratewindow.models import RateRule
from ratewindow.reporting.periods import CHOICES, Period
from ratewindow.rules import code_rates

MIDDLEWARE = "ratewindow.middleware.RateWindowMiddleware"


@dataclass(frozen=True)
class Choice:
    label: str
    words: str
    query: str
    chosen: bool


def choices(form: ReportForm) -> list[Choice]:
    """Links to the periods, each with the chosen rule and mode."""
    return [
        Choice(str(label), str(words), form.query(period=name), name == form.chosen())
        for name, (__, label, words) in CHOICES.items()
    ]


def next_longer(period: Period) -> str:
    """The name of the shortest period to choose that is longer than this one."""
    return next((name for name, (length, __, __) in CHOICES.items() if length > period.end - period.start), [*CHOICES][-1])


@dataclass(frozen=True)
class Advice:
    text: str
    url: str = ""
    code: str = ""


def advice(may_add: bool) -> Iterator[Advice]:
    """What to do if nothing was counted."""
    if not conf.current().stats:
        yield Advice(gettext("Statistics are switched off. Remove this from RATEWINDOW in settings.py:"), code='"STATS": False')
    if not RateRule.objects.exists() and not code_rates.names():
        yield Advice(
            gettext("There is no rule yet. Add one: it starts in shadow, where it counts and refuses nobody."),
            url=reverse("admin:ratewindow_raterule_add") if may_add else "",
        )
    if MIDDLEWARE not in settings.MIDDLEWARE:
        yield Advice(
            gettext("Rules for paths need the middleware. Add it in settings.py, after AuthenticationMiddleware:"),
            code=f'MIDDLEWARE += ["{MIDDLEWARE}"]',
        )
