"""Whoever edits rules does not choose which code of the site runs: superusers do, and developers."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from ratewindow import ratekey
from ratewindow.identity import custom_keys
from ratewindow.models import Override, RateRule
from tests.support.override_pages import ADD as ADD_OVERRIDE, typed as override
from tests.support.rule_pages import ADD, errors, typed

pytestmark = pytest.mark.django_db

CODE = "django.contrib.auth.logout"


def tenant(request: HttpRequest) -> str:
    return "one"


@pytest.fixture
def editor(client: Client) -> Client:
    user = User.objects.create_user("ann", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="ratewindow"))
    client.force_login(user)
    return client


@pytest.mark.parametrize("key", [CODE, f"ip+{CODE}"])
def test_an_editor_cannot_name_code_in_a_rule(editor: Client, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[Any] = []
    monkeypatch.setattr(custom_keys, "import_module", imported.append)
    told = errors(editor.post(ADD, typed(("5", "1m"), key=key)))
    assert told == [
        f"'{key.removeprefix('ip+')}' is code, which only superusers may use as a key. A developer can register it with @ratekey."
    ]
    assert not RateRule.objects.exists()
    assert imported == []


@pytest.mark.parametrize("identity", [f"{CODE}:x", f"ip:203.0.113.9+{CODE}:x"])
def test_nor_in_a_block_nor_to_release_anybody(editor: Client, identity: str) -> None:
    assert "is code, which only superusers may use" in editor.post(ADD_OVERRIDE, override(identity=identity)).content.decode()
    assert not Override.objects.exists()
    release = reverse("admin:ratewindow_override_release")
    assert "is code, which" in editor.post(release, {"identity": identity, "reason": "x"}).content.decode()


def test_a_key_that_a_developer_has_named_is_for_everybody(editor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_keys, "_registered", {})
    ratekey("tenant")(tenant)
    assert errors(editor.post(ADD, typed(("5", "1m"), key="ip+tenant"))) == []


def test_a_superuser_may_and_then_an_editor_may_leave_it(admin_client: Client, editor: Client) -> None:
    admin_client.force_login(User.objects.create_superuser("root"))
    path = f"{__name__}.tenant"
    assert errors(admin_client.post(ADD, typed(("5", "1m"), key=path))) == []
    rule = RateRule.objects.get()
    change = reverse("admin:ratewindow_raterule_change", args=[rule.pk])
    window = rule.windows.get()
    sent = {**typed(("6", "1m"), key=path, name=rule.name), "windows-INITIAL_FORMS": "1", "windows-0-id": str(window.pk)}
    sent["windows-0-rule"] = str(rule.pk)
    editor.force_login(User.objects.get(username="ann"))
    assert errors(editor.post(change, sent)) == []
    window.refresh_from_db()
    assert window.limit == 6
