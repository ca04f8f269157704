"""What is recorded of an edit: once for each transaction and subject, with what was there before and after."""

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.migrations.state import ProjectState
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from ratewindow.conf import time_zone
from ratewindow.contrib.history.models import Edit
from ratewindow.identity import hashed
from ratewindow.models import LimitSwitch, Override, RateRule, origin
from ratewindow.models.overrides import KEPT
from ratewindow.operations import switch_off
from ratewindow.operations.cleaning import clean_ended
from ratewindow.operations.clients import release
from tests.support.commands import run

pytestmark = pytest.mark.django_db(transaction=True)


def define(rate: str = "5/m", name: str = "login", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **{"overwrite": True, **fields})[0]


def edits(kind: str = "rule") -> list[Edit]:
    """The oldest first."""
    return list(Edit.objects.filter(kind=kind).order_by("at", "pk"))


def limits(values: Any) -> Any:
    return values and [each["limit"] for each in values["limits"]]


def shown(kind: str = "rule") -> list[tuple[str, Any, Any]]:
    return [(edit.action, limits(edit.before), limits(edit.after)) for edit in edits(kind)]


def test_a_rule_with_its_limits_is_one_edit() -> None:
    define("5/m; 20/h")
    define("9/m")
    RateRule.objects.get().delete()
    assert shown() == [("added", None, [5, 20]), ("changed", [5, 20], [9]), ("deleted", [9], None)]
    assert {edit.subject for edit in edits()} == {"login"}


def test_a_save_that_changes_nothing_leaves_no_edit() -> None:
    rule = define()
    rule.save()
    rule.windows.get().save()
    define()
    with transaction.atomic():
        rule.mode = "off"
        rule.save()
        rule.mode = "shadow"
        rule.save()
    assert shown() == [("added", None, [5])]


def test_outside_of_a_transaction_each_save_is_an_edit() -> None:
    rule = define()
    for limit in (6, 7):
        rule.windows.update_or_create(defaults={"limit": limit})
    window = rule.windows.get()
    window.limit = 8
    window.save()
    window.delete()
    assert shown()[1:] == [
        ("changed", [5], [6]),
        ("changed", [6], [7]),
        ("changed", [7], [8]),
        ("changed", [8], []),
    ]


def test_what_is_rolled_back_leaves_no_edit() -> None:
    define()
    with transaction.atomic():
        define("6/m")
        transaction.set_rollback(True)
    assert shown() == [("added", None, [5])]


class Undone(Exception):
    pass


def undone(change: Any) -> None:
    """Make a change within a savepoint that is rolled back."""
    with pytest.raises(Undone), transaction.atomic():
        change()
        raise Undone


def test_a_savepoint_that_is_rolled_back_leaves_the_edit_of_its_transaction() -> None:
    define()
    with transaction.atomic():
        define("6/m")
        undone(lambda: define("7/m"))
    assert shown()[1:] == [("changed", [5], [6])]


def test_a_savepoint_that_is_rolled_back_may_be_the_first_to_edit() -> None:
    define()
    with transaction.atomic():
        undone(lambda: define("7/m"))
        define("2/m", "search")
        define("8/m")
        undone(lambda: RateRule.objects.all().delete())
    assert [(edit.subject, *each) for edit, each in zip(edits(), shown(), strict=True)][1:] == [
        ("search", "added", None, [2]),
        ("login", "changed", [5], [8]),
    ]


def test_a_savepoint_that_takes_the_change_back_leaves_it_when_rolled_back() -> None:
    define()
    with transaction.atomic():
        define()  # touches it, and changes nothing
        undone(lambda: define("7/m"))
        define("2/m", "search")
        define("6/m")
        undone(define)  # as it was before the transaction
        with transaction.atomic():
            define("9/m")
    assert shown()[1:] == [("added", None, [2]), ("changed", [5], [9])]


def test_blocks_are_recorded_with_identities_as_they_are_stored() -> None:
    block = Override.objects.block("header:x-api-key:very-secret", duration="1h", reason="abuse")
    Override.objects.get_queryset().filter(pk=block.pk).end()
    block.delete()
    assert [edit.action for edit in edits("override")] == ["added", "changed", "deleted"]
    assert len({edit.subject for edit in edits("override")}) == 1
    assert "very-secret" not in str([(edit.before, edit.after) for edit in edits("override")])


def test_an_edit_that_replaces_a_clear_identity_by_its_hash_keeps_both_forms() -> None:
    secret = "header:x-api-key:correct-horse-7f2c"
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "none"}):
        block = Override.objects.block(secret)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "secrets"}):
        block.save()
    edit = Edit.objects.all()[0]
    assert (edit.before["identity"], edit.after["identity"]) == (secret, hashed(secret))


def test_the_cleaning_of_long_ended_blocks_is_no_edit() -> None:
    Override.objects.create(action="block", identity="ip:192.0.2.1", expires_at=time_zone.now() - KEPT - timedelta(days=1))
    assert clean_ended().startswith("1 ")
    assert [edit.action for edit in edits("override")] == ["added"]


def test_the_switch_is_recorded() -> None:
    switch_off.turn_off(60, "campaign", "ann")
    switch_off.turn_on("over", "ben")
    assert [(edit.by, edit.after["reason"], edit.after["off"]) for edit in edits("switch")] == [
        ("ann", "campaign", True),
        ("ben", "over", False),
    ]
    assert LimitSwitch.objects.count() == 1


def test_the_author_of_a_block_is_known_without_a_request() -> None:
    user = get_user_model().objects.create_user("ada")
    Override.objects.block("ip:192.0.2.1", created_by=user)
    assert [(edit.by, edit.user) for edit in edits("override")] == [("ada", user)]


def test_a_release_is_recorded_with_the_identity_as_it_is_stored() -> None:
    define("5/m", key="header:x-api-key")
    Override.objects.block("header:x-api-key:very-secret")
    release("header:x-api-key:very-secret", "login")
    (edit,) = edits("release")
    assert (edit.action, edit.after) == ("released", {"rule": "login", "counts": [], "blocks": 0})
    assert edit.subject == Override.objects.get().identity


def test_who_why_and_which_way() -> None:
    user = get_user_model().objects.create_user("ada")
    with origin.edits("admin", user=user, reason="too many\n logins"):
        define()
    run("mode", "login", "off", "--reason", "maintenance")
    first, second = edits()
    assert (first.way, first.by, first.user, first.reason) == ("admin", "ada", user, "too many logins")
    assert (second.way, second.reason) == ("command mode", "maintenance") and "@" in second.by
    user.delete()
    first.refresh_from_db()
    assert (first.user, first.by) == (None, "ada")


def test_code_that_saves_rows_is_known_as_code_and_migrations_are_not_recorded() -> None:
    RateRule.objects.create(name="login")
    historical = ProjectState.from_apps(apps).apps.get_model("ratewindow", "RateRule")
    historical.objects.define("search", "5/m")
    assert [(edit.subject, edit.way) for edit in edits()] == [("login", "code")]


def test_what_a_list_of_rows_deletes_at_once_is_recorded() -> None:
    define()
    define(name="search")
    RateRule.objects.all().delete()
    assert sorted(edit.subject for edit in edits() if edit.action == "deleted") == ["login", "search"]


def test_rows_of_the_site_are_deleted_without_being_read() -> None:
    with CaptureQueriesContext(connection) as queries:
        Session.objects.filter(expire_date__lt=time_zone.now()).delete()
    assert not [each for each in queries.captured_queries if each["sql"].startswith("SELECT")]
