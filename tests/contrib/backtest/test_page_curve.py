"""The curve of limits as pages show it."""

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.template.loader import render_to_string

from ratewindow.contrib.backtest.page import of_period
from tests.contrib.backtest.support.curve_page import ATTACKER, day, of_requests

pytestmark = pytest.mark.django_db


def request_of(is_superuser: bool = True) -> HttpRequest:
    request = HttpRequest()
    request.user, _ = get_user_model().objects.get_or_create(username="ann", is_staff=True, is_superuser=is_superuser)
    return request


def html(curve: dict[str, Any]) -> str:
    return re.sub(r"\s+", " ", render_to_string("admin/ratewindow/backtest/curve.html", {"curve": curve}))


def test_the_table_says_what_each_limit_does_and_marks_the_special_ones() -> None:
    curve = of_period(request_of(), day())
    rows = {row["limit"]: row for row in curve["rows"]}
    assert (rows["64"]["mark"], rows["40"]["mark"], rows["50"]["mark"]) == ("now", "suggested", "")
    assert (rows["40"]["caught"], rows["40"]["share"], rows["40"]["innocent"]) == ("1", "0.3 %", "0")
    assert curve["rows"][curve["chosen"]]["limit"] == "40"
    text = html(curve)
    assert "<strong>Suggested: 40/m.</strong> 40 in 1 minute lies in a gap" in text
    assert ATTACKER in text and "POST /login/ ×3,000" in text


def test_identities_are_masked_for_those_who_may_not_see_them() -> None:
    text = html(of_period(request_of(is_superuser=False), day()))
    assert ATTACKER not in text
    assert "ip:203.0.113.x" in text


def test_what_clients_sent_is_escaped() -> None:
    text = html(of_period(request_of(), of_requests([(0, "header:x:<b>", 200)], agent="</script><img src=x>")))
    assert "<img" not in text
    assert "<b>" not in text


@pytest.mark.parametrize("requests", [[], [(0, "ip:a", 200)]])
def test_without_a_suggestion_the_reason_stands_there_and_the_present_limit_is_chosen(requests: list[Any]) -> None:
    curve = of_period(request_of(), of_requests(requests))
    assert "<strong>No suggestion.</strong> To suggest a limit for 1 minute takes a log of at least 1 day" in html(curve)
    assert curve["rows"][curve["chosen"]]["mark"] == "now"
    assert len(curve["who"]) == len(requests)
