"""Whoever saves a rule that would refuse them in the admin is asked first, by whatever page it is done."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from ratewindow.contrib.history.models import Edit
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from tests.support.rule_pages import ADD, LIST, change, define, errors, typed

pytestmark = pytest.mark.django_db

KNOWN = {"lockout_known": "on"}
EVERY = {"applies_to": "all", "pattern": "", "mode": "enforce"}
INDEX = reverse("admin:index")


def questions(response: Any) -> list[str]:
    """What the page asks about; empty if it is another page."""
    return list((response.context or {}).get("lockouts", ()))


@pytest.mark.parametrize(
    ("limit", "fields", "met", "when"),
    [
        (("5", "1m"), {"applies_to": "all"}, "/admin/", "after 5 requests in 1 minute."),
        (("50", "1m"), {"applies_to": "prefix", "pattern": "/admin/"}, "/admin/", "after 50 requests in 1 minute."),
        (("500", "1d"), {"applies_to": "all"}, "/admin/", "after 500 requests in 1 day."),
        (
            ("5", "1m"),
            {"applies_to": "path", "pattern": "/admin/login/"},
            "/admin/login/, a page",
            "after 5 requests in 1 minute.",
        ),
        (("5", "1m"), {"applies_to": "prefix", "pattern": "/admin/auth/"}, "/admin/auth/", "after 5 requests in 1 minute."),
        (("5", "1m"), {"applies_to": "regex", "pattern": "/change/$"}, "/admin/auth/group/1/change/", "after 5 requests"),
        (("5", "1m"), {"applies_to": "regex", "pattern": "^/adm"}, "/admin/", "after 5 requests in 1 minute."),
        (("5", "1m"), {"applies_to": "route", "pattern": "admin"}, "/admin/", "after 5 requests in 1 minute."),
        (("1", "1m"), {"applies_to": "route", "pattern": "admin:index"}, "/admin/, a page", "after 1 request in 1 minute."),
        (("5", "1m"), {"applies_to": "all", "methods": "POST"}, "/admin/", "after 5 requests in 1 minute."),
        (
            ("5", "1m"),
            {"applies_to": "all", "key": "user", "on_missing": "allow"},
            "/admin/",
            "after 5 requests in 1 minute.",
        ),
        (("5", "1m"), {"applies_to": "all", "key": "header:x-api-key"}, "/admin/", "after 5 requests in 1 minute."),
        (("5", "1m"), {"applies_to": "all", "count_when": "2xx"}, "/admin/", "after 5 requests in 1 minute."),
        (("0", "1s"), {"applies_to": "all"}, "/admin/", "always"),
        (("50", "1s"), {"applies_to": "all", "cost": "51"}, "/admin/", "always"),
        (("500", "1m"), {"applies_to": "all", "cost": "100"}, "/admin/", "after 5 requests in 1 minute."),
        (("5", "1s"), {"applies_to": "all", "penalty": "15m"}, "/admin/", "after 5 requests in 1 second."),
        (
            ("500", "1m"),
            {"applies_to": "all", "key": "header:x-api-key", "on_missing": "refuse"},
            "/admin/",
            "without header:x-api-key",
        ),
    ],
)
def test_nothing_is_saved_before_they_say_that_they_know(
    page: Client, limit: tuple[str, str], fields: dict[str, str], met: str, when: str
) -> None:
    sent = typed(limit, **{"pattern": "", "mode": "enforce", **fields})
    asked = page.post(ADD, sent)
    (question,) = questions(asked)
    assert f"Rule login matches {met}" in question and when in question
    assert not RateRule.objects.exists() and not LogEntry.objects.exists()

    again = dict(asked.context["post_data"])
    assert page.post(ADD, again).context["lockouts"] == [question]
    page.post(ADD, {**again, **KNOWN})
    assert RateRule.objects.get().mode == "enforce"


def test_the_action_asks_and_does_nothing_before(page: Client) -> None:
    rules = [define("all", "5/m", applies_to="all"), define("search", "5/m", path="/search/")]
    sent = {"action": "enforce", "_selected_action": [rule.pk for rule in rules]}
    asked = page.post(LIST, sent)
    (question,) = questions(asked)
    assert question.startswith("Rule all matches /admin/")
    assert set(RateRule.objects.values_list("mode", flat=True)) == {"shadow"}
    page.post(LIST, {**sent, "lockout_known": "on"})
    assert set(RateRule.objects.values_list("mode", flat=True)) == {"enforce"}


def test_other_actions_have_nothing_to_be_known(page: Client) -> None:
    rule = define("all", "5/m", applies_to="all", mode="enforce")
    for action in ("shadow", "switch_off"):
        sent = {"action": action, "_selected_action": [rule.pk]}
        assert page.post(LIST, sent).status_code == 302


def test_an_edit_of_an_enforced_rule_asks_when_it_refuses_more_than_before(page: Client) -> None:
    rule = define("all", "600/m", applies_to="all", mode="enforce")
    sent = {"name": "all", "mode": "enforce", "applies_to": "all", "pattern": ""}
    asked = page.post(change(rule), typed(("5", "1m"), stored=rule, **sent))
    assert len(asked.context["lockouts"]) == 1
    assert rule.windows.get().limit == 600
    page.post(change(rule), {**typed(("5", "1m"), stored=rule, **sent), "lockout_known": "on"})
    assert rule.windows.get().limit == 5
    page.post(change(rule), typed(("5", "1m"), stored=rule, **sent, description="for a while"))
    assert RateRule.objects.get().description == "for a while"


def test_who_is_exempt_is_asked_nothing(page: Client, boss: User) -> None:
    Override.objects.allow(f"user:{boss.pk}", rule="login")
    reading.reload()
    response = page.post(ADD, typed(("5", "1m"), applies_to="all", pattern="", mode="enforce"))
    assert response.status_code == 302


def test_what_people_wrote_stands_in_the_question_as_text(page: Client) -> None:
    sent = typed(("5", "1m"), applies_to="all", pattern="", mode="enforce", message="<img src=x onerror=alert(1)>")
    asked = page.post(ADD, sent).content.decode()
    assert "<img src=x" not in asked and "&lt;img src=x" in asked


@pytest.mark.parametrize(
    ("limit", "fields"),
    [
        (("5", "1m"), {"applies_to": "path", "pattern": "/login/"}),
        (("5", "1m"), {"applies_to": "named", "pattern": ""}),
        (("5", "1m"), {"applies_to": "all", "pattern": "", "methods": "PUT"}),
        (("5", "1m"), {"applies_to": "all", "pattern": "", "count_when": "login_failed"}),
        (("5", "1m"), {"applies_to": "all", "pattern": "", "count_when": "401,5xx"}),
        (("5", "1m"), {"applies_to": "all", "pattern": "", "key": "header:x-api-key", "on_missing": "allow"}),
        (("600", "1m"), {"applies_to": "all", "pattern": ""}),
        (("600", "1d"), {"applies_to": "all", "pattern": ""}),
        (("10", "1s"), {"applies_to": "all", "pattern": ""}),
    ],
)
def test_and_of_nothing_else(page: Client, limit: tuple[str, str], fields: dict[str, str]) -> None:
    response = page.post(ADD, typed(limit, **{"mode": "enforce", **fields}), follow=True)
    assert errors(response) == []
    assert not [each for each in response.context["messages"] if "would refuse you" in str(each)]


class TestTheWayBack:
    def test_who_has_said_yes_and_may_switch_limits_reaches_the_rules_and_corrects_it(self, client: Client) -> None:
        user = User.objects.create(username="ann", is_staff=True)
        names = ["view_raterule", "add_raterule", "change_raterule", "enforce_raterule", "switch_limits"]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client.force_login(user)
        sent = typed(("0", "1m"), **EVERY)
        client.post(ADD, {**sent, **KNOWN})
        reading.reload()  # as the commit does, which this test never reaches
        assert (client.get(INDEX).status_code, client.get(LIST).status_code) == (429, 200)
        rule = RateRule.objects.get()
        response = client.post(reverse("admin:ratewindow_raterule_mode", args=[rule.pk]), {"to": "shadow"})
        assert response.status_code == 302
        reading.reload()
        assert client.get(INDEX).status_code == 200


class TestOtherPages:
    """What a restore or a button would do is asked about by the same page."""

    @pytest.mark.django_db(transaction=True)  # each request is an edit of its own
    def test_a_restore(self, page: Client) -> None:
        rule = define("all", "0/m", applies_to="all", mode="enforce")
        RateRule.objects.filter(pk=rule.pk).first().delete()  # type: ignore[union-attr]
        url = reverse("admin:ratewindow_history_edit_change", args=[Edit.objects.latest("at").pk])
        shown = page.get(url).context["shown"]
        asked = page.post(url, {"shown": shown, "reason": "a mistake"})
        assert "Rule all matches /admin/" in questions(asked)[0] and not RateRule.objects.exists()
        page.post(url, {**dict(asked.context["post_data"]), **KNOWN})
        assert RateRule.objects.get().mode == "enforce"
