"""Codes of refusals: found by every process for an hour, and never more than a bound, whatever is refused."""

import json
import time
from typing import Any

import pytest
import time_machine
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow import ratelimit
from ratewindow.contrib.explain import codes
from ratewindow.contrib.explain.codes import By, Codes, Refused
from ratewindow.counting.counters import counters
from ratewindow.counting.sheets import Refusal
from ratewindow.limiter.types import RuleDecision
from tests.support.doors import answer, plain

KEY = "*:codes"


def refused(code: str, client: str = "ip:203.0.113.9", rule: str = "login", network: str = "") -> Refusal:
    decision = RuleDecision(False, rule=rule, reason="limit", window="5/m", id=code, outcome="refused", at_s=time.time())
    return Refusal(decision, client, network, None)


def asks(view: Any, client: str) -> Any:
    request = RequestFactory().post("/login/", REMOTE_ADDR=client, headers={"Accept": "application/problem+json"})
    return answer(view, request)


def code_for(view: Any, client: str) -> str:
    """The code in the answer to a refused request."""
    return str(json.loads(asks(view, client).content)["code"])


def sent(code: str) -> Refused | None:
    """What another process finds."""
    codes.of_process.send()
    return codes.read(code)


def test_a_refusal_is_found_by_its_code_with_rule_client_route_and_window() -> None:
    view = ratelimit("login", "1/h")(plain(False))
    assert asks(view, "203.0.113.9").status_code == 200
    code = code_for(view, "203.0.113.9")
    here = codes.find(code)
    assert here is not None and abs(here.at_s - time.time()) < 3600
    assert here == Refused(code, here.at_s, "POST /login/", (By("login", "limit", "1/h", "ip:203.0.113.9"),))
    assert sent(code) == here
    assert codes.find(code) == here


def test_the_thread_that_sends_counts_makes_codes_known() -> None:
    code = code_for(ratelimit("login", "0/h")(plain(False)), "203.0.113.9")
    counters.flush()
    assert codes.of_process.has_unsent() and sent(code) is not None
    assert not codes.of_process.has_unsent()


def test_in_memory_the_process_knows_its_own() -> None:
    with override_settings(RATEWINDOW={"REDIS": "memory://"}):
        found = codes.find(code_for(ratelimit("login", "0/h")(plain(False)), "203.0.113.9"))
        assert not codes.of_process.has_unsent()
    assert found is not None and found.by[0].rule == "login"


def test_a_code_of_a_call_without_a_request_has_no_route() -> None:
    found = codes.find(ratewindow.hit("mail", "user:42", rate="0/h").id)
    assert found is not None and (found.route, found.by[0].identity) == ("", "user:42")


def test_identities_are_kept_as_anonymize_says() -> None:
    codes.of_process.note([refused("23456", "cookie:basket:abcdefghijklmnop")])
    found = sent("23456")
    assert found is not None and found.by[0].identity.startswith("cookie:basket:#")


def test_several_rules_that_refuse_together_have_one_code() -> None:
    codes.of_process.note([refused("abcde"), refused("abcde", rule="api")])
    found = sent("abcde")
    assert found is not None and [by.rule for by in found.by] == ["login", "api"]


def test_after_an_hour_a_code_is_not_found_and_its_key_ends_by_itself(redis_client: Any) -> None:
    codes.of_process.note([refused("aaaaa")])
    assert sent("aaaaa") is not None
    (key,) = redis_client.scan_iter(KEY)
    assert 0 < redis_client.ttl(key) <= 3660
    with time_machine.travel(time.time() + 3601, tick=False):
        assert codes.read("aaaaa") is None


def test_after_an_hour_the_process_does_not_know_its_own_either() -> None:
    with override_settings(RATEWINDOW={"REDIS": "memory://"}):
        codes.of_process.note([refused("aaaaa")])
        assert codes.find("aaaaa") is not None
        with time_machine.travel(time.time() + 3601, tick=False):
            assert codes.find("aaaaa") is None


def test_a_minute_keeps_a_bounded_number_whatever_comes() -> None:
    for most, client, network in (
        (codes.MOST, "ip:client{}", "net{}"),
        (codes.MOST_OF_NETWORK, "ip:client{}", "one"),
        (codes.MOST, "", ""),  # of calls without an address or a client
    ):
        made = Codes()
        made.note([refused(f"{n:05}", client.format(n), network=network.format(n)) for n in range(2000)])
        assert len([n for n in range(2000) if f"{n:05}" in made.held]) == most


def test_a_flood_from_one_network_leaves_room_for_others() -> None:
    made = Codes()
    made.note([refused(f"{n:05}", f"ip:client{n}", network="one") for n in range(2000)])
    made.note([refused("zzzzz", "ip:other", network="two")])
    assert "zzzzz" in made.held


def test_what_could_not_be_sent_is_sent_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise ConnectionError

    codes.of_process.note([refused("aaaaa")])
    with monkeypatch.context() as context, pytest.raises(ConnectionError):
        context.setattr("ratewindow.contrib.explain.codes._write", away)
        codes.of_process.send()
    assert sent("aaaaa") is not None


@pytest.mark.parametrize("typed", ["k7f2q", " K7F2Q ", "[k7f2q]", "(k7f2q).", '"k7f2q"'])
def test_a_code_is_read_as_people_paste_it(typed: str) -> None:
    assert codes.as_typed(typed) == "k7f2q"


@pytest.mark.parametrize("typed", ["", "k7f2", "k7f2qq", "k1f2q", "k7f-q", "/logi"])
def test_what_is_no_code_is_none(typed: str) -> None:
    assert codes.as_typed(typed) == ""


def test_on_a_cluster_codes_are_found_as_on_one_server(cluster_url: str, settings: Any) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": cluster_url}):
        code = code_for(ratelimit("login", "0/h")(plain(False)), "203.0.113.9")
        counters.flush()
        assert sent(code) is not None
