"""Edits marked on the report's chart, and on the page of a rule."""

import json
import re
from typing import Any

import pytest
from django.urls import reverse

from ratewindow.contrib.history.models import Edit
from ratewindow.counting.sums import Sums
from ratewindow.models import RateRule, origin
from ratewindow.operations import switch_off
from tests.support.rule_pages import count, define, look, said
from tests.support.staff import staff

pytestmark = pytest.mark.django_db(transaction=True)

REPORT = reverse("admin:ratewindow_report")


def make() -> None:
    RateRule.objects.define("search", "9/m")
    with origin.edits("admin", by="ada"):
        RateRule.objects.define("login", "20/m")
        RateRule.objects.define("login", "5/m", overwrite=True)
    switch_off.turn_off(60, "campaign", "ben")
    switch_off.turn_on("", "ben")
    count(login=Sums(passed=7), search=Sums(passed=1))


def on_the_chart(response: Any) -> list[Any]:
    data = re.search(r'id="rw-chart-data"[^>]*>(.*?)</script>', response.content.decode(), re.DOTALL)
    return json.loads(data[1])["marks"] if data else []


def test_an_edit_is_a_mark_with_who_and_what_in_the_chart_and_in_a_list(admin_client: Any) -> None:
    make()
    response = admin_client.get(REPORT, {"period": "1h"})
    found = on_the_chart(response)
    assert [mark["short"] for mark in found] == [
        *(f"{who}" for who in ("by code: search", "ada: login", "ada: login")),
        *("ben: Switch of all limits", "ben: Switch of all limits"),
    ]
    assert [mark["text"].rpartition("Rule")[2] for mark in found[:2]] == [" search: added (by code)", " login: added (ada)"]
    assert found[2]["text"].endswith("Rule login: Limit in 1m: 20 → 5 (ada)")
    steps = {mark["step"] for mark in found}
    assert steps <= set(range(61)) and len(steps) <= 2
    assert "Edits in this time (5)" in said(response)
    assert reverse("admin:ratewindow_history_edit_change", args=[Edit.objects.all()[0].pk]) in response.content.decode()


def test_the_page_of_a_rule_lists_its_last_edits_the_newest_first(admin_client: Any) -> None:
    define()
    for limit in range(6, 12):
        with origin.edits("admin", by="ada"):
            rule = define(rate=f"{limit}/m", overwrite=True)
    listed = said(admin_client.get(look(rule))).partition("Last edits")[2]
    assert re.findall(r"(\d+) → (\d+) \(ada\)", listed) == [("10", "11"), ("9", "10"), ("8", "9"), ("7", "8"), ("6", "7")]


def test_a_report_of_one_rule_has_its_edits_and_those_of_the_switch(admin_client: Any) -> None:
    make()
    shorts = {mark["short"] for mark in on_the_chart(admin_client.get(REPORT, {"period": "1h", "rule": "login"}))}
    assert shorts == {"ada: login", "ben: Switch of all limits"}


def test_who_may_not_see_rules_sees_no_edits_of_them() -> None:
    make()
    shorts = {mark["short"] for mark in on_the_chart(staff("view_throttlestat").get(REPORT, {"period": "1h"}))}
    assert shorts == {"ben: Switch of all limits"}
