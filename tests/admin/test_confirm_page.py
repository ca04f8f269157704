"""Whatever would lock its author, or all other staff, out of the admin is asked about first, by whatever page it is done."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

from ratewindow.models import Edit, Override, RateRule
from ratewindow.rulebook import reading
from tests.support import override_pages
from tests.support.rule_pages import ADD, LIST, change, define, typed

pytestmark = pytest.mark.django_db

KNOWN = {"lockout_known": "on"}
EVERY = {"applies_to": "all", "pattern": "", "mode": "enforce"}
INDEX = reverse("admin:index")


def questions(response: Any) -> list[str]:
    """What the page asks about; empty if it is another page."""
    return [question for _, question, _ in (response.context or {}).get("lockouts", ())]


@pytest.fixture
def colleague(db: None) -> User:
    return User.objects.create(username="ann", is_staff=True)


@pytest.fixture
def exempt(boss: User) -> Override:
    """An exemption of the author alone."""
    override = Override.objects.allow(f"user:{boss.pk}")
    reading.reload()
    return override


class TestAllOtherStaff:
    def test_who_is_exempt_is_asked_about_colleagues_who_are_not(self, page: Client, exempt: Override, colleague: User) -> None:
        sent = typed(("0", "1m"), **EVERY)
        asked = page.post(ADD, sent)
        (question,) = questions(asked)
        assert "All other staff would be refused there always." in question
        assert "I know that all other staff would be refused in the admin" in asked.content.decode()
        assert not RateRule.objects.exists()
        page.post(ADD, {**sent, **KNOWN})
        assert RateRule.objects.get().mode == "enforce"

    def test_nor_if_all_of_them_are_exempt(self, page: Client, boss: User, colleague: User) -> None:
        group = Group.objects.create(name="support")
        group.user_set.add(boss, colleague)
        Override.objects.allow("group:support")
        reading.reload()
        assert page.post(ADD, typed(("0", "1m"), **EVERY)).status_code == 302

    def test_a_network_in_which_the_author_is_exempt_is_taken_for_that_of_all(self, page: Client, colleague: User) -> None:
        Override.objects.allow("ip:127.0.0.0/24")
        reading.reload()
        assert page.post(ADD, typed(("0", "1m"), **EVERY)).status_code == 302

    def test_a_block_of_a_group_of_all_others_is_asked_about(self, page: Client, colleague: User) -> None:
        group = Group.objects.create(name="support")
        group.user_set.add(colleague)
        sent = override_pages.typed(identity="group:support")
        asked = page.post(override_pages.ADD, sent)
        assert questions(asked) == ["This block refuses all other staff in the admin."]
        assert not Override.objects.exists()
        page.post(override_pages.ADD, {**sent, **KNOWN})
        assert Override.objects.get().identity == "group:support"

    def test_a_block_of_some_of_them_is_not(self, page: Client, colleague: User) -> None:
        User.objects.create(username="bob", is_staff=True)
        group = Group.objects.create(name="support")
        group.user_set.add(colleague)
        assert page.post(override_pages.ADD, override_pages.typed(identity="group:support")).status_code == 302

    def test_a_block_of_the_only_other_user_is_and_one_from_a_rule_elsewhere_is_not(self, page: Client, colleague: User) -> None:
        define("search", path="/search/", mode="enforce")
        sent = override_pages.typed(identity=f"user:{colleague.pk}")
        assert questions(page.post(override_pages.ADD, sent)) == ["This block refuses all other staff in the admin."]
        assert page.post(override_pages.ADD, {**sent, "rule": "search"}).status_code == 302


class TestTheEndOfAnExemption:
    """A rule that refused the author before his exemption refuses him after it."""

    @pytest.fixture(autouse=True)
    def rule(self, exempt: Override) -> None:
        define("all", "0/m", applies_to="all", mode="enforce")
        reading.reload()

    def ways(self, exempt: Override) -> list[tuple[str, dict[str, Any]]]:
        delete = reverse("admin:ratewindow_override_delete", args=[exempt.pk])
        selected = {"_selected_action": [exempt.pk]}
        edited = override_pages.typed(action="allow", rule="search", lasts="")
        return [
            (override_pages.quick("end", exempt), {}),
            (override_pages.LIST, {"action": "end_now", **selected}),
            (override_pages.LIST, {"action": "delete_selected", "post": "yes", **selected}),
            (delete, {"post": "yes"}),
            (override_pages.change(exempt), edited),
        ]

    @pytest.mark.parametrize("way", range(5))
    def test_is_asked_about_by_each_way_and_nothing_happens_before(self, page: Client, exempt: Override, way: int) -> None:
        url, sent = self.ways(exempt)[way]
        (question,) = questions(page.post(url, sent))
        assert "Rule all meets /admin/" in question and "You would be refused there always." in question
        exempt.refresh_from_db()
        assert (exempt.state, exempt.rule) == ("in force", "") and not LogEntry.objects.exists()
        assert page.post(url, {**sent, **KNOWN}).status_code == 302
        assert not Override.objects.get_queryset().in_force().filter(rule="").exists()


class TestWhatIsAskedAboutARule:
    def test_a_higher_percentage_than_one_that_has_left_the_author_out(self, page: Client) -> None:
        rule = define("search", "0/m", applies_to="all", mode="enforce", enforce_percent=1)
        sent = {**EVERY, "name": "search"}
        below = typed(("0", "1m"), stored=rule, **sent, enforce_percent="2")
        assert page.post(change(rule), below).status_code == 302  # 127.0.0.1 is not among the first two of a hundred
        assert questions(page.post(change(rule), typed(("0", "1m"), stored=rule, **sent, enforce_percent="100")))
        assert RateRule.objects.get().enforce_percent == 2

    def test_one_count_for_all_visitors_is_reached_much_earlier(self, page: Client) -> None:
        sent = typed(("500", "1m"), **EVERY)
        assert questions(page.post(ADD, {**sent, "key": "global"})) == questions(
            page.post(ADD, sent, headers={"x-forwarded-for": "203.0.113.9"})
        )
        (question,) = questions(page.post(ADD, {**sent, "key": "global"}))
        assert "after 500 requests in 1 minute. All visitors have one count together." in question
        assert page.post(ADD, sent).status_code == 302

    def test_failed_logins_of_anybody_behind_a_proxy_close_the_login_page(self, page: Client) -> None:
        sent = typed(("5", "15m"), mode="enforce", applies_to="path", pattern="/admin/login/", count_when="login_failed")
        (question,) = questions(page.post(ADD, sent, headers={"x-forwarded-for": "203.0.113.9"}))
        assert "Rule login meets /admin/login/, a page of the admin. You would be refused there after 5 failed logins" in question
        assert page.post(ADD, sent).status_code == 302

    def test_a_trusted_proxy_gives_each_visitor_an_address_of_its_own(self, page: Client, settings: Any) -> None:
        settings.RATEWINDOW = {**settings.RATEWINDOW, "TRUSTED_PROXIES": ["127.0.0.1"]}
        sent = typed(("500", "1m"), **EVERY)
        assert page.post(ADD, sent, headers={"x-forwarded-for": "203.0.113.9"}).status_code == 302


class TestTheWayBack:
    def test_who_has_said_yes_and_may_switch_limits_reaches_the_rules_and_corrects_it(self, client: Client) -> None:
        user = User.objects.create(username="ann", is_staff=True)
        names = ["view_raterule", "add_raterule", "change_raterule", "enforce_raterule", "switch_limits"]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client.force_login(user)
        sent = typed(("0", "1m"), **EVERY)
        asked = client.post(ADD, sent).content.decode()
        assert "stay open to staff with the permission “Can switch all limits off and on”. You have it:" in asked
        assert f'href="{LIST}"' in asked and "manage.py ratewindow mode login off" in asked
        client.post(ADD, {**sent, **KNOWN})
        reading.reload()  # as the commit does, which this test never reaches
        assert (client.get(INDEX).status_code, client.get(LIST).status_code) == (429, 200)
        rule = RateRule.objects.get()
        response = client.post(change(rule), typed(("0", "1m"), stored=rule, **{**EVERY, "mode": "shadow"}))
        assert response.status_code == 302
        reading.reload()
        assert client.get(INDEX).status_code == 200

    def test_who_may_not_is_told_so(self, client: Client) -> None:
        user = User.objects.create(username="ann", is_staff=True)
        names = ["view_raterule", "add_raterule", "change_raterule", "enforce_raterule"]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client.force_login(user)
        assert "You do not have it." in client.post(ADD, typed(("0", "1m"), **EVERY)).content.decode()


class TestOtherPages:
    """What an import, a restore or a button would do is asked about by the same page."""

    def test_other_limits_that_are_tried_beside_a_rule_and_then_enforced(self, page: Client) -> None:
        rule = define("all", "600/m", applies_to="all", mode="enforce", candidate="5/m")
        url, sent = reverse("admin:ratewindow_raterule_candidate", args=[rule.pk]), {"do": "apply", "seen": "5/m"}
        (question,) = questions(page.post(url, sent))
        assert "Rule all meets /admin/" in question and "You would be refused there after 5 requests in 1 minute." in question
        rule.refresh_from_db()
        assert (rule.windows.get().limit, rule.candidate) == (600, "5/m")
        page.post(url, {**sent, **KNOWN})
        rule.refresh_from_db()
        assert (rule.windows.get().limit, rule.candidate) == (5, "")

    @pytest.mark.parametrize(
        ("sent", "asked"),
        [
            (
                {"do": "tighten-1h", "identity": "*", "rule": "all", "rate": "30/m"},
                "At the rate 30/m, you would be refused there",
            ),
            ({"do": "block-1h", "identity": "user:{colleague}"}, "This block refuses all other staff in the admin."),
        ],
    )
    def test_a_button_of_the_report(self, page: Client, colleague: User, sent: dict[str, str], asked: str) -> None:
        sent = {**sent, "identity": sent["identity"].format(colleague=colleague.pk)}
        define("all", "60/m", applies_to="all", mode="enforce")
        url = reverse("admin:ratewindow_report_act") + "?period=1h"
        response = page.post(url, {**sent, "reason": "attack"})
        assert asked in questions(response)[0] and not Override.objects.exists()
        response = page.post(url, {**dict(response.context["post_data"]), **KNOWN})
        assert response["Location"] == reverse("admin:ratewindow_report") + "?period=1h"
        assert Override.objects.get().reason == "attack"

    def test_an_import(self, page: Client) -> None:
        limit = {"limit": 0, "period": "1m", "algorithm": "sliding_window"}
        rule = {"name": "all", "mode": "enforce", "applies_to": "all", "key": "ip", "limits": [limit]}
        document = json.dumps({"ratewindow": 1, "rules": [rule]})
        url = reverse("admin:ratewindow_raterule_import")
        preview = page.post(url, {"pasted": document})
        sent = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', preview.content.decode()))
        sent = {name: unescape(value) for name, value in sent.items()} | {"why": "moved"}
        asked = page.post(url, sent)
        assert "Rule all meets /admin/" in questions(asked)[0] and not RateRule.objects.exists()
        page.post(url, {**dict(asked.context["post_data"]), **KNOWN})
        assert RateRule.objects.get().mode == "enforce"

    @pytest.mark.django_db(transaction=True)  # each request is an edit of its own
    def test_a_restore(self, page: Client) -> None:
        rule = define("all", "0/m", applies_to="all", mode="enforce")
        RateRule.objects.filter(pk=rule.pk).first().delete()  # type: ignore[union-attr]
        url = reverse("admin:ratewindow_history_restore", args=[Edit.objects.latest("at").pk, "before"])
        shown = page.get(url).context["shown"]
        asked = page.post(url, {"shown": shown, "reason": "a mistake"})
        assert "Rule all meets /admin/" in questions(asked)[0] and not RateRule.objects.exists()
        page.post(url, {**dict(asked.context["post_data"]), **KNOWN})
        assert RateRule.objects.get().mode == "enforce"
