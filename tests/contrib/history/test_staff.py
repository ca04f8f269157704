"""The history as functions: the same edits as by the admin's pages, who sees which, and back."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.test import Client
from django.urls import reverse

from ratewindow import staff
from ratewindow.contrib.history import values
from ratewindow.contrib.history.models import Edit
from ratewindow.contrib.history.staff import history, restore, undo
from ratewindow.models import Override, RateRule
from ratewindow.operations import switch_off
from tests.support import override_pages
from tests.support.rule_pages import ADD, change, define, look, typed

pytestmark = pytest.mark.django_db(transaction=True)

ME = "ip:203.0.113.9"


def user(*permissions: str, name: str = "bob") -> Any:
    made = User.objects.create(username=name)
    made.user_permissions.set(Permission.objects.filter(content_type__app_label="ratewindow", codename__in=permissions))
    return made


@pytest.fixture
def boss() -> Any:
    return User.objects.create_superuser("boss")


def edits() -> list[dict[str, Any]]:
    """All but when, by which way, and what is counted up."""
    left_out = ("id", "at", "way")
    found = [{name: value for name, value in row.items() if name not in left_out} for row in Edit.objects.order_by("pk").values()]
    pks = list(dict.fromkeys(row["subject"] for row in found if row["kind"] == "override"))
    return [
        {**row, "subject": f"block {pks.index(row['subject'])}" if row["subject"] in pks else row["subject"]} for row in found
    ]


def by_the_admin(boss: Any) -> None:
    page = Client()
    page.force_login(boss)
    page.post(ADD, typed(("5", "1m"), ("20", "1h"), key="user", why="a trial"))
    rule = RateRule.objects.get()
    page.post(change(rule), typed(("7", "1m"), ("20", "1h"), stored=rule, key="user", description="mine", why="too many"))
    page.post(reverse("admin:ratewindow_raterule_mode", args=[rule.pk]), {"to": "enforce", "why": "it is time"})
    page.post(
        override_pages.ADD, override_pages.typed(identity=ME, reason="spam", expires_at_0="2031-01-02", expires_at_1="03:04")
    )
    page.post(reverse("admin:ratewindow_override_end", args=[Override.objects.get().pk]), {"reason": "enough"})
    page.post(
        override_pages.ADD,
        override_pages.typed(action="rate", identity="user:42", rate="9/m", rule="login", reason="paid", lasts=""),
    )
    page.post(reverse("admin:ratewindow_override_release"), {"identity": ME, "reason": "sorry"})
    page.post(reverse("admin:ratewindow_raterule_delete", args=[rule.pk]), {"post": "yes", "why": "over"})


def by_the_functions(boss: Any) -> None:
    staff.define("login", "5/m; 20/h", path="/login/", key="user", by=boss, reason="a trial")
    staff.edit("login", rate="7/m; 20/h", description="mine", by=boss, reason="too many")
    staff.edit("login", mode="enforce", by=boss, reason="it is time")
    block = staff.block(ME, expires_at="2031-01-02 03:04", reason="spam", by=boss)
    staff.end(block["pk"], by=boss, reason="enough")
    staff.rate("user:42", "9/m", rule="login", reason="paid", by=boss)
    staff.release(ME, by=boss, reason="sorry")
    staff.delete("login", by=boss, reason="over")


def left_by(act: Callable[[Any], None], boss: Any) -> list[dict[str, Any]]:
    """The edits of these acts, on a site where nothing else was."""
    act(boss)
    found = edits()
    for rows in (RateRule.objects.all(), Override.objects.all(), Edit.objects.all()):
        rows.delete()
    return found


def test_the_same_acts_leave_the_same_edits_as_in_the_admin(boss: Any) -> None:
    admins, ours = left_by(by_the_admin, boss), left_by(by_the_functions, boss)
    assert len(admins) == 8
    for one, other in zip(admins, ours, strict=True):
        if one["after"] and "expires_at" in one["after"] and one["action"] == "changed":  # it ended now
            one["after"].pop("expires_at"), other["after"].pop("expires_at")
        assert one == other


def test_the_way_says_api_and_that_of_the_admin_stays_its_own(boss: Any, client: Client) -> None:
    by_the_functions(boss)
    assert set(Edit.objects.values_list("way", "by", "user")) == {("api", "boss", boss.pk)}
    for rows in (Override.objects.all(), Edit.objects.all()):
        rows.delete()
    by_the_admin(boss)
    assert set(Edit.objects.values_list("way", flat=True)) == {"admin"}
    client.force_login(boss)
    staff.define("api", "5/m", by=boss)
    assert "by the API" in client.get(reverse("admin:ratewindow_history_edit_changelist")).content.decode()


class TestWhoSeesWhat:
    def test_the_newest_first_with_what_changed(self, boss: Any) -> None:
        by_the_functions(boss)
        seen = history(by=boss)
        assert [(each["title"], each["action"], each["reason"]) for each in seen][:2] == [
            ("Rule login", "deleted", "over"),
            (f"Client {ME}", "released", "sorry"),
        ]
        (moved,) = (each for each in seen if each["reason"] == "it is time")
        assert moved["lines"] == [{"field": "Mode", "before": "Shadow: counts, refuses nobody", "after": "Enforce"}]
        assert [each["reason"] for each in history(rule="login", by=boss, limit=2)] == ["over", "it is time"]

    def test_each_sees_the_edits_of_what_they_may_see(self, boss: Any) -> None:
        by_the_functions(boss)
        assert {each["kind"] for each in history(by=user("view_raterule"))} == {"rule"}
        blocks = history(by=user("view_override", name="eve"))
        assert {each["kind"] for each in blocks} == {"override", "release"}
        assert "203.0.113.9" not in str(blocks) and "ip:203.0.113.x" in str(blocks)
        with pytest.raises(PermissionDenied):
            history(by=user("add_raterule", name="joe"))


class TestBack:
    def test_an_edit_is_taken_back_and_that_too(self, boss: Any) -> None:
        staff.define("login", "5/m; 20/h", by=boss)
        staff.edit("login", rate="9/m", cost=3, by=boss)
        done = undo(by=boss, reason="too much")
        assert done and (done["way"], done["by"], done["reason"]) == ("restore", "boss", "too much")
        rule = RateRule.objects.get()
        assert (rule.cost, [str(each) for each in rule.windows.all()]) == (1, ["5 in 1m", "20 in 1h"])
        undo(by=boss)
        assert RateRule.objects.get().cost == 3
        first = Edit.objects.earliest("pk")
        restore(first.pk, by=boss)
        assert not RateRule.objects.exists()
        assert restore(first.pk, by=boss) is None

    def test_of_one_rule_or_nothing(self, boss: Any) -> None:
        assert undo(by=boss) is None
        for name in ("one", "two"):
            staff.define(name, "5/m", by=boss)
        undo(rule="one", by=boss)
        assert list(RateRule.objects.values_list("name", flat=True)) == ["two"]

    def test_a_release_is_passed_over_and_cannot_be_restored(self, boss: Any) -> None:
        staff.block(ME, by=boss)
        staff.release("user:42", by=boss)
        with pytest.raises(ValidationError, match="cannot be taken back"):
            restore(Edit.objects.get(kind="release").pk, by=boss)
        undo(by=boss)
        assert not Override.objects.exists()

    def test_the_switch_too(self, boss: Any) -> None:
        switch_off.turn_off(3600, "a trial", "boss")
        with pytest.raises(PermissionDenied, match="You may not switch the limits"):
            undo(by=user("view_throttlestat"))
        undo(by=boss)
        assert not switch_off.current().off

    @pytest.mark.parametrize(
        ("permission", "act"),
        [
            ("delete_raterule", lambda by: staff.define("login", "5/m", by=by)),
            ("change_raterule", lambda by: [define(), staff.edit("login", cost=2, by=by)]),
            ("add_raterule", lambda by: [define(), staff.delete("login", by=by)]),
            ("delete_override", lambda by: staff.block(ME, by=by)),
            ("change_override", lambda by: staff.end(staff.block(ME, by=by)["pk"], by=by)),
        ],
    )
    def test_it_takes_what_the_change_takes(self, boss: Any, permission: str, act: Callable[[Any], object]) -> None:
        act(boss)
        seeing = {"view_raterule", "view_override"}
        with pytest.raises(PermissionDenied, match="You may not make this change"):
            undo(by=user(*seeing, *({"delete_raterule", "add_raterule", "delete_override"} - {permission})))
        assert undo(by=user(*seeing, permission, name="may"))

    def test_enforcing_again_takes_its_permission(self, boss: Any) -> None:
        define(mode="enforce")
        staff.edit("login", mode="off", by=boss)
        with pytest.raises(PermissionDenied, match="You may not enforce rules"):
            undo(by=user("change_raterule"))

    def test_which_edits_there_are_is_not_told(self, boss: Any) -> None:
        staff.block(ME, by=boss)
        by = user("view_raterule", "change_raterule")
        for pk in (Edit.objects.get().pk, 10**6):
            with pytest.raises(PermissionDenied):
                restore(pk, by=by)

    def test_what_can_no_longer_be_saved_is_said_to_whom_it_may(self, boss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        staff.block(ME, by=boss)
        staff.end(Override.objects.get().pk, by=boss)

        def invalid(*_: Any) -> None:
            raise values.InvalidValues([f"identity: {ME} is odd"])

        monkeypatch.setattr(values, "apply", invalid)
        with pytest.raises(ValidationError) as raised:
            undo(by=boss)
        assert raised.value.messages == [
            f"identity: {ME} is odd",
            "So these values can no longer be saved. Nothing was restored.",
        ]
        with pytest.raises(ValidationError) as raised:
            undo(by=user("change_override"))
        assert ME not in str(raised.value)

    def test_an_edit_at_the_same_moment_is_no_error_of_the_server(self, boss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        def changed(*_: Any) -> None:
            raise values.ChangedMeanwhile

        staff.define("login", "5/m", by=boss)
        monkeypatch.setattr(values, "apply", changed)
        with pytest.raises(ValidationError, match="another edit at this moment"):
            undo(by=boss)


def test_a_page_of_the_admin_asks_the_sites_own_class_too(boss: Any, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that lets nobody edit, since rules are in files."""
    from django.contrib import admin

    staff.define("login", "5/m", by=boss)
    staff.edit("login", cost=2, by=boss)
    client.force_login(boss)
    monkeypatch.setattr(type(admin.site.get_model_admin(RateRule)), "has_change_permission", lambda *_: False)
    page = reverse("admin:ratewindow_history_edit_change", args=[Edit.objects.latest("pk").pk])
    assert "You may not make this change" in client.get(page).content.decode()
    assert client.post(page, {"reason": "x"}).status_code == 403
    assert client.get(look(RateRule.objects.get())).status_code == 200
