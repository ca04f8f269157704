"""The rules in the admin, as a person meets them."""

import re
import time
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratewindow import ratelimit
from ratewindow.admin.wording import sentence
from ratewindow.models import Override, RateRule, RuleWindow, ThrottleStat
from ratewindow.reporting import minutes
from ratewindow.reporting.sums import Sums
from ratewindow.rulebook import reading

pytestmark = pytest.mark.django_db

LIST = reverse("admin:ratewindow_raterule_changelist")
ADD = reverse("admin:ratewindow_raterule_add")


def change(rule: RateRule) -> str:
    return reverse("admin:ratewindow_raterule_change", args=[rule.pk])


def define(name: str = "login", rate: str = "5/m", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **fields)[0]


@pytest.fixture
def boss(db: None) -> User:
    """Without a password, whose hash would take longer than the test."""
    return User.objects.create(username="boss", is_staff=True, is_superuser=True)


@pytest.fixture
def page(client: Client, boss: User) -> Client:
    client.force_login(boss)
    return client


@pytest.fixture
def viewer(client: Client) -> Client:
    """Staff that may look and not touch."""
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_raterule", "view_rulewindow"]))
    client.force_login(user)
    return client


def typed(*limits: tuple[str, str], stored: RateRule | None = None, **fields: str) -> dict[str, str]:
    """What a browser sends for a rule with these limits, (limit, period)."""
    rows = list(stored.windows.all()) if stored else []
    data = {
        "name": "login",
        "mode": "shadow",
        "description": "",
        "applies_to": "path",
        "pattern": "/login/",
        "methods": "",
        "key": "ip",
        "on_missing": "ip",
        "cost": "1",
        "penalty": "",
        "windows-TOTAL_FORMS": str(len(limits)),
        "windows-INITIAL_FORMS": str(len(rows)),
        **fields,
    }
    for number, (limit, period) in enumerate(limits):
        data |= {f"windows-{number}-limit": limit, f"windows-{number}-period": period}
        data |= {f"windows-{number}-algorithm": "sliding_window", f"windows-{number}-buckets": ""}
    for number, row in enumerate(rows):
        data |= {f"windows-{number}-id": str(row.pk), f"windows-{number}-rule": str(row.rule_id)}
    return data


def errors(response: Any) -> list[str]:
    """Every message that the page shows in red."""
    text = response.content.decode()
    found = re.findall(r'<ul class="errorlist[^>]*>(.*?)</ul>', text, re.DOTALL)
    return [
        re.sub(r"<[^>]+>", "", item).replace("&#x27;", "'").strip()
        for each in found
        for item in re.findall(r"<li>(.*?)</li>", each)
    ]


