"""The rows: what a person may write into them, how code defines them, how they travel."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from ratewindow.models import Override, RateRule, RuleWindow

pytestmark = pytest.mark.django_db


def rule(**fields: Any) -> RateRule:
    return RateRule(**{"name": "login", **fields})


def wrong(row: RateRule | RuleWindow) -> dict[str, list[str]]:
    """What is wrong with a row, by field."""
    with pytest.raises(ValidationError) as told:
        row.full_clean()
    return told.value.message_dict


def window(limit: Any = 5, period: Any = "1m", **fields: Any) -> RuleWindow:
    owner, _ = RateRule.objects.get_or_create(name="login")
    return RuleWindow(rule=owner, limit=limit, period=period, **fields)


def test_a_new_rule_waits_in_shadow_for_code_to_name_it_and_counts_by_address() -> None:
    row = RateRule()
    assert (row.mode, row.applies_to, row.key, row.on_missing) == ("shadow", "named", "ip", "ip")


@pytest.mark.parametrize("name", ["login", "0", "api.minute", "a-b_c.d", "x" * 64])
def test_a_name_can_stand_in_a_header(name: str) -> None:
    rule(name=name).full_clean()


@pytest.mark.parametrize("name", ["", "Login", "a b", "-a", ".a", "a\n", "a\r\nX: y", 'a"', "ü", "x" * 65, "a/b", "а"])
def test_any_other_name_is_refused(name: str) -> None:
    assert "name" in wrong(rule(name=name))


def test_a_bad_name_says_what_a_name_is() -> None:
    assert wrong(rule(name="Log in"))["name"] == [
        "This is not a rule name: use at most 64 of a-z, 0-9, dots, dashes and underscores, beginning with a letter or digit."
    ]


def test_a_name_is_taken_once() -> None:
    rule().save()
    assert "name" in wrong(rule())


def test_a_saved_rule_keeps_its_name() -> None:
    row = rule()
    row.save()
    row.name = "other"
    assert wrong(row)["name"] == ["A rule cannot be renamed: counts and history are stored by name. Add a new rule instead."]
    row.name = "login"
    row.full_clean()


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"key": "shoe_size"}, "key", "'shoe_size' is not a key: choose from ip, user, user_or_ip, session, global, route"),
        ({"key": "header:"}, "key", "'header:' has no valid name"),
        ({"applies_to": "path", "pattern": ""}, "pattern", "'' is not a path: begin with /, as in /login/."),
        ({"applies_to": "prefix", "pattern": "api/"}, "pattern", "'api/' is not a path: begin with /"),
        ({"applies_to": "path", "pattern": "/a?b=1"}, "pattern", "'/a?b=1' is more than a path: write the part before ? and #"),
        ({"applies_to": "all", "pattern": "/login/"}, "pattern", "clear '/login/', or change what it applies to"),
        ({"pattern": "/login/"}, "pattern", "a rule of this kind has no pattern"),
        ({"methods": "P0ST"}, "methods", "'P0ST' is not an HTTP method: write for example POST or GET,HEAD"),
        ({"mode": "on"}, "mode", "'on' is not a valid choice"),
        ({"applies_to": "host"}, "applies_to", "'host' is not a valid choice"),
        ({"on_missing": "panic"}, "on_missing", "'panic' is not a valid choice"),
    ],
)
def test_a_bad_field_names_the_value_and_the_remedy(fields: dict[str, Any], field: str, told: str) -> None:
    (message,) = wrong(rule(**fields))[field]
    assert told in message


@pytest.mark.parametrize("field", ["description", "pattern", "methods", "key", "count_when", "on_error", "message"])
def test_none_is_no_text_and_told_of_once(field: str) -> None:
    with pytest.raises(ValidationError) as raised:
        RateRule(**{"name": "login", field: None}).full_clean()
    assert {name: len(told) for name, told in raised.value.message_dict.items()} == {field: 1}


@pytest.mark.parametrize("typed", ["ALWAYS", " always ", "Always,"])
def test_every_request_counts_however_that_is_typed(typed: str) -> None:
    rule = RateRule(name="login", count_when=typed, lease=9)
    rule.full_clean()
    assert rule.count_when == "always"
    assert RateRule.objects.define("login", "5/m", count_when=typed, lease=9)[0].count_when == "always"


@pytest.mark.parametrize("identity", ["user:ann", "user:-1", "user:1_0", "user:4.2", "ip:203.0.113.9+user:ann"])
def test_a_block_of_what_can_be_no_user_is_refused_with_the_remedy(identity: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Override.objects.block(identity)
    assert "write for example user:42" in str(raised.value)


def test_several_bad_fields_are_told_at_once() -> None:
    assert set(wrong(rule(key="x", pattern="/x", methods="1"))) == {"key", "pattern", "methods"}


@pytest.mark.parametrize(
    ("typed", "kept"), [("", ""), ("post", "POST"), ("put, POST get", "GET,POST,PUT"), ("PURGE", "PURGE"), ("get,GET", "GET")]
)
def test_methods_are_kept_in_one_form(typed: str, kept: str) -> None:
    row = rule(methods=typed)
    row.full_clean()
    assert row.methods == kept


@pytest.mark.parametrize(
    ("limit", "period", "field", "told"),
    [
        (-1, "1m", "limit", "greater than or equal to 0"),
        ("many", "1m", "limit", "“many” value must be an integer"),
        (10**18, "1m", "limit", "limit 1000000000000000000 is too high to be counted exactly over 1m: write at most 75059993789"),
        (10**30, "1m", "limit", "9223372036854775807"),
        (float("nan"), "1m", "limit", "must be an integer"),
        (5, "0s", "period", "'0s' is no time at all: write at least 1ms"),
        (5, "-1m", "period", "'-1m' is not a duration: write 10s, 1m"),
        (5, "1e12", "period", "'1e12' is not a duration"),
        (5, "1000000000000", "period", "'1000000000000' has no unit: write 1000000000000s for seconds"),
        (5, "999999999999w", "period", "999999999999w is too long to be counted"),
        (0, "9999999w", "period", "is too long to be counted: write at most 52124995d"),
        (5, 60, "period", "60 has no unit"),
        (5, "", "period", "cannot be null"),
        (5, timedelta(microseconds=1), "period", "is not a positive whole number of milliseconds"),
    ],
)
def test_a_bad_limit_or_period_names_the_value_and_the_remedy(limit: Any, period: Any, field: str, told: str) -> None:
    messages = wrong(window(limit, period))
    assert list(messages) == [field]
    assert told in messages[field][0]


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"buckets": 0}, "buckets", "greater than or equal to 1"),
        ({"buckets": 5000}, "buckets", "buckets 5000: write 1 to 1000"),
        ({"algorithm": "magic"}, "algorithm", "'magic' is not a valid choice"),
    ],
)
def test_a_bad_choice_of_counting_names_its_field(fields: dict[str, Any], field: str, told: str) -> None:
    assert told in wrong(window(**fields))[field][0]


def test_a_limit_of_zero_is_allowed_since_it_refuses_all() -> None:
    window(0).full_clean()


def test_a_rule_has_one_limit_for_each_period() -> None:
    window(5, "60s").save()
    assert "This rule already has a limit for this period" in str(wrong(window(9, "1m")))
    with pytest.raises(IntegrityError), transaction.atomic():
        window(9, "1m").save()
    window(9, "2m").full_clean()


class TestDefine:
    def test_it_makes_a_rule_with_its_limits_and_says_so(self) -> None:
        row, created = RateRule.objects.define("login", "5/m; 20/h", path="/login/", key="ip", mode="enforce", methods="post")
        row.refresh_from_db()
        row.full_clean()
        assert created
        assert (row.mode, row.applies_to, row.pattern, row.key, row.methods) == ("enforce", "path", "/login/", "ip", "POST")
        assert [str(each) for each in row.windows.all()] == ["5 in 1m", "20 in 1h"]

    def test_it_leaves_alone_what_people_have_edited(self) -> None:
        RateRule.objects.define("login", "5/m", key="user")
        row, created = RateRule.objects.define("login", "9/h", key="ip", mode="enforce")
        assert not created
        assert (row.key, row.mode) == ("user", "shadow")
        assert [str(each) for each in row.windows.all()] == ["5 in 1m"]

    def test_it_overwrites_when_told_to_and_only_what_it_is_told(self) -> None:
        RateRule.objects.define("login", "5/m; 20/h", key="user", description="why")
        row, created = RateRule.objects.define("login", "9/h", mode="enforce", overwrite=True)
        row.refresh_from_db()
        assert not created
        assert (row.key, row.mode, row.description) == ("user", "enforce", "why")
        assert [str(each) for each in row.windows.all()] == ["9 in 1h"]

    def test_methods_may_be_a_list(self) -> None:
        row, _ = RateRule.objects.define("login", "5/m", methods=["put", "POST"])
        assert row.methods == "POST,PUT"

    @pytest.mark.parametrize(
        ("name", "rate", "fields", "told"),
        [
            ("Log in", "5/m", {}, "'Log in' is not a rule name: use at most 64"),
            (None, "5/m", {}, "None is not a rule name"),
            ("login", "5/parsec", {}, "'parsec' is no unit of time: use ms, s, m, h, d or w"),
            ("login", "", {}, "rule 'login': an empty rate limits nothing: write for example 5/m"),
            ("login", "5/m; 20/60s", {}, "has two limits for 1m"),
            ("login", 5, {}, "5 is no rate"),
            ("login", "5/m", {"key": "shoe_size"}, "'shoe_size' is not a key"),
            ("login", "5/m", {"mode": "on"}, "rule 'login': mode 'on' is unknown: choose from off, shadow, enforce"),
            ("login", "5/m", {"on_missing": "x"}, "on_missing 'x' is unknown: choose from ip, allow, refuse"),
            ("login", "5/m", {"applies_to": "host"}, "applies_to 'host' is unknown: choose from named, all, path, prefix, reg"),
            ("login", "5/m", {"path": "login"}, "'login' is not a path: begin with /"),
            ("login", "5/m", {"path": "/a", "prefix": "/b"}, "give one of path=, prefix=, regex=, route=, not 2"),
            ("login", "5/m", {"regex": "(?=a)"}, "'(?=a)' is not a regular expression of RE2"),
            ("login", "5/m", {"regex": ""}, "an empty regular expression matches every path"),
            ("login", "5/m", {"route": "a b"}, "'a b' is not a URL name: write for example login"),
            ("login", "5/m", {"route": ""}, "'' is not a URL name"),
            (
                "login",
                "5/m",
                {"path": "/caf%C3%A9/"},
                "'/caf%C3%A9/' is percent-encoded, and paths are compared decoded: write /café/",
            ),
            ("login", "5/m", {"pattern": "/a"}, "a rule of this kind has no pattern"),
            ("login", "5/m", {"methods": "P0ST"}, "'P0ST' is not an HTTP method"),
            ("login", "5/m", {"path": "/" + "x" * 300}, "rule 'login': pattern: Ensure this value has at most 255 characters"),
        ],
    )
    def test_what_is_wrong_is_named_and_nothing_is_saved(self, name: Any, rate: Any, fields: dict[str, Any], told: str) -> None:
        with pytest.raises(ValueError) as error:
            RateRule.objects.define(name, rate, **fields)
        assert told in str(error.value)
        assert not RateRule.objects.exists()

    def test_an_unknown_field_is_named(self) -> None:
        with pytest.raises(TypeError, match="kye"):
            RateRule.objects.define("login", "5/m", kye="ip")

    def test_it_works_in_a_data_migration(self) -> None:
        loader = MigrationExecutor(connection).loader
        state = loader.project_state(loader.graph.leaf_nodes("ratewindow"))
        historical: Any = state.apps.get_model("ratewindow", "RateRule")
        assert historical is not RateRule
        _row, created = historical.objects.define("login", "5/m; 20/h", prefix="/api/", mode="enforce")
        assert created
        assert not historical.objects.define("login", "9/h")[1]
        historical.objects.define("login", "7/m", overwrite=True)
        assert [str(each) for each in RateRule.objects.get(name="login").windows.all()] == ["7 in 1m"]
        with pytest.raises(ValueError, match="is not a path"):
            historical.objects.define("other", "5/m", path="login")


def dumped(**options: Any) -> str:
    out = StringIO()
    call_command("dumpdata", "ratewindow", stdout=out, **options)
    return out.getvalue()


def loaded(text: str, folder: Path) -> None:
    (folder / "rules.json").write_text(text)
    call_command("loaddata", str(folder / "rules.json"), verbosity=0)


def test_rules_travel_by_their_names_and_not_by_numbers(tmp_path: Path) -> None:
    RateRule.objects.define("login", "5/m; 20/2h30m", path="/login/", key="ip+user", mode="enforce")
    text = dumped(use_natural_foreign_keys=True, use_natural_primary_keys=True)
    assert not any("pk" in row for row in json.loads(text))
    assert {row["fields"]["period"] for row in json.loads(text) if "period" in row["fields"]} == {"1m", "2h30m"}

    RateRule.objects.all().delete()
    RateRule.objects.define("other", "1/s; 2/h; 3/d")  # takes other numbers
    loaded(text, tmp_path)
    row = RateRule.objects.get(name="login")
    assert (row.pattern, row.key, row.mode) == ("/login/", "ip+user", "enforce")
    assert [str(each) for each in row.windows.all()] == ["5 in 1m", "20 in 2h30m"]
    assert RateRule.objects.get(name="other").windows.count() == 3

    row.windows.filter(limit=5).update(limit=6)
    loaded(text, tmp_path)  # again: it corrects, and adds nothing
    assert [str(each) for each in row.windows.all()] == ["5 in 1m", "20 in 2h30m"]


def test_rules_travel_with_their_numbers_too(tmp_path: Path) -> None:
    RateRule.objects.define("login", "5/m")
    text = dumped()
    RateRule.objects.all().delete()
    loaded(text, tmp_path)
    assert str(RateRule.objects.get().windows.get()) == "5 in 1m"
