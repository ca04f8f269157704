"""Two people edit the same rule, or the same block: neither loses silently."""

import re
from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import Override, RateRule, origin
from tests.support.rule_pages import change, errors, typed

pytestmark = pytest.mark.django_db(transaction=True)


def define(rate: str = "5/m", **fields: Any) -> RateRule:
    return RateRule.objects.define("login", rate, **{"overwrite": True, "path": "/login/", **fields})[0]


def digest(response: Any) -> str:
    """That of the hidden field."""
    found = re.search(r'name="opened" value="(\w+)"', response.content.decode())
    assert found
    return found[1]


def limits(rule: RateRule) -> list[str]:
    return [str(window) for window in rule.windows.all()]


def test_the_second_to_save_reads_what_the_first_changed_and_keeps_what_was_typed(admin_client: Any) -> None:
    rule = define()
    opened = digest(admin_client.get(change(rule)))
    with origin.edits("admin", by="ada"):
        RateRule.objects.filter(pk=rule.pk).get().windows.get().delete()
        define("9/m", mode="off")
    mine = {**typed(("7", "1m"), stored=rule), "description": "mine", "opened": opened}
    refused = admin_client.post(change(rule), mine)
    (error,) = (each for each in errors(refused) if "changed" in each)
    assert "(ada in the admin: " in error and "Mode: Shadow: counts, refuses nobody → Off" in error, error
    assert "Limit in 1m: – → 9" in error
    assert "mine" in refused.content.decode() and RateRule.objects.get().mode == "off"
    assert "open the page anew" in error
    again = {**typed(("7", "1m"), stored=RateRule.objects.get()), "description": "mine"}
    again["opened"] = digest(admin_client.get(change(rule)))
    assert admin_client.post(change(rule), again).status_code == 302
    assert RateRule.objects.get().description == "mine"


def test_a_limit_that_somebody_else_deleted_is_no_error_of_the_server(admin_client: Any) -> None:
    rule = define("5/m; 20/h")
    opened = digest(admin_client.get(change(rule)))
    mine = typed(("5", "1m"), ("30", "1h"), stored=rule)
    rule.windows.get(limit=20).delete()
    refused = admin_client.post(change(rule), {**mine, "opened": opened})
    assert "Limit in 1h: 20 → –" in " ".join(errors(refused)) and limits(rule) == ["5 in 1m"]


def test_an_edit_by_code_has_no_name(admin_client: Any) -> None:
    rule = define()
    opened = digest(admin_client.get(change(rule)))
    define("9/m")
    refused = admin_client.post(change(rule), {**typed(("7", "1m"), stored=rule), "opened": opened})
    assert "(by code: " in " ".join(errors(refused))


def test_who_is_alone_is_asked_nothing(admin_client: Any) -> None:
    rule = define()
    for limit in ("6", "7"):
        opened = digest(admin_client.get(change(rule)))
        mine = {**typed((limit, "1m"), stored=rule), "opened": opened}
        assert admin_client.post(change(rule), mine).status_code == 302
    assert limits(rule) == ["7 in 1m"]


def test_the_same_holds_for_blocks(admin_client: Any) -> None:
    block = Override.objects.block("ip:192.0.2.1", reason="abuse")
    url = reverse("admin:ratewindow_override_change", args=[block.pk])
    opened = digest(admin_client.get(url))
    with origin.edits("command block", by="ben@host"):
        block.reason = "a mistake"
        block.save()
    mine = {"action": "block", "reason": "mine", "rule": "", "rate": "", "lasts": "", "opened": opened}
    refused = admin_client.post(url, mine)
    assert "(ben@host by the command block: Reason: abuse → a mistake)" in " ".join(errors(refused))
    assert Override.objects.get().reason == "a mistake"
    assert admin_client.post(url, {**mine, "opened": digest(admin_client.get(url))}).status_code == 302
    assert Override.objects.get().reason == "mine"
