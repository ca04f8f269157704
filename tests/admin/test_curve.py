"""The curve of limits as pages show it."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.template.loader import render_to_string

from ratewindow.admin.curve import ShownCurve, shown
from ratewindow.operations.backtest.curve import curve_of
from ratewindow.operations.backtest.peaks import ClientPeak, Peaks
from ratewindow.operations.backtest.suggestion import suggest
from tests.support.curve_page import ATTACKER, NOW, days

pytestmark = pytest.mark.django_db

MINUTE_MS, DAY_MS = 60_000, 86_400_000


def request_of(is_superuser: bool = True) -> HttpRequest:
    request = HttpRequest()
    request.user, _ = get_user_model().objects.get_or_create(username="ann", is_staff=True, is_superuser=is_superuser)
    return request


def html(curve: ShownCurve) -> str:
    return re.sub(r"\s+", " ", render_to_string("admin/ratewindow/curve/curve.html", {"curve": curve}))


def test_the_table_says_what_each_limit_does_and_marks_the_special_ones() -> None:
    _, attacked, suggestion = days()
    curve = shown(request_of(), attacked, suggestion=suggestion, now=NOW)
    by_limit = {row.limit: row for row in curve.rows}
    assert (by_limit["64"].mark, by_limit["40"].mark, by_limit["50"].mark) == ("now", "suggested", "")
    assert (by_limit["40"].caught, by_limit["40"].share, by_limit["40"].innocent) == ("1", "0.3 %", "0")
    assert curve.rows[curve.chosen].rate == curve.suggested == "40/m"
    text = html(curve)
    assert "<strong>Suggested: 40/m.</strong>" in text
    assert "once they are refused" in text
    assert ATTACKER in text


def test_refusals_that_are_not_known_lie_between_those_of_the_limits_around() -> None:
    _, attacked, _ = days()
    rows = {row.limit: row for row in shown(request_of(), attacked, now=NOW).rows}
    assert rows["64"].refused == f"{rows['80'].refused}–{rows['60'].refused}"


def test_identities_are_masked_for_those_who_may_not_see_them() -> None:
    _, attacked, _ = days()
    text = html(shown(request_of(is_superuser=False), attacked))
    assert ATTACKER not in text
    assert "ip:203.0.113.x" in text


def test_what_clients_sent_is_escaped() -> None:
    peaks = Peaks(MINUTE_MS)
    peaks.add("header:x:<b>", 0, method="GET", target="/<script>alert(1)</script>", agent="</script><img src=x>")
    text = html(shown(request_of(), curve_of(peaks.taken_clients(), MINUTE_MS)))
    assert "<img" not in text
    assert "<script>alert" not in text
    assert "<b>" not in text


def test_without_a_suggestion_the_reason_stands_there() -> None:
    few = [ClientPeak("ip:a", 9, 9, True)]
    text = html(shown(request_of(), curve_of(few, MINUTE_MS), suggestion=suggest(few, MINUTE_MS, DAY_MS)))
    assert "<strong>No suggestion.</strong> The requests are those of 1 client; to suggest a limit takes at least 200." in text


def test_a_recording_has_no_columns_of_requests_refused() -> None:
    text = html(shown(request_of(), curve_of([ClientPeak("ip:a", 9, 9, True)], MINUTE_MS)))
    assert "Requests refused" not in text
    assert "User agents" not in text


def test_a_curve_of_nobody_can_be_shown() -> None:
    curve = shown(request_of(), curve_of([], MINUTE_MS))
    assert [row.caught for row in curve.rows] == ["0"]
    assert curve.who == []
    assert "0 clients" in html(curve)


def test_the_present_limit_is_chosen_where_none_is_suggested() -> None:
    _, attacked, _ = days()
    curve = shown(request_of(), attacked, now=NOW)
    assert curve.rows[curve.chosen].limit == "64"
    both = shown(request_of(), attacked, suggestion=days()[2], now=days()[2].limit)
    assert both.rows[both.chosen].mark == "now, suggested"
