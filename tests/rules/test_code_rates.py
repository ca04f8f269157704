"""The registry of rates in code."""

import pytest

from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> None:
    code_rates.names()  # imports the site's views, whose names would be lost if this were the first time
    monkeypatch.setattr(code_rates, "_uses", {})
    monkeypatch.setattr(code_rates, "_by_calls", code_rates.deque())


def use(name: str, rate: str | None, place: str = "shop.view") -> CodeRate:
    return CodeRate(name, rate, "ip", frozenset(), place)


def test_a_name_without_a_rate_is_a_use_and_no_rule() -> None:
    code_rates.register(use("login", None))
    assert set(code_rates.uses()) == {"login"}
    assert not code_rates.has_rate("login")
    assert code_rates.rule("login") is None
    assert code_rates.names() == set()


def test_a_rate_is_a_rule() -> None:
    code_rates.register(use("login", "5/m"))
    rule = code_rates.rule("login")
    assert rule is not None and (rule.name, rule.windows[0].text, rule.mode) == ("login", "5/m", "enforce")
    assert code_rates.names() == {"login"}


def test_a_call_may_repeat_the_rate_of_a_view_and_give_no_other() -> None:
    code_rates.register(use("login", "5/m"))
    code_rates.register_call("login", "5/60s")
    assert len(code_rates.uses()["login"]) == 1
    with pytest.raises(ValueError, match=r"code gives rule 'login' two rates, 6/m and 5/m \(shop.view\)"):
        code_rates.register_call("login", "6/m")


def test_options_make_another_rate() -> None:
    code_rates.register(use("login", "5/m"))
    with pytest.raises(ValueError, match=r"code gives rule 'login' two rates, 5/m, .*burst=9 and 5/m \(shop.view\)"):
        code_rates.register_call("login", "5/m", algorithm="token_bucket", burst=9)


def test_a_call_gives_options_as_a_view_does() -> None:
    for _ in range(2):
        code_rates.register_call("sms", "5/m", algorithm="token_bucket", burst=9, mode="shadow", penalty="1h")
    rule = code_rates.rule("sms")
    assert rule is not None and (rule.windows[0].burst, rule.mode, rule.penalty_ms) == (9, "shadow", 3_600_000)
    assert code_rates.has_rate("sms") and not code_rates.enforces("sms")
    with pytest.raises(ValueError, match="burst"):
        code_rates.register_call("other", "5/m", burst=9)
    with pytest.raises(ValueError, match="message"):
        code_rates.register_call("other", "5/m", message=["x"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"hit\(\) has no argument 'count_when': a call is charged at once"):
        code_rates.register_call("other", "5/m", count_when="401")  # type: ignore[call-arg]


@pytest.mark.parametrize("rate", ["", None, 5])
def test_a_call_without_a_rate_is_an_error(rate: object) -> None:
    with pytest.raises(ValueError, match="limits nothing: write text such as 5/m"):
        code_rates.register_call("login", rate)  # type: ignore[arg-type]


def test_of_names_made_in_calls_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_rates, "MOST_BY_CALLS", 2)
    for number in range(3):
        code_rates.register_call(f"sms.{number}", "5/m")
    assert code_rates.names() == {"sms.1", "sms.2"}
