"""The report as files: what is in them, who gets them, and that no cell is a formula."""

import csv
import io
import json
import re
import time

import pytest
from django.test import Client
from django.urls import reverse

from ratewindow.models import RateRule
from ratewindow.reporting import minutes
from ratewindow.reporting.export import safe
from ratewindow.reporting.sums import Sums
from ratewindow.reporting.who import CLIENT, ROUTE, Counted, Group, Known, Who
from tests.support.staff import staff

pytestmark = pytest.mark.django_db

EXPORT = reverse("admin:ratewindow_report_export")
FORMULA = '=HYPERLINK("http://evil.example")'


def make() -> None:
    minute = int(time.time()) // 60
    named = {"ip:203.0.113.9": Known(Counted(2, 0, 5)), f"header:x:{FORMULA}": Known(Counted(1, 0, 1))}
    who = Who(Counted(3, 0, 9), {CLIENT: Group(named), ROUTE: Group({FORMULA: Known(Counted(3, 0, 0))})})
    minutes.send(
        {minute: {"p|login": Sums(passed=6, refused=3), "p|api": Sums(passed=4)}}, time.time(), {minute: {"p|login": who}}
    )


def rows(client: Client, part: str, **query: str) -> list[dict[str, str]]:
    response = client.get(EXPORT, {"part": part, "format": "csv", **query})
    assert response.status_code == 200 and response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith(f'attachment; filename="ratewindow-{part}-')
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_the_numbers_over_time_are_by_rule_and_add_up(admin_client: Client) -> None:
    make()
    found = rows(admin_client, "time")
    assert [(row["rule"], row["passed"], row["refused"]) for row in found] == [("api", "4", "0"), ("login", "6", "3")]
    RateRule.objects.define("login", "5/m")
    assert [row["rule"] for row in rows(admin_client, "time", rule="login")] == ["login"]
    assert [(row["rule"], row["passed"]) for row in rows(admin_client, "rules")] == [("api", "4"), ("login", "6")]


def test_all_of_it_is_one_json_document(admin_client: Client) -> None:
    make()
    found = json.loads(admin_client.get(EXPORT, {"part": "all", "format": "json"}).content)
    assert {"from", "to", "time", "rules", "who"} == set(found)
    assert {"rule": "login", "passed": 6, "refused": 3, "other": 0, "would_refuse": 0, "fallback": 0, "near": 0} in found["rules"]


def test_no_cell_begins_as_a_formula_does(admin_client: Client) -> None:
    make()
    names = {row["name"] for row in rows(admin_client, "who")}
    assert f"'{FORMULA}" in names and FORMULA not in names
    assert [safe(each) for each in ("=1", "+1", "-1", "@x", "\tx", "\rx", "ip:1", -1)] == [
        *("'=1", "'+1", "'-1", "'@x", "'\tx", "'\rx"),
        *("ip:1", -1),
    ]


def test_it_takes_both_permissions_and_masks_identities_without_a_third() -> None:
    make()
    query = {"part": "who", "format": "csv"}
    assert staff("view_throttlestat").get(EXPORT, query).status_code == 403
    assert staff("export_throttlestat").get(EXPORT, query).status_code == 403
    exporter = staff("view_throttlestat", "export_throttlestat")
    names = {row["name"] for row in rows(exporter, "who")}
    assert "ip:203.0.113.x" in names and "ip:203.0.113.9" not in names
    assert EXPORT in exporter.get(reverse("admin:ratewindow_report")).content.decode()
    assert EXPORT not in staff("view_throttlestat").get(reverse("admin:ratewindow_report")).content.decode()


@pytest.mark.parametrize("query", [{}, {"part": "who"}, {"part": "who", "format": "json"}, {"part": "x", "format": "csv"}])
def test_the_page_offers_files_of_the_same_report_instead_of_one_that_is_none(
    query: dict[str, str], admin_client: Client
) -> None:
    page = admin_client.get(EXPORT, {**query, "period": "24h"}).content.decode()
    assert re.findall(r'href="\?period=24h&amp;part=(\w+)&amp;format=(\w+)"', page) == [
        *(("time", "csv"), ("rules", "csv"), ("who", "csv"), ("all", "json")),
    ]


def test_no_file_is_made_of_a_choice_that_is_wrong(admin_client: Client) -> None:
    response = admin_client.get(EXPORT, {"part": "who", "format": "csv", "rule": "no-such-rule"})
    assert response.status_code == 400 and "no-such-rule" in response.content.decode()
