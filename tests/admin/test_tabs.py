"""The row of tabs on pages of the core, and the order of its index; those of rooms: tests/together/test_tabs.py."""

from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from ratewindow import rooms
from ratewindow.models import Override, RateRule
from tests.support.staff import staff
from tests.support.tabs import current, tabs, url

pytestmark = pytest.mark.django_db

SWITCH = "Limits are ON: switch off…"
CORE = ["Report", "Rules", "Blocks", "State", SWITCH]


def test_every_page_has_them_in_one_order_and_marks_its_own(admin_client: Client) -> None:
    rule, _ = RateRule.objects.define("login", "5/m", path="/login/")
    block = Override.objects.block("ip:203.0.113.9")
    pages = {
        reverse("admin:app_list", args=["ratewindow"]): [],
        url("report"): ["Report"],
        url("switch"): ["Report"],
        url("raterule_changelist"): ["Rules"],
        url("raterule_add"): ["Rules"],
        url("raterule_look", rule.pk): ["Rules"],
        url("raterule_change", rule.pk): ["Rules"],
        url("raterule_delete", rule.pk): ["Rules"],
        url("raterule_history", rule.pk): ["Rules"],
        url("raterule_ready"): ["Rules"],
        url("override_changelist"): ["Blocks"],
        url("override_change", block.pk): ["Blocks"],
        url("override_release"): ["Blocks"],
        url("override_history", block.pk): ["Blocks"],
        url("state"): ["State"],
    }
    for address, marked in pages.items():
        response = admin_client.get(address)
        assert current(response) == marked, address
        assert [name for name in tabs(response) if name in CORE] == CORE, address
    asked = admin_client.post(url("raterule_changelist"), {"action": "delete_selected", "_selected_action": [rule.pk]})
    assert current(asked) == ["Rules"]
    everything, _ = RateRule.objects.define("all", "0/m", applies_to="all")
    confirming = admin_client.post(url("raterule_mode", everything.pk), {"to": "enforce"})
    assert current(confirming) == ["Rules"]


@pytest.mark.parametrize(
    ("permission", "page", "shown"),
    [
        ("view_raterule", "raterule_changelist", {"Rules"}),
        ("change_raterule", "raterule_changelist", {"Rules"}),
        ("view_override", "override_changelist", {"Blocks"}),
        ("release_identity", "override_release", {"Blocks"}),
        ("view_throttlestat", "report", {"Report", "State"}),
        ("switch_limits", "switch", {SWITCH}),
    ],
)
def test_each_is_shown_to_those_alone_who_may_open_it(permission: str, page: str, shown: set[str]) -> None:
    assert tabs(staff(permission).get(url(page))).keys() & {*CORE} == shown


def test_those_of_a_room_have_their_place_for_who_has_all_permissions_of_one_text(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens = ["ratewindow.view_raterule ratewindow.view_throttlestat", "ratewindow.switch_limits"]
    room = SimpleNamespace(
        tabs=[rooms.Tab(4, "admin:ratewindow_switch", "Attic", opens), rooms.Tab(9, "admin:nowhere", "Nowhere", opens)]
    )
    monkeypatch.setattr(rooms, "installed", lambda: [room])
    assert [*tabs(admin_client.get(url("state")))] == ["Report", "Rules", "Blocks", "Attic", "State", SWITCH]
    assert current(admin_client.get(url("switch"))) == ["Attic"]
    assert [*tabs(staff("view_throttlestat", "view_raterule").get(url("state")))] == ["Report", "Rules", "Attic", "State"]
    assert [*tabs(staff("view_throttlestat").get(url("state")))] == ["Report", "State"]


def test_while_limits_are_off_they_can_be_switched_off_for_longer(admin_client: Client) -> None:
    admin_client.post(url("switch"), {"length": "15m", "reason": "a campaign"})
    assert [*tabs(admin_client.get(url("report")))][-1] == "Switch limits off or on…"


def test_the_index_has_the_models_in_their_order(admin_client: Client) -> None:
    listed = admin_client.get(reverse("admin:app_list", args=["ratewindow"])).content.decode().partition("content-main")[2]
    models = ("throttlestat", "raterule", "override")
    places = [listed.index(f'href="{url(f"{model}_changelist")}"') for model in models]
    assert places == sorted(places)
