"""Rules in rows: what is valid, and in which form it is stored."""

from typing import Any

import pytest

from ratewindow.models import RateRule
from tests.support.rows import rule, wrong

pytestmark = pytest.mark.django_db


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
        ({"methods": "P0ST"}, "methods", "'P0ST' is not a registered HTTP method: did you mean POST?"),
        ({"mode": "on"}, "mode", "'on' is not a valid choice"),
        ({"applies_to": "host"}, "applies_to", "'host' is not a valid choice"),
        ({"on_missing": "panic"}, "on_missing", "'panic' is not a valid choice"),
    ],
)
def test_a_bad_field_names_the_value_and_the_remedy(fields: dict[str, Any], field: str, told: str) -> None:
    (message,) = wrong(rule(**fields))[field]
    assert told in message


@pytest.mark.parametrize("field", ["description", "pattern", "methods", "on_error", "message"])
def test_none_is_an_empty_text(field: str) -> None:
    row = rule(**{field: None})
    row.full_clean()
    assert getattr(row, field) == ""


@pytest.mark.parametrize("field", ["key", "count_when"])
def test_none_is_told_of_once(field: str) -> None:
    assert wrong(rule(**{field: None})) == {field: ["This field cannot be null."]}


@pytest.mark.parametrize("typed", ["ALWAYS", " always ", "Always,"])
def test_every_request_counts_however_that_is_typed(typed: str) -> None:
    rule = RateRule(name="login", count_when=typed)
    rule.full_clean()
    assert rule.count_when == "always"
    assert RateRule.objects.define("login", "5/m", count_when=typed)[0].count_when == "always"


def test_several_bad_fields_are_told_at_once() -> None:
    assert set(wrong(rule(key="x", pattern="/x", methods="1"))) == {"key", "pattern", "methods"}


@pytest.mark.parametrize(
    ("typed", "kept"), [("", ""), ("post", "POST"), ("put, POST get", "GET,POST,PUT"), ("PURGE", "PURGE"), ("get,GET", "GET")]
)
def test_methods_are_kept_in_one_form(typed: str, kept: str) -> None:
    row = rule(methods=typed)
    row.full_clean()
    assert row.methods == kept


def regex(name: str, pattern: str, **fields: Any) -> RateRule:
    return rule(name=name, applies_to="regex", pattern=pattern, **fields)


def test_expressions_that_are_off_take_room_too_since_they_may_be_switched_on_without_a_form() -> None:
    for number in range(4):
        regex(f"waits-{number}", f"[a{chr(0x100 + number)}].{{14}}N", mode="off").save()
    assert "together with the other 4 expressions of its kind" in wrong(regex("fifth", "b.{14}N"))["pattern"][0]
    regex("usual", "^/api/v[0-9]+/").full_clean()


def test_a_rule_whose_expression_has_no_room_can_still_be_switched_off_or_get_a_smaller_one() -> None:
    for number in range(9):
        regex(f"stored-{number}", f"[a{chr(0x100 + number)}].{{14}}N").save()
    stored = RateRule.objects.get(name="stored-3")
    stored.mode = "off"
    stored.full_clean()
    stored.pattern = "c.{14}N"
    assert "together with the other 8 expressions of its kind" in wrong(stored)["pattern"][0]
    stored.pattern = "^/api/"
    stored.full_clean()


def test_an_expression_that_is_wrong_by_itself_is_told_once() -> None:
    assert len(wrong(regex("api", "(?=a)"))["pattern"]) == 1