def said(response: Any) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def count(**sums: Sums) -> None:
    """What another process has counted within this minute."""
    now_s = time.time()
    minutes.send({int(now_s) // 60: {f"p|{rule}": each for rule, each in sums.items()}}, now_s)


class TestForm:
    def test_a_rule_is_added_with_limits_typed_as_people_type_them(self, page: Client) -> None:
        response = page.post(ADD, typed(("5", "1m"), ("20", "2h30m"), methods="post", mode="enforce"), follow=True)
        assert errors(response) == []
        rule = RateRule.objects.get()
        assert (rule.name, rule.mode, rule.pattern, rule.methods) == ("login", "enforce", "/login/", "POST")
        assert [str(window) for window in rule.windows.all()] == ["5 in 1m", "20 in 2h30m"]

    def test_a_new_rule_is_in_shadow_until_somebody_says_otherwise(self, page: Client) -> None:
        text = page.get(ADD).content.decode()
        assert re.search(r'value="shadow"[^>]*checked', text)

    def test_a_limit_of_zero_is_taken(self, page: Client) -> None:
        assert page.post(ADD, typed(("0", "1m"))).status_code == 302
        assert RuleWindow.objects.get().limit == 0

    def test_the_limits_stand_before_what_few_rules_need(self, page: Client) -> None:
        words = said(page.get(ADD))
        assert 0 < words.index("Count per:") < words.index("Limits (a request must be") < words.index("Counting Cost:")
        assert page.get(ADD).content.decode().count('id="windows-group"') == 1

    def test_a_pattern_that_no_column_can_hold_is_told_of_once(self, page: Client) -> None:
        assert errors(page.post(ADD, typed(("5", "1m"), pattern="/a\0/"))) == ["Null characters are not allowed."]

    def test_a_condition_is_stored_in_one_spelling(self, page: Client) -> None:
        assert errors(page.post(ADD, typed(("5", "1m"), count_when=" ALWAYS ", lease="7"))) == []
        assert RateRule.objects.get().count_when == "always"

    @pytest.mark.parametrize(
        ("limit", "period", "told"),
        [
            ("-1", "1m", "-1 is less than nothing: write 0 to refuse all, or more."),
            ("1.5", "1m", "'1.5' is no whole number: write for example 5."),
            ("1e18", "1m", "'1e18' is no whole number: write for example 5."),
            ("NaN", "1m", "'NaN' is no whole number: write for example 5."),
            ("five", "1m", "'five' is no whole number: write for example 5."),
            ("9" * 30, "1m", f"{'9' * 30} is too high to be counted: write at most 4503599627370496."),
            ("1000000000000", "1m", "limit 1000000000000 is too high to be counted exactly over 1m: write at most 75059993789"),
            ("5", "0", "'0' has no unit: write 0s for seconds"),
            ("5", "0s", "'0s' is no time at all: write at least 1ms."),
            ("5", "-1m", "'-1m' is not a duration: write 10s, 1m, 2h30m"),
            ("5", "60", "'60' has no unit: write 60s for seconds"),
            ("5", "1e12", "'1e12' is not a duration"),
            ("5", "1 month", "'1 month': 'month' has no fixed length: write 30d."),
            ("0", "9999999w", "is too long to be counted: write at most 52124995d."),
            ("5", "", "This field is required."),
            ("", "1m", "This field is required."),
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
        assert any(told.startswith("'shoe_size' is no key: choose from ip, user, ") for told in errors(response))

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

    def test_save_as_new_asks_for_a_name_and_then_leaves_the_old_rule_alone(self, page: Client) -> None:
        rule = define(path="/login/")
        data = {**typed(("8", "1m"), stored=rule), "_saveasnew": "1"}
        del data["name"]
        response = page.post(change(rule), data)
        assert errors(response) == ["Give the rule a name of its own, such as login or api.minute."]
        assert 'name="name"' in response.content.decode()
        assert page.post(change(rule), {**data, "name": "login.copy"}).status_code == 302
        assert [str(window) for window in RateRule.objects.get(name="login.copy").windows.all()] == ["8 in 1m"]
        assert [str(window) for window in rule.windows.all()] == ["5 in 1m"]

    def test_the_help_says_how_an_algorithm_fails(self, page: Client) -> None:
        assert "Never more than the limit in any window" in page.get(ADD).content.decode()


class TestList:
    def test_it_reads_as_sentences(self, page: Client) -> None:
        define(rate="5/m; 20/h", path="/login/", key="ip+user", methods="POST", mode="enforce")
        text = page.get(LIST).content.decode()
        assert "Each address + user: at most 5 in 1 minute and 20 in 1 hour, on POST /login/." in text
        assert '<span class="rw-mode rw-mode-enforce">Enforce</span>' in text

    def test_it_asks_the_database_as_often_for_many_rules_as_for_one(
        self, page: Client, django_assert_num_queries: Any, django_assert_max_num_queries: Any
    ) -> None:
        define("first")
        with django_assert_max_num_queries(12) as few:
            page.get(LIST)
        for number in range(20):
            define(f"rule-{number}", "5/m; 20/h")
        with django_assert_num_queries(len(few)):
            page.get(LIST)

    def test_it_tells_what_the_last_hour_brought_and_begins_with_what_refuses_most(self, page: Client) -> None:
        for name in ("api", "login", "quiet", "search"):
            define(name)
        count(login=Sums(passed=100, refused=300), api=Sums(passed=9, refused=1), search=Sums(passed=100, would_refuse=2))
        listed = said(page.get(LIST))
        assert re.findall(r"(login|api|search|quiet) Each", listed) == ["login", "api", "search", "quiet"]
        for told in ("100 passed · 300 refused, 75 %", "9 passed · 1 refused, 10 %", "100 passed · 2 would be refused, 2.0 %"):
            assert told in listed
        assert re.findall(r"(login|api|search|quiet) Each", said(page.get(LIST, {"o": "2"})))[0] == "api"

    def test_it_is_there_while_redis_is_away_with_what_was_collected(self, page: Client, settings: Any) -> None:
        define()
        define("other")
        assert "not met" in said(page.get(LIST))
        now = timezone.now().replace(second=0, microsecond=0)
        ThrottleStat.objects.create(rule="login", resolution="minute", start=now, passed=7, refused=3)
        settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}
        listed = said(page.get(LIST))
        assert "7 passed · 3 refused, 30 %" in listed
        assert "not known" in listed and "not met" not in listed

    def test_what_only_code_knows_stands_below_and_can_be_edited_here(self, page: Client) -> None:
        ratelimit("code.only", "7/m; 70/h", key="user", methods=["POST"])(lambda request: None)
        ratelimit("code.and.row", "7/m")(lambda request: None)
        define("code.and.row")
        count(**{"code.only": Sums(passed=5)})
        below = said(page.get(LIST)).partition("In code alone")[2]
        assert "code.only Each user: at most 7 in 1 minute and 70 in 1 hour, on POST where code names it." in below
        assert "5 passed" in below
        assert "code.and.row" not in below
        (url,) = re.findall(r'href="([^"]*name=code.only[^"]*)"', page.get(LIST).content.decode())
        form = page.get(url.replace("&amp;", "&")).content.decode()
        for field, value in {"name": "code.only", "key": "user", "methods": "POST", "windows-0-limit": "7",
                             "windows-0-period": "1m", "windows-1-limit": "70", "windows-1-period": "1h"}.items():  # fmt: skip
            assert re.search(rf'name="{field}"[^>]*value="{value}"|value="{value}"[^>]*name="{field}"', form), field
        sent = typed(("7", "1m"), ("70", "1h"), name="code.only", applies_to="named", pattern="", key="user")
        assert page.post(url.replace("&amp;", "&"), sent).status_code == 302
        assert RateRule.objects.get(name="code.only").windows.count() == 2

    def test_who_looks_for_something_is_not_shown_what_code_has_besides(self, page: Client) -> None:
        assert "In code alone" in said(page.get(LIST))
        assert "In code alone" not in said(page.get(LIST, {"q": "login"}))
        assert "In code alone" not in said(page.get(LIST, {"mode__exact": "off"}))

    def test_a_period_that_raw_sql_has_broken_can_be_seen_and_put_right(self, page: Client) -> None:
        from django.db import connection

        rule = define(path="/login/")
        with connection.cursor() as cursor:
            cursor.execute("UPDATE ratewindow_rulewindow SET period = 0")
        assert page.get(LIST).status_code == page.get(change(rule)).status_code == 200
        assert page.post(change(rule), typed(("5", "1m"), stored=rule)).status_code == 302

    @pytest.mark.parametrize(
        ("action", "mode", "said"),
        [
            ("enforce", "enforce", "Now enforced: login (was: shadow)."),
            ("switch_off", "off", "Now off: login (was: shadow)."),
            ("shadow", "shadow", "Nothing to change: all selected rules were in shadow already."),
        ],
    )
    def test_an_action_changes_the_mode_and_says_what_it_was(self, page: Client, action: str, mode: str, said: str) -> None:
        rule = define()
        response = page.post(LIST, {"action": action, "_selected_action": [rule.pk]}, follow=True)
        rule.refresh_from_db()
        assert rule.mode == mode
        assert said in response.content.decode()

    def test_only_the_selected_rules_change_and_each_in_its_own_history(self, page: Client) -> None:
        chosen, other = define("chosen"), define("other")
        page.post(LIST, {"action": "enforce", "_selected_action": [chosen.pk]})
        other.refresh_from_db()
        assert other.mode == "shadow"
        (entry,) = LogEntry.objects.all()
        assert (entry.object_id, entry.get_change_message()) == (str(chosen.pk), "Changed Mode.")
        assert "Changed Mode." in page.get(reverse("admin:ratewindow_raterule_history", args=[chosen.pk])).content.decode()

    def test_an_action_is_a_post_with_a_token(self, page: Client, boss: User) -> None:
        rule = define()
        page.get(LIST, {"action": "enforce", "_selected_action": rule.pk})
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(boss)
        assert strict.post(LIST, {"action": "enforce", "_selected_action": [rule.pk]}).status_code == 403
        rule.refresh_from_db()
        assert rule.mode == "shadow"


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


def test_what_people_wrote_is_shown_and_not_run(page: Client) -> None:
    evil = "<img src=x onerror=alert(1)>"
    rule = define()
    RateRule.objects.update(description=evil, pattern=evil, key=f"header:{evil}", applies_to="path", methods=evil)
    page.post(LIST, {"action": "enforce", "_selected_action": [rule.pk]})
    history = reverse("admin:ratewindow_raterule_history", args=[rule.pk])
    for url in (LIST, f"{LIST}?q={evil}", change(rule), history, reverse("admin:ratewindow_raterule_delete", args=[rule.pk])):
        text = page.get(url).content.decode()
        assert "<img src=x" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.get(LIST).content.decode()


def test_cost_and_penalty_are_edited_too(page: Client) -> None:
    assert errors(page.post(ADD, typed(("5", "1m"), cost="3", penalty="15m", count_refused="on"))) == []
    rule = RateRule.objects.get()
    assert (rule.cost, rule.count_refused) == (3, True)
    assert sentence(rule) == (
        "Each address: at most 5 in 1 minute, on /login/; each request takes 3 of that; refused requests count, too; "
        "who is refused is locked out for 15 minutes."
    )
    assert 'value="15m"' in page.get(change(rule)).content.decode()


@pytest.mark.parametrize("penalty", ["52124996d", "200000000d", "9999999999999999d"])
def test_a_penalty_that_no_column_holds_is_an_error_in_the_form(page: Client, penalty: str) -> None:
    told = errors(page.post(ADD, typed(("5", "1m"), penalty=penalty)))
    assert told == [f"{penalty} is too long to be counted: write at most 52124995d."]


@pytest.mark.parametrize(
    ("rate", "fields", "said"),
    [
        ("5/m", {}, "Each address: at most 5 in 1 minute, where code names it."),
        ("1000/2w", {"key": "user"}, "Each user: at most 1,000 in 2 weeks, where code names it."),
        ("5/s", {"applies_to": "all", "key": "global"}, "Everybody together: at most 5 in 1 second, on every request."),
        (
            "5/500ms",
            {"prefix": "/api/", "key": "user_or_ip"},
            "Each user or address: at most 5 in 500 milliseconds, below /api/.",
        ),
        ("5/2h30m", {"path": "/x/", "methods": "PUT,POST"}, "Each address: at most 5 in 2h30m, on POST or PUT /x/."),
        ("5/w", {"key": "ip+header:x-api-key"}, "Each address + x-api-key header: at most 5 in 1 week, where code names it."),
        ("5/m", {"key": "post:username"}, "Each username in the form: at most 5 in 1 minute, where code names it."),
        ("5/m", {"key": "session + get:q"}, "Each session + q in the address: at most 5 in 1 minute, where code names it."),
        (
            "5/m",
            {"key": "jwt:cognito:username"},
            "Each cognito:username of the token: at most 5 in 1 minute, where code names it.",
        ),
        ("5/m", {"regex": "^/v[12]/"}, "Each address: at most 5 in 1 minute, on paths that match ^/v[12]/."),
        ("5/m", {"regex": "^/v/", "methods": "GET"}, "Each address: at most 5 in 1 minute, on GET to paths that match ^/v/."),
        ("5/m", {"route": "shop:cart"}, "Each address: at most 5 in 1 minute, on the route shop:cart."),
        ("5/m", {"route": "shop", "methods": "POST"}, "Each address: at most 5 in 1 minute, on POST to the route shop."),
        ("5/m; 0/h", {"applies_to": "all", "methods": "POST"}, "Each address: always refused, on every POST request."),
    ],
)
def test_a_rule_is_said_in_plain_words(rate: str, fields: dict[str, Any], said: str) -> None:
    assert sentence(define("rule", rate, **fields)) == said


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ({"algorithm": "token_bucket", "burst": 20}, "at most 20 at once and then 5 in 1 day"),
        ({"algorithm": "leaky_bucket"}, "at most 1 at once and then 5 in 1 day"),
        ({"algorithm": "fixed_window", "aligned_to": "day"}, "at most 5 in each day by the clock (UTC)"),
    ],
)
def test_bursts_and_the_calendar_are_said(window: dict[str, Any], said: str) -> None:
    rule = RateRule.objects.create(name="rule")
    rule.windows.create(limit=5, period="1d", **window)
    assert sentence(rule) == f"Each address: {said}, where code names it."


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cost": 5}, "each request takes 5 of that"),
        ({"cost": 0}, "requests are only looked at and take nothing of that"),
        ({"on_missing": "allow"}, "a request that has none passes uncounted"),
        ({"on_missing": "refuse"}, "a request that has none is refused"),
        ({"count_refused": True}, "refused requests count, too"),
        ({"on_error": "refuse"}, "while Redis is away, requests are refused"),
        ({"on_error": "local"}, "while Redis is away, each process counts its share"),
        ({"lease": 10}, "a process may take 10 units at once"),
    ],
)
def test_what_else_a_rule_does_is_said(fields: dict[str, Any], said: str) -> None:
    rule = define("rule", "5/m", key="user", **fields)
    assert sentence(rule) == f"Each user: at most 5 in 1 minute, where code names it; {said}."


