"""The documents advise the ready rules, and no others."""

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from ratewindow.contrib.logins.ready import KINDS
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
from ratewindow.models import RateRule

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.django_db
def test_the_page_about_logins_lists_what_protect_adds() -> None:
    page = (DOCS / "contrib" / "logins.md").read_text()
    rows = re.findall(r"^\| `([\w.-]+)` \| `(\w+)` \| `([\w:]+)` \| ([\d/; mhdw]+) \|", page, re.MULTILINE)
    call_command("ratewindow", "protect", stdout=StringIO())
    added = {(rule.name, rule.applies_to, rule.key): windows_of(rule) for rule in RateRule.objects.all()}
    assert {(name, kind, key): parse_rates(rate) for name, kind, key, rate in rows} == added


def windows_of(rule: RateRule) -> tuple[Window, ...]:
    return tuple(window.freeze() for window in rule.windows.all())


def test_the_page_about_security_has_their_limits() -> None:
    page = (DOCS / "security.md").read_text()
    for kind in KINDS:
        for rate in (part.rate for part in kind.parts) if kind.parts else (kind.rate,):
            assert rate in page, kind.name
