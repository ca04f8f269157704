"""Who may know what of blocks, exemptions and other rates.

Staff who may not view them learn nothing of any: every page of the admin, found by itself, is the same with and without them.
Staff who may view them, but no identities unmasked, learn of none whom it is for.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from difflib import unified_diff
from itertools import chain, combinations
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import reverse

from ratewindow import ratelimit
from ratewindow.identity import hashed
from ratewindow.models import AlertChannel, CleaningRun, Edit, Override, RateRule
from ratewindow.operations.explain.as_values import of_refusal
from ratewindow.operations import release
from ratewindow.reporting import counters
from ratewindow.reporting.collecting import collect_stats
from ratewindow.rulebook import reading
from tests.support import override_pages
from tests.support.admin_addresses import addresses
from tests.support.document_pages import EXPORT, IMPORT
from tests.support.doors import behind_middleware, get, plain
from tests.support.rule_pages import define, said, typed
from tests.support.staff import staff

pytestmark = pytest.mark.django_db

ADDRESS, REASON = "203.0.113.217", "seen where it has no business"
EXPLAIN, RELEASE, ACT = (reverse(f"admin:ratewindow_{each}") for each in ("explain", "override_release", "report_act"))
MAY_BE = ("view_identity", "view_raterule", "view_throttlestat")
ALSO = ("add_raterule", "change_raterule", "add_override", "delete_override", "release_identity", "export_throttlestat", "switch_limits")
WITHOUT = [*chain.from_iterable(combinations(MAY_BE, count) for count in range(4)), (*MAY_BE, *ALSO)]
EVERYTHING_ELSE = WITHOUT[-1]
MASKED = ("view_raterule", "view_throttlestat", "view_override", *ALSO)  # all but to see identities
CHANGES = re.compile(r"csrfmiddlewaretoken\" value=\"\w+\"|nonce=\"\w+\"|csrf_token\":\"\w+\"")


@pytest.fixture(autouse=True)
def _at_one_moment() -> Iterator[None]:
    with time_machine.travel("2026-11-20 12:00:00+00:00", tick=False):
        yield


@pytest.fixture
def rule() -> RateRule:
    return define("login", "3/h", path="/login/", mode="enforce", key="ip")


def overridden(action: str = "block", identity: str = f"ip:{ADDRESS}", **fields: Any) -> Override:
    made = Override.objects.create(action=action, identity=identity, reason=REASON, **fields)
    reading.reload()
    return made


def ask(count: int, path: str = "/login/", address: str = ADDRESS) -> None:
    reading.reload()
    site = behind_middleware(plain(False))
    for _ in range(count):
        get(site, path, REMOTE_ADDR=address)
    counters.flush()
    collect_stats()


def questions() -> list[str]:
    """Addresses with the client in the query string, as people type it."""
    asked = {"address": ADDRESS, "path": "/login/", "method": "POST"}
    everywhere = [f"{reverse(f'admin:ratewindow_{each}_changelist')}?q={ADDRESS}" for each in ("override", "edit", "raterule")]
    named = [{"identity": who, "rule": rule} for who in (ADDRESS, f"ip:{ADDRESS}", "user:42") for rule in ("", "login")]
    return [
        *everywhere,
        f"{reverse('admin:ratewindow_override_changelist')}?identity={ADDRESS}",
        f"{reverse('admin:ratewindow_report')}?rule=blocks",
        f"{reverse('admin:ratewindow_report')}?mode=enforce",
        f"{reverse('admin:ratewindow_report_export')}?part=all&format=json",
        f"{EXPLAIN}?{urlencode(asked)}",
        f"{EXPLAIN}?{urlencode({**asked, 'user': 'user:42'})}",
        *(f"{page}?{urlencode(each)}" for each in named for page in (RELEASE, override_pages.ADD)),
    ]


def visited(client: Client, pages: list[str]) -> dict[str, tuple[int, str]]:
    """The status and the text of each page, without what differs each time."""
    found = {}
    for page in pages:
        response = client.get(page)
        place = response.headers.get("Location", "")
        found[page] = response.status_code, place + CHANGES.sub("", b"".join(response).decode())
    return found


def forget_overrides() -> None:
    Override.objects.all().delete()
    Edit.objects.filter(kind__in=[Edit.Kind.OVERRIDE, Edit.Kind.RELEASE]).delete()
    reading.reload()


@pytest.mark.parametrize("permissions", WITHOUT, ids=lambda each: " and ".join(each) or "none")
def test_every_page_is_the_same_with_and_without_any_for_who_may_not_view_them(
    rule: RateRule, permissions: tuple[str, ...]
) -> None:
    client = staff(*permissions)
    define("admin", "5/m", prefix="/admin/", mode="shadow")
    AlertChannel.objects.create(name="ops", way="log")
    ask(2)
    user = User.objects.get(username="staff0")
    held = {"user": f"user:{user.pk}", "group": "group:colleagues"}
    made = overridden()
    overridden("allow", held["user"])
    overridden("rate", "user:42", rule="login", rate="1/h")
    edits = [*Edit.objects.values_list("pk", flat=True)]
    states = [reverse("admin:ratewindow_history_restore", args=[pk, to]) for pk in edits for to in ("after", "all-before", "all-after")]
    entries = [reverse("admin:ratewindow_edit_change", args=[pk]) for pk in edits]
    pages = [reverse("admin:index"), *addresses(), *override_pages_of(made), *entries, *states, *questions()]
    client.get(reverse("admin:index"))
    before = visited(client, pages)
    texts = {page: text for page, (_, text) in before.items() if REASON in text}
    assert texts == {}
    forget_overrides()
    after = visited(client, pages)
    assert [line for page in pages for line in unified_diff(*(f"{each[page][0]}\n{each[page][1]}".splitlines() for each in (before, after)), page, lineterm="", n=0)] == []


def override_pages_of(row: Override) -> list[str]:
    return [reverse(f"admin:ratewindow_override_{each}", args=[row.pk]) for each in ("change", "delete", "history", "end", "extend")]


@pytest.mark.parametrize("more", [(), ("change_override",)], ids=["looks", "changes"])
def test_no_page_has_whom_one_is_for_for_who_may_not_see_identities(rule: RateRule, more: tuple[str, ...]) -> None:
    client = staff(*MASKED, *more)
    ask(1, address="198.51.100.7")
    AlertChannel.objects.create(name="ops", way="log")
    made = overridden()
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "all"}):
        made.expires_at = datetime.fromisoformat("2026-11-20T13:00:00+00:00")
        made.save()
    assert made.identity != f"ip:{ADDRESS}"
    release.release(f"ip:{ADDRESS}")
    made.refresh_from_db()
    edits = [*Edit.objects.values_list("pk", flat=True)]
    states = [reverse("admin:ratewindow_history_restore", args=[pk, to]) for pk in edits for to in ("before", "after", "all-before", "all-after")]
    entries = [reverse("admin:ratewindow_edit_change", args=[pk]) for pk in edits]
    pages = [reverse("admin:index"), *addresses(), *override_pages_of(made), *entries, *states]
    shown = visited(client, pages)
    assert any(REASON in text for _, text in shown.values()), "the reason is shown to who may read the row"
    last = ADDRESS.rpartition(".")[2]
    assert {page: text for page, (_, text) in shown.items() if ADDRESS in text or f".{last}" in text} == {}
