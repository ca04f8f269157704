"""Rows that no form lets through, as a fixture or raw SQL writes them: all pages and commands work."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from ratewindow.health import overview
from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow, ThrottleStat
from tests.support.admin_addresses import POSTED_TO, addresses

pytestmark = pytest.mark.django_db(transaction=True)

RULES: list[dict[str, Any]] = [
    {"mode": "x"}, {"mode": ""}, {"applies_to": "x"}, {"applies_to": "regex", "pattern": "("}, {"pattern": ""},
    {"methods": "G E\r\n"}, {"key": ""}, {"key": "shoe"}, {"key": "no.such.path"}, {"key": "os.system"}, {"key": "header:\r\n"},
    {"on_missing": "x"}, {"cost": 10**9}, {"on_error": "x"}, {"response_status": 0}, {"response_status": 200},
    {"response_status": 30_000}, {"message": "x" * 300}, {"count_when": ""}, {"count_when": "x"}, {"enforce_percent": 0},
    {"enforce_percent": 30_000}, {"applies_to": "route", "pattern": ":::"},
]  # fmt: skip
LIMITS: list[dict[str, Any]] = [
    {"limit": 2**62}, {"algorithm": "x"}, {"algorithm": ""}, {"buckets": 0}, {"buckets": 10**6}, {"burst": 0}, {"burst": 10**12},
    {"aligned_to": "x"}, {"aligned_to": "day"}, {"algorithm": "token_bucket", "burst": 0},
]  # fmt: skip
BLOCKS: list[dict[str, Any]] = [
    {"action": "x"}, {"identity": "nobody"}, {"identity": "ip:999.1.1.1/99"}, {"identity": "group:"}, {"identity": "é:x"},
    {"identity": "*"},
    {"action": "rate", "rate": "x"}, {"action": "rate", "rate": ""}, {"rate": "5/m"}, {"rule": "Not One"}, {"source": "x" * 32},
]  # fmt: skip
SUMS: list[dict[str, Any]] = [
    {"reasons": []}, {"reasons": "x"}, {"reasons": {"a": "b"}}, {"reasons": {"a": None}},
    {"reasons": {"limit": -5}}, {"reasons": {"": 1.5}},
    {"latency": []}, {"latency": "x"}, {"latency": {"a": 1}}, {"latency": {"1": "x"}},
    {"latency": {"nan": 1}}, {"latency": {"1e400": -2}},
    {"passed": 2**62}, {"resolution": "x"}, {"rule": ""}, {"rule": "A\r\nB"}, {"latency": {"0.5": 10**30}}, {"reasons": 5},
]  # fmt: skip


@pytest.fixture
def wrong(db: None) -> None:
    """All of them at once, beside one rule that is right."""
    RateRule.objects.define("right", "2/h", path="/search/", mode="enforce")
    usual = {"applies_to": "path", "pattern": "/other/", "mode": "enforce"}
    rules = RateRule.objects.bulk_create([RateRule(name=f"wrong-{n}", **{**usual, **each}) for n, each in enumerate(RULES)])
    limited = RateRule.objects.bulk_create([RateRule(name=f"limited-{n}", **usual) for n, _ in enumerate(LIMITS)])
    limits = [(rule, {}) for rule in rules] + list(zip(limited, LIMITS, strict=True))
    RuleWindow.objects.bulk_create(
        [RuleWindow(**{"rule": rule, "limit": 5, "period": timedelta(minutes=1), **each}) for rule, each in limits]
    )
    Override.objects.bulk_create(
        [Override(**{"action": "block", "identity": f"user:{n}", **each}) for n, each in enumerate(BLOCKS)]
    )
    start = timezone.now().replace(second=0, microsecond=0)
    ThrottleStat.objects.bulk_create(
        [
            ThrottleStat(
                **{"rule": f"rule-{n}", "resolution": "minute", "start": start - timedelta(minutes=n + 2), "refused": 2, **each}
            )
            for n, each in enumerate(SUMS)
        ]
    )
    LimitSwitch.objects.bulk_create([LimitSwitch(pk=n, off=True, until=start, changed_at=start) for n in (1, 2, 99)])
    RateRule.objects.get(name="right").save()  # so that this process reads them


def test_every_page_is_shown(wrong: None) -> None:
    client = Client()
    client.force_login(User.objects.create(username="boss", is_staff=True, is_superuser=True))
    pages = [each for each in addresses() if not each.endswith(POSTED_TO)]
    pages += [f"{each}?period={period}" for each in pages if each.endswith("/throttlestat/") for period in ("15m", "24h", "30d")]
    pages += [f"/admin/ratewindow/raterule/{pk}/change/" for pk in RateRule.objects.values_list("pk", flat=True)]
    pages += [f"/admin/ratewindow/override/{pk}/change/" for pk in Override.objects.get_queryset().values_list("pk", flat=True)]
    assert [page for page in pages if client.get(page).status_code != 200] == []


def test_every_command_works_or_says_what_is_wrong(wrong: None) -> None:
    for command in ("rules", "check", "collect", "clean"):
        out = StringIO()
        try:
            call_command("ratewindow", command, stdout=out, stderr=out)
        except CommandError as error:
            out.write(str(error))
        assert out.getvalue().strip(), command
    json.dumps(overview.status())


def test_the_rule_that_is_right_holds_and_the_site_answers(wrong: None) -> None:
    client = Client()
    assert [client.get("/search/").status_code for _ in range(3)] == [200, 200, 429]
    for path in ("/", "/other/", "/limited/", "/api/orders/"):
        assert client.get(path).status_code in (200, 429), path


@pytest.mark.parametrize("action", ["block", "allow", "rate"])
def test_everybody_at_once_is_nobody_unless_for_one_rule_and_a_while(action: str, caplog: pytest.LogCaptureFixture) -> None:
    """The form says so; a row that says otherwise would lock out all who could undo it, or lift every limit for ever."""
    RateRule.objects.define("other", "2/h", path="/search/", mode="enforce")
    row = Override(action=action, identity="*", rate="1/h" if action == "rate" else "")
    end = timezone.now() + timedelta(hours=1)
    for rule, expires_at in (("", None), ("other", None), ("", end)):
        row.pk, row.rule, row.expires_at = None, rule, expires_at
        row.save()
    assert [Client().get("/search/").status_code for _ in range(3)] == [200, 200, 429]
    assert caplog.text.count("* means everybody, and needs the name of one rule and an end") == 3
    row.pk, row.rule, row.expires_at = None, "other", end
    row.save()
    assert Client().get("/search/").status_code == (200 if action == "allow" else 429)
