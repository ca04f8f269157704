"""Rates in code on the list of rules, and the form that makes a rule of one."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from ratewindow import hit, limit, ratelimit
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from ratewindow.rules import code_rates
from tests.support.filled_form import filled
from tests.support.rule_pages import LIST, errors, said

pytestmark = pytest.mark.django_db


def view(request: Any) -> None: ...


def edit_here(page: Client, name: str) -> str:
    (url,) = re.findall(rf'href="([^"]*[?&;]name={re.escape(name)}&[^"]*)"', page.get(LIST).content.decode())
    return str(url.replace("&amp;", "&"))


EACH: list[dict[str, Any]] = [
    {"rate": "5/m; 20/h", "key": "user+method", "methods": ["POST", "PUT"], "normalise": True},
    {"rate": "5/m", "algorithm": "token_bucket", "burst": 20},
    {"rate": "5/m", "algorithm": "leaky_bucket"},
    {"rate": "500/m", "buckets": 50},
    {"rate": "5/d", "algorithm": "fixed_window", "aligned_to": "day"},
    {"rate": "5/m", "on_missing": "refuse", "on_error": "local", "status": 503, "message": 'Closed, "today" & <now>'},
    {"rate": "5/m", "count_when": "401,5xx", "hold": True},
    {"rate": "5/m", "count_refused": True, "penalty": "2h30m"},
]


@pytest.mark.parametrize("given", EACH, ids=str)
def test_the_form_begins_with_all_that_code_says(page: Client, given: dict[str, Any]) -> None:
    ratelimit("code.only", **given)(view)
    url = edit_here(page, "code.only")
    fields = filled(page.get(url).content.decode())
    answer = page.post(url, fields)
    assert errors(answer) == []
    assert answer.status_code == 302
    row, code = reading.freeze(RateRule.objects.get(name="code.only")), code_rates.rule("code.only")
    assert code is not None
    assert row.mode == "shadow"
    assert replace(row, mode="enforce") == code


def test_a_limit_that_is_declared_is_there_before_it_is_called(page: Client) -> None:
    limit("export", "20/h", key="user_or_ip", algorithm="token_bucket", burst=40, penalty="15m")
    hit("sms", "user:42", rate="5/h", key="user")
    below = said(page.get(LIST)).partition("Only in code")[2]
    assert re.search(r"export Each user or address.* tests.admin.rules.test_code_rates:\d+", below)
    answer = page.post(edit_here(page, "export"), filled(page.get(edit_here(page, "export")).content.decode()))
    assert errors(answer) == []
    assert replace(reading.freeze(RateRule.objects.get(name="export")), mode="enforce") == code_rates.rule("export")
    assert 'value="5"' in page.get(edit_here(page, "sms")).content.decode()


def test_a_rate_by_a_function_brings_its_options(page: Client) -> None:
    ratelimit("code.only", lambda request: "5/m", penalty="15m", mode="shadow")(view)
    fields = filled(page.get(edit_here(page, "code.only")).content.decode())
    assert fields["penalty"] == "15m"


def test_the_list_says_what_code_says(page: Client) -> None:
    ratelimit("code.only", "1/m", algorithm="token_bucket", burst=20, penalty="15m", mode="shadow", status=503)(view)
    below = said(page.get(LIST)).partition("Only in code")[2]
    assert "code.only Each address: at most 20 at once and then 1 in 1 minute, where code names it; " in below
    more = "a refusal locks the client out for 15 minutes; refused with status 503; in shadow: counts, and refuses nobody."
    assert more in below
