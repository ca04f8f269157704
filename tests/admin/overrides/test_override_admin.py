"""Blocks and exemptions in the admin, as a person meets them."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import ValidationError
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from ratewindow.models import Override
from tests.support.override_pages import ADD, LIST, change, quick, text, typed
from tests.support.rule_pages import errors

pytestmark = pytest.mark.django_db

EVIL = "<img src=x onerror=alert(1)>"


def staff(client: Client, *codenames: str) -> Client:
    user = User.objects.create(username="staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


@pytest.fixture
def viewer(client: Client) -> Client:
    """Staff that may look and not touch, and not see identities either."""
    return staff(client, "view_override")


class TestForm:
    def test_a_block_is_made_by_whoever_is_logged_in_and_ends_by_itself(self, page: Client, boss: User) -> None:
        response = page.post(ADD, typed(identity=" ip:203.0.113.9/24", reason="scraping"), follow=True)
        assert errors(response) == []
        made = Override.objects.get()
        assert (made.action, made.identity, made.rule, made.reason) == ("block", "ip:203.0.113.0/24", "", "scraping")
        assert (made.created_by, made.source) == (boss, "admin")
        assert made.expires_at is not None
        assert timedelta(minutes=59) < made.expires_at - timezone.now() <= timedelta(hours=1)

    def test_a_new_one_lasts_an_hour_unless_somebody_says_otherwise(self, page: Client) -> None:
        assert re.search(r'name="lasts"[^>]*value="1h"|value="1h"[^>]*name="lasts"', text(page.get(ADD)))
        page.post(ADD, typed(lasts=""))
        assert Override.objects.get().expires_at is None

    def test_a_time_until_when_goes_before_the_usual_duration_and_not_before_a_typed_one(self, page: Client) -> None:
        until = {"expires_at_0": "2126-01-02", "expires_at_1": "03:04:05"}
        page.post(ADD, typed(**until))
        assert f"{Override.objects.get().expires_at:%Y-%m-%d %H:%M:%S}" == "2126-01-02 03:04:05"
        assert errors(page.post(ADD, typed(lasts="2h", **until))) == ["Enter either a duration or an end, not both."]

    def test_a_duration_counts_from_the_beginning(self, page: Client) -> None:
        page.post(ADD, typed(lasts="2h", starts_at_0="2126-01-02", starts_at_1="03:00:00"))
        assert f"{Override.objects.get().expires_at:%Y-%m-%d %H:%M:%S}" == "2126-01-02 05:00:00"

    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            ({"identity": ""}, "Enter a client, such as 203.0.113.9, 203.0.113.0/24, user:42, group:staff or"),
            ({"identity": "bob"}, "'bob' is no address, and no user has this login name: write for example"),
            ({"identity": "ip:203.0.113.0/33"}, "'203.0.113.0/33': an IPv4 network ends in /0 to /32."),
            ({"identity": "shoe:42"}, "'shoe' is not a key: choose from ip, user"),
            ({"identity": "x" * 256}, "Ensure this value has at most 255 characters (it has 256)."),
            ({"action": "rate"}, "Write how much is allowed instead, such as 5/m, 100/2h"),
            ({"action": "rate", "rate": "10/parsec"}, "'parsec' is not a unit of time: use ms, s, m, h, d or w."),
            ({"rate": "10/m"}, "Only “Another rate” has a rate: clear '10/m', or choose that action."),
            ({"rule": "No Name"}, "This is not a rule name: use at most 64 of a-z"),
            (
                {"lasts": "1 month"},
                "'month' has no fixed length: write 30d; for a month of the calendar, use a fixed window aligned to month.",
            ),
            ({"lasts": "60"}, "'60' has no unit: write 60s for seconds"),
            ({"lasts": "9999999w"}, "9999999w is too long: write at most 10000d, or no end at all."),
            ({"lasts": "", "expires_at_0": "2026-01-01", "expires_at_1": "00:00"}, "This time has passed: choose a later one."),
            (
                {"expires_at_0": "2126-01-01", "expires_at_1": "00:00", "starts_at_0": "2126-01-02", "starts_at_1": "00:00"},
                "The end is not after the beginning: choose a later time.",
            ),
        ],
    )
    def test_an_error_names_value_and_remedy(self, page: Client, fields: dict[str, str], told: str) -> None:
        (message,) = errors(page.post(ADD, typed(**fields)))
        assert told in message
        assert not Override.objects.exists()

    def test_a_user_is_found_by_login_name(self, page: Client) -> None:
        ann = User.objects.create(username="ann.smith", email="ann@example.com")
        assert page.post(ADD, typed(identity="ann.smith")).status_code == 302
        assert set(Override.objects.values_list("identity", flat=True)) == {f"user:{ann.pk}"}

    def test_who_may_not_view_users_neither_finds_nor_guesses_them(self, client: Client) -> None:
        ann = User.objects.create(username="ann.smith", email="ann@example.com")
        editor = staff(client, "add_override", "view_override")
        for written in ("ann.smith", "ann@example.com", "nobody@example.com", str(ann.pk)):
            (told,) = errors(editor.post(ADD, typed(identity=written)))
            assert told.endswith("by login name you need the permission to view users.")
        User.objects.get(username="staff").user_permissions.add(Permission.objects.get(codename="view_user"))
        assert editor.post(ADD, typed(identity="ann.smith")).status_code == 302

    def test_a_link_carries_client_rule_action_and_duration(self, page: Client) -> None:
        given = {"identity": "user:42", "rule": "login", "action": "rate", "lasts": "24h", "rate": "5/m"}
        form = page.get(ADD, given).content.decode()
        fields = dict(re.findall(r'<input type="text" name="(\w+)" value="([^"]*)"', form))
        assert fields.items() >= {"identity": "user:42", "rule": "login", "lasts": "24h", "rate": "5/m"}.items()
        assert re.search(r'value="rate"[^>]*checked', form)
        assert not Override.objects.exists()

    def test_for_everybody_a_rule_and_an_end_are_needed(self, page: Client) -> None:
        everybody = typed(action="rate", identity="*", rate="1/m", lasts="")
        told = "This applies to all visitors of the site: name one rule and an end."
        assert errors(page.post(ADD, everybody)) == [told, told]
        assert errors(page.post(ADD, {**everybody, "rule": "login", "lasts": "1h"}, follow=True)) == []

    @pytest.mark.parametrize("identity", ["ip:127.0.0.1", "ip:127.0.0.0/8", "ip:0.0.0.0/0", "user:{boss}", "group:staff", "*"])
    def test_a_block_that_contains_its_author_is_refused(self, page: Client, boss: User, identity: str) -> None:
        boss.groups.add(Group.objects.create(name="staff"))
        identity = identity.format(boss=boss.pk)
        rule = "login" if identity in ("*", "ip:0.0.0.0/0") else ""
        (message,) = errors(page.post(ADD, typed(identity=identity, rule=rule)))
        assert "This block contains you" in message
        assert not Override.objects.exists()
        assert page.post(ADD, typed(identity=identity, rule=rule, action="allow")).status_code == 302

    def test_the_author_is_who_the_request_says_in_headers_and_through_proxies_too(self, page: Client, settings: Any) -> None:
        told = page.post(ADD, typed(identity="header:user-agent:Browser"), headers={"user-agent": "Browser"})
        assert "This block contains you" in errors(told)[0]
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "TRUSTED_PROXIES": 1}):
            told = page.post(ADD, typed(identity="ip:198.51.100.0/24"), headers={"x-forwarded-for": "198.51.100.7"})
            assert "This block contains you" in errors(told)[0]
            assert page.post(ADD, typed(identity="ip:127.0.0.1"), headers={"x-forwarded-for": "198.51.100.7"}).status_code == 302

    def test_what_does_not_exist_yet_is_taken_with_a_warning(self, page: Client) -> None:
        told = text(page.post(ADD, typed(identity="group:night", rule="logn"), follow=True))
        assert "There is no rule &#x27;logn&#x27; yet: this applies once there is one." in told
        assert "There is no rule" not in text(page.post(ADD, typed(rule="demo.limited"), follow=True))

    def test_who_it_is_about_stays_when_it_is_edited_and_the_rest_can_change(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="1h", reason="why")
        assert 'name="identity"' not in text(page.get(change(override)))
        end = timezone.localtime(override.expires_at)
        kept = {"expires_at_0": f"{end:%Y-%m-%d}", "expires_at_1": f"{end:%H:%M:%S}"}
        response = page.post(change(override), typed(identity="ip:1.2.3.4", reason="another", lasts="", **kept), follow=True)
        assert errors(response) == []
        override.refresh_from_db()
        assert (override.identity, override.reason, override.source) == ("ip:203.0.113.9", "another", "code")

    def test_an_edit_with_a_duration_ends_it_that_long_from_now(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="9d")
        end = timezone.localtime(override.expires_at)
        kept = {"expires_at_0": f"{end:%Y-%m-%d}", "expires_at_1": f"{end:%H:%M:%S}"}
        assert errors(page.post(change(override), typed(lasts="1h", **kept), follow=True)) == []
        override.refresh_from_db()
        assert override.expires_at is not None
        assert override.expires_at - timezone.now() <= timedelta(hours=1)

    def test_what_has_begun_is_given_a_duration_from_now(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", starts_at=timezone.now() - timedelta(days=9), reason="why")
        began = timezone.localtime(override.starts_at)
        kept = {"starts_at_0": f"{began:%Y-%m-%d}", "starts_at_1": f"{began:%H:%M:%S}"}
        assert errors(page.post(change(override), typed(lasts="1h", **kept), follow=True)) == []
        override.refresh_from_db()
        assert override.expires_at is not None
        assert timedelta(minutes=59) < override.expires_at - timezone.now() <= timedelta(hours=1)

    def test_what_has_ended_can_still_be_given_a_reason(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="1h")
        Override.objects.get_queryset().end()
        override.refresh_from_db()
        end = timezone.localtime(override.expires_at)
        kept = {"expires_at_0": f"{end:%Y-%m-%d}", "expires_at_1": f"{end:%H:%M:%S}"}
        assert errors(page.post(change(override), typed(lasts="", reason="a mistake", **kept), follow=True)) == []

    def test_an_exemption_cannot_be_turned_into_a_block_of_its_editor(self, page: Client) -> None:
        override = Override.objects.allow("ip:127.0.0.0/8", duration="1h")
        assert "This block contains you" in errors(page.post(change(override), typed(lasts="1h")))[0]
        override.refresh_from_db()
        assert override.action == "allow"

    def test_what_the_model_finds_wrong_with_a_fixed_identity_stands_above_the_form(self, page: Client, boss: User) -> None:
        page.post(ADD, typed(action="allow", identity=f"user:{boss.pk}"))
        override = Override.objects.get()
        (told,) = errors(page.post(change(override), typed(action="block")))
        assert told == "This block contains you: you would lock yourself out."
        override.refresh_from_db()
        assert override.action == "allow"

    def test_a_row_whose_identity_cannot_be_read_any_more_says_so(self, page: Client) -> None:
        override = Override.objects.create(action="block", identity="shoe:42", reason="old")
        (told,) = errors(page.post(change(override), typed(reason="new")))
        assert told == "The identity is no longer valid, so this applies to nobody. Delete it and add a new one."

    def test_nothing_is_chosen_for_anybody(self, page: Client) -> None:
        choices = re.findall(r'<input type="radio" name="action" value="(\w+)"([^>]*)>', text(page.get(ADD)))
        assert [value for value, _ in choices] == ["block", "allow", "rate"]
        assert [value for value, more in choices if "checked" in more] == []


class TestSecrets:
    def test_a_secret_is_never_stored_nor_shown(self, page: Client) -> None:
        page.post(ADD, typed(identity="header:X-Api-Key:correct-horse-battery"))
        made = Override.objects.get()
        assert re.fullmatch(r"header:x-api-key:#[\w-]{16}\.tery", made.identity)
        history = reverse("admin:ratewindow_override_history", args=[made.pk])
        for url in (LIST, change(made), history):
            assert "correct-horse" not in text(page.get(url))
        assert "correct-horse" not in str(list(LogEntry.objects.values()))

    def test_it_is_found_by_whoever_knows_it(self, page: Client) -> None:
        page.post(ADD, typed(identity="header:X-Api-Key:correct-horse-battery"))
        assert Override.objects.get(identity="header:x-api-key:correct-horse-battery").action == "block"


class TestStaffThatMayOnlyLook:
    def test_they_change_nothing(self, viewer: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        before = Override.objects.values().get()
        delete = reverse("admin:ratewindow_override_delete", args=[override.pk])
        for url in (ADD, change(override), delete, quick("end", override)):
            assert viewer.post(url, {**typed(identity="ip:1.2.3.4"), "post": "yes"}).status_code == 403
        for action in ("end_now", "delete_selected"):
            viewer.post(LIST, {"action": action, "_selected_action": [override.pk], "post": "yes"})
        assert Override.objects.values().get() == before
        assert "formaction" not in text(viewer.get(LIST))

    def test_they_see_masked_identities_and_cannot_search_for_them(self, viewer: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", reason="scraping")
        Override.objects.block("user:4711")
        listed = text(viewer.get(LIST))
        assert "ip:203.0.113.x" in listed
        for url in (LIST, change(override)):
            assert "203.0.113.9" not in text(viewer.get(url))
            assert "4711" not in text(viewer.get(url))
        assert "0 blocks and exemptions" in text(viewer.get(LIST, {"q": "203.0.113.9"}))
        assert "scraping" in text(viewer.get(LIST, {"q": "scrap"}))

    @pytest.mark.parametrize("lookup", ["identity", "identity__startswith", "identity__regex", "identity__in", "identity__gt"])
    def test_they_cannot_ask_for_identities_in_the_address_either(self, client: Client, viewer: Client, lookup: str) -> None:
        Override.objects.block("ip:203.0.113.9")
        assert viewer.get(LIST, {lookup: "ip:203.0.113.9"}).status_code == 400
        viewer.logout()
        User.objects.all().delete()
        assert staff(client, "view_override", "view_identity").get(LIST, {lookup: "ip:203.0.113.9"}).status_code == 200

    def test_they_cannot_sort_by_them(self, viewer: Client) -> None:
        for number in (3, 1, 2):
            Override.objects.block(f"ip:203.0.{number}.9")
        orders = [re.findall(r"ip:203.0.(\d).x", text(viewer.get(LIST, {"o": order}))) for order in ("", "2", "-2")]
        assert orders == [["2", "1", "3"]] * 3

    def test_who_changes_a_block_that_contains_them_is_not_told_whose_it_is(self, client: Client) -> None:
        override = Override.objects.allow("ip:127.0.0.1", duration="1h")
        changing = staff(client, "view_override", "change_override")
        (told,) = errors(changing.post(change(override), typed()))
        assert "This block contains you (ip:127.0.0.x)" in told

    def test_with_the_permission_they_see_them(self, client: Client) -> None:
        Override.objects.block("ip:203.0.113.9")
        looking = staff(client, "view_override", "view_identity")
        assert "ip:203.0.113.9" in text(looking.get(LIST))
        assert "1 block or exemption" in text(looking.get(LIST, {"q": "203.0.113.9"}))

    def test_who_may_change_and_not_see_is_told_of_masked_ones_too(self, client: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        changing = staff(client, "view_override", "change_override")
        told = text(changing.post(quick("end", override), follow=True))
        assert "Ended: ip:203.0.113.x." in told
        assert "203.0.113.9" not in told


class TestEverybody:
    """What is about all visitors, or nearly, or about its author by any request."""

    WIDE = ("ip:0.0.0.0/0", "ip:128.0.0.0/1", "ip:::/0", "ip:2000::/3", "ip:::ffff:0:0/96", "method:GET", "path:/search/")
    WIDE += ("route:search", "header:host:example.com", "header:sec-fetch-mode:navigate", "method:GET+path:/search/")

    @pytest.mark.parametrize("identity", WIDE)
    @pytest.mark.parametrize("action", ["allow", "rate"])
    def test_it_needs_a_rule_and_an_end_as_for_everybody(self, page: Client, identity: str, action: str) -> None:
        sent = typed(action=action, identity=identity, rate="9/m" if action == "rate" else "", lasts="")
        told = "This applies to all visitors of the site: name one rule and an end."
        assert errors(page.post(ADD, sent)) == [told, told]
        assert errors(page.post(ADD, {**sent, "rule": "search"})) == [told]
        assert errors(page.post(ADD, {**sent, "rule": "search", "lasts": "1h"}, follow=True)) == []
        assert Override.objects.get().action == action

    @pytest.mark.parametrize("identity", WIDE)
    def test_code_and_commands_need_them_too(self, identity: str) -> None:
        with pytest.raises(ValidationError, match="This applies to all visitors of the site: name one rule and an end"):
            Override.objects.allow(identity)
        assert Override.objects.allow(identity, rule="search", duration="1h").pk

    @pytest.mark.parametrize(
        "identity",
        ["ip:10.0.0.0/8", "ip:2001:db8::/32", "user:42", "group:staff", "header:user-agent:a robot", "method:GET+user:42"],
    )
    def test_what_is_about_some_needs_neither(self, page: Client, identity: str) -> None:
        assert errors(page.post(ADD, typed(action="allow", identity=identity, lasts=""), follow=True)) == []

    @pytest.mark.parametrize("identity", ["*", "scope:acme", *WIDE])
    def test_it_takes_the_permission_to_switch_all_limits_off(self, client: Client, identity: str) -> None:
        adding = staff(client, "add_override", "view_override", "view_identity")
        sent = typed(action="allow", identity=identity, rule="search")
        told = "This may apply to all visitors, or nearly all. You need the permission to switch all limits off to save it."
        assert errors(adding.post(ADD, sent)) == [told]
        User.objects.get().user_permissions.add(Permission.objects.get(codename="switch_limits"))
        assert adding.post(ADD, sent).status_code == 302

    @pytest.mark.parametrize(
        "identity",
        ["method:GET", "method:POST", "path:/admin/", "route:admin:index", "method:GET+ip:127.0.0.1", "path:/admin/auth/user/"],
    )
    def test_a_block_that_meets_any_request_of_its_author_to_the_admin_is_refused(self, page: Client, identity: str) -> None:
        (told,) = errors(page.post(ADD, typed(identity=identity, rule="search")))
        assert "This block contains you" in told

    def test_a_block_of_another_page_is_not(self, page: Client) -> None:
        assert errors(page.post(ADD, typed(identity="path:/search/", rule="search"), follow=True)) == []


def test_what_people_wrote_is_shown_and_not_run(page: Client) -> None:
    override = Override.objects.block(f"header:x-client:{EVIL}", reason=EVIL, duration="1h")
    Override.objects.get_queryset().update(rule=EVIL[:64], rate=EVIL)
    page.post(quick("end", override))
    history = reverse("admin:ratewindow_override_history", args=[override.pk])
    delete = reverse("admin:ratewindow_override_delete", args=[override.pk])
    for url in (LIST, f"{LIST}?q={EVIL}", change(override), history, delete, ADD):
        assert "<img src=x" not in text(page.get(url))
    assert f"header:x-client:{EVIL}".replace("<", "&lt;").replace(">", "&gt;") in text(page.get(LIST))
