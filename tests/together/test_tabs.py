"""The row of tabs with those of all rooms: each opens its page, and every page of a room has the row."""

import pytest
from django.test import Client
from django.urls import reverse

from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.contrib.history.models import Edit
from ratewindow.models import RateRule
from tests.support.staff import staff
from tests.support.tabs import current, tabs, url

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_page_of_a_room_has_them_and_marks_its_own(admin_client: Client) -> None:
    RateRule.objects.define("login", "5/m", path="/login/")
    channel, edit = AlertChannel.objects.create(name="night"), Edit.objects.get()
    pages = {
        reverse("admin:app_list", args=["ratewindow_history"]): [],
        reverse("admin:app_list", args=["ratewindow_alerts"]): [],
        url("explain"): ["Explain"],
        url("backtest"): ["Backtest"],
        url("history_edit_changelist"): ["History"],
        url("history_edit_change", edit.pk): ["History"],
        url("alerts_alertchannel_changelist"): ["Alert channels"],
        url("alerts_alertchannel_add"): ["Alert channels"],
        url("alerts_alertchannel_change", channel.pk): ["Alert channels"],
        url("alerts_alertchannel_delete", channel.pk): ["Alert channels"],
        url("alerts_alertchannel_history", channel.pk): ["Alert channels"],
    }
    for address, marked in pages.items():
        response = admin_client.get(address)
        assert current(response) == marked, address
        assert tabs(response).keys() >= {"Report", "Explain", "Backtest", "History", "Alert channels"}, address


@pytest.mark.parametrize(
    ("permissions", "page", "shown"),
    [
        ({"view_raterule"}, "raterule_changelist", {"Rules", "Explain", "History"}),
        ({"change_raterule"}, "raterule_changelist", {"Rules", "Explain", "History"}),
        ({"view_override"}, "override_changelist", {"Blocks", "History"}),
        ({"release_identity"}, "override_release", {"Blocks"}),
        ({"view_throttlestat"}, "report", {"Report", "History", "State"}),
        ({"view_throttlestat", "view_raterule"}, "state", {"Report", "Rules", "Explain", "Backtest", "History", "State"}),
        ({"switch_limits"}, "switch", {"History", "Limits are ON: switch off…"}),
    ],
)
def test_each_that_is_shown_can_be_opened(permissions: set[str], page: str, shown: set[str]) -> None:
    client = staff(*permissions)
    found = tabs(client.get(url(page)))
    assert found.keys() == shown
    for address in found.values():
        assert client.get(address, follow=True).status_code == 200, address
