"""Who enforces a rule that would refuse them in the admin is asked before."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from ratewindow.models import Override, RateRule
from ratewindow.reporting.sums import Sums
from ratewindow.rulebook import reading
from tests.support.rule_pages import ADD, LIST, change, count, define, errors, typed

pytestmark = pytest.mark.django_db


class TestLockout:
    """Who enforces a rule that would refuse them in the admin is asked before."""

    @pytest.mark.parametrize(
        ("limit", "fields", "met", "when"),
        [
            (("5", "1m"), {"applies_to": "all"}, "/admin/ and", "after 5 requests in 1 minute."),
            (("50", "1m"), {"applies_to": "prefix", "pattern": "/admin/"}, "/admin/ and", "after 50 requests in 1 minute."),
            (("500", "1d"), {"applies_to": "all"}, "/admin/ and", "after 500 requests in 1 day."),
            (
                ("5", "1m"),
                {"applies_to": "path", "pattern": "/admin/login/"},
                "/admin/login/, a page",
                "after 5 requests in 1 minute.",
            ),
            (("5", "1m"), {"applies_to": "prefix", "pattern": "/admin/auth/"}, "/admin/auth/", "after 5 requests in 1 minute."),
            (("5", "1m"), {"applies_to": "regex", "pattern": "/change/$"}, "/admin/auth/group/1/change/ and", "after 5 requests"),
            (("5", "1m"), {"applies_to": "regex", "pattern": "^/adm"}, "/admin/ and", "after 5 requests in 1 minute."),
            (("5", "1m"), {"applies_to": "route", "pattern": "admin"}, "/admin/ and", "after 5 requests in 1 minute."),
            (("1", "1m"), {"applies_to": "route", "pattern": "admin:index"}, "/admin/, a page", "after 1 request in 1 minute."),
            (("5", "1m"), {"applies_to": "all", "methods": "POST"}, "/admin/ and", "after 5 requests in 1 minute."),
            (
                ("5", "1m"),
                {"applies_to": "all", "key": "user", "on_missing": "allow"},
                "/admin/ and",
                "after 5 requests in 1 minute.",
            ),
            (("5", "1m"), {"applies_to": "all", "key": "header:x-api-key"}, "/admin/ and", "after 5 requests in 1 minute."),
            (("5", "1m"), {"applies_to": "all", "count_when": "2xx"}, "/admin/ and", "after 5 requests in 1 minute."),
            (("0", "1s"), {"applies_to": "all"}, "/admin/ and", "always."),
            (("50", "1s"), {"applies_to": "all", "cost": "51"}, "/admin/ and", "always."),
            (("500", "1m"), {"applies_to": "all", "cost": "100"}, "/admin/ and", "after 5 requests in 1 minute."),
            (("5", "1s"), {"applies_to": "all", "penalty": "15m"}, "/admin/ and", "after 5 requests in 1 second."),
            (
                ("500", "1m"),
                {"applies_to": "all", "key": "header:x-api-key", "on_missing": "refuse"},
                "/admin/ and",
                "without header:x-api-key",
            ),
        ],
    )
    def test_nothing_is_saved_before_they_say_that_they_know(
        self, page: Client, limit: tuple[str, str], fields: dict[str, str], met: str, when: str
    ) -> None:
        sent = typed(limit, **{"pattern": "", "mode": "enforce", **fields})
        asked = page.post(ADD, sent)
        ((heading, question, last_hour),) = asked.context["lockouts"]
        assert f"Rule login meets {met}" in question and f"You would be refused there {when}" in question
        assert heading.startswith("Each ") and " ip" not in heading
        assert last_hour == "In the last hour no request met it."
        assert ("Static files" in question) is (fields["applies_to"] == "all")
        assert not RateRule.objects.exists() and not LogEntry.objects.exists()

        again = dict(asked.context["post_data"])
        assert page.post(ADD, again).context["lockouts"] == [(heading, question, last_hour)]
        response = page.post(ADD, {**again, "lockout_known": "on"}, follow=True)
        assert RateRule.objects.get().mode == "enforce"
        (warning,) = [text for each in response.context["messages"] if "you in" in (text := str(each))]
        assert question in warning and "manage.py ratewindow mode login off lets you in" in warning

    def test_in_shadow_it_is_saved_and_said_of_later(self, page: Client) -> None:
        response = page.post(ADD, typed(("5", "1m"), applies_to="all", pattern=""), follow=True)
        assert "Once it is enforced, you would be refused there" in response.content.decode()
        assert RateRule.objects.get().mode == "shadow"

    def test_the_action_asks_with_what_would_have_been_refused_and_does_nothing_before(self, page: Client) -> None:
        rules = [define("all", "5/m", applies_to="all"), define("search", "5/m", path="/search/")]
        count(all=Sums(passed=400, would_refuse=312))
        sent = {"action": "enforce", "_selected_action": [rule.pk for rule in rules]}
        for asked in (page.post(LIST, sent), page.post(LIST, {**sent, "rw_seen": "1"})):
            ((heading, question, last_hour),) = asked.context["lockouts"]
            assert heading == "Each address: at most 5 in 1 minute, on every request."
            assert question.startswith("Rule all meets /admin/ and ")
            assert last_hour == "In the last hour it met 400 requests, and would have refused 312."
            assert "<code>manage.py ratewindow mode all off</code>" in asked.content.decode()
            assert set(RateRule.objects.values_list("mode", flat=True)) == {"shadow"}
        page.post(LIST, {**sent, "rw_seen": "1", "lockout_known": "on"})
        assert set(RateRule.objects.values_list("mode", flat=True)) == {"enforce"}

    def test_other_actions_have_nothing_to_be_known(self, page: Client) -> None:
        rule = define("all", "5/m", applies_to="all", mode="enforce")
        for action in ("shadow", "switch_off"):
            sent = {"action": action, "_selected_action": [rule.pk]}
            assert "lockouts" not in page.post(LIST, sent).context
            assert page.post(LIST, {**sent, "rw_seen": "1"}).status_code == 302

    def test_an_edit_of_an_enforced_rule_asks_when_it_refuses_more_than_before(self, page: Client) -> None:
        rule = define("all", "600/m", applies_to="all", mode="enforce")
        sent = {"name": "all", "mode": "enforce", "applies_to": "all", "pattern": ""}
        asked = page.post(change(rule), typed(("5", "1m"), stored=rule, **sent))
        assert len(asked.context["lockouts"]) == 1
        assert rule.windows.get().limit == 600
        page.post(change(rule), {**typed(("5", "1m"), stored=rule, **sent), "lockout_known": "on"})
        assert rule.windows.get().limit == 5
        response = page.post(change(rule), typed(("5", "1m"), stored=rule, **sent, description="for a while"), follow=True)
        assert RateRule.objects.get().description == "for a while"
        assert "You would be refused there" in response.content.decode()

    def test_who_is_exempt_is_asked_nothing(self, page: Client, boss: User) -> None:
        Override.objects.allow(f"user:{boss.pk}", rule="login")
        reading.reload()
        response = page.post(ADD, typed(("5", "1m"), applies_to="all", pattern="", mode="enforce"))
        assert response.status_code == 302

    def test_what_people_wrote_stands_in_the_question_as_text(self, page: Client) -> None:
        sent = typed(("5", "1m"), applies_to="all", pattern="", mode="enforce", message="<img src=x onerror=alert(1)>")
        asked = page.post(ADD, sent).content.decode()
        assert "<img src=x" not in asked and "&lt;img src=x" in asked

    @pytest.mark.parametrize(
        ("limit", "fields"),
        [
            (("5", "1m"), {"applies_to": "path", "pattern": "/login/"}),
            (("5", "1m"), {"applies_to": "named", "pattern": ""}),
            (("5", "1m"), {"applies_to": "all", "pattern": "", "methods": "PUT"}),
            (("5", "1m"), {"applies_to": "all", "pattern": "", "count_when": "login_failed"}),
            (("5", "1m"), {"applies_to": "all", "pattern": "", "count_when": "401,5xx"}),
            (("5", "1m"), {"applies_to": "all", "pattern": "", "key": "header:x-api-key", "on_missing": "allow"}),
            (("5", "1m"), {"applies_to": "path", "pattern": "/admin/login/", "key": "user", "on_missing": "allow"}),
            (("600", "1m"), {"applies_to": "all", "pattern": ""}),
            (("600", "1d"), {"applies_to": "all", "pattern": ""}),
            (("10", "1s"), {"applies_to": "all", "pattern": ""}),
        ],
    )
    def test_and_of_nothing_else(self, page: Client, limit: tuple[str, str], fields: dict[str, str]) -> None:
        response = page.post(ADD, typed(limit, **{"mode": "enforce", **fields}), follow=True)
        assert errors(response) == []
        assert not [each for each in response.context["messages"] if "you would be refused" in str(each).lower()]
