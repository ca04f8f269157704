"""What a rule amounts to, said before it is saved."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratewindow.models import RateRule
from ratewindow.reporting.sums import Sums
from tests.support.rule_pages import ADD, change, count, define, typed
from tests.support.worst_strings import WORST

pytestmark = pytest.mark.django_db

PREVIEW = reverse("admin:ratewindow_raterule_preview")


def words(response: Any) -> str:
    assert response.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode())).replace("&#x27;", "'").strip()


def preview(page: Client, *limits: tuple[str, str], stored: RateRule | None = None, **fields: str) -> str:
    url = PREVIEW if stored is None else reverse("admin:ratewindow_raterule_preview", args=[stored.pk])
    return words(page.post(url, typed(*(limits or [("5", "1m")]), stored=stored, **fields)))


class TestOfANewRule:
    def test_its_sentence_and_its_routes_are_said(self, page: Client) -> None:
        said = preview(page, ("5", "1m"), ("20", "1h"), methods="POST", key="ip+post:username", on_missing="refuse")
        assert said.startswith("Each address + username in the form: at most 5 in 1 minute and 20 in 1 hour, on POST /login/;")
        assert re.search(r"Meets 1 of \d+ routes: login\. Never meets /admin/, ", said)
        assert not RateRule.objects.exists() and not LogEntry.objects.exists()

    @pytest.mark.parametrize(
        ("key", "anonymize", "kept"),
        [("path", "secrets", "path"), ("ip+query:q", "secrets", "query:q"), ("path", "all", ""), ("query:token", "secrets", "")],
    )
    def test_what_statistics_keep_as_it_was_sent_is_said(self, page: Client, key: str, anonymize: str, kept: str) -> None:
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": anonymize}):
            said = preview(page, key=key)
        assert (f"Statistics keep {kept} of the clients most refused as it was sent" in said) is bool(kept)
        assert "at most 5" in said

    def test_a_name_is_not_needed_for_that(self, page: Client) -> None:
        assert "on /login/." in preview(page, name="")
        assert "on /login/." in preview(page, name="No Name!")

    def test_what_is_missing_is_said_instead(self, page: Client) -> None:
        said = preview(page, ("", "1m"), pattern="login", key="shoe_size")
        assert "once this is correct" in said
        for each in (
            "Path : 'login' is not a path",
            "Count per : 'shoe_size' is not a key",
            "Limit : Enter how many requests are allowed, such as 5.",
        ):
            assert each in said
        assert "at most" not in said and "Meets" not in said

    @pytest.mark.parametrize(
        ("applies_to", "asked"),
        [
            ("path", "Path : Enter a path, such as /login/."),
            ("prefix", "Beginning : Enter the beginning of paths, such as /api/."),
            ("regex", "Regular expression : Enter a regular expression, such as ^/api/v[0-9]+/."),
            ("route", "URL name : Enter a URL name, such as login or shop:checkout."),
        ],
    )
    def test_an_empty_pattern_is_asked_for_by_the_name_that_its_field_has(
        self, page: Client, applies_to: str, asked: str
    ) -> None:
        said = preview(page, applies_to=applies_to, pattern="")
        assert asked in said and "''" not in said

    def test_more_than_ten_routes_are_counted(self, page: Client) -> None:
        said = preview(page, applies_to="route", pattern="admin")
        assert re.search(r"Meets \d+ of \d+ routes: admin:index,( \S+,){8} \S+ and \d+ more ?\.", said)

    def test_every_request_is_all_routes(self, page: Client) -> None:
        assert re.search(r"Meets all \d+ routes\.", preview(page, applies_to="all", pattern=""))

    def test_a_part_of_the_paths_of_a_route_is_said_to_be_a_part(self, page: Client) -> None:
        said = preview(page, pattern="/api/orders/7/")
        assert re.search(r"Meets none of \d+ routes as a whole\. May meet 1, depending on the path: order\.", said)

    @pytest.mark.parametrize(
        ("fields", "warning"),
        [
            (
                {"applies_to": "route", "pattern": "logni"},
                "Rule 'login' is for the route 'logni', which the URLconf does not have.",
            ),
            ({"applies_to": "route", "pattern": "logni"}, "Did you mean 'login'?"),
            ({"methods": "DELETE"}, "is for DELETE, which no view that it meets answers."),
            ({"applies_to": "named", "pattern": ""}, "No view of the site names rule 'login'"),
            ({"cost": "9"}, "Each request costs 9, and at most 5 fit into a limit of 5 in 1m: 'login' refuses every request."),
        ],
    )
    def test_what_limits_nobody_or_refuses_all_is_a_warning(self, page: Client, fields: dict[str, str], warning: str) -> None:
        assert warning in preview(page, **fields)

    def test_a_limit_of_zero_is_one_too(self, page: Client) -> None:
        assert "The limit of 0 in 1m refuses every request" in preview(page, ("0", "1m"))

    def test_a_limit_ticked_for_deletion_does_not_count(self, page: Client) -> None:
        rule = define("login", "5/m; 20/h", path="/login/")
        data = typed(("5", "1m"), ("nonsense", "1h"), stored=rule) | {"windows-1-DELETE": "on"}
        url = reverse("admin:ratewindow_raterule_preview", args=[rule.pk])
        assert "at most 5 in 1 minute, on /login/." in words(page.post(url, data))


class TestOfASavedRule:
    def test_what_is_typed_is_said_and_its_last_hour_as_it_is_saved(self, page: Client) -> None:
        rule = define("login", "5/m", path="/login/")
        count(login=Sums(passed=90, would_refuse=7))
        said = preview(page, ("9", "1m"), stored=rule)
        assert "at most 9 in 1 minute" in said
        assert "As it is saved: In the last hour it met 90 requests, and would have refused 7." in said
        assert rule.windows.get().limit == 5

    def test_the_numbers_of_other_rules_are_not_said(self, page: Client) -> None:
        rule = define("login", "5/m", path="/login/")
        define("other", "5/m", path="/login/")
        count(other=Sums(passed=90))
        assert "no request met it" in preview(page, stored=rule)
        assert "last hour" not in preview(page, name="new")

    def test_a_rule_that_calls_name_is_not_doubted_once_it_is_met(self, page: Client) -> None:
        rule = define("sms", "5/m")
        sent = {"applies_to": "named", "pattern": "", "name": "sms"}
        assert "No view of the site names" in preview(page, stored=rule, **sent)
        count(sms=Sums(passed=1))
        assert "No view of the site names" not in preview(page, stored=rule, **sent)

    def test_the_form_says_it_without_a_script(self, page: Client) -> None:
        rule = define("login", "5/m", path="/login/")
        assert "Meets 1 of" in words(page.get(change(rule)))
        sent = page.post(change(rule), typed(("9", "1m"), stored=rule) | {"_preview": "Preview", "_save": "Save"})
        assert "at most 9 in 1 minute, on /login/." in words(sent)
        assert b"errornote" not in sent.content
        assert rule.windows.get().limit == 5

    def test_so_does_the_form_of_a_new_one(self, page: Client) -> None:
        assert "as soon as the form says enough" in words(page.get(ADD))
        assert "at most 5 in 1 minute, on /login/." in words(page.post(ADD, typed(("5", "1m")) | {"_preview": "Preview"}))
        assert "Path : 'login' is not a path" in words(page.post(ADD, typed(("5", "1m"), pattern="login")))
        assert not RateRule.objects.exists()

    def test_a_row_that_raw_sql_has_spoiled_can_be_opened(self, page: Client) -> None:
        rule = define("login", "5/m", path="/login/")
        RateRule.objects.update(key="shoe_size")
        assert "'shoe_size' is not a key" in words(page.get(change(rule)))

    def test_it_takes_the_same_queries_however_many_rules_there_are(self, page: Client) -> None:
        rule = define("login", "5/m", path="/login/")
        url, data = reverse("admin:ratewindow_raterule_preview", args=[rule.pk]), typed(("9", "1m"), stored=rule)
        page.post(url, data)
        with CaptureQueriesContext(connection) as few:
            page.post(url, data)
        for number in range(30):
            define(f"r{number}", "5/m", path=f"/{number}/")
        with CaptureQueriesContext(connection) as many:
            page.post(url, data)
        assert len(many) == len(few)
        assert not [each["sql"] for each in many if not each["sql"].startswith(("SELECT", "SAVEPOINT", "RELEASE"))]


class TestPermissions:
    def test_who_may_only_look_gets_none(self, viewer: Client) -> None:
        rule = define("login", "5/m", path="/login/")
        assert viewer.post(PREVIEW, typed(("5", "1m"))).status_code == 403
        assert viewer.post(reverse("admin:ratewindow_raterule_preview", args=[rule.pk]), typed(("5", "1m"))).status_code == 403
        text = viewer.get(change(rule)).content.decode()
        assert "rw-preview" not in text.replace("rw-preview.", "") or 'class="rw-preview"' not in text
        assert "Each address: at most 5 in 1 minute, on /login/." in text

    @pytest.mark.parametrize("right", ["add", "change"])
    def test_the_right_to_add_and_that_to_change_are_two(self, client: Client, right: str) -> None:
        rule = define("login", "5/m", path="/login/")
        user = User.objects.create_user("half", is_staff=True)
        names = [f"{right}_raterule", f"{right}_rulewindow", "view_raterule", "view_rulewindow"]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client.force_login(user)
        of_saved = reverse("admin:ratewindow_raterule_preview", args=[rule.pk])
        assert client.post(PREVIEW, typed(("5", "1m"))).status_code == (200 if right == "add" else 403)
        assert client.post(of_saved, typed(("5", "1m"), stored=rule)).status_code == (200 if right == "change" else 403)

    def test_it_is_for_staff_alone_and_by_post_alone(self, client: Client, boss: User) -> None:
        assert client.post(PREVIEW, typed(("5", "1m"))).status_code == 302
        client.force_login(boss)
        assert client.get(PREVIEW).status_code == 405
        assert client.post(reverse("admin:ratewindow_raterule_preview", args=["999"]), {}).status_code == 404

    def test_a_token_is_needed(self, boss: User) -> None:
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(boss)
        assert strict.post(PREVIEW, typed(("5", "1m"))).status_code == 403


@pytest.mark.slow
def test_no_string_makes_it_fail_or_run(page: Client) -> None:
    for number, worst in enumerate(WORST):
        field = ("pattern", "key", "methods", "name", "message", "count_when")[number % 6]
        applies_to = ("path", "prefix", "route", "regex")[number % 4]
        text = f"/{worst}" if field == "pattern" and applies_to in ("path", "prefix") else worst
        sent = typed(("5", "1m"), applies_to=applies_to, pattern="/x/")
        response = page.post(PREVIEW, sent | {field: text.encode(errors="replace").decode()})
        assert response.status_code == 200, worst
        assert not re.search(rb"<(script|img|svg|iframe|style)", response.content), worst
    assert not RateRule.objects.exists()
