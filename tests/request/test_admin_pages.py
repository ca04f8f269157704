"""The pages of the admin: they are found, and ours stay open to whoever may switch limits."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission, User
from django.test import AsyncClient, Client
from django.urls import resolve, reverse

from ratewindow.models import Override, RateRule
from ratewindow.operations import lockout
from ratewindow.rulebook import current, reading

INDEX, STATE, SWITCH = (reverse(f"admin:{name}") for name in ("index", "ratewindow_state", "ratewindow_switch"))
OURS = [
    SWITCH,
    STATE,
    reverse("admin:ratewindow_report"),
    reverse("admin:ratewindow_raterule_changelist"),
    reverse("admin:ratewindow_override_changelist"),
    reverse("admin:ratewindow_override_add"),
    reverse("admin:app_list", args=["ratewindow"]),
]


def test_every_page_of_the_admin_is_found() -> None:
    found = lockout.pages()
    assert found[:2] == ["/admin/", "/admin/login/"]
    assert {*OURS, reverse("admin:auth_user_changelist"), reverse("admin:auth_user_change", args=[1])} <= set(found)
    assert all(path.startswith("/admin/") and "%" not in path for path in found)
    assert [path for path in found if "/ratewindow/" in path and resolve(path).app_names != ["admin"]] == []


@pytest.mark.urls("tests.sites.without_admin_urls")
def test_a_site_without_the_admin_has_none() -> None:
    assert lockout.pages() == []


@pytest.fixture
def staff(db: None) -> User:
    user = User.objects.create(username="ann", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["switch_limits", "view_throttlestat"]))
    return user


def refuse_all(how: str) -> None:
    if how == "rule":
        RateRule.objects.define("all", "0/m", applies_to="all", mode="enforce")
    elif how == "missing":
        RateRule.objects.define("all", "9/m", applies_to="all", key="header:x-key", on_missing="refuse", mode="enforce")
    else:
        Override.objects.block("ip:127.0.0.1")
    reading.reload()


@pytest.mark.parametrize("how", ["rule", "missing", "block"])
def test_who_may_switch_limits_reaches_our_pages_and_no_other(client: Client, staff: User, how: str) -> None:
    client.force_login(staff)
    refuse_all(how)
    assert client.get(SWITCH).status_code == client.get(STATE).status_code == 200
    assert client.get(INDEX).status_code == client.get("/search/").status_code == 429
    switched = client.post(SWITCH, {"length": "15m", "reason": "locked out"})
    assert switched.status_code == 302
    assert client.get(INDEX).status_code == 200


@pytest.mark.parametrize("how", ["rule", "block"])
async def test_the_same_on_an_event_loop(transactional_db: None, staff: User, how: str) -> None:
    client = AsyncClient()
    await client.aforce_login(staff)
    await current.arulebook()
    await sync_to_async(refuse_all)(how)
    assert (await client.get(SWITCH)).status_code == 200
    assert (await client.get(INDEX)).status_code == 429


def test_all_others_are_refused_there_too(client: Client, staff: User) -> None:
    refuse_all("rule")
    assert client.get(SWITCH).headers["Location"].startswith("/admin/login/")
    staff.user_permissions.clear()
    client.force_login(staff)
    assert client.get(SWITCH).status_code == 429


def test_what_stays_open_is_neither_counted_nor_charged(client: Client, staff: User, redis_client: Any) -> None:
    client.force_login(staff)
    RateRule.objects.define("all", "1/m", applies_to="all", key="user", mode="enforce")
    reading.reload()
    assert [client.get(STATE).status_code for _ in range(3)] == [200] * 3
    assert client.get(STATE).wsgi_request.ratewindow.decisions == ()  # type: ignore[attr-defined]
