"""Every page and action of the admin of this app, found by itself, for users with each single permission, none, and view only.

A page that is not in `PAGES` fails the test: add it there, and to the table in docs/staff/README.md.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils import timezone

from ratewindow.contrib.history.models import Edit
from ratewindow.models import (
    LimitSwitch,
    OffenderStat,
    Override,
    RateRule,
    RuleWindow,
    ThrottleStat,
)
from tests.support import override_pages
from tests.support.rule_pages import define, typed

pytestmark = pytest.mark.django_db

DOCS = Path(__file__).resolve().parents[2] / "docs" / "staff" / "README.md"
COUNTS = (ThrottleStat, OffenderStat)
ROWS = (RateRule, RuleWindow, Override, LimitSwitch, *COUNTS, Edit, LogEntry, User, Group)

VIEW = {"view_raterule", "view_override", "view_throttlestat"}
LOOK_AT_RULE = [{"view_raterule"}, {"change_raterule"}]
LOOK_AT_BLOCK = [{"view_override"}, {"change_override"}]
DELETE_BLOCK = [{"delete_override", "view_override"}, {"delete_override", "change_override"}]
CHANGE_RULE, CHANGE_BLOCK = [{"change_raterule"}], [{"change_override"}]
ENFORCE = [{"change_raterule", "enforce_raterule"}]
EXPORT = [{"view_raterule", "export_throttlestat"}, {"change_raterule", "export_throttlestat"}]
BACKTEST = [{"view_raterule", "view_throttlestat"}, {"change_raterule", "view_throttlestat"}]
EXPORT_REPORT = [{"view_throttlestat", "export_throttlestat"}]
SWITCH, RELEASE, REPORT = [{"switch_limits"}], [{"release_identity"}], [{"view_throttlestat"}]
HISTORY = [*LOOK_AT_RULE, *LOOK_AT_BLOCK, *REPORT, *SWITCH]
EVERYBODY: list[set[str]] = [set()]
NOBODY: list[set[str]] = []

Opens = list[set[str]]  # each a set of permissions that opens a page; without any of them it is forbidden


@dataclass(frozen=True)
class Page:
    """One page, or one action of a list, by the name of its URL: who may GET it, and who may POST what to it."""

    name: str
    get: Opens
    post: Opens = field(default_factory=list)
    sends: str = ""  # the name of a function below that returns what is posted
    only_post: bool = False
    of_row: bool = False  # of two URLs of one name that of a row


PAGES = [
    Page("raterule_changelist", LOOK_AT_RULE, LOOK_AT_RULE),
    Page("raterule_changelist", LOOK_AT_RULE, ENFORCE, "action enforce"),
    Page("raterule_changelist", LOOK_AT_RULE, CHANGE_RULE, "action shadow"),
    Page("raterule_changelist", LOOK_AT_RULE, CHANGE_RULE, "action switch_off"),
    Page("raterule_changelist", LOOK_AT_RULE, EXPORT, "action export"),
    Page("raterule_changelist", LOOK_AT_RULE, [{"view_raterule", "delete_raterule"}], "action delete_selected"),
    Page("raterule_add", [{"add_raterule"}], [{"add_raterule"}], "new_rule"),
    Page("raterule_look", LOOK_AT_RULE, LOOK_AT_RULE),
    Page("raterule_change", LOOK_AT_RULE, CHANGE_RULE, "rule"),
    Page("raterule_delete", [{"delete_raterule"}], [{"delete_raterule"}], "yes"),
    Page("raterule_history", LOOK_AT_RULE, LOOK_AT_RULE),
    Page("raterule_mode", EVERYBODY, CHANGE_RULE, "to off", only_post=True),
    Page("raterule_mode", EVERYBODY, ENFORCE, "to enforce", only_post=True),
    Page("raterule_ready", [{"add_raterule"}], [{"add_raterule"}], "ready"),
    Page("explain", LOOK_AT_RULE, LOOK_AT_RULE),
    Page("backtest", BACKTEST, BACKTEST, "no_log"),
    Page("override_changelist", [*LOOK_AT_BLOCK, *RELEASE], LOOK_AT_BLOCK),
    Page("override_changelist", [*LOOK_AT_BLOCK, *RELEASE], CHANGE_BLOCK, "action end_now"),
    Page("override_changelist", [*LOOK_AT_BLOCK, *RELEASE], CHANGE_BLOCK, "action end_now"),
    Page("override_changelist", [*LOOK_AT_BLOCK, *RELEASE], DELETE_BLOCK, "action delete_selected"),
    Page("override_add", [{"add_override"}], [{"add_override"}], "new_block"),
    Page("override_change", LOOK_AT_BLOCK, CHANGE_BLOCK, "block"),
    Page("override_delete", DELETE_BLOCK, DELETE_BLOCK, "yes"),
    Page("override_history", LOOK_AT_BLOCK, LOOK_AT_BLOCK),
    Page("override_release", RELEASE, RELEASE, "client"),
    Page("override_end", EVERYBODY, CHANGE_BLOCK, only_post=True),
    Page("raterule_preview", EVERYBODY, [{"add_raterule"}], "new_rule", only_post=True),
    Page("raterule_preview", EVERYBODY, CHANGE_RULE, "rule", only_post=True, of_row=True),
    Page("history_edit_changelist", HISTORY, HISTORY),
    Page("history_edit_change", LOOK_AT_RULE, [{"view_raterule", "delete_raterule"}], "reason", of_row=True),
    Page("throttlestat_changelist", [*REPORT, *SWITCH], [*REPORT, *SWITCH]),
    Page("report", [*REPORT, *SWITCH], [*REPORT, *SWITCH]),
    Page("report_export", EXPORT_REPORT, EXPORT_REPORT),
    Page("state", REPORT, REPORT),
    Page("switch", SWITCH, SWITCH, "off"),
]

ALONE = [
    *(f"{verb}_{model}" for model in ("raterule", "override") for verb in ("view", "add", "change", "delete")),
    *(f"{verb}_rulewindow" for verb in ("view", "add", "change", "delete")),
    "view_throttlestat", "enforce_raterule", "release_identity", "view_identity", "export_throttlestat", "switch_limits",
]  # fmt: skip
TOGETHER = [tuple(sorted(each)) for page in PAGES for each in (*page.get, *page.post) if len(each) > 1]
USERS = {"none": (), "view only": tuple(sorted(VIEW)), **{name: (name,) for name in ALONE}}
USERS |= {" and ".join(names): names for names in TOGETHER}


def sent(page: Page, rule: RateRule, block: Override) -> dict[str, Any]:
    """What is posted; where it is allowed it changes or does something."""
    kind, _, what = page.sends.partition(" ")
    row = rule if page.name.startswith("raterule") else block
    match kind:
        case "action":
            return {"action": what, "_selected_action": [row.pk], "post": "yes"}
        case "to":
            return {"to": what, "percent": "10", "seen": "shadow-100"}
        case "new_rule":
            return typed(("5", "1m"), name="new")
        case "rule":
            return typed(("7", "1m"), stored=rule)
        case "new_block":
            return override_pages.typed(identity="ip:203.0.113.77")
        case "block":
            return override_pages.typed(identity="", reason="another")
    return {
        "yes": {"post": "yes"},
        "ready": {"ready": "login"},
        "act": {"do": "block-1h", "identity": "ip:203.0.113.77", "reason": "a test"},
        "reason": {"reason": "a mistake", "shown": "-"},
        "client": {"identity": "ip:203.0.113.9", "reason": "a friend"},
        "off": {"length": "15m", "reason": "a test"},
    }.get(kind, {})


def patterns() -> list[URLPattern]:
    """Every page of ours, as the site of the admin has it, without those of rooms, which have tests of their own."""
    every = [each for resolver in admin.site.get_urls() for each in getattr(resolver, "url_patterns", ())]
    named = [each for each in every if isinstance(each, URLPattern) and each.name]
    return [each for each in named if each.name.startswith("ratewindow_") and not each.name.startswith("ratewindow_alerts_")]


@cache
def arguments() -> dict[str, list[int]]:
    """How many each page takes, of those of its addresses."""
    found: dict[str, list[int]] = {}
    for each in patterns():
        found.setdefault(str(each.name), []).append(each.pattern.regex.groups)
    return found


def address(page: Page, *rows: RateRule | Override | Edit) -> str:
    """The URL of a page; its rule, block or edit is that of `rows`."""
    rule, block, edit = (each.pk for each in rows)
    by_name = {"history": edit, "raterule": rule}
    row = by_name.get(page.name.partition("_")[0], block)
    groups = arguments()[f"ratewindow_{page.name}"]
    return reverse(f"admin:ratewindow_{page.name}", args=[row][: max(groups) if page.of_row else min(groups)])


def stored(redis_client: Any) -> tuple[Any, ...]:
    """All rows, and all keys in Redis but those by which processes say that they are there."""
    rows = [list(model._base_manager.order_by("pk").values()) for model in ROWS]
    keys = sorted(key for key in redis_client.scan_iter() if ":process" not in key)
    return rows, [(key, redis_client.pttl(key) > 0) for key in keys], [redis_client.type(key) for key in keys]


def test_every_page_is_in_the_table() -> None:
    assert {str(pattern.name) for pattern in patterns()} == {f"ratewindow_{page.name}" for page in PAGES}


def test_the_documentation_has_every_page_and_permission() -> None:
    text = DOCS.read_text()
    names = {name for names in USERS.values() for name in names if not name.endswith("_rulewindow")}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


@pytest.mark.parametrize("permissions", USERS.values(), ids=USERS)
def test_each_page_opens_to_its_own_permissions_alone(client: Client, redis_client: Any, permissions: tuple[str, ...]) -> None:
    user = User.objects.create(username="ann", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="ratewindow", codename__in=permissions))
    assert user.user_permissions.count() == len(permissions)
    client.force_login(user)
    rule, block = define(path="/login/"), Override.objects.block("ip:203.0.113.9", duration="1h")
    start = timezone.now().replace(second=0, microsecond=0)
    ThrottleStat.objects.create(rule="login", resolution="minute", start=start, passed=5, refused=2)
    rows = rule, block, Edit.objects.get(kind=Edit.Kind.RULE)
    client.get(reverse("admin:index"))  # what a first request of a process writes
    before = stored(redis_client)

    def may(opens: Opens) -> bool:
        return any(each <= set(permissions) for each in opens)

    for page in PAGES:
        status = client.get(address(page, *rows)).status_code
        allowed = {405} if page.only_post else {200, 302}
        assert status in (allowed if may(page.get) else {403}), f"GET {page.name}: {status}"
    assert stored(redis_client) == before
    for page in PAGES:
        if not may(page.post):
            status = client.post(address(page, *rows), sent(page, rule, block)).status_code
            assert status == 403, f"POST {page.name} {page.sends}: {status}"
    assert stored(redis_client) == before
    for page in PAGES:
        if may(page.post):
            with transaction.atomic():
                status = client.post(address(page, *rows), sent(page, rule, block)).status_code
                transaction.set_rollback(True)
            assert status in (200, 302), f"POST {page.name} {page.sends}: {status}"
    opens = [page for page in PAGES if page.get is not EVERYBODY and may(page.get)]
    assert client.get(reverse("admin:app_list", args=["ratewindow"])).status_code == (200 if opens else 404)
