"""Who may look at rules, save them, and enforce them."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from ratewindow.models import RateRule
from tests.support.rule_pages import ADD, LIST, change, define, errors, typed

pytestmark = pytest.mark.django_db


class TestStaffThatMayOnlyLook:
    def test_they_see_the_rules_and_no_way_to_change_them(self, viewer: Client) -> None:
        rule = define(path="/login/")
        assert "Each address: at most 5 in 1 minute" in viewer.get(LIST).content.decode()
        text = viewer.get(change(rule)).content.decode()
        assert 'name="_save"' not in text
        assert "1m" in text

    def test_they_cannot_save_add_or_delete(self, viewer: Client) -> None:
        rule = define(path="/login/")
        delete = reverse("admin:ratewindow_raterule_delete", args=[rule.pk])
        assert viewer.post(change(rule), typed(("9", "1m"), stored=rule)).status_code == 403
        assert viewer.post(change(rule), {**typed(("9", "1m")), "_saveasnew": "1", "name": "x"}).status_code == 403
        assert viewer.post(ADD, typed(("9", "1m"), name="x")).status_code == 403
        assert viewer.post(delete, {"post": "yes"}).status_code == 403
        assert [(each.name, each.windows.get().limit) for each in RateRule.objects.all()] == [("login", 5)]

    @pytest.mark.parametrize("action", ["enforce", "shadow", "switch_off", "delete_selected"])
    def test_they_cannot_run_an_action(self, viewer: Client, action: str) -> None:
        rule = define(mode="off" if action == "shadow" else "shadow")
        viewer.post(LIST, {"action": action, "_selected_action": [rule.pk], "post": "yes"})
        rule.refresh_from_db()
        assert rule.mode == ("off" if action == "shadow" else "shadow")
        assert not LogEntry.objects.exists()


class TestWhoMayEnforce:
    """Saving a rule and enforcing it are two permissions."""

    @pytest.fixture
    def editor(self, client: Client) -> Client:
        user = User.objects.create_user("editor", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=["view_raterule", "add_raterule", "change_raterule"]))
        client.force_login(user)
        return client

    def test_an_editor_saves_in_shadow_and_is_told_whom_to_ask(self, editor: Client) -> None:
        assert editor.post(ADD, typed(("5", "1m"), name="api")).status_code == 302
        response = editor.post(ADD, typed(("5", "1m"), mode="enforce"))
        assert "You may not enforce rules. Save this one in shadow" in response.content.decode()
        assert list(RateRule.objects.values_list("name", "mode")) == [("api", "shadow")]

    def test_nor_by_editing_a_rule_or_copying_one_that_is_enforced(self, editor: Client) -> None:
        shadow, enforced = define("one"), define("two", mode="enforce")
        editor.post(change(shadow), typed(("5", "1m"), stored=shadow, name="one", mode="enforce"))
        editor.post(change(enforced), {**typed(("5", "1m"), name="three", mode="enforce"), "_saveasnew": "1"})
        assert set(RateRule.objects.values_list("name", "mode")) == {("one", "shadow"), ("two", "enforce")}

    def test_a_rule_that_is_enforced_can_be_edited_and_stays_so(self, editor: Client) -> None:
        rule = define(mode="enforce")
        response = editor.post(change(rule), typed(("7", "1m"), stored=rule, mode="enforce"))
        assert response.status_code == 302
        rule.refresh_from_db()
        assert (rule.mode, rule.windows.get().limit) == ("enforce", 7)

    def test_nor_by_the_action_of_the_list(self, editor: Client) -> None:
        rule = define()
        assert "Enforce selected rules" not in editor.get(LIST).content.decode()
        editor.post(LIST, {"action": "enforce", "_selected_action": [rule.pk]})
        rule.refresh_from_db()
        assert rule.mode == "shadow"

    @pytest.mark.parametrize("verb", ["add", "change"])
    def test_who_may_save_a_rule_saves_its_limits_with_it(self, client: Client, verb: str) -> None:
        user = User.objects.create_user("editor", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=["view_raterule", f"{verb}_raterule"]))
        client.force_login(user)
        rule = define("login", "5/m; 20/h", path="/login/")
        sent = typed(("7", "1m"), ("20", "1h"), stored=rule if verb == "change" else None, name="new")
        response = client.post(change(rule) if verb == "change" else ADD, sent)
        assert response.status_code == 302, errors(response)
        assert sorted(RateRule.objects.latest("pk").windows.values_list("limit", flat=True)) == [7, 20]

    def test_permissions_for_limits_alone_open_nothing(self, client: Client) -> None:
        user = User.objects.create_user("editor", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__endswith="_rulewindow"))
        client.force_login(user)
        rule = define()
        sent = typed(("7", "1m"), stored=rule)
        answers = [client.get(LIST), client.get(change(rule)), client.post(change(rule), sent), client.post(ADD, sent)]
        assert [answer.status_code for answer in answers] == [403] * 4
        assert rule.windows.get().limit == 5

    def test_who_may_only_look_is_forbidden_to_act(self, viewer: Client) -> None:
        rule = define()
        assert viewer.post(change(rule), typed(("5", "1m"), stored=rule, mode="off")).status_code == 403
