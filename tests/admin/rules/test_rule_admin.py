"""The form of a rule in the admin."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
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

    @pytest.mark.parametrize(
        ("button", "does", "next_step"),
        [
            ("_save", "It is in shadow: it counts, and refuses nobody.", "what it would have refused"),
            ("_enforce", "It is enforced from now on: clients above its limits are refused.", "takes it back to shadow"),
        ],
    )
    def test_it_says_what_the_rule_does_from_now_on_and_what_is_next(
        self, page: Client, button: str, does: str, next_step: str
    ) -> None:
        response = page.post(ADD, {**typed(("5", "1m")), button: "Save"}, follow=True)
        (message,) = [str(each) for each in response.context["messages"] if does in str(each)]
        assert f'<a href="{change(RateRule.objects.get())}">' in message and next_step in message

    def test_who_may_not_enforce_it_reads_who_is_to_be_asked(self, client: Client) -> None:
        user = User.objects.create(username="adder", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=["add_raterule", "view_raterule"]))
        client.force_login(user)
        assert "and ask somebody who may enforce rules." in said(client.post(ADD, typed(("5", "1m")), follow=True))

    def test_the_pattern_is_labelled_by_what_the_rule_applies_to(self, page: Client) -> None:
        assert "URL name:" in said(page.get(change(define(route="login"))))
        assert "Path:" in said(page.post(ADD, typed(("5", "1m"), pattern="")))

    def test_an_empty_number_of_buckets_says_what_it_means(self, page: Client) -> None:
        (box,) = re.findall(r'<input[^>]* name="windows-0-buckets"[^>]*>', page.get(ADD).content.decode())
        assert 'placeholder="empty: 60"' in box

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
        assert errors(page.post(ADD, typed(("5", "1m"), count_when=" ALWAYS ", lease="7"))) == []
        assert RateRule.objects.get().count_when == "always"

    @pytest.mark.parametrize(
        ("limit", "period", "told"),
        [
            ("-1", "1m", "-1 is negative: enter 0 to refuse every request, or more."),
            ("1.5", "1m", "'1.5' is not a whole number: enter one such as 5."),
            ("1e18", "1m", "'1e18' is not a whole number: enter one such as 5."),
            ("NaN", "1m", "'NaN' is not a whole number: enter one such as 5."),
            ("five", "1m", "'five' is not a whole number: enter one such as 5."),
            ("9" * 30, "1m", f"{'9' * 30} is too high to be counted: enter at most 4503599627370496."),
            ("1000000000000", "1m", "limit 1000000000000 is too high to be counted exactly over 1m: write at most 75059993789"),
            ("5", "0", "'0' has no unit: write 0s for seconds"),
            ("5", "0s", "'0s' is zero: write at least 1ms."),
            ("5", "-1m", "'-1m' is not a duration: write 10s, 1m, 2h30m"),
            ("5", "60", "'60' has no unit: write 60s for seconds"),
            ("5", "1e12", "'1e12' is not a duration"),
            ("5", "1 month", "'1 month': 'month' has no fixed length: write 30d."),
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

    def test_the_form_says_in_words_what_is_saved_even_beside_an_error(self, page: Client) -> None:
        rule = define(path="/login/")
        for response in (page.get(change(rule)), page.post(change(rule), typed(("5", "1m"), stored=rule, pattern="login"))):
            assert "Each address: at most 5 in 1 minute, on /login/." in response.content.decode()

    def test_save_as_new_opens_a_copy_without_a_name_and_without_errors(self, page: Client) -> None:
        rule = define(path="/login/", mode="enforce", key="jwt:tenant", methods="POST")
        data = {**typed(("8", "1m"), stored=rule, mode="enforce", key="jwt:tenant", methods="POST"), "_saveasnew": "1"}
        del data["name"]
        response = page.post(change(rule), data)
        assert (response.status_code, errors(response), RateRule.objects.count()) == (200, [], 1)
        form, (formset,) = response.context["adminform"].form, response.context["inline_admin_formsets"]
        assert form["name"].value() == "" and "mode" not in form.fields
        assert (form["key"].value(), form["methods"].value(), form["pattern"].value()) == ("jwt:tenant", "POST", "/login/")
        assert [(each["limit"].value(), each["period"].value()) for each in formset.formset.forms] == [("8", "1m")]
        assert f'action="{ADD}"' in response.content.decode()
        assert page.post(ADD, {**typed(("8", "1m"), name="login.copy")}).status_code == 302
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


@pytest.mark.parametrize("penalty", ["52124996d", "200000000d", "9999999999999999d"])
def test_a_penalty_that_no_column_holds_is_an_error_in_the_form(page: Client, penalty: str) -> None:
    told = errors(page.post(ADD, typed(("5", "1m"), penalty=penalty)))
    assert told == [f"{penalty} is too long to be counted: write at most 52124995d."]


class TestAnswersAndCounting:
    def test_every_new_field_is_edited(self, page: Client) -> None:
        rule = define()
        data = typed(
            ("5", "1h"),
            stored=rule,
            enforce_percent="10",
            count_when="401, 5xx",
            normalise="on",
            response_status="403",
            message="Not so fast.",
            on_error="refuse",
            lease="1",
            mode="enforce",
            key="header:x-api-key",
        )
        assert errors(page.post(change(rule), data)) == []
        rule.refresh_from_db()
        assert (rule.enforce_percent, rule.count_when, rule.normalise) == (10, "401,5xx", True)
        assert (rule.response_status, rule.message, rule.on_error, rule.lease) == (403, "Not so fast.", "refuse", 1)
        text = page.get(change(rule)).content.decode()
        for told in ("Not so fast.</textarea>", 'value="401,5xx"', 'value="403"', 'value="10"'):
            assert told in text
        assert '<span class="rw-mode rw-mode-enforce">Enforce 10 %</span>' in page.get(LIST).content.decode()

    def test_what_is_left_empty_or_not_sent_is_the_usual(self, page: Client) -> None:
        usual = (100, "always", 429, 1)
        for more in ({}, {"enforce_percent": "", "count_when": "", "response_status": "", "lease": "", "cost": ""}):
            rule = define(enforce_percent=10, count_when="4xx", response_status=403, cost=2)
            assert errors(page.post(change(rule), typed(("5", "1m"), stored=rule, **more))) == []
            rule.refresh_from_db()
            assert (rule.enforce_percent, rule.count_when, rule.response_status, rule.lease) == usual

    @pytest.mark.parametrize(
        ("field", "value", "told"),
        [
            ("enforce_percent", "0", "0 is out of range: enter 1 to 100."),
            ("enforce_percent", "101", "101 is out of range: enter 1 to 100."),
            ("enforce_percent", "ten", "'ten' is not a whole number: enter one such as 5."),
            ("response_status", "200", "200 is out of range: enter 400 to 599."),
            ("response_status", "9" * 30, f"{'9' * 30} is out of range: enter 400 to 599."),
            ("cost", "-1", "-1 is out of range: enter 0 to 1000000."),
            ("lease", "0", "0 is out of range: enter 1 to 1000000."),
            (
                "hold",
                "on",
                "every request counts, so nothing is refunded: write what counts, such as login_failed, or do not hold.",
            ),
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
                "; only failed logins count: an attempt counts at once, and is taken off again if the login succeeds.",
            ),
            (
                {"count_when": "401", "hold": True},
                "status 401 count: a request counts at once, and is taken off again if its answer has another one.",
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


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"applies_to": "route", "pattern": "demo:nowhere"}, "Rule login is for the route demo:nowhere, which the URLconf"),
        ({"applies_to": "path", "pattern": "/login/"}, None),
        ({"applies_to": "prefix", "pattern": "/nowhere/"}, None),
    ],
)
def test_who_names_a_page_that_does_not_exist_is_told_at_once(page: Client, fields: dict[str, str], told: str | None) -> None:
    response = page.post(ADD, typed(("600", "1m"), **fields), follow=True)
    warnings = [str(each).replace("'", "") for each in response.context["messages"] if each.level_tag == "warning"]
    assert [each.startswith(told) for each in warnings] == [True] if told else warnings == []


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
        (r"^/(\pL{1,200}/)+y0$", "is too large"),
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