def test_a_rule_without_a_limit_says_so() -> None:
    rule = RateRule.objects.create(name="empty", applies_to="all")
    assert sentence(rule) == "Each address: no limit yet, so nobody is refused, on every request."


class TestAnswersAndCounting:
    def test_every_new_field_is_edited(self, page: Client) -> None:
        data = typed(
            ("5", "1h"),
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
        assert errors(page.post(ADD, data)) == []
        rule = RateRule.objects.get()
        assert (rule.enforce_percent, rule.count_when, rule.normalise) == (10, "401,5xx", True)
        assert (rule.response_status, rule.message, rule.on_error, rule.lease) == (403, "Not so fast.", "refuse", 1)
        text = page.get(change(rule)).content.decode()
        for told in ("Not so fast.</textarea>", 'value="401,5xx"', 'value="403"', 'value="10"'):
            assert told in text
        assert '<span class="rw-mode rw-mode-enforce">Enforce 10 %</span>' in page.get(LIST).content.decode()

    def test_what_is_left_empty_or_not_sent_is_the_usual(self, page: Client) -> None:
        usual = (100, "always", 429, 1)
        for more in ({}, {"enforce_percent": "", "count_when": "", "response_status": "", "lease": "", "cost": ""}):
            assert errors(page.post(ADD, typed(("5", "1m"), **more))) == []
            rule = RateRule.objects.get()
            assert (rule.enforce_percent, rule.count_when, rule.response_status, rule.lease) == usual
            rule.delete()

    @pytest.mark.parametrize(
        ("field", "value", "told"),
        [
            ("enforce_percent", "0", "0 is out of bounds: write 1 to 100."),
            ("enforce_percent", "101", "101 is out of bounds: write 1 to 100."),
            ("enforce_percent", "ten", "'ten' is no whole number: write for example 5."),
            ("response_status", "200", "200 is out of bounds: write 400 to 599."),
            ("response_status", "9" * 30, f"{'9' * 30} is out of bounds: write 400 to 599."),
            ("cost", "-1", "-1 is out of bounds: write 0 to 1000000."),
            ("lease", "0", "0 is out of bounds: write 1 to 1000000."),
            (
                "hold",
                "on",
                "what always counts is charged at once: say what counts, such as login_failed, or do not hold.",
            ),
            ("count_when", "sometimes", "'sometimes' is no status: write always, login_failed, or statuses such as 401,403,5xx."),
            ("message", "x" * 301, "Ensure this value has at most 300 characters (it has 301)."),
        ],
    )
    def test_an_error_names_value_and_remedy(self, page: Client, field: str, value: str, told: str) -> None:
        (message,) = errors(page.post(ADD, typed(("5", "1m"), **{field: value})))
        assert told in message
        assert not RateRule.objects.exists()

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"count_when": "login_failed"}, "; only failed logins count."),
            (
                {"count_when": "login_failed", "hold": True},
                "; only failed logins count; each request is charged first, and refunded if its answer does not count.",
            ),
            ({"count_when": "401"}, "; only answers with status 401 count."),
            ({"count_when": "401,403 5XX"}, "; only answers with status 401, 403 or 5xx count."),
            ({"response_status": 403}, "; refused with status 403."),
            ({"enforce_percent": 10, "mode": "enforce"}, "; enforced for 10 of 100 clients."),
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


