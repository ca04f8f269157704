"""The pages of the history: who may see what, each field before and after, and restoring with a preview."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from ratewindow.models import Edit, Override, RateRule, origin
from ratewindow.operations import release, switch_off
from tests.support.rule_pages import errors, said
from tests.support.staff import staff

pytestmark = pytest.mark.django_db(transaction=True)

ALL = reverse("admin:ratewindow_history")


def define(rate: str = "5/m", name: str = "login", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **{"overwrite": True, **fields})[0]


def last(kind: str = "rule") -> Edit:
    return Edit.objects.filter(kind=kind)[0]


def restore_url(edit: Edit, to: str = "before") -> str:
    return reverse("admin:ratewindow_history_restore", args=[edit.pk, to])


def marks_what_is_required(response: Any) -> bool:
    """Whether a style of the page puts an asterisk behind the label of a required field, which bold alone does not explain."""
    html = response.content.decode()
    sheets = re.findall(r'href="[^"]*?(ratewindow/\w+\.css)"', html)
    styles = "".join(Path(str(finders.find(each))).read_text() for each in sheets)
    return re.search(r'<label[^>]* class="required"', html) is not None and "label.required:not(:has(span))::after" in styles


def confirmed(client: Client, url: str, **more: str) -> Any:
    """Look at the preview, and press its button."""
    shown = re.search(r'name="shown" value="(\w+)"', client.get(url).content.decode())
    return client.post(url, {"reason": "a mistake", "shown": shown[1] if shown else "", **more})


def test_the_page_of_all_edits_says_who_when_why_and_each_field(admin_client: Any) -> None:
    with origin.edits("command mode", by="ben@host", reason="an attack"):
        define("5/m; 9/h", path="/login/")
        define("7/m", mode="enforce", path="/login/", penalty=timedelta(minutes=15))
    text = said(admin_client.get(ALL))
    for words in (
        *("Rule login Changed", "Mode Shadow: counts, refuses nobody → Enforce", "Penalty – → 15m", "Limit in 1m 5 → 7"),
        *("Limit in 1h 9 → –", "ben@host by the command mode an attack", "Rule login Added", "Pattern /login/"),
    ):
        assert words in text, text


def test_its_menu_is_called_as_its_page_and_counts_edits(admin_client: Any) -> None:
    define(name="login")
    define(name="search")
    text = admin_client.get(ALL).content.decode()
    assert re.search(rf'<a href="{ALL}"[^>]*>History</a>', text) and ">Edits</a>" not in text
    assert re.search(r"2\s+edits", text)


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


def test_the_end_of_a_block_is_called_so_by_whatever_edit_it_came(admin_client: Any) -> None:
    block = Override.objects.block("ip:192.0.2.1", duration="1h")
    admin_client.post(reverse("admin:ratewindow_override_end", args=[block.pk]))
    text = said(admin_client.get(ALL))
    assert "Block: ip:192.0.2.1 Ended Until" in text, text
    block.expires_at = timezone.now() + timedelta(hours=2)
    block.save()
    block.reason = "abuse"
    block.save()
    assert said(admin_client.get(ALL)).count("Ended") == 1
    block.expires_at = timezone.now() - timedelta(hours=2)
    block.save()
    block.reason = "a mistake"
    block.save()
    assert said(admin_client.get(ALL)).count("Ended") == 2


def test_identities_are_masked_without_the_permission_to_see_them(admin_client: Any) -> None:
    Override.objects.block("user:4211", reason="abuse")
    release.release("user:4211")
    viewer = staff("view_override", "change_override")
    pages = [ALL, *(reverse("admin:ratewindow_edit_change", args=[edit.pk]) for edit in Edit.objects.all())]
    pages += [restore_url(last("override"))]
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
    assert staff("view_raterule").get(reverse("admin:ratewindow_edit_change", args=[last("override").pk])).status_code == 403


_TITLES = {"rule": "Rule login", "override": "Block: ", "switch": "Switch of all limits Changed"}


def test_a_restore_is_previewed_needs_a_reason_and_can_be_undone(admin_client: Any) -> None:
    define("5/m")
    define("9/m")
    url = restore_url(last())
    preview = admin_client.get(url)
    assert "Limit in 1m 9 → 5" in said(preview) and marks_what_is_required(preview)
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


def test_everything_is_restored_and_that_can_be_undone(admin_client: Any) -> None:
    define("5/m")
    point = last()
    define("9/m")
    define("1/s", name="search")
    Override.objects.block("ip:192.0.2.1")
    heading = "All rules, blocks, exemptions and other rates, and the switch: as they were after this edit"
    assert heading in said(admin_client.get(restore_url(point, "all-after")))
    done = confirmed(admin_client, restore_url(point, "all-after"))
    assert done.status_code == 302
    assert [str(rule) for rule in RateRule.objects.all()] == ["login"] and not Override.objects.exists()
    undo = re.search(r'href="([^"]+)">Undo…', admin_client.get(ALL).content.decode())
    assert undo
    confirmed(admin_client, undo[1])
    assert RateRule.objects.count() == 2 and Override.objects.count() == 1
    assert RateRule.objects.get(name="login").windows.get().limit == 9


def test_a_preview_that_is_no_longer_true_restores_nothing(admin_client: Any) -> None:
    define("5/m")
    define("9/m")
    url = restore_url(last())
    shown = re.search(r'name="shown" value="(\w+)"', admin_client.get(url).content.decode())
    define("7/m")
    response = admin_client.post(url, {"shown": shown and shown[1], "reason": "a mistake"})
    assert "no longer what this page showed" in said(response) and RateRule.objects.get().windows.get().limit == 7


def test_a_rule_that_refuses_its_restorer_is_asked_about(admin_client: Any) -> None:
    define("1/h", mode="enforce", applies_to="all")
    define("1/h", mode="off", applies_to="all")
    url = restore_url(last())
    asked = confirmed(admin_client, url)
    assert "You would be refused in the admin" in said(asked) and RateRule.objects.get().mode == "off"
    confirmed(admin_client, url, lockout_known="on")
    assert RateRule.objects.get().mode == "enforce"


@pytest.mark.parametrize(
    ("permissions", "way", "allowed"),
    [
        (["view_raterule"], "before", False),
        (["change_raterule"], "before", True),
        (["view_raterule", "add_raterule", "delete_raterule"], "before", False),
    ],
)
def test_restoring_takes_the_permission_to_change(permissions: list[str], way: str, allowed: bool) -> None:
    define("5/m")
    define("9/m")
    client, url = staff(*permissions), restore_url(last(), way)
    response = confirmed(client, url)
    assert (response.status_code, RateRule.objects.get().windows.get().limit) == ((302, 5) if allowed else (403, 9))


def test_restoring_what_is_enforced_added_deleted_or_switched_takes_its_own_permission() -> None:
    define("5/m", mode="enforce")
    define("5/m", mode="off")
    enforcing = restore_url(last())
    RateRule.objects.all().delete()
    adding = restore_url(last())
    switch_off.turn_off(600, "campaign")
    switching = restore_url(last("switch"))
    assert confirmed(staff("change_raterule"), adding).status_code == 403
    assert confirmed(staff("change_raterule", "add_raterule"), adding).status_code == 302
    assert confirmed(staff("change_raterule"), enforcing).status_code == 403
    assert confirmed(staff("change_raterule", "enforce_raterule"), enforcing).status_code == 302
    assert confirmed(staff("view_throttlestat"), switching).status_code == 403
    assert confirmed(staff("switch_limits"), switching).status_code == 302
    assert not switch_off.current().off and RateRule.objects.get().mode == "enforce"


@pytest.mark.parametrize(
    ("kind", "wrong", "more", "is_told"),
    [
        ("rule", {"key": "nonsense"}, [], True),
        ("override", {"identity": "nonsense:42"}, [], False),
        ("override", {"identity": "nonsense:42"}, ["view_identity"], True),
    ],
)
def test_what_is_wrong_with_a_block_is_told_to_those_who_may_see_whom_it_is_for(
    kind: str, wrong: dict[str, str], more: list[str], is_told: bool
) -> None:
    define("5/m", path="/login/")
    Override.objects.block("user:42", duration="1h")
    RateRule.objects.all().delete()
    Override.objects.all().delete()
    for edit in Edit.objects.filter(kind=kind):
        edit.before, edit.after = (values and {**values, **wrong} for values in (edit.before, edit.after))
        edit.save()
    client = staff("view_raterule", "add_raterule", "view_override", "add_override", "switch_limits", *more)
    page = said(confirmed(client, restore_url(last("rule"), "all-before")))
    assert "So these values can no longer be saved." in page
    assert ("is not a key" in page) is is_told


def test_restoring_an_exemption_by_a_header_of_all_visitors_takes_the_permission_to_switch_limits() -> None:
    Override.objects.allow("header:te:trailers", duration="1h")
    Override.objects.all().delete()
    url, names = restore_url(last("override")), ("view_override", "add_override", "view_identity")
    assert confirmed(staff(*names), url).status_code == 403
    assert confirmed(staff(*names, "switch_limits"), url).status_code == 302
    assert Override.objects.get().identity == "header:te:trailers"


def test_nothing_changes_by_get(admin_client: Any) -> None:
    define("5/m")
    define("9/m")
    for to in ("before", "after", "all-before", "all-after"):
        assert admin_client.get(restore_url(last(), to)).status_code == 200
    assert RateRule.objects.get().windows.get().limit == 9 and Edit.objects.count() == 2
    assert admin_client.get(restore_url(last(), "elsewhere")).status_code == 404
    release.release("ip:192.0.2.1")
    assert admin_client.get(restore_url(last("release"))).status_code == 404


def many(count: int) -> None:
    """So many edits of a thousand rules, the newest of this minute."""
    now = timezone.now()
    rules = [
        {"name": f"rule{number}", "mode": "shadow", "limits": [{"limit": 5, "period": "1m", "algorithm": "sliding_window"}]}
        for number in range(1000)
    ]
    Edit.objects.bulk_create(
        (
            Edit(
                at=now - timedelta(seconds=number),
                kind="rule",
                subject=f"rule{number % 1000}",
                action="changed",
                by=f"staff{number % 7}",
                way="admin",
                before=rules[number % 1000],
                after={**rules[number % 1000], "mode": "off"},
            )
            for number in range(count)
        ),
        batch_size=5000,
    )


def queries(client: Any, url: str) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(url).status_code == 200
    return len(found)


def test_a_long_history_opens_by_as_many_queries_as_a_short_one(admin_client: Any) -> None:
    rule = define(name="rule1")
    urls = [ALL, f"{ALL}?by=staff1&way=admin&kind=rule", reverse("admin:ratewindow_raterule_history", args=[rule.pk])]
    urls += [reverse("admin:ratewindow_edit_change", args=[last().pk]), restore_url(last(), "all-after")]
    many(10)
    short = [queries(admin_client, url) for url in urls]
    many(3_000)
    assert [queries(admin_client, url) for url in urls] == short
