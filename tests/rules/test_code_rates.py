"""The registry of rates in code."""

from dataclasses import replace

import pytest

from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import A_CALL, CodeRate, GivenRate


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> None:
    code_rates.load_names()  # imports the site's views, whose names would be lost if this were the first time
    monkeypatch.setattr(code_rates, "_uses", {})
    monkeypatch.setattr(code_rates, "_by_calls", code_rates.deque())
    code_rates.last_of_calls.clear()


def use(name: str, rate: str | None, place: str = "shop.view") -> CodeRate:
    return CodeRate(name, rate, "ip", frozenset(), place)


def test_a_name_without_a_rate_is_a_use_and_no_rule() -> None:
    code_rates.register(use("login", None))
    assert set(code_rates.uses()) == {"login"}
    assert code_rates.rated("login") == []
    assert code_rates.rule("login") is None
    assert code_rates.load_names() == set()


def test_a_rate_is_a_rule() -> None:
    code_rates.register(use("login", "5/m"))
    rule = code_rates.rule("login")
    assert rule is not None and (rule.name, rule.windows[0].text, rule.mode) == ("login", "5/m", "enforce")
    assert code_rates.load_names() == {"login"}


def test_a_declaration_goes_before_views_and_these_before_calls() -> None:
    for place in (A_CALL, "shop.view"):
        code_rates.register(use("login", "5/m", place))
    code_rates.declare(replace(use("login", "5/m", "shop/limits.py:3"), declared=GivenRate("5/m", "ip")))
    assert [each.place for each in code_rates.rated("login")] == ["shop/limits.py:3", "shop.view", A_CALL]


def test_the_rate_of_a_call_is_kept_where_nothing_else_gives_one() -> None:
    code_rates.register(use("login", "5/m"))
    for name in ("login", "sms"):
        code_rates.of_call(name, "6/m", None, {})
    assert {name: [each.rate for each in code_rates.rated(name)] for name in ("login", "sms")} == {
        "login": ["5/m"],
        "sms": ["6/m"],
    }


def test_of_names_made_in_calls_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_rates, "MOST_BY_CALLS", 2)
    for number in range(3):
        code_rates.of_call(f"sms.{number}", lambda who: "5/m", None, {}).rule(f"sms.{number}", "user:42")  # type: ignore[union-attr]
    assert code_rates.load_names() == set(code_rates.last_of_calls) == {"sms.1", "sms.2"}
