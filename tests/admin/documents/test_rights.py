"""Who may export and import: each permission opens exactly its own."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from ratewindow.models import Override, RateRule
from ratewindow.operations.documents.applying import apply
from ratewindow.operations.documents.site import site
from tests.support.document_pages import EXPORT, IMPORT, confirm, written
from tests.support.documents import BLOCK, LOGIN, OFF, SEARCH, document
from tests.support.rule_pages import LIST

pytestmark = pytest.mark.django_db

EDITOR = ["view_raterule", "add_raterule", "change_raterule"]
ALL_OF_OVERRIDES = ["view_override", "add_override", "change_override", "delete_override"]


def staff(client: Client, *codenames: str) -> Client:
    user = User.objects.create_user("ann", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames, content_type__app_label="ratewindow"))
    client.force_login(user)
    return client


def test_staff_that_may_only_look_can_neither_export_nor_import(viewer: Client) -> None:
    apply(document(rules=[LOGIN]))
    shown = viewer.get(LIST).content.decode()
    assert EXPORT not in shown and IMPORT not in shown and 'value="export"' not in shown
    for method in (viewer.get, viewer.post):
        assert method(EXPORT).status_code == method(IMPORT).status_code == 403
    assert viewer.post(EXPORT, {"syntax": "json", "sections": ["rules"]}).status_code == 403
    assert viewer.post(IMPORT, {"pasted": written(document(rules=[SEARCH]))}).status_code == 403


def test_the_permission_to_export_opens_that_and_nothing_else(client: Client) -> None:
    apply(document(rules=[LOGIN], overrides=[BLOCK]))
    page = staff(client, "view_raterule", "export_throttlestat")
    assert "Blocks and exemptions are left out, since you may not see identities unmasked." in page.get(EXPORT).content.decode()
    assert page.post(EXPORT, {"syntax": "json", "sections": ["rules"]})["Content-Disposition"]
    refused = page.post(EXPORT, {"syntax": "json", "sections": ["rules", "overrides"]})
    assert refused.status_code == 200 and b"203.0.113" not in refused.content
    assert page.get(IMPORT).status_code == 403


def test_overrides_are_exported_by_who_may_see_them_unmasked(client: Client) -> None:
    apply(document(overrides=[BLOCK]))
    page = staff(client, "view_raterule", "export_throttlestat", "view_override", "view_identity")
    assert b"203.0.113" in page.post(EXPORT, {"syntax": "json", "sections": ["overrides"]}).content


@pytest.mark.parametrize("half", ["add_raterule", "change_raterule"])
def test_half_of_the_permission_to_import_opens_nothing(client: Client, half: str) -> None:
    assert staff(client, "view_raterule", half).get(IMPORT).status_code == 403


NEARLY_ALL = {**BLOCK, "identity": "*", "rule": "login", "expires_at": "2030-01-01T00:00:00Z"}
LOOK_UP = ["view_override", "view_identity"]


@pytest.mark.parametrize(
    ("sections", "missing", "others", "message"),
    [
        ({"rules": [LOGIN]}, "enforce_raterule", [], "You may not enforce rules: write mode: shadow at login."),
        ({"overrides": [BLOCK]}, "add_override", LOOK_UP, "You may not add blocks and exemptions."),
        ({"overrides": [BLOCK]}, "view_identity", ["view_override", "add_override"], "You may not see identities unmasked"),
        ({"overrides": [BLOCK]}, "view_override", ["view_identity", "add_override"], "You may not see blocks and exemptions"),
        ({"switch": OFF}, "switch_limits", [], "You may not switch limits off and on"),
        ({"overrides": [NEARLY_ALL]}, "switch_limits", ["add_override", *LOOK_UP], "permission to switch all limits off."),
    ],
)
def test_each_change_needs_its_own_permission(
    client: Client, sections: dict[str, Any], missing: str, others: list[str], message: str
) -> None:
    sent = {"pasted": written(document(**sections))}
    page = staff(client, *EDITOR, *others)
    before = site()
    refused = page.post(IMPORT, sent).content.decode()
    assert message in refused and 'name="document"' not in refused
    may_see_it = "rules" in sections or ("overrides" in sections and {*LOOK_UP} <= {*others})
    assert ("rw-change" in refused) is may_see_it, "what there is of blocks and the switch is not shown either"
    assert site() == before
    User.objects.all().delete()
    confirm(page := staff(client, *EDITOR, *others, missing), page.post(IMPORT, sent))
    assert site(list(sections)) == document(**sections)


def test_deleting_needs_the_permission_to_delete(client: Client) -> None:
    apply(document(rules=[LOGIN, SEARCH]))
    page = staff(client, *EDITOR)
    assert 'name="exact"' not in page.get(IMPORT).content.decode()
    shown = page.post(IMPORT, {"pasted": written(document(rules=[SEARCH])), "exact": "on"}).content.decode()
    assert "Nothing would change" in shown and RateRule.objects.count() == 2


def test_a_permission_that_was_lost_after_the_preview_is_missed(client: Client) -> None:
    page = staff(client, *EDITOR, "enforce_raterule")
    preview = page.post(IMPORT, {"pasted": written(document(rules=[LOGIN]))})
    User.objects.get().user_permissions.set(Permission.objects.filter(codename__in=EDITOR))
    assert confirm(page, preview).status_code == 403 and not RateRule.objects.exists()


def test_a_preview_is_confirmed_by_its_own_user(client: Client, boss: User) -> None:
    preview = staff(client, *EDITOR).post(IMPORT, {"pasted": written(document(rules=[SEARCH]))})
    client.force_login(boss)
    assert confirm(client, preview).status_code == 403


def test_only_superusers_name_code(client: Client) -> None:
    rule = {**SEARCH, "key": "tests.support.doors.plain"}
    page = staff(client, *EDITOR)
    assert (
        "is code, which only superusers may use"
        in page.post(IMPORT, {"pasted": written(document(rules=[rule]))}).content.decode()
    )
    assert not Override.objects.exists() and not RateRule.objects.exists()
