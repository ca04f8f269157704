"""Values become rows with every check of the forms; each problem says where it is, with the value and the remedy."""

from typing import Any

import pytest

from ratewindow.operations.documents.parsing import MOST_SHOWN, DocumentError, parse_override, parse_rule, parse_switch
from ratewindow.operations.documents.values import of_override, of_rule
from tests.support.documents import BLOCK, EXEMPTION, LOGIN

pytestmark = pytest.mark.django_db

WHERE = 'rules[2] "login": '


def problems(parse: Any, values: Any, where: str = "rules[2]") -> list[str]:
    with pytest.raises(DocumentError) as raised:
        parse(values, where)
    return [*raised.value.problems]


def test_rows_give_the_same_values_again() -> None:
    assert of_rule(*parse_rule(LOGIN)) == LOGIN
    assert of_override(parse_override(EXEMPTION)) == EXEMPTION
    assert of_override(parse_override({**BLOCK, "identity": " ip:203.0.113.9/24 "})) == BLOCK


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"mod": "off"}, "mod: there is no such field: did you mean mode?"),
        ({"mode": False}, "mode: false cannot be used here: write shadow, enforce, off."),
        ({"mode": "on"}, "mode: 'on' cannot be used here: write shadow, enforce, off."),
        ({"cost": "2"}, "cost: '2' cannot be used here: write a whole number such as 5."),
        ({"cost": True}, "cost: true cannot be used here: write a whole number such as 5."),
        ({"normalise": "yes"}, "normalise: 'yes' cannot be used here: write true or false."),
        ({"penalty": 15}, "penalty: 15 cannot be used here: write a duration such as "),
        ({"penalty": "15"}, "penalty: '15' has no unit: "),
        ({"message": None}, "message: null is no value here: leave this line out for the default."),
        ({"message": 5}, "message: 5 cannot be used here: write a text"),
        ({"message": "x" * 301}, "message: 'xxx"),
        ({"message": "\ud800"}, "message: '\\ud800' has half a character"),
        ({"description": {"a": 1}}, "description: a list of fields cannot be used here"),
        ({"key": "header"}, "key: 'header"),
        ({"response_status": 200}, "response_status: 200: "),
        ({"pattern": "login"}, "pattern: "),
        ({"limits": None}, "limits: null is not a list: write for example [{limit: 5, period: 1m}]."),
        ({"limits": [5]}, "limits[0]: 5 has no fields: write its fields, such as limit."),
        ({"limits": [{"period": "1m"}]}, "limits[0].limit: this is missing: write a whole number such as 5."),
        ({"limits": [{"limit": 5, "period": "1 monat"}]}, "limits[0].period: '1 monat': 'monat' is not a unit of time"),
        ({"limits": [{"limit": 5, "period": "1m", "algorithm": "magic"}]}, "limits[0].algorithm: 'magic' cannot be used here"),
        ({"limits": [{"limit": 5, "period": "1m", "burst": 3}]}, "limits[0].burst: "),
        (
            {"limits": [{"limit": 5, "period": "1m"}] * 2},
            "limits[1]: 5 in 1m by sliding_window is a second limit for this period",
        ),
        ({"limits": [{"limit": 1, "period": f"{n}m"} for n in range(1, 40)]}, "limits: the rule has 39 limits, of at most"),
    ],
)
def test_a_problem_says_where_it_is_and_what_to_write(fields: dict[str, Any], problem: str) -> None:
    (found,) = problems(parse_rule, {**LOGIN, **fields})
    assert found.startswith(f"{WHERE}{problem}")


def test_a_rule_without_name_or_limits_is_none() -> None:
    assert problems(parse_rule, {"mode": "off"}) == [
        "rules[2]: name: this is missing: write a value.",
        "rules[2]: limits: this is missing: write for example [{limit: 5, period: 1m}].",
    ]
    assert problems(parse_rule, "login") == ["rules[2]: 'login' has no fields: write its fields, such as name."]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"identity": "nobody"}, "overrides[0]: identity: "),
        ({"action": "blok"}, "overrides[0]: action: 'blok' cannot be used here: write block, allow, rate."),
        (
            {"expires_at": "tomorrow"},
            "overrides[0]: expires_at: 'tomorrow' is not a time: write for example 2026-01-31T12:00:00Z.",
        ),
        (
            {"expires_at": "2030-01-31T12:00:00"},
            "overrides[0]: expires_at: '2030-01-31T12:00:00' has no time zone: write it in UTC, ",
        ),
        ({"rate": "5/m"}, "overrides[0]: rate: Only “Another rate” has a rate: clear '5/m', or choose that action."),
        ({"identity": "*"}, "overrides[0]: rule: This applies to all visitors"),
    ],
)
def test_an_override_is_checked_as_by_its_form(fields: dict[str, Any], problem: str) -> None:
    assert problems(parse_override, {**BLOCK, **fields}, "overrides[0]")[0].startswith(problem)


def test_a_switch_is_checked() -> None:
    assert problems(parse_switch, {"off": "no"}, "switch") == ["switch: off: 'no' cannot be used here: write true or false."]
    assert parse_switch({"off": True, "reason": "x"}).reason == "x"


def test_many_problems_are_cut_short() -> None:
    error = DocumentError([f"problem {number}" for number in range(MOST_SHOWN + 5)])
    assert str(error).endswith("problem 19\n... and 5 more.")
