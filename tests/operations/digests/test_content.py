"""What a digest says: what the report page says of the same time, what to do, and nobody by name."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ratewindow.conf import time_zone
from ratewindow.models import AlertChannel, RateRule, ThrottleStat
from ratewindow.operations.digests.content import Digest, digest, read
from ratewindow.operations.digests.mail import mail
from ratewindow.operations.digests.spans import DAILY, WEEKLY, newest
from tests.support.made_yesterday import DAY, HOUR, NOW, YESTERDAY, make, row

pytestmark = pytest.mark.django_db

REPORT = "https://example.com/admin/ratewindow/throttlestat/"


def made(kind: str = DAILY, **fields: Any) -> Digest:
    span = newest(kind, NOW)
    return digest(AlertChannel(name="ops", digest=kind, **fields), span, read(span, NOW))


def page_of(found: Digest) -> str:
    span = newest(DAILY, NOW)
    return str(mail(found, read(span, NOW), ["ann@example.com"], False).alternatives[0][0])  # type: ignore[attr-defined]


def test_its_sentence_and_figures_are_those_of_the_report_that_it_links_to(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make()
    monkeypatch.setattr(time_zone, "now", lambda: NOW)
    found = made(report_url=REPORT)
    assert found.summary.startswith("login refused 83 requests a minute (usually fewer than 1), from 2027-01-14 02:00 to ")
    assert "99.0 % came from ip:203.0.113.0/24 (14 clients)." in found.summary
    page = admin_client.get(found.url.removeprefix("https://example.com"))
    assert page.context["summary"].text == found.summary
    assert page.context["figures"] == found.figures
    assert [page.context["chart"][name] for name in ("passed", "refused", "would_refuse")] == [
        list(found.chart[name]) for name in ("passed", "refused", "would_refuse")
    ]


def test_it_is_compared_with_the_day_or_the_week_before() -> None:
    make()
    assert made().against == "Changes are against the day before."
    assert {figure.name: figure.change for figure in made().figures}["refused"] == "×105"
    assert made(WEEKLY).against == "Changes are against the week before."
    ThrottleStat.objects.filter(start__lt=YESTERDAY).delete()
    assert made().against == ""


def test_what_to_do_are_rules_never_met_and_rules_that_are_ready() -> None:
    make()
    assert [(hint.rule, hint.text) for hint in made().hints] == [
        ("forgotten", "No request has met forgotten, which is enforced, for 30 days."),
        ("search", "search is ready to be enforced: in 7 days it would have refused 168 of 16,800 requests."),
    ]
    assert [hint.text.partition(":")[0] for hint in made(never_met_days=5, ready_days=39).hints] == [
        "No request has met forgotten, which is enforced, for 5 days.",
        "search is ready to be enforced",
    ]


def test_clients_are_masked_whatever_anonymize_says(settings: Any) -> None:
    make()
    settings.RATEWINDOW = {**settings.RATEWINDOW, "ANONYMIZE": "none"}
    network, user = made().clients
    assert (network.name, network.note, network.text) == ("ip:203.0.113.0/24", "network, 14 clients", "4,900 refused (99.0 %)")
    assert re.fullmatch(r"user:#\S+", user.name) and user.note == "signed in"


def test_rules_are_those_that_refuse_most_then_those_that_would() -> None:
    make()
    assert [(line.name, line.text, line.note, line.refuses) for line in made().rules] == [
        ("login", "5,046 of 29,046 refused (17 %)", "×105", True),
        ("search", "24 of 2,400 would be refused (1.0 %)", "as before", False),
    ]


def test_without_the_address_of_the_report_there_are_no_links() -> None:
    make()
    assert "href" not in page_of(made())
    page = page_of(made(report_url=REPORT))
    assert page.count(f'href="{REPORT}?start=2027-01-14T00%3A00&amp;end=2027-01-15T00%3A00"') == 1
    assert page.count("&amp;rule=login") == page.count("&amp;rule=forgotten") == 1


def test_a_name_is_no_markup() -> None:
    evil = "<img src=x onerror=alert(1)>"
    make()
    ThrottleStat.objects.filter(rule="login").update(rule=evil)
    page = page_of(made(report_url=f"{REPORT}'><script>"))
    assert evil not in page and "<script>" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_an_empty_day_is_said_to_be_one_and_has_no_picture() -> None:
    found = made()
    assert found.summary == "No request met a rule."
    assert (found.clients, found.rules, found.hints, found.who) == ([], [], [], "")
    assert "cid:" not in page_of(found)


def test_it_takes_as_many_queries_for_many_rules_as_for_a_few() -> None:
    make()
    with CaptureQueriesContext(connection) as few:
        made()
    RateRule.objects.bulk_create(RateRule(name=f"rule-{number}", mode="enforce") for number in range(60))
    ThrottleStat.objects.bulk_create(
        row(resolution, YESTERDAY - ago * DAY + HOUR * (resolution == "hour"), f"rule-{number}", passed=9, refused=number)
        for number in range(60)
        for resolution in ("hour", "day")
        for ago in range(3)
    )
    with CaptureQueriesContext(connection) as many:
        made()
    assert len(many) == len(few)
