"""What a rule amounts to, said before it is saved."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratewindow.models import RateRule
from tests.support.rule_pages import ADD, change, define, typed
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
        assert re.search(r"Matches 1 of \d+ routes ?: login\.", said)
        assert not RateRule.objects.exists() and not LogEntry.objects.exists()

    def test_a_name_is_not_needed_for_that(self, page: Client) -> None:
        assert "on /login/." in preview(page, name="")
        assert "on /login/." in preview(page, name="No Name!")

    def test_nothing_is_said_before_the_form_is_filled_in(self, page: Client) -> None:
        for said in (preview(page, ("", "1m")), preview(page, key="shoe_size"), preview(page, pattern="")):
            assert said == "What the rule amounts to is shown here as soon as the form is filled in."

    def test_more_than_ten_routes_are_counted(self, page: Client) -> None:
        said = preview(page, applies_to="route", pattern="admin")
        assert re.search(r"Matches \d+ of \d+ routes ?: admin:index,( \S+,){9} …", said)

    def test_every_request_is_all_routes(self, page: Client) -> None:
        assert re.search(r"Matches (\d+) of \1 routes", preview(page, applies_to="all", pattern=""))

    @pytest.mark.parametrize(
        ("fields", "warning"),
        [
            ({"applies_to": "route", "pattern": "logni"}, "Rule 'login' is for 'logni', which the URLconf does not have."),
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
    def test_what_is_typed_is_said(self, page: Client) -> None:
        rule = define("login", "5/m", path="/login/")
        assert "at most 9 in 1 minute" in preview(page, ("9", "1m"), stored=rule)
        assert rule.windows.get().limit == 5

    def test_the_form_says_it_without_a_script(self, page: Client) -> None:
        assert "Matches 1 of" in words(page.get(change(define("login", "5/m", path="/login/"))))
        assert "as soon as the form is filled in" in words(page.get(ADD))

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
    def test_who_may_only_look_gets_that_of_the_saved_rule_alone(self, viewer: Client) -> None:
        rule = define("login", "5/m", path="/login/")
        assert viewer.post(PREVIEW, typed(("5", "1m"))).status_code == 403
        assert viewer.post(reverse("admin:ratewindow_raterule_preview", args=[rule.pk]), typed(("5", "1m"))).status_code == 403
        text = viewer.get(change(rule)).content.decode()
        assert "data-url" not in text and "Each address: at most 5 in 1 minute, on /login/." in text

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
