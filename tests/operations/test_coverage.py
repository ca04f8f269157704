"""The site's routes with their rules, and rules and names that meet nothing."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views import View
from django.views.generic import RedirectView

from ratewindow import ratelimit
from ratewindow.conf import time_zone
from ratewindow.models import ThrottleStat
from ratewindow.operations.coverage import Urgency, site_coverage
from ratewindow.reporting.stored import Resolution, span_start
from ratewindow.reporting.sums import Sums
from ratewindow.rules import code_rates
from tests.support.rule_pages import count, define
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db


class Pay(View):
    def post(self, request: HttpRequest) -> HttpResponse:
        raise NotImplementedError


class About(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        raise NotImplementedError


def page(request: HttpRequest, **arguments: Any) -> HttpResponse:
    raise NotImplementedError


def limited(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError


@pytest.fixture(autouse=True)
def _routes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    code_rates.names()
    monkeypatch.setattr(code_rates, "_uses", {})
    routes = [
        path("about/", About.as_view(), name="about"),
        path("old/", RedirectView.as_view(url="/"), name="old"),
        path("page/", page, name="page"),
        path("pay/", Pay.as_view(), name="pay"),
        path("login/", LoginView.as_view(), name="login"),
        path("item/<int:pk>/", page, name="item"),
        path("export/", ratelimit("export", "5/m")(limited), name="export"),
    ]
    with site(*routes):
        yield


def lines() -> dict[str, Urgency]:
    return {line.route.name: line.urgency for line in site_coverage().lines}


def rules_at(name: str) -> tuple[list[str], list[str]]:
    (line,) = [each for each in site_coverage().lines if each.route.name == name]
    return list(line.meets), list(line.may_meet)


def test_logins_and_what_changes_data_come_first() -> None:
    assert list(lines().items()) == [
        ("login", Urgency.LOGIN),
        ("pay", Urgency.WRITES),
        ("page", Urgency.MAY_WRITE),
        ("item", Urgency.MAY_WRITE),
        ("about", Urgency.READS),
        ("old", Urgency.READS),
        ("export", Urgency.MET),  # by its rate in code
    ]


def test_a_rule_in_shadow_is_said_to_refuse_nobody_and_one_that_is_off_to_meet_nothing() -> None:
    define("login", path="/login/", mode="shadow")
    define("pay", path="/pay/", mode="off")
    define("about", path="/about/", mode="enforce")
    define("seven", path="/item/7/", mode="enforce")
    found = lines()
    assert (found["login"], found["pay"], found["about"], found["item"]) == (
        Urgency.SHADOW,
        Urgency.WRITES,
        Urgency.MET,
        Urgency.OPEN,
    )
    assert rules_at("item") == ([], ["seven"])


def test_a_row_replaces_a_rate_in_code_once_it_is_enforced_or_off() -> None:
    assert site_coverage().modes == {"export": "code"}
    row = define("export", mode="shadow")
    assert (lines()["export"], rules_at("export")[0]) == (Urgency.MET, ["export"])
    row.mode = "enforce"
    row.save()
    assert (site_coverage().modes["export"], lines()["export"]) == ("enforce", Urgency.MET)
    row.mode = "off"
    row.save()
    assert lines()["export"] == Urgency.MAY_WRITE


def test_names_that_nobody_has_defined_are_listed_with_their_places() -> None:
    ratelimit("nobody")(page)
    ratelimit("somebody")(page)
    define("somebody")
    assert site_coverage().undefined == {"nobody": [f"{__name__}.page"]}


def test_a_rule_that_leads_nowhere_is_doubtful() -> None:
    define("lost", path="/logni/")
    define("good", path="/login/")
    ((name, doubt),) = site_coverage().doubtful
    assert (name, doubt.kind, doubt.remedy) == ("lost", "nowhere", "Did you mean '/login/'? Otherwise delete the rule.")


class TestRulesThatNobodyMeets:
    def test_without_any_count_nothing_is_said_of_them(self) -> None:
        define("login", path="/login/")
        assert (site_coverage().idle, site_coverage().since) == ([], None)

    def test_they_are_listed_by_the_rows_of_days_and_the_minutes_that_wait(self) -> None:
        now = time_zone.now()
        for name in ("now", "lately", "long-ago", "never", "off"):
            define(name, path="/login/", mode="off" if name == "off" else "shadow")
        for name, ago in (("lately", timedelta(days=3)), ("long-ago", timedelta(days=40))):
            start = span_start(now - ago, Resolution.DAY)
            ThrottleStat.objects.create(rule=name, resolution=Resolution.DAY, start=start, passed=1)
        count(now=Sums(passed=1))
        found = site_coverage(now)
        assert (found.idle, found.since) == (["long-ago", "never"], now - timedelta(days=30))
        assert site_coverage(now, ask_redis=False).idle == ["long-ago", "never", "now"]

    def test_a_site_that_counts_since_yesterday_says_so(self) -> None:
        now = time_zone.now()
        define("never", path="/login/")
        start = span_start(now - timedelta(days=1), Resolution.DAY)
        ThrottleStat.objects.create(rule="other", resolution=Resolution.DAY, start=start, passed=1)
        assert (site_coverage(now).idle, site_coverage(now).since) == (["never"], start)
