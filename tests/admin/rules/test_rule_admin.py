"""The form of a rule in the admin."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from ratewindow.admin.wording import sentence
from ratewindow.models import RateRule, RuleWindow
from ratewindow.rulebook import reading
from tests.support.rule_pages import ADD, LIST, change, define, errors, said, typed

pytestmark = pytest.mark.django_db


class TestForm:
    def test_a_rule_is_added_with_limits_typed_as_people_type_them(self, page: Client) -> None:
        response = page.post(ADD, typed(("5", "1m"), ("20", "2h30m"), methods="post", mode="enforce"), follow=True)
        assert errors(response) == []
        rule = RateRule.objects.get()
        assert (rule.name, rule.mode, rule.pattern, rule.methods) == ("login", "enforce", "/login/", "POST")
        assert [str(window) for window in rule.windows.all()] == ["5 in 1m", "20 in 2h30m"]

    def test_a_new_rule_is_in_shadow_until_somebody_says_otherwise(self, page: Client) -> None:
        assert re.search(r'name="_save" value="Save in shadow" class="default', page.get(ADD).content.decode())
        page.post(ADD, {**typed(("5", "1m")), "_save": "Save in shadow"})
        assert RateRule.objects.get().mode == "shadow"

    def test_a_limit_of_zero_is_taken(self, page: Client) -> None:
        assert page.post(ADD, typed(("0", "1m"))).status_code == 302
        assert RuleWindow.objects.get().limit == 0

    def test_the_limits_stand_before_what_few_rules_need(self, page: Client) -> None:
        words = said(page.get(ADD))
        assert 0 < words.index("Count per:") < words.index("How much (all of these limits") < words.index("Counting Cost:")
        assert page.get(ADD).content.decode().count('id="windows-group"') == 1

    def test_a_pattern_that_no_column_can_hold_is_told_of_once(self, page: Client) -> None:
        assert errors(page.post(ADD, typed(("5", "1m"), pattern="/a\0/"))) == ["Null characters are not allowed."]

    def test_a_condition_is_stored_in_one_spelling(self, page: Client) -> None:
        assert errors(page.post(ADD, typed(("5", "1m"), count_when=" ALWAYS "))) == []
        assert RateRule.objects.get().count_when == "always"

    @pytest.mark.parametrize(
        ("limit", "period", "told"),
        [
            ("-1", "1m", "Ensure this value is greater than or equal to 0."),
            ("1.5", "1m", "Enter a whole number."),
            ("1e18", "1m", "Enter a whole number."),
            ("NaN", "1m", "Enter a whole number."),
            ("five", "1m", "Enter a whole number."),
            ("9" * 30, "1m", "Ensure this value is less than or equal to"),
            ("1000000000000", "1m", "limit 1000000000000 is too high to be counted exactly over 1m: write at most 75059993789"),
            ("5", "0", "'0' has no unit: write 0s for seconds"),
            ("5", "0s", "'0s' is zero: write at least 1ms."),
            ("5", "-1m", "'-1m' is not a duration: write 10s, 1m, 2h30m"),
            ("5", "60", "'60' has no unit: write 60s for seconds"),
            ("5", "1e12", "'1e12' is not a duration"),
            (
                "5",
                "1 month",
                "'1 month': 'month' has no fixed length: write 30d; for a month of the calendar, use a fixed window aligned to",
            ),
            ("0", "9999999w", "is too long to be counted: write at most 52124995d."),
            ("5", "", "Enter a period, such as 1m."),
            ("", "1m", "Enter how many requests are allowed, such as 5."),
        ],
    )
    def test_an_error_names_value_and_remedy_and_loses_nothing_that_was_typed(
        self, page: Client, limit: str, period: str, told: str
    ) -> None:
        response = page.post(ADD, typed((limit, period), ("20", "1h"), description="why", methods="PUT"))
        (message,) = errors(response)
        assert told in message
        text = response.content.decode()
        for name, value in (
            ("windows-0-limit", limit),
            ("windows-0-period", period),
            ("windows-1-period", "1h"),
            ("methods", "PUT"),
        ):
            assert not value or re.search(
                rf'name="{name}"[^>]*value="{re.escape(value)}"|value="{re.escape(value)}"[^>]*name="{name}"', text
            )
        assert "why</textarea>" in text
        assert not RateRule.objects.exists()

    def test_errors_of_a_rule_stand_at_their_fields_all_at_once(self, page: Client) -> None:
        response = page.post(ADD, typed(("5", "1m"), name="Log in", key="shoe_size", pattern="login", methods="P0ST"))
        form = response.context["adminform"].form
        assert set(form.errors) == {"name", "key", "pattern", "methods"}
        assert any(told.startswith("'shoe_size' is not a key: choose from ip, user, ") for told in errors(response))

    def test_no_rule_without_a_limit(self, page: Client) -> None:
        assert "A rule needs at least one limit, such as 5 in 1m." in errors(page.post(ADD, typed()))
        rule = define()
        response = page.post(change(rule), {**typed(("5", "1m"), stored=rule), "windows-0-DELETE": "on"})
        assert "A rule needs at least one limit, such as 5 in 1m." in errors(response)
        assert rule.windows.count() == 1

    def test_one_period_has_one_limit(self, page: Client) -> None:
        assert any("period" in message for message in errors(page.post(ADD, typed(("5", "1m"), ("9", "60s")))))

    def test_two_limits_may_change_places(self, page: Client) -> None:
        rule = define(rate="5/m")
        data = {**typed(("5", "1m"), ("9", "1h"), stored=rule), "windows-0-DELETE": "on"}
        assert page.post(change(rule), data).status_code == 302
        assert [str(window) for window in rule.windows.all()] == ["9 in 1h"]

    def test_a_saved_rule_keeps_its_name(self, page: Client) -> None:
        rule = define(path="/login/")
        assert 'name="name"' not in page.get(change(rule)).content.decode()
        page.post(change(rule), typed(("8", "1m"), stored=rule, name="other"))
        rule.refresh_from_db()
        assert (rule.name, rule.windows.get().limit) == ("login", 8)

    def test_only_what_was_changed_is_in_the_history(self, page: Client) -> None:
        rule = define(path="/login/")
        page.post(change(rule), typed(("8", "60s"), stored=rule))
        assert "Limit" in LogEntry.objects.get().get_change_message()
        assert "Period" not in LogEntry.objects.get().get_change_message()

    def test_save_as_new_asks_for_a_name_and_keeps_what_was_typed(self, page: Client) -> None:
        rule = define(path="/login/", mode="enforce", key="jwt:tenant", methods="POST")
        data = {**typed(("8", "1m"), stored=rule, mode="enforce", key="jwt:tenant", methods="POST"), "_saveasnew": "1"}
        del data["name"]
        response = page.post(change(rule), data)
        asked = ["Enter a name that no other rule has, such as login or api.minute."]
        assert (response.status_code, errors(response), RateRule.objects.count()) == (200, asked, 1)
        form, (formset,) = response.context["adminform"].form, response.context["inline_admin_formsets"]
        assert "mode" not in form.fields
        assert (form["key"].value(), form["methods"].value(), form["pattern"].value()) == ("jwt:tenant", "POST", "/login/")
        assert [(each["limit"].value(), each["period"].value()) for each in formset.formset.forms] == [("8", "1m")]
        assert page.post(change(rule), {**data, "name": "login.copy"}).status_code == 302
        saved = RateRule.objects.get(name="login.copy")
        assert (saved.mode, [str(window) for window in saved.windows.all()]) == ("shadow", ["8 in 1m"])
        assert [str(window) for window in rule.windows.all()] == ["5 in 1m"]

    def test_the_help_says_how_an_algorithm_fails(self, page: Client) -> None:
        assert "Never more than the limit in any window" in page.get(ADD).content.decode()


def test_cost_and_penalty_are_edited_too(page: Client) -> None:
    assert errors(page.post(ADD, typed(("5", "1m"), cost="3", penalty="15m", count_refused="on"))) == []
    rule = RateRule.objects.get()
    assert (rule.cost, rule.count_refused) == (3, True)
    assert sentence(rule) == (
        "Each address: at most 5 in 1 minute, on /login/; each request costs 3; refused requests also count; "
        "a refusal locks the client out for 15 minutes."
    )
    assert 'value="15m"' in page.get(change(rule)).content.decode()


def test_a_soft_limit_by_the_month_is_edited_too(page: Client) -> None:
    by_month = {"windows-0-algorithm": "fixed_window", "windows-0-aligned_to": "month"}
    data = {**typed(("4503599627370496", "30d"), soft="on"), **by_month}
    assert errors(page.post(ADD, data)) == []
    rule = RateRule.objects.get()
    assert (rule.soft, reading.freeze(rule).windows[0].text) == (True, "4503599627370496/month")
    assert sentence(rule) == (
        "Each address: at most 4,503,599,627,370,496 in each month of the calendar (UTC), on /login/; "
        "over the limit, requests pass and still count."
    )


def test_a_soft_limit_that_slides_is_an_error_that_says_what_to_choose(page: Client) -> None:
    told = errors(page.post(ADD, typed(("5", "1m"), soft="on")))
    assert told == ["a soft limit is counted by fixed_window, not by sliding_window: choose fixed_window, or clear soft limit."]


@pytest.mark.parametrize(
    ("text", "stored"),
    [("15 Minutes", "15m"), ("60s;5m ; 1H", "1m; 5m; 1h within 1d"), ("1m; 2d within 4w", "1m; 2d within 4w"), ("", None)],
)
def test_a_penalty_is_stored_and_shown_in_one_form(page: Client, text: str, stored: str | None) -> None:
    assert errors(page.post(ADD, typed(("5", "1m"), penalty=text))) == []
    rule = RateRule.objects.get()
    assert rule.penalty == stored
    assert stored is None or f'name="penalty" value="{stored}"' in page.get(change(rule)).content.decode()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5m; 1m", "'5m; 1m' has a duration that is shorter than the one before: write the shorter ones first."),
        ("1m; 2d", "'1m; 2d' lasts up to 2d, longer than the 1d within which it grows: end it with, for example, within 2d."),
        ("soon", "'soon' is not a duration: write 10s, 1m, 2h30m, 1d2h3m4s or 500ms."),
    ],
)
def test_a_penalty_that_is_wrong_is_an_error_that_says_what_to_write(page: Client, text: str, told: str) -> None:
    assert errors(page.post(ADD, typed(("5", "1m"), penalty=text))) == [told]
    assert not RateRule.objects.exists()


@pytest.mark.parametrize("penalty", ["52124996d", "200000000d", "9999999999999999d"])
def test_a_penalty_that_no_column_holds_is_an_error_in_the_form(page: Client, penalty: str) -> None:
    told = errors(page.post(ADD, typed(("5", "1m"), penalty=penalty)))
    assert told == [f"{penalty} is too long to be counted: write at most 52124995d."]


class TestAnswersAndCounting:
    def test_every_new_field_is_edited(self, page: Client) -> None:
        rule = define(mode="enforce")
        data = typed(
            ("5", "1h"),
            stored=rule,
            enforce_percent="10",
            count_when="401, 5xx",
            normalise="on",
            response_status="403",
            message="Not so fast.",
            on_error="refuse",
            key="header:x-api-key",
        )
        assert errors(page.post(change(rule), data)) == []
        rule.refresh_from_db()
        assert (rule.enforce_percent, rule.count_when, rule.normalise) == (10, "401,5xx", True)
        assert (rule.response_status, rule.message, rule.on_error) == (403, "Not so fast.", "refuse")
        text = page.get(change(rule)).content.decode()
        for told in ("Not so fast.</textarea>", 'value="401,5xx"', 'value="403"', 'value="10"'):
            assert told in text
        assert '<span class="rw-mode rw-mode-enforce">Enforce 10 %</span>' in page.get(LIST).content.decode()

    @pytest.mark.parametrize(
        ("field", "value", "told"),
        [
            ("enforce_percent", "0", "Ensure this value is greater than or equal to 1."),
            ("enforce_percent", "101", "Ensure this value is less than or equal to 100."),
            ("enforce_percent", "ten", "Enter a whole number."),
            ("response_status", "200", "Ensure this value is greater than or equal to 400."),
            ("response_status", "9" * 30, "Ensure this value is less than or equal to"),
            ("cost", "-1", "Ensure this value is greater than or equal to 0."),
            (
                "hold",
                "on",
                "every request counts, so nothing is refunded or forgiven: write what counts, such as",
            ),
            ("forgive", "on", "every request counts, so nothing is refunded or forgiven: write what counts, such as"),
            (
                "count_when",
                "sometimes",
                "'sometimes' is not a status: write always, login_failed, or statuses such as 401,403",
            ),
            ("message", "x" * 301, "Ensure this value has at most 300 characters (it has 301)."),
        ],
    )
    def test_an_error_names_value_and_remedy(self, page: Client, field: str, value: str, told: str) -> None:
        rule = define()
        before = RateRule.objects.values().get()
        (message,) = errors(page.post(change(rule), typed(("5", "1m"), stored=rule, **{field: value})))
        assert told in message
        assert RateRule.objects.values().get() == before

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"count_when": "login_failed"}, "; only failed logins count."),
            (
                {"count_when": "login_failed", "hold": True},
                "; only failed logins count; charged first and refunded after.",
            ),
            (
                {"count_when": "401", "hold": True},
                "status 401 count; charged first and refunded after.",
            ),
            ({"count_when": "401", "forgive": True}, "status 401 count; a success deletes the client's counts."),
            ({"penalty": "15m"}, "; a refusal locks the client out for 15 minutes."),
            (
                {"penalty": "1m; 5m; 1h"},
                "out for 1 minute, then 5 minutes, then 1 hour (each within 1 day of the start of the one before).",
            ),
            ({"count_when": "401"}, "; only answers with status 401 count."),
            ({"count_when": "401,403 5XX"}, "; only answers with status 401, 403 or 5xx count."),
            ({"response_status": 403}, "; refused with status 403."),
            ({"enforce_percent": 10, "mode": "enforce"}, "; enforced for 10 % of clients."),
            ({"enforce_percent": 10}, ", where code names it."),
        ],
    )
    def test_a_rule_says_it_in_its_sentence(self, fields: dict[str, Any], said: str) -> None:
        assert sentence(define("rule", "5/m", **fields)).endswith(said)


def test_more_limits_than_a_rule_can_use_are_told_and_not_drawn(page: Client) -> None:
    response = page.post(ADD, {**typed(("5", "1m")), "windows-TOTAL_FORMS": "5000"})
    assert "A rule has at most 20 limits: split it into several rules." in errors(response)
    assert response.content.count(b"-algorithm") < 500
    assert not RateRule.objects.exists()


def test_a_regular_expression_is_tried_with_the_others_and_one_left_out_says_so_at_its_row(page: Client) -> None:
    for number in range(20):
        rule = define(f"large-{number:02}", regex="^/large/")
        RateRule.objects.filter(pk=rule.pk).update(pattern=f"[a{chr(0x100 + number)}].{{14}}N")
    for pattern, problem in (
        (r"^/(\pL{1,200}/)+y0$", "pattern too large"),
        ("a.{14}N", "is too large together with the other 20 expressions of its kind"),
    ):
        answer = page.post(ADD, typed(("5", "1m"), applies_to="regex", pattern=pattern))
        assert problem in answer.content.decode()
        assert not RateRule.objects.filter(name="login").exists()
    reading.reload()
    listed = page.get(LIST).content.decode()
    assert listed.count("This rule is left out, it cannot be enforced: all regular expressions of the site together") == 16
    left_out = next(rule for rule in RateRule.objects.order_by("name") if reading.problem_of(rule.name))
    assert "this rule is left out, it cannot be enforced" in page.get(change(left_out)).content.decode()


def test_more_buckets_than_one_decision_may_look_through_are_refused(page: Client) -> None:
    sent = typed(*((str(number), f"{number}h") for number in range(1, 5)))
    response = page.post(ADD, {**sent, **{f"windows-{number}-buckets": "1000" for number in range(4)}})
    assert "The limits of a rule have at most 3000 buckets together, not 4000: enter fewer." in errors(response)
    assert page.post(ADD, {**sent, **{f"windows-{number}-buckets": "750" for number in range(4)}}).status_code == 302
