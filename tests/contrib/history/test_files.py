"""Rules are written to files and read back, and what is wrong with a file is said with its place."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings

from ratewindow.contrib.history import files
from ratewindow.contrib.history.values import InvalidValues
from ratewindow.models import RateRule
from tests.support.rule_files import LOGIN, SEARCH, document, make, sites, stored

pytestmark = pytest.mark.django_db
BOTH = (files.JSON, files.YAML)


def written(syntax: str) -> bytes:
    return files.write(RateRule.objects.prefetch_related("windows"), syntax)


@given(sites)
@settings(max_examples=25)
def test_what_is_written_is_read_back_and_the_same_rules_give_the_same_bytes(rules: list[Any]) -> None:
    make(*rules)
    for syntax in BOTH:
        assert {rule["name"]: rule for rule in files.read(written(syntax))} == {rule["name"]: rule for rule in rules}
        assert written(syntax) == written(syntax)
    make()


@pytest.mark.parametrize("syntax", BOTH)
def test_no_character_of_a_file_moves_the_cursor_or_turns_the_text(syntax: str) -> None:
    make({**LOGIN, "description": "a\x1b[2J \u202e\U000e0041 é Ж", "message": "two\nlines"})
    text = written(syntax).decode()
    assert all(each.isprintable() or each == "\n" for each in text)
    assert files.read(text.encode()) == stored()


def test_what_yaml_1_1_would_guess_is_text() -> None:
    (rule,) = files.read(
        b"ratewindow: 1\nrules:\n- {name: a, mode: off, key: ip, limits: [{limit: 5, period: 1h}], message: 1:30}"
    )
    assert (rule["mode"], rule["message"], rule["limits"][0]["limit"]) == ("off", "1:30", 5)


def test_only_what_differs_changes_and_exact_deletes_the_rest() -> None:
    make(LOGIN, SEARCH)
    assert files.changes([SEARCH]) == []
    (change,) = files.changes([{**LOGIN, "cost": 2}])
    assert (change.subject, change.action) == ("login", "changed")
    (change,) = files.changes([SEARCH], exact=True)
    assert (change.subject, change.action) == ("login", "deleted")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "This is no file of rules"),
        (b"rules: []", "This is no file of rules"),
        (b"{", "This cannot be read: Expecting"),
        (b"rules: [", "This cannot be read: This is not YAML"),
        (b"a: &a [1]\nb: *a", "write the value of an alias in full"),
        (b"!!python/object:os.system {}", "This cannot be read"),
        (b'{"ratewindow": 1, "rules": ' + b"[" * 100_000, "This cannot be read"),
        (b"\xff{}", "This cannot be read"),
        (b'{"ratewindow": 1, "rules": [{"name": "\\ud800"}]}', "This cannot be read"),
        (b'{"ratewindow": 1, "rules": {}}', "rules: write a list"),
        (b'{"ratewindow": 1, "overrides": [], "rules": []}', "it begins with ratewindow: 1, then rules: follow"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence(data: bytes, problem: str) -> None:
    with pytest.raises(InvalidValues, match=problem):
        files.read(data)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": "A"}, 'rules[0] "A" name: This is not a rule name'),
        ({"mod": "off"}, 'rules[0] "login" mod: there is no such field.'),
        ({"mode": "of"}, "rules[0] \"login\" mode: Value 'of' is not a valid choice."),
        ({"key": "nonsense"}, 'rules[0] "login" key: '),
        ({"cost": -1}, 'rules[0] "login" cost: '),
        ({"cost": 1.5}, "cost: write a text without NUL, a whole number, true or false."),
        ({"cost": True}, "cost: write a text without NUL"),
        ({"cost": 10**30}, "cost: "),
        ({"description": None}, "description: This field cannot be null."),
        ({"description": ["a"]}, "description: write a text"),
        ({"description": "\0"}, "description: write a text without NUL"),
        ({"limits": 5}, "limits: write a list"),
        ({"limits": [5]}, "limits[0]: this has no fields"),
        ({"limits": [{"limit": 5}]}, "limits[0] period: "),
        ({"limits": [{"limit": 5, "period": "1 monat"}]}, "limits[0] period: '1 monat'"),
        ({"limits": [{"limit": 5, "period": "1m", "burst": ""}]}, "limits[0] burst: "),
        ({"limits": LOGIN["limits"][:1] * 2}, "limits: two of them are for one period"),
        ({"limits": LOGIN["limits"][:1] * 999}, "limits: write a list"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_rule_is_said_with_its_place(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidValues) as raised:
        files.changes([{**LOGIN, **change}])
    assert problem in str(raised.value), str(raised.value)


def test_all_problems_are_said_at_once_and_a_name_occurs_once() -> None:
    with pytest.raises(InvalidValues) as raised:
        files.changes([LOGIN, {**SEARCH, "mode": "on"}, LOGIN, 5])
    assert [problem.partition(" ")[0] for problem in raised.value.problems] == ["rules[1]", "rules[2]", "rules[3]:", "rules[3]"]


def test_without_pyyaml_there_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "ratewindow.contrib.history.yaml_text", raising=False)
    monkeypatch.delattr("ratewindow.contrib.history.yaml_text", raising=False)
    for use in (lambda: files.write([], files.YAML), lambda: files.read(b"ratewindow: 1")):
        with pytest.raises(InvalidValues, match="pip install"):
            use()
    assert json.loads(files.write([])) == json.loads(document())
