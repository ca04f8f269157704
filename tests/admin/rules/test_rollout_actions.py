"""The actions of the list of rules: each asks with what it would do, and has an undo."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratewindow.models import Edit, RateRule
from ratewindow.reporting.sums import Sums
from tests.support.rule_pages import LIST, count, define, said

pytestmark = pytest.mark.django_db


def act(page: Client, action: str, *rules: RateRule, **fields: str) -> Any:
    sent = {"action": action, "_selected_action": [rule.pk for rule in rules], **fields}
    return page.post(LIST, sent, follow=True)


def stages() -> dict[str, tuple[str, int]]:
    return {name: (mode, percent) for name, mode, percent in RateRule.objects.values_list("name", "mode", "enforce_percent")}


@pytest.mark.django_db(transaction=True)  # each request is an edit of its own
@pytest.mark.parametrize(
    ("action", "title", "becomes"),
    [
        ("enforce", "Enforce for all clients?", ("enforce", 100)),
        ("enforce_10", "Enforce for 10 % of clients?", ("enforce", 10)),
        ("switch_off", "Switch off?", ("off", 100)),
    ],
)
def test_an_action_asks_with_sentence_and_figures_of_each_rule(
    page: Client, action: str, title: str, becomes: tuple[str, int]
) -> None:
    rules = [define("login", path="/login/"), define("search", "30/m", path="/search/")]
    count(login=Sums(passed=400, would_refuse=100))
    asked = act(page, action, *rules)
    words = said(asked)
    assert title in words
    assert "login Each address: at most 5 in 1 minute, on /login/. In the last 24 hours, it met 400 requests" in words
    assert "search Each address: at most 30 in 1 minute, on /search/. In the last 24 hours, no request met it." in words
    assert set(stages().values()) == {("shadow", 100)} and Edit.objects.count() == 2

    sent: dict[str, Any] = {}
    for name, value in asked.context["post_data"]:
        sent.setdefault(name, []).append(value)
    done = page.post(LIST, {**sent, "reason": "seen for a week"}, follow=True)
    assert stages() == {"login": becomes, "search": becomes}
    assert Edit.objects.latest("at").reason == "seen for a week"
    assert "login (was: in shadow), search (was: in shadow)." in said(done)

    (moves,) = re.findall(r'name="moves" value="([^"]+)"', done.content.decode())
    page.post(reverse("admin:ratewindow_raterule_stage_undo"), {"moves": moves})
    assert {mode for mode, _ in stages().values()} == {"shadow"}


def test_back_to_shadow_and_undone_each_rule_is_enforced_as_far_as_it_was(page: Client) -> None:
    rules = [define("one", mode="enforce", enforce_percent=10), define("two", mode="enforce"), define("three", mode="off")]
    done = act(page, "shadow", *rules, rw_seen="1")
    assert {mode for mode, _ in stages().values()} == {"shadow"}
    (moves,) = re.findall(r'name="moves" value="([^"]+)"', done.content.decode())
    undone = page.post(reverse("admin:ratewindow_raterule_stage_undo"), {"moves": moves}, follow=True)
    assert stages() == {"one": ("enforce", 10), "two": ("enforce", 100), "three": ("off", 100)}
    assert "Undone: one, three, two." in said(undone)


def test_a_rule_that_is_there_already_is_left_out(page: Client) -> None:
    rules = [define("one", mode="enforce"), define("two")]
    assert [line.name for line in act(page, "enforce", *rules).context["lines"]] == ["two"]
    assert "Nothing to change: all selected rules are already enforced for all clients." in said(act(page, "enforce", rules[0]))


def test_it_asks_the_database_as_often_for_many_rules_as_for_ten(page: Client) -> None:
    rules = [define(f"rule-{number}", path=f"/{number}/") for number in range(30)]
    count(**{rule.name: Sums(passed=4, would_refuse=2) for rule in rules})
    counted = []
    for chosen in (rules[:10], rules[:10], rules):
        with CaptureQueriesContext(connection) as queries:
            act(page, "enforce", *chosen)
        counted.append(len(queries))
    assert counted[1] == counted[2]


def test_who_may_not_enforce_is_not_offered_it(client: Client) -> None:
    user = User.objects.create(username="editor", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_raterule", "change_raterule"]))
    client.force_login(user)
    rule = define()
    text = client.get(LIST).content.decode()
    assert 'value="shadow"' in text and 'value="enforce"' not in text and 'value="enforce_10"' not in text
    for action in ("enforce", "enforce_10"):
        act(client, action, rule, rw_seen="1")
    assert stages() == {"login": ("shadow", 100)}
