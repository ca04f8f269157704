"""Codes of refusals: found by every process for an hour, and never more than a bound, whatever is refused."""

import json
import time
from typing import Any

import pytest
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow import ratelimit
from ratewindow.limiter.types import Decision
from ratewindow.reporting import codes, counters
from ratewindow.reporting.about_request import About
from ratewindow.reporting.codes import Codes, Refusal
from ratewindow.store import process_clients, state_keys
from tests.support.doors import answer, plain
from tests.support.made_counts import NOW_MINUTE, NOW_S


def refused(code: str, rule: str = "login", at_s: float = NOW_S) -> Decision:
    return Decision(False, rule=rule, reason="limit", window="5/m", id=code, outcome="refused", at_s=at_s)


def asks(view: Any, client: str) -> Any:
    request = RequestFactory().post("/login/", REMOTE_ADDR=client, headers={"Accept": "application/problem+json"})
    return answer(view, request)


def code_for(view: Any, client: str) -> str:
    """The code in the answer to a refused request."""
    return str(json.loads(asks(view, client).content)["code"])


def filled(number: int, network: str = "") -> Codes:
    made = Codes()
    for each in range(number):
        made.add(refused(f"{each:05}"), f"ip:client{each}", About(network=network or f"net{each}"))
    return made


def test_a_refusal_is_found_by_its_code_with_rule_client_route_and_window() -> None:
    view = ratelimit("login", "1/h")(plain(False))
    assert asks(view, "203.0.113.9").status_code == 200
    code = code_for(view, "203.0.113.9")
    counters.flush()
    found = codes.read(code, time.time())
    assert found is not None
    assert found == Refusal(code, found.at_s, "POST /login/", (codes.By("login", "limit", "1/h", "ip:203.0.113.9"),))
    assert abs(found.at_s - time.time()) < 3600
    assert counters.held_code(code) is not None


def test_in_memory_the_process_knows_its_own() -> None:
    with override_settings(RATEWINDOW={"REDIS": "memory://"}):
        view = ratelimit("login", "0/h")(plain(False))
        code = code_for(view, "203.0.113.9")
        found = counters.held_code(code)
    assert found is not None and found.by[0].rule == "login"


def test_a_code_of_a_call_without_a_request_has_no_route() -> None:
    decision = ratewindow.hit("mail", "user:42", rate="0/h")
    counters.flush()
    found = codes.read(decision.id, time.time())
    assert found is not None and (found.route, found.by[0].identity) == ("", "user:42")


def test_identities_are_kept_as_anonymize_says() -> None:
    made = Codes()
    made.add(refused("23456"), "cookie:basket:abcdefghijklmnop", About())
    send(made)
    found = codes.read("23456", NOW_S)
    assert found is not None and found.by[0].identity.startswith("cookie:basket:#")


def send(made: Codes, minute: int = NOW_MINUTE) -> None:
    with process_clients.patient_client().pipeline(transaction=True) as pipe:
        made.unsent().send(pipe, minute)
        pipe.execute()


def test_several_rules_that_refuse_together_have_one_code() -> None:
    made = Codes()
    for rule in ("login", "api"):
        made.add(refused("abcde", rule), "ip:203.0.113.9", About())
    send(made)
    found = codes.read("abcde", NOW_S)
    assert found is not None and [by.rule for by in found.by] == ["login", "api"]


def test_after_an_hour_a_code_is_not_found_and_its_key_ends_by_itself(redis_client: Any) -> None:
    made = filled(1)
    send(made)
    assert codes.read("00000", NOW_S + 3599) is not None
    assert codes.read("00000", NOW_S + 3700) is None
    assert 0 < redis_client.ttl(state_keys.minute_codes(NOW_MINUTE)) <= codes.EXPIRES_S


def test_a_minute_keeps_a_bounded_number_whatever_comes() -> None:
    many = filled(10_000)
    assert len(many.unsent().new) == codes.MOST_CLIENTS
    assert len(filled(10_000, "one").unsent().new) == codes.MOST_OF_NETWORK


def test_a_client_that_hammers_keeps_its_newest_codes_and_the_older_ones_go(redis_client: Any) -> None:
    made = Codes()
    for number in range(3):
        made.add(refused(f"aaaa{number}"), "ip:203.0.113.9", About())
    first = made.unsent()
    send(made)
    made.note_sent(first)
    for number in range(3, 8):
        made.add(refused(f"aaaa{number}"), "ip:203.0.113.9", About())
    send(made)
    assert sorted(redis_client.hkeys(state_keys.minute_codes(NOW_MINUTE))) == [f"aaaa{number}" for number in range(3, 8)]


def test_what_was_sent_is_not_sent_again_unless_it_has_changed() -> None:
    made = filled(2)
    sent = made.unsent()
    made.add(refused("00001", "api"), "ip:client1", About())
    made.note_sent(sent)
    assert set(made.unsent().new) == {"00001"}


def test_values_of_another_program_are_left_out(redis_client: Any) -> None:
    for text in ("", "[]", "null", '[1,"x",[]]', '["x","y",[["a"]]]', '[1,"x",[["a","b","c",4]]]', "[" * 9999):
        redis_client.hset(state_keys.minute_codes(NOW_MINUTE), "abcde", text)
        assert codes.read("abcde", NOW_S) is None


@pytest.mark.parametrize("typed", ["k7f2q", " K7F2Q ", "[k7f2q]", "(k7f2q).", '"k7f2q"'])
def test_a_code_is_read_as_people_paste_it(typed: str) -> None:
    assert codes.as_typed(typed) == "k7f2q"


@pytest.mark.parametrize("typed", ["", "k7f2", "k7f2qq", "k1f2q", "k7f-q", "/logi"])
def test_what_is_no_code_is_none(typed: str) -> None:
    assert codes.as_typed(typed) == ""


def test_a_minute_that_is_sent_twice_has_each_code_once(redis_client: Any) -> None:
    view = ratelimit("login", "0/h")(plain(False))
    for _ in range(3):
        asks(view, "203.0.113.9")
        counters.flush()
        counters.flush()
    (key,) = redis_client.scan_iter("*:codes")
    assert redis_client.hlen(key) == 3


def test_on_a_cluster_codes_are_found_as_on_one_server(cluster_url: str, settings: Any) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": cluster_url}):
        code = code_for(ratelimit("login", "0/h")(plain(False)), "203.0.113.9")
        counters.flush()
        found = codes.read(code, time.time())
    assert found is not None and found.by[0].identity == "ip:203.0.113.9"
