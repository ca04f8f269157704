"""Other limits beside a rule: the box that tries them in shadow, compares them, and applies or drops them."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import ratewindow
from ratewindow.models import Edit, RateRule
from ratewindow.reporting import counters
from ratewindow.rulebook import reading
from tests.support.rule_pages import change, define, said

pytestmark = pytest.mark.django_db


def url(rule: RateRule) -> str:
    return reverse("admin:ratewindow_raterule_candidate", args=[rule.pk])


def press(page: Client, rule: RateRule, do: str, **fields: str) -> Any:
    rule.refresh_from_db()
    return page.post(url(rule), {"do": do, "seen": rule.candidate, **fields}, follow=True)


def limits(rule: RateRule) -> list[str]:
    return [window.freeze().text for window in rule.windows.all()]


@pytest.fixture
def rule() -> RateRule:
    return define(rate="2/h; 50/d", mode="enforce", key="user")


def typed(rule: RateRule, *numbers: str) -> dict[str, str]:
    return {f"limit-{row.pk}": number for row, number in zip(rule.windows.all(), numbers, strict=True)}


@pytest.mark.django_db(transaction=True)  # each request is an edit of its own
def test_a_limit_is_tried_shown_and_applied(page: Client, rule: RateRule) -> None:
    assert "Try other limits in shadow" in said(page.get(change(rule)))
    words = said(press(page, rule, "try", **typed(rule, "4", "50"), reason="too many calls"))
    assert "Tried in shadow, beside the limits that are enforced: 4 in 1 hour; 50 in 1 day. Nobody is refused by them." in words
    assert "No request has been judged by both yet, so what they would refuse is not known." in words
    rule.refresh_from_db()
    assert rule.candidate == "4/h"
    reading.reload()
    assert [bool(ratewindow.hit("login", "user:1")) for _ in range(6)] == [True, True, False, False, False, False]
    assert ratewindow.hit("login", "user:2")
    counters.flush()
    words = said(page.get(change(rule)))
    expected = (
        "In the last 7 days both have judged 7 requests: the rule refused 4, and these limits would have refused 2. "
        "Nothing that passes would be refused. No longer refused: 2 (1 client)."
    )
    assert expected in words
    assert re.search(r"user.1 .*? 0 2 ", words)
    words = said(press(page, rule, "apply", reason="as seen"))
    assert "Now enforced: 4 in 1 hour; 50 in 1 day. The limits until now can be restored from the history." in words
    rule.refresh_from_db()
    assert (limits(rule), rule.candidate) == (["4/h", "50/d"], "")
    applied = Edit.objects.filter(subject="login").latest("at")
    assert (applied.by, applied.reason) == ("boss", "as seen")


def test_a_lower_limit_says_who_would_be_refused_in_addition(page: Client, rule: RateRule) -> None:
    press(page, rule, "try", **typed(rule, "1", "50"))
    reading.reload()
    for number in range(3):
        for _ in range(2):
            assert ratewindow.hit("login", f"user:{number}")
    counters.flush()
    assert "Refused in addition: 3 (3 clients). Nothing that is refused would pass." in said(page.get(change(rule)))


def test_what_is_dropped_can_be_tried_again(page: Client, rule: RateRule) -> None:
    press(page, rule, "try", **typed(rule, "4", "60"))
    response = press(page, rule, "drop")
    assert "4/h; 60/d is no longer tried." in said(response)
    rule.refresh_from_db()
    assert rule.candidate == ""
    fields = dict(
        re.findall(r'name="(do|candidate|seen|reason)" value="([^"]*)"', response.content.decode().partition("rw-inline-form")[2])
    )
    page.post(url(rule), fields)
    rule.refresh_from_db()
    assert rule.candidate == "4/h; 60/d"


@pytest.mark.parametrize(
    "numbers, words",
    [
        (("2", "50"), "Enter another number than the rule has: these are its limits already."),
        (("many", "50"), "'many' is not a limit: enter a whole number, such as 4."),
        (("", "50"), "'' is not a limit"),
        (("-1", "50"), "'-1' is not a limit"),
        (("9" * 13, "50"), "is not a limit"),
        (("99999999999", "50"), "limit"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_changed(page: Client, rule: RateRule, numbers: Any, words: str) -> None:
    response = press(page, rule, "try", **typed(rule, *numbers))
    assert words in said(response).replace("&#x27;", "'")
    rule.refresh_from_db()
    assert rule.candidate == ""


@pytest.mark.parametrize("do", ["try", "apply", "drop", "", "<script>"])
def test_nothing_is_done_to_what_somebody_else_has_changed(page: Client, rule: RateRule, do: str) -> None:
    RateRule.objects.update(candidate="9/h")
    response = page.post(url(rule), {"do": do, "seen": "8/h", **typed(rule, "4", "50")}, follow=True)
    assert "meanwhile somebody else has changed these limits" in said(response)
    rule.refresh_from_db()
    assert (rule.candidate, limits(rule)) == ("9/h", ["2/h", "50/d"])


@pytest.mark.parametrize("do", ["apply", "drop", "", "<script>"])
def test_there_is_nothing_to_do_without_a_candidate(page: Client, rule: RateRule, do: str) -> None:
    assert "is nothing to do with these limits. Use the buttons." in said(press(page, rule, do))


@pytest.mark.parametrize("fields", [{"mode": "shadow"}, {"mode": "off"}, {"enforce_percent": 10}, {"count_refused": True}])
def test_nothing_is_offered_beside_a_rule_that_could_not_try_it(page: Client, rule: RateRule, fields: dict[str, Any]) -> None:
    RateRule.objects.update(**fields)
    assert "Try other limits in shadow" not in said(page.get(change(rule)))
    RateRule.objects.update(candidate="4/h")
    reason = "the rule counts refused requests, too" if "count_refused" in fields else "as soon as the rule is enforced for all"
    assert reason in said(page.get(change(rule)))


def test_it_takes_the_right_to_change_rules(client: Client, rule: RateRule) -> None:
    user = User.objects.create(username="viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_raterule", "view_rulewindow"]))
    client.force_login(user)
    RateRule.objects.update(candidate="4/h")
    page = client.get(change(rule)).content.decode()
    assert "4 in 1 hour" in page and url(rule) not in page
    for do in ("try", "apply", "drop"):
        assert client.post(url(rule), {"do": do, "seen": "4/h"}).status_code == 403
    rule.refresh_from_db()
    assert rule.candidate == "4/h"


def test_nothing_changes_by_get(page: Client, rule: RateRule) -> None:
    assert page.get(url(rule), {"do": "try", **typed(rule, "4", "50")}).status_code == 405


def test_identities_are_masked_for_who_may_not_see_them(client: Client, rule: RateRule) -> None:
    RateRule.objects.update(candidate="1/h", key="ip")
    reading.reload()
    for _ in range(2):
        ratewindow.hit("login", "ip:203.0.113.9")
    counters.flush()
    user = User.objects.create(username="viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_raterule", "view_rulewindow", "view_throttlestat"]))
    client.force_login(user)
    words = said(client.get(change(rule)))
    assert "203.0.113.x" in words and "203.0.113.9" not in words


def test_the_page_needs_as_many_queries_whoever_is_concerned(page: Client, rule: RateRule) -> None:
    RateRule.objects.update(candidate="1/h")
    reading.reload()
    counts = []
    for number in (1, 30):
        for client in range(number):
            for _ in range(2):
                ratewindow.hit("login", f"user:{number}{client}")
        counters.flush()
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page.get(change(rule))
        counts.append(len(queries))
    assert counts[0] == counts[1]
