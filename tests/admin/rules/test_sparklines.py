"""The last 24 hours of each rule, drawn in the list of rules."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from ratewindow.admin.rules.sparklines import HEIGHT, picture
from ratewindow.models import ThrottleStat
from ratewindow.reporting.sums import NOTHING, Sums
from tests.support.rule_pages import LIST, count, define

pytestmark = pytest.mark.django_db


def hours(rule: str, **counts: int) -> None:
    this_hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for ago in range(1, 30):
        ThrottleStat.objects.create(rule=rule, resolution="hour", start=this_hour - timedelta(hours=ago), **counts)


def bars(text: str) -> list[tuple[str, int, int]]:
    """Kind, top and height of each."""
    found = re.findall(r'class="rw-bar-(\w+)" x="\d+" y="(\d+)" width="4" height="(\d+)"', text)
    return [(kind, int(top), int(tall)) for kind, top, tall in found]


def test_each_rule_has_a_bar_for_each_of_the_last_24_hours(admin_client: Client) -> None:
    define("login")
    define("search")
    hours("login", passed=50, refused=50)
    hours("search", passed=100, would_refuse=25)
    count(login=Sums(passed=10, refused=30))
    pictures = re.findall(r'<svg class="rw-sparkline".*?</svg>', admin_client.get(LIST).content.decode(), re.DOTALL)
    by_label = {re.search(r'aria-label="(.*?)"', each)[1]: each for each in pictures}  # type: ignore[index]
    assert set(by_label) == {"1,180 of 2,340 refused in 24 hours", "575 of 2,300 would be refused in 24 hours"}
    drawn = bars(by_label["1,180 of 2,340 refused in 24 hours"])
    assert [kind for kind, _, _ in drawn].count("refused") == 24
    assert drawn[:2] == [("refused", 12, 12), ("passed", 0, 12)]


def test_a_bar_is_never_taller_than_the_picture_and_few_refusals_are_seen() -> None:
    drawn = bars(picture([Sums(passed=100_000, refused=1), Sums(passed=7, refused=100_000), NOTHING]))
    assert all(top + tall <= HEIGHT and top >= 0 and tall > 0 for _, top, tall in drawn)
    assert drawn[0] == ("refused", HEIGHT - 1, 1)


def test_a_rule_that_nothing_met_has_no_picture(admin_client: Client) -> None:
    define("login")
    assert "rw-sparkline" not in admin_client.get(LIST).content.decode()


def test_many_rules_take_no_more_queries_than_few(admin_client: Client, django_assert_max_num_queries) -> None:
    define("rule-0")
    hours("rule-0", passed=5)
    with django_assert_max_num_queries(60) as few:
        admin_client.get(LIST)
    for number in range(1, 12):
        define(f"rule-{number}")
        hours(f"rule-{number}", passed=5, refused=number)
    with django_assert_max_num_queries(len(few)):
        admin_client.get(LIST)
