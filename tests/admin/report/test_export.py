"""The report as files: what is in them, who gets them, and that no cell is a formula."""

import csv
import io
import re
import time

import pytest
from django.test import Client
from django.urls import reverse

from ratewindow.admin.report.report_admin import safe
from ratewindow.counting import minutes
from ratewindow.counting.sums import Counted, Group, Sums, Who
from ratewindow.models import RateRule
from tests.support.staff import staff

pytestmark = pytest.mark.django_db

EXPORT = reverse("admin:ratewindow_report_export")
FORMULA = '=HYPERLINK("http://evil.example")'


def make() -> None:
    minute = int(time.time()) // 60
    named = {"ip:203.0.113.9": Counted(2, 0, 5), f"header:x:{FORMULA}": Counted(1, 0, 1)}
    who = Who(Counted(3, 0, 9), Group(named, Counted(1)), Group({FORMULA: Counted(3, 0, 0)}))
    minutes.send(
        {minute: {"p|login": Sums(passed=6, refused=3), "p|api": Sums(passed=4)}}, time.time(), {minute: {"p|login": who}}
    )


def rows(client: Client, part: str, **query: str) -> list[dict[str, str]]:
    response = client.get(EXPORT, {"part": part, **query})
    assert response.status_code == 200 and response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith(f'attachment; filename="ratewindow-{part}-')
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_the_numbers_over_time_are_by_rule_and_add_up(admin_client: Client) -> None:
    make()
    found = rows(admin_client, "time")
    assert [(row["rule"], row["passed"], row["refused"]) for row in found] == [("api", "4", "0"), ("login", "6", "3")]
    RateRule.objects.define("login", "5/m")
    assert [row["rule"] for row in rows(admin_client, "time", rule="login")] == ["login"]


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
    query = {"part": "who"}
    assert staff("view_throttlestat").get(EXPORT, query).status_code == 403
    assert staff("export_throttlestat").get(EXPORT, query).status_code == 403
    exporter = staff("view_throttlestat", "export_throttlestat")
    names = {row["name"] for row in rows(exporter, "who")}
    assert "ip:203.0.113.x" in names and "ip:203.0.113.9" not in names
    assert EXPORT in exporter.get(reverse("admin:ratewindow_report")).content.decode()
    assert EXPORT not in staff("view_throttlestat").get(reverse("admin:ratewindow_report")).content.decode()


def test_the_report_offers_files_of_itself(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:ratewindow_report"), {"period": "24h"}).content.decode()
    assert re.findall(r'href="[^"]*export/\?period=24h&amp;part=(\w+)"', page) == ["time", "who"]


def test_what_is_no_file_is_none(admin_client: Client) -> None:
    assert admin_client.get(EXPORT, {"part": "x"}).status_code == 400


def test_no_file_is_made_of_a_choice_that_is_wrong(admin_client: Client) -> None:
    response = admin_client.get(EXPORT, {"part": "who", "rule": "no-such-rule"})
    assert response.status_code == 400 and "no-such-rule" in response.content.decode()


def test_a_part_that_is_none_is_answered_with_those_there_are(admin_client: Client) -> None:
    assert admin_client.get(EXPORT, {"part": "x"}).content == b"part=time|who"
