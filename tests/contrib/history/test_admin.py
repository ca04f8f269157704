"""The pages of the history: who may see what, each field before and after, and restoring with a preview."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratewindow.contrib.history.models import Edit
from ratewindow.models import Override, RateRule, origin
from ratewindow.operations import switch_off
from ratewindow.operations.clients import release
from tests.support.rule_pages import errors, said
from tests.support.staff import staff

pytestmark = pytest.mark.django_db(transaction=True)

ALL = reverse("admin:ratewindow_history_edit_changelist")


def define(rate: str = "5/m", name: str = "login", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **{"overwrite": True, **fields})[0]


def last(kind: str = "rule") -> Edit:
    return Edit.objects.filter(kind=kind)[0]


def page_of(edit: Edit) -> str:
    return reverse("admin:ratewindow_history_edit_change", args=[edit.pk])


def confirmed(client: Client, url: str, **more: str) -> Any:
    """Look at the page of an edit, and press its first button that restores."""
    shown = re.search(r'name="shown" value="(\w+)"', client.get(url).content.decode())
    return client.post(url, {"reason": "a mistake", "shown": shown[1] if shown else "", **more})


def test_the_page_of_all_edits_says_who_when_why_and_each_field(admin_client: Any) -> None:
    with origin.edits("command mode", by="ben@host", reason="an attack"):
        define("5/m; 9/h", path="/login/")
        define("7/m", mode="enforce", path="/login/", penalty=timedelta(minutes=15), on_error="refuse")
    text = said(admin_client.get(ALL))
    for words in (
        *("Rule login Changed", "Mode Shadow: counts, refuses nobody → Enforce", "Penalty – → 15m", "Limit in 1m 5 → 7"),
        "While Redis is unavailable As in the setting ON_ERROR → Refuse",
        *("Limit in 1h 9 → –", "ben@host by the command mode an attack", "Rule login Added", "Pattern /login/"),
    ):
        assert words in text, text


def test_the_history_of_a_rule_has_its_edits_alone(admin_client: Any) -> None:
    rule = define()
    define("9/m", name="search")
    define("6/m")
    text = said(admin_client.get(reverse("admin:ratewindow_raterule_history", args=[rule.pk])))
    assert "Limit in 1m 5 → 6" in text and "search" not in text and text.count("Restore…") == 2


def test_the_history_of_a_block_has_its_edits(admin_client: Any) -> None:
    block = Override.objects.block("ip:192.0.2.1", reason="abuse")
    block.reason = "a mistake"
    block.save()
    text = said(admin_client.get(reverse("admin:ratewindow_override_history", args=[block.pk])))
    assert "Block: ip:192.0.2.1 Changed Reason abuse → a mistake" in text, text


def test_identities_are_masked_without_the_permission_to_see_them(admin_client: Any) -> None:
    Override.objects.block("user:4211", reason="abuse")
    release("user:4211")
    viewer = staff("view_override", "change_override")
    pages = [ALL, *(reverse("admin:ratewindow_history_edit_change", args=[edit.pk]) for edit in Edit.objects.all())]
    for page in pages:
        assert "4211" not in viewer.get(page).content.decode(), page
        assert "user:4211" in said(admin_client.get(page)) or page == ALL
    for query in ("q=4211", "subject=user:4211", "subject__contains=42", "after__identity=user:4211"):
        assert "Release" not in said(viewer.get(f"{ALL}?{query}")).partition("Filter")[0], query


def test_each_sees_the_edits_of_what_they_may_see() -> None:
    define()
    Override.objects.block("ip:192.0.2.1")
    switch_off.turn_off(60, "campaign")
    seen = {
        codename: [kind for kind, words in _TITLES.items() if words in said(staff(codename).get(ALL))]
        for codename in ("view_raterule", "view_override", "switch_limits")
    }
    assert seen == {"view_raterule": ["rule"], "view_override": ["override"], "switch_limits": ["switch"]}
    assert staff().get(ALL).status_code == 403
    assert staff("view_raterule").get(page_of(last("override"))).status_code == 403


_TITLES = {"rule": "Rule login", "override": "Block: ", "switch": "Switch of all limits Changed"}


def test_a_restore_is_previewed_needs_a_reason_and_can_be_undone(admin_client: Any) -> None:
    define("5/m")
    define("9/m")
    url = page_of(last())
    preview = admin_client.get(url)
    assert "Restore it as it was before this edit This would change: Rule login Changed Limit in 1m 9 → 5" in said(preview)
    shown = re.search(r'name="shown" value="(\w+)"', preview.content.decode())
    assert shown
    refused = admin_client.post(url, {"shown": shown[1], "reason": ""})
    assert errors(refused) == ["Enter a reason for the history."] and RateRule.objects.get().windows.get().limit == 9
    done = admin_client.post(url, {"shown": shown[1], "reason": "a mistake"}, follow=True)
    assert "Restored: Rule login." in said(done) and RateRule.objects.get().windows.get().limit == 5
    edit = last()
    assert (edit.way, edit.by, edit.reason) == ("restore", "admin", "a mistake")
    undo = re.search(r'href="([^"]+)">Undo…', done.content.decode())
    assert undo and confirmed(admin_client, undo[1]).status_code == 302
    assert RateRule.objects.get().windows.get().limit == 9


def test_a_preview_that_is_no_longer_true_restores_nothing(admin_client: Any) -> None:
    define("5/m")
    define("9/m")
    url = page_of(last())
    shown = re.search(r'name="shown" value="(\w+)"', admin_client.get(url).content.decode())
    define("7/m")
    response = admin_client.post(url, {"shown": shown and shown[1], "reason": "a mistake"})
    assert "no longer what this page showed" in said(response) and RateRule.objects.get().windows.get().limit == 7


def test_a_rule_that_refuses_its_restorer_is_asked_about(admin_client: Any) -> None:
    define("1/h", mode="enforce", applies_to="all")
    define("1/h", mode="off", applies_to="all")
    url = page_of(last())
    asked = confirmed(admin_client, url)
    assert "You would be refused in the admin" in said(asked) and RateRule.objects.get().mode == "off"
    confirmed(admin_client, url, lockout_known="on")
    assert RateRule.objects.get().mode == "enforce"


@pytest.mark.parametrize(
    ("permissions", "allowed"),
    [(["view_raterule"], False), (["change_raterule"], True), (["view_raterule", "add_raterule", "delete_raterule"], False)],
)
def test_restoring_takes_the_permission_to_change(permissions: list[str], allowed: bool) -> None:
    define("5/m")
    define("9/m")
    response = confirmed(staff(*permissions), page_of(last()))
    assert RateRule.objects.get().windows.get().limit == (5 if allowed else 9)
    assert response.status_code == (302 if allowed else 403)


def test_a_button_that_is_not_shown_restores_nothing() -> None:
    define("5/m")
    define("9/m")
    url = page_of(last())
    editor = staff("change_raterule")
    shown = re.search(r'name="shown" value="(\w+)"', editor.get(url).content.decode())
    assert shown
    sent = {"shown": shown[1], "reason": "a mistake"}
    assert staff("view_raterule").post(url, sent).status_code == 403
    assert editor.post(url, sent).status_code == 302


def test_restoring_what_is_enforced_added_deleted_or_switched_takes_its_own_permission() -> None:
    define("5/m", mode="enforce")
    define("5/m", mode="off")
    enforcing = page_of(last())
    RateRule.objects.all().delete()
    adding = page_of(last())
    switch_off.turn_off(600, "campaign")
    switching = page_of(last("switch"))
    for url, missing, others in (
        (adding, "add_raterule", ["change_raterule"]),
        (enforcing, "enforce_raterule", ["change_raterule"]),
        (switching, "switch_limits", ["view_throttlestat"]),
    ):
        assert "So you cannot restore this." in said(staff(*others).get(url))
        assert confirmed(staff(*others), url).status_code == 403
        assert confirmed(staff(*others, missing), url).status_code == 302
    assert not switch_off.current().off and RateRule.objects.get().mode == "enforce"


@pytest.mark.parametrize(("more", "is_told"), [([], False), (["view_identity"], True)])
def test_what_is_wrong_with_a_block_is_told_to_those_who_may_see_whom_it_is_for(more: list[str], is_told: bool) -> None:
    Override.objects.block("user:42", duration="1h")
    Override.objects.all().delete()
    edit = last("override")
    edit.before = {**edit.before, "identity": "nonsense:42"}
    edit.save()
    page = said(confirmed(staff("view_override", "add_override", "switch_limits", *more), page_of(edit)))
    assert "So these values can no longer be saved." in page
    assert ("is not a key" in page) is is_told


def test_nothing_changes_by_get_and_a_release_cannot_be_restored(admin_client: Any) -> None:
    define("5/m")
    define("9/m")
    assert admin_client.get(page_of(last())).status_code == 200
    assert RateRule.objects.get().windows.get().limit == 9 and Edit.objects.count() == 2
    release("ip:192.0.2.1")
    assert 'name="shown"' not in admin_client.get(page_of(last("release"))).content.decode()


def test_names_of_rules_who_and_why_are_searched_and_no_identity(admin_client: Any) -> None:
    with origin.edits("admin", by="ada", reason="too slow"):
        define(name="login")
    define(name="search")
    Override.objects.block("user:4211")
    Override.objects.all().delete()

    def titles(term: str) -> list[str]:
        text = said(admin_client.get(ALL, {"q": term}))
        return [name for name in ("Rule login", "Rule search", "Block:") if name in text]

    assert titles("logi") == titles("ada") == titles("slow") == ["Rule login"]
    assert titles("search") == ["Rule search"]
    assert titles("4211") == [] and titles("") == ["Rule login", "Rule search", "Block:"]


def queries(client: Any, url: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(url).status_code == 200
    return len(asked)


def test_a_long_history_opens_by_as_many_queries_as_a_short_one(admin_client: Any) -> None:
    rule = define()
    urls = [ALL, reverse("admin:ratewindow_raterule_history", args=[rule.pk]), page_of(last())]
    define("6/m")
    short = [queries(admin_client, url) for url in urls]
    for number in range(7, 20):
        define(f"{number}/m")
    assert [queries(admin_client, url) for url in urls] == short