class TestLockout:
    """Who enforces a rule that would refuse them in the admin is asked before."""

    @pytest.mark.parametrize(
        ("limit", "fields", "met", "when"),
        [
            (("5", "1m"), {"applies_to": "all"}, "/admin/ and", "after 5 requests in 1m."),
            (("50", "1m"), {"applies_to": "prefix", "pattern": "/admin/"}, "/admin/ and", "after 50 requests in 1m."),
            (("500", "1d"), {"applies_to": "all"}, "/admin/ and", "after 500 requests in 1d."),
            (("5", "1m"), {"applies_to": "path", "pattern": "/admin/login/"}, "/admin/login/, a page", "after 5 requests in 1m."),
            (("5", "1m"), {"applies_to": "prefix", "pattern": "/admin/auth/"}, "/admin/auth/", "after 5 requests in 1m."),
            (("5", "1m"), {"applies_to": "regex", "pattern": "/change/$"}, "/admin/auth/group/1/change/ and", "after 5 requests"),
            (("5", "1m"), {"applies_to": "regex", "pattern": "^/adm"}, "/admin/ and", "after 5 requests in 1m."),
            (("5", "1m"), {"applies_to": "route", "pattern": "admin"}, "/admin/ and", "after 5 requests in 1m."),
            (("1", "1m"), {"applies_to": "route", "pattern": "admin:index"}, "/admin/, a page", "after 1 request in 1m."),
            (("5", "1m"), {"applies_to": "all", "methods": "POST"}, "/admin/ and", "after 5 requests in 1m."),
            (("5", "1m"), {"applies_to": "all", "key": "user", "on_missing": "allow"}, "/admin/ and", "after 5 requests in 1m."),
            (("5", "1m"), {"applies_to": "all", "key": "header:x-api-key"}, "/admin/ and", "after 5 requests in 1m."),
            (("5", "1m"), {"applies_to": "all", "count_when": "2xx"}, "/admin/ and", "after 5 requests in 1m."),
            (("0", "1s"), {"applies_to": "all"}, "/admin/ and", "always."),
            (("50", "1s"), {"applies_to": "all", "cost": "51"}, "/admin/ and", "always."),
            (("500", "1m"), {"applies_to": "all", "cost": "100"}, "/admin/ and", "after 5 requests in 1m."),
            (("5", "1s"), {"applies_to": "all", "penalty": "15m"}, "/admin/ and", "after 5 requests in 1s."),
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
        ((question, last_hour),) = asked.context["questions"]
        assert f"Rule login meets {met}" in question and f"You would be refused there {when}" in question
        assert f": {limit[0]} in {limit[1]} for each {fields.get('key', 'ip')}." in question
        assert last_hour == "In the last hour no request met it."
        assert ("Static files" in question) is (fields["applies_to"] == "all")
        assert not RateRule.objects.exists() and not LogEntry.objects.exists()

        again = dict(asked.context["sent"])
        assert page.post(ADD, again).context["questions"] == [(question, last_hour)]
        response = page.post(ADD, {**again, "lockout_known": "on"}, follow=True)
        assert RateRule.objects.get().mode == "enforce"
        (warning,) = [str(each) for each in response.context["messages"] if each.level_tag == "warning"]
        assert question in warning and "manage.py ratewindow mode login off lets you in" in warning

    def test_in_shadow_it_is_saved_and_said_of_later(self, page: Client) -> None:
        response = page.post(ADD, typed(("5", "1m"), applies_to="all", pattern=""), follow=True)
        assert "Once it is enforced, you would be refused there" in response.content.decode()
        assert RateRule.objects.get().mode == "shadow"

    def test_the_action_asks_with_what_would_have_been_refused_and_does_nothing_before(self, page: Client) -> None:
        rules = [define("all", "5/m", applies_to="all"), define("search", "5/m", path="/search/")]
        count(all=Sums(passed=400, would_refuse=312))
        sent = {"action": "enforce", "_selected_action": [rule.pk for rule in rules]}
        asked = page.post(LIST, sent)
        ((question, last_hour),) = asked.context["questions"]
        assert question.startswith("Rule all meets /admin/ and ")
        assert last_hour == "In the last hour it met 400 requests, and would have refused 312."
        assert set(RateRule.objects.values_list("mode", flat=True)) == {"shadow"}
        page.post(LIST, {**sent, "lockout_known": "on"})
        assert set(RateRule.objects.values_list("mode", flat=True)) == {"enforce"}

    def test_other_actions_ask_nothing(self, page: Client) -> None:
        rule = define("all", "5/m", applies_to="all", mode="enforce")
        for action in ("shadow", "switch_off"):
            assert page.post(LIST, {"action": action, "_selected_action": [rule.pk]}).status_code == 302

    def test_an_edit_of_an_enforced_rule_asks_when_it_refuses_more_than_before(self, page: Client) -> None:
        rule = define("all", "600/m", applies_to="all", mode="enforce")
        sent = {"name": "all", "mode": "enforce", "applies_to": "all", "pattern": ""}
        asked = page.post(change(rule), typed(("5", "1m"), stored=rule, **sent))
        assert len(asked.context["questions"]) == 1
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
            (("5", "1m"), {"applies_to": "all", "pattern": "", "mode": "off"}),
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
        assert [each for each in response.context["messages"] if each.level_tag == "warning"] == []


class TestWhoMayEnforce:
    """Saving a rule and enforcing it are two permissions."""

    @pytest.fixture
    def editor(self, client: Client) -> Client:
        user = User.objects.create_user("editor", is_staff=True)
        names = [f"{verb}_{model}" for verb in ("view", "add", "change") for model in ("raterule", "rulewindow")]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client.force_login(user)
        return client

    def test_an_editor_saves_in_shadow_and_is_told_whom_to_ask(self, editor: Client) -> None:
        assert editor.post(ADD, typed(("5", "1m"), name="api")).status_code == 302
        response = editor.post(ADD, typed(("5", "1m"), mode="enforce"))
        assert "You may not enforce rules: save it in shadow" in response.content.decode()
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

    @pytest.mark.parametrize("granted", ["view", "change", "change delete", "add", "delete", ""])
    def test_who_may_change_rules_saves_them_whatever_of_their_limits_he_may(self, client: Client, granted: str) -> None:
        user = User.objects.create_user("editor", is_staff=True)
        names = ["view_raterule", "change_raterule", *(f"{verb}_rulewindow" for verb in granted.split())]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client.force_login(user)
        rule = define("login", "5/m; 20/h", path="/login/")
        fields = {"description": "why it is there", "windows-TOTAL_FORMS": "2"}
        response = client.post(change(rule), typed(("7", "1m"), ("20", "1h"), stored=rule, **fields))
        assert response.status_code == 302, errors(response)
        rule.refresh_from_db()
        assert rule.description == "why it is there"
        assert sorted(rule.windows.values_list("limit", flat=True)) == ([7, 20] if "change" in granted else [5, 20])

    def test_who_may_only_look_is_forbidden_to_act(self, viewer: Client) -> None:
        rule = define()
        assert viewer.post(change(rule), typed(("5", "1m"), stored=rule, mode="off")).status_code == 403


def test_more_limits_than_a_rule_can_use_are_told_and_not_drawn(page: Client) -> None:
    response = page.post(ADD, {**typed(("5", "1m")), "windows-TOTAL_FORMS": "5000"})
    assert "A rule has at most 20 limits: split it into several rules." in errors(response)
    assert response.content.count(b"-algorithm") < 500
    assert not RateRule.objects.exists()


def test_a_regular_expression_is_tried_with_the_others_and_one_left_out_says_so_at_its_row(page: Client) -> None:
    for number in range(20):
        rule = define(f"large-{number:02}", regex="^/large/")
        RateRule.objects.filter(pk=rule.pk).update(pattern=f"[a{chr(0x100 + number)}].{{{300 - number}}}N")
    for pattern, problem in (
        (r"^/(\pL{1,200}/)+y0$", "is too large"),
        ("a.{250}N", "does not fit beside the other 20 expressions"),
    ):
        answer = page.post(ADD, typed(("5", "1m"), applies_to="regex", pattern=pattern))
        assert problem in answer.content.decode()
        assert not RateRule.objects.filter(name="login").exists()
    reading.reload()
    listed = page.get(LIST).content.decode()
    assert listed.count("This rule is left out, it cannot be enforced: all regular expressions of the site together") == 6
    left_out = next(rule for rule in RateRule.objects.order_by("name") if reading.problem_of(rule.name))
    assert "But it is left out, it cannot be enforced" in page.get(change(left_out)).content.decode()


def test_more_buckets_than_one_decision_may_look_through_are_refused(page: Client) -> None:
    sent = typed(*((str(number), f"{number}h") for number in range(1, 5)))
    response = page.post(ADD, {**sent, **{f"windows-{number}-buckets": "1000" for number in range(4)}})
    assert "The limits of a rule have at most 3000 buckets together, not 4000: write fewer." in errors(response)
    assert page.post(ADD, {**sent, **{f"windows-{number}-buckets": "750" for number in range(4)}}).status_code == 302
