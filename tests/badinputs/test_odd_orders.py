"""Orders at the edge of what a calendar, a database or a form can hold, given by forms and commands: told, never an error 500."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client, override_settings
from django.urls import reverse

from ratewindow.models import Override, RateRule
from ratewindow.operations import switch_off

pytestmark = pytest.mark.django_db

LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
ZONES = ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"]  # first and last moments are none elsewhere


@pytest.fixture
def page(client: Client) -> Client:
    client.force_login(User.objects.create(username="boss", is_staff=True, is_superuser=True))
    return client


def block(**fields: str) -> dict[str, str]:
    when = dict.fromkeys(("expires_at_0", "expires_at_1", "starts_at_0", "starts_at_1"), "")
    return {"action": "block", "identity": "ip:203.0.113.9", "rule": "", "rate": "", "lasts": "", "reason": "", **when, **fields}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "fields",
    [
        {"lasts": "10000d", "starts_at_0": "9999-12-31", "starts_at_1": "00:00"},
        {"lasts": "9999999999999999w"},
        {"starts_at_0": "9999-12-31", "starts_at_1": "23:59:59"},
        {"expires_at_0": "9999-12-31", "expires_at_1": "23:59:59"},
        {"starts_at_0": "0001-01-01", "starts_at_1": "00:00"},
        {"expires_at_0": "0001-01-01", "expires_at_1": "00:00"},
        {"starts_at_0": "0001-01-01", "starts_at_1": "00:00", "lasts": "1h"},
        {"starts_at_0": "2026-13-45", "starts_at_1": "25:61"},
        {"action": "explode", "rate": "5/m"},
        {"identity": "ip:0.0.0.0/0"},
        {"identity": "ip:203.0.113.9/33"},
        {"identity": "user:" + "9" * 300},
        {"identity": "group:\x00"},
    ],
)
def test_a_block_at_the_end_of_time_is_told_or_kept(page: Client, zone: str, fields: dict[str, str]) -> None:
    with override_settings(TIME_ZONE=zone):
        assert page.post(reverse("admin:ratewindow_override_add"), block(**fields)).status_code in (200, 302)
        assert page.get(reverse("admin:ratewindow_override_changelist")).status_code == 200
        assert page.get("/limited/").status_code in (200, 429)


def test_the_buttons_of_one_that_ends_with_the_calendar_are_answered(page: Client) -> None:
    (row,) = Override.objects.bulk_create([Override(action="block", identity="ip:203.0.113.9", expires_at=LAST)])
    address = reverse("admin:ratewindow_override_end", args=[row.pk])
    assert page.post(address, follow=True).status_code == 200
    many = {"action": "end_now", "_selected_action": [str(row.pk)]}
    assert page.post(reverse("admin:ratewindow_override_changelist"), many, follow=True).status_code == 200


def test_a_number_that_no_column_holds_is_nobodys(page: Client) -> None:
    address = reverse("admin:ratewindow_override_end", args=[1]).replace("/1/", f"/{'9' * 40}/")
    assert page.post(address, follow=True).status_code in (200, 404)
    for model in ("raterule", "override"):
        for name in ("change", "delete", "history"):
            for number in ("9" * 40, "-1", "x", "%00", "1e5"):
                address = reverse(f"admin:ratewindow_{model}_{name}", args=["NUMBER"]).replace("NUMBER", number)
                assert page.get(address).status_code in (302, 404), address


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "query",
    [
        "start=0001-01-01T00:00",
        "start=9999-12-31T23:59",
        "start=0001-01-01T00:00&end=9999-12-31T23:59",
        "start=2026-01-01T00:00&end=9999-12-31T23:59",
        "start=2026-03-29T02:30&end=2026-10-25T02:30",
        "start=x&end=%00",
        "period=%00&rule=%00",
        "period=7d&period=1h&rule=a&rule=b",
        "rule=" + "x" * 5000,
    ],
)
def test_a_period_at_the_end_of_time_is_told_at_its_field(page: Client, zone: str, query: str) -> None:
    with override_settings(TIME_ZONE=zone):
        assert page.get(f"{reverse('admin:ratewindow_report')}?{query}").status_code == 200


@pytest.mark.parametrize(
    "length", ["9999999999999999w", "999999w", "0s", "-1h", "x", "", "always", "1e9s", "\x00", "15m" * 20, "１５m", "0.5h"]
)
def test_a_length_of_the_switch_that_is_none_is_told(page: Client, length: str) -> None:
    told = page.post(reverse("admin:ratewindow_switch"), {"length": length, "reason": "x" * 200}, follow=True)
    assert told.status_code == 200
    assert page.get(reverse("admin:ratewindow_report")).status_code == 200
    assert page.get("/limited/").status_code in (200, 429)
    switch_off.turn_on("", "a test")


@pytest.mark.parametrize(
    "order",
    [
        ["off", "--for", "9999999999999999w"],
        ["off", "--for", "999999w"],
        ["off", "--for", "-1s"],
        ["off", "--for", ""],
        ["block", "ip:203.0.113.9", "--for", "9999999999999999w"],
        ["block", "ip:203.0.113.9", "--for", "0s"],
        ["block", "", "--for", "1h"],
        ["block", "\x00", "--for", "1h"],
        ["allow", "é" * 400],
        ["release", "\x00\r\n"],
        ["release", "user:" + "9" * 5000],
        ["release", "ip:203.0.113.9", "--rule", "\x00"],
        ["mode", "\x00", "off"],
        ["mode", "x" * 5000, "off"],
        ["block", "user:42", "--for", "1h", "--reason", "x" * 5000],
        ["block", "user:42", "--for", "1h", "--reason", "a\x00b\r\nc"],
        ["block", "user:42", "--for", "1h", "--rule", "Not A Rule"],
    ],
)
def test_a_command_is_done_or_says_what_is_wrong(order: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    told = ""
    try:
        call_command("ratewindow", *order)
    except CommandError as error:
        told = str(error)
    assert len((told or capsys.readouterr().out).strip()) in range(1, 2000)
    assert not (told and switch_off.current().off)  # what is refused has done nothing
    switch_off.turn_on("", "a test")


def limits(count: str, initial: str = "0", **rows: str) -> dict[str, str]:
    return {
        "windows-TOTAL_FORMS": count,
        "windows-INITIAL_FORMS": initial,
        **{f"windows-{name}": value for name, value in rows.items()},
    }


@pytest.mark.parametrize(
    "more",
    [
        limits("x"),
        limits("-1"),
        limits("9" * 30),
        limits("5000"),
        limits("1", "1"),
        {},
        {**limits("1"), "windows-0-limit": "5", "windows-0-period": "1m", "windows-0-algorithm": "nonsense"},
        {**limits("1"), "windows-0-limit": "5", "windows-0-period": "1m", "windows-0-id": "999", "windows-0-rule": "999"},
    ],
)
def test_a_form_that_somebody_has_bent_is_told(page: Client, more: dict[str, str]) -> None:
    form = {
        "name": "bent",
        "mode": "shadow",
        "applies_to": "path",
        "pattern": "/x/",
        "key": "ip",
        "on_missing": "ip",
        "cost": "1",
    }
    assert page.post(reverse("admin:ratewindow_raterule_add"), {**form, **more}).status_code in (200, 400)
    assert not RateRule.objects.exists()


def test_a_rule_of_very_many_limits_is_an_error_that_names_how_many_it_may_have() -> None:
    """Nobody needs them, and a server is held up by them; they must neither break the script nor let everybody pass."""
    from tests.support.doors import decorated

    rate = "; ".join(f"{1000 + n}/{1000 + n}s" for n in range(400)) + "; 2/h"
    with pytest.raises(ValueError, match=r"401 .*20"):
        decorated(False, "many", rate)
