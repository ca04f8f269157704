"""What blocks and exemptions make of the rules that a request meets."""

from typing import Any

import time_machine
from django.test import RequestFactory
from rest_framework.request import Request

from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Decision
from ratewindow.overrides.lookup import ALLOW, BLOCK, RATE, Ruling
from ratewindow.request.prepare import MOST_WAIT_S, adapted, judge
from ratewindow.rules.rule import BLOCKS, Rule

FIVE = parse_rates("5/m")
LOGIN, API = Rule("login", FIVE), Rule("api", FIVE)
TRIED = Rule("tried", FIVE, mode="shadow")
ANN = "user:1"


def told(decisions: list[Decision]) -> list[tuple[str, bool, str, str]]:
    return [(each.rule, each.allowed, each.reason, each.outcome) for each in decisions]


def test_nothing_changes_nothing() -> None:
    assert judge([], [LOGIN, API], ANN) == ([LOGIN, API], [])


def test_who_is_let_pass_meets_no_rule() -> None:
    assert judge([Ruling(ALLOW)], [LOGIN, API], ANN) == ((), [])


def test_who_is_let_pass_one_rule_meets_the_others() -> None:
    assert judge([Ruling(ALLOW, "login")], [LOGIN, API], ANN) == ([API], [])


def test_an_exemption_from_all_outweighs_every_block() -> None:
    assert judge([Ruling(BLOCK), Ruling(BLOCK, "login"), Ruling(ALLOW)], [LOGIN], ANN) == ((), [])


def test_an_exemption_from_one_rule_outweighs_a_block_of_that_rule_and_no_other() -> None:
    assert not judge([Ruling(ALLOW, "login"), Ruling(BLOCK, "login")], [LOGIN], ANN).settled
    assert told(judge([Ruling(ALLOW, "login"), Ruling(BLOCK)], [LOGIN, API], ANN).settled) == [("api", False, "block", "refused")]


def test_a_block_refuses_each_enforced_rule_and_asks_none() -> None:
    rules, settled = judge([Ruling(BLOCK)], [LOGIN, API, TRIED], ANN)
    assert not rules
    assert told(settled) == [
        ("login", False, "block", "refused"),
        ("api", False, "block", "refused"),
        ("tried", True, "", "other"),
    ]


def test_a_block_where_no_enforced_rule_is_met_has_a_name_of_its_own() -> None:
    assert told(judge([Ruling(BLOCK)], [], ANN).settled) == [(BLOCKS, False, "block", "refused")]
    assert told(judge([Ruling(BLOCK)], [TRIED], ANN).settled) == [
        (BLOCKS, False, "block", "refused"),
        ("tried", True, "", "other"),
    ]


def test_a_block_of_a_rule_refuses_where_that_rule_is_met_whatever_its_mode() -> None:
    assert told(judge([Ruling(BLOCK, "tried")], [TRIED, LOGIN], ANN).settled) == [
        ("tried", False, "block", "refused"),
        ("login", True, "", "other"),
    ]
    assert judge([Ruling(BLOCK, "tried")], [LOGIN], ANN) == ([LOGIN], [])


def test_all_refusals_of_a_request_have_one_code() -> None:
    codes = {each.id for each in judge([Ruling(BLOCK)], [LOGIN, API], ANN).settled}
    assert len(codes) == 1
    assert codes != {""}


@time_machine.travel(1_000_000, tick=False)
def test_a_blocked_client_keeps_its_code_whatever_it_asks() -> None:
    def code(who: Any, *rules: Rule) -> str:
        return judge([Ruling(BLOCK)], rules, who).settled[0].id

    request = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9")
    assert code(request, LOGIN) == code(Request(request), API) == code("ip:203.0.113.9") != code(ANN)
    assert len(code(("ip:203.0.113.9", "post:username:" + 1000 * "x"))) == 5


def test_what_is_forced_cannot_be_blocked() -> None:
    assert judge([Ruling(BLOCK)], [LOGIN], ANN, forced=True) == ([LOGIN], [])


@time_machine.travel(1_000_000, tick=False)
def test_a_block_tells_when_the_last_of_them_ends() -> None:
    def wait_s(*ends_s: float) -> float | None:
        return judge([Ruling(BLOCK, expires_s=1_000_000 + end_s) for end_s in ends_s], [LOGIN], ANN).settled[0].retry_after

    assert wait_s(60) == 60
    assert wait_s(60, 3600) == 3600
    assert wait_s(60, float("inf")) is None
    assert wait_s(MOST_WAIT_S) == MOST_WAIT_S
    assert wait_s(MOST_WAIT_S + 1) is None


def test_another_rate_takes_the_place_of_a_rules_limits() -> None:
    (rule,) = adapted([Ruling(RATE, windows=parse_rates("100/m; 1000/h"))], [LOGIN])
    assert (rule.name, rule.key, [window.text for window in rule.windows]) == ("login", "ip", ["100/m", "1000/h"])
    assert len(rule.state_names) == 2
    assert rule.state_names[0] == LOGIN.state_names[0]  # the same period: what was counted stays
    assert LOGIN.windows == FIVE


def test_the_rate_for_a_rule_goes_before_one_for_all_and_the_newest_before_older_ones() -> None:
    rates = [
        Ruling(RATE, "login", parse_rates("7/m")),
        Ruling(RATE, "login", parse_rates("8/m")),
        Ruling(RATE, "", parse_rates("9/m")),
    ]
    assert [rule.windows[0].limit for rule in adapted(rates, [LOGIN, API])] == [8, 9]


def test_a_rule_that_sees_somebody_of_its_own_still_does_with_another_rate() -> None:
    (rule,) = adapted([Ruling(RATE, windows=parse_rates("9/m"))], [LOGIN.with_identity("user:42")])
    assert rule.recipe.identity(None) == "user:42"  # type: ignore[arg-type]
