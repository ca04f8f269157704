"""Codes of refusals: found by every process for an hour, and never more than a bound, whatever is refused."""

import json
import time
from typing import Any

import pytest
import time_machine
from django.test import RequestFactory, override_settings
from django.urls import path

import ratewindow
from ratewindow import ratelimit
from ratewindow.contrib.explain import codes
from ratewindow.contrib.explain.codes import By, Codes, Refused
from ratewindow.counting.counters import counters
from ratewindow.counting.sheets import Refusal, RequestFacts
from ratewindow.limiter.types import RuleDecision
from tests.support.doors import answer, plain

KEY = "*:codes:*"
urlpatterns = [path(f"{name}/", plain(False)) for name in ("old", "soon", "new")]


def refused(code: str, client: str = "ip:203.0.113.9", rule: str = "login", network: str = "", facts: Any = None) -> Refusal:
    decision = RuleDecision(False, rule=rule, reason="limit", window="5/m", id=code, outcome="refused", at_s=time.time())
    return Refusal(decision, client, network, facts)


def at(hour: int, minute: int = 0, second: float = 0) -> float:
    """A moment of some day, since the epoch."""
    return 20_000 * 86_400 + hour * 3600 + minute * 60 + second


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
    assert abs(here.at_s - time.time()) < 3600
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
    assert found.by[0].rule == "login"


def test_who_tries_again_keeps_the_code_and_others_have_their_own() -> None:
    view = ratelimit("login", "0/h")(plain(False))
    with time_machine.travel(at(10), tick=False):
        first = code_for(view, "203.0.113.9")
        assert codes.find(first).by[0].identity == "ip:203.0.113.9"
        assert {code_for(view, "203.0.113.9") for _ in range(34)} == {first}
        other = code_for(view, "203.0.113.10")
        assert other != first
        assert [codes.find(code).by[0].identity for code in (first, other)] == ["ip:203.0.113.9", "ip:203.0.113.10"]
        assert len(codes.of_process.held) == 2


def test_another_hour_has_another_code_and_the_old_one_is_found_for_an_hour() -> None:
    view = ratelimit("login", "0/h")(plain(False))
    with time_machine.travel(at(10, 59), tick=False) as now:
        code = code_for(view, "203.0.113.9")
        now.move_to(at(11, 1))
        assert code_for(view, "203.0.113.9") != code
        now.move_to(at(11, 58))
        assert codes.find(code) == sent(code)
        now.move_to(at(11, 59, 1))
        with pytest.raises(ValueError, match="No refusal with this code is known"):
            codes.find(code)


def test_a_code_is_about_its_newest_refusal_and_takes_no_more_room() -> None:
    made = Codes()
    with time_machine.travel(at(10), tick=False) as now:
        for second, page in ((0, "/old/"), (codes.AGAIN_S - 1, "/soon/"), (codes.AGAIN_S, "/new/")):
            now.move_to(at(10, 0, second))
            made.note(
                [
                    refused(
                        "aaaaa",
                        network="one",
                        facts=RequestFacts("", "", "GET", page, "tests.contrib.explain.test_codes", None, "", False),
                    )
                ]
            )
            assert made.held["aaaaa"].route == ("GET /new/" if page == "/new/" else "GET /old/")
        assert made.held["aaaaa"].at_s == at(10, 0, codes.AGAIN_S)
        made.note([refused(f"{n:05}", network="one") for n in range(codes.MOST_OF_NETWORK)])
    assert len(made.held) == codes.MOST_OF_NETWORK


def test_a_code_of_a_call_without_a_request_has_no_route() -> None:
    found = codes.find(ratewindow.hit("mail", "user:42", rate="0/h").id)
    assert (found.route, found.by[0].identity) == ("", "user:42")


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
    codes.find("aaaaa")
    with time_machine.travel(time.time() + 3601, tick=False), pytest.raises(ValueError, match="No refusal with this code"):
        codes.find("aaaaa")


def test_after_an_hour_the_process_does_not_know_its_own_either() -> None:
    with override_settings(RATEWINDOW={"REDIS": "memory://"}):
        codes.of_process.note([refused("aaaaa")])
        codes.find("aaaaa")
        with time_machine.travel(time.time() + 3601, tick=False), pytest.raises(ValueError, match="No refusal with this code"):
            codes.find("aaaaa")


def test_an_hour_keeps_a_bounded_number_whatever_comes() -> None:
    with time_machine.travel(at(10), tick=False) as now:
        for most, client, network in (
            (codes.MOST, "ip:client{}", "net{}"),
            (codes.MOST_OF_NETWORK, "ip:client{}", "one"),
            (codes.MOST, "", ""),  # of calls without an address or a client
        ):
            made = Codes()
            now.move_to(at(10))
            made.note([refused(f"{n:05}", client.format(n), network=network.format(n)) for n in range(31_000)])
            assert len(made.held) == most
            now.move_to(at(11))
            made.note([refused("zzzzz")])
            assert "zzzzz" in made.held


@pytest.mark.parametrize("network", ["one", "net{}"])
def test_a_flood_of_clients_leaves_room_for_a_visitor(network: str) -> None:
    made = Codes()
    with time_machine.travel(at(10), tick=False):
        made.note([refused(f"{n:05}", f"ip:client{n}", network=network.format(n)) for n in range(20_000)])
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


def test_what_is_refused_again_while_codes_are_sent_is_sent_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(*_: Any) -> None:
        now.shift(codes.AGAIN_S)
        codes.of_process.note([refused("aaaaa")])

    with time_machine.travel(at(10), tick=False) as now:
        codes.of_process.note([refused("aaaaa"), refused("bbbbb")])
        monkeypatch.setattr("ratewindow.contrib.explain.codes._write", meanwhile)
        codes.of_process.send()
        assert [(code, each.at_s) for code, each in codes.of_process.held.items()] == [("aaaaa", time.time())]


def test_the_newest_refusal_of_a_client_is_found_unless_it_is_hidden() -> None:
    block = refused("ccccc")
    block.decision.reason = "block"
    with time_machine.travel(at(10), tick=False) as now:
        codes.of_process.note([refused("aaaaa"), refused("zzzzz", "ip:203.0.113.10")])
        now.shift(60)
        codes.of_process.note([refused("bbbbb", rule="api")])
        now.shift(60)
        block.decision.at_s = time.time()
        codes.of_process.note([block])
        codes.of_process.send()
        newest = [codes.newest_of("ip:203.0.113.9", with_overrides=each) for each in (True, False)]
        assert [each.code for each in newest if each] == ["ccccc", "bbbbb"]
        assert codes.newest_of("ip:203.0.113.11", with_overrides=True) is None
        now.shift(3600)
        assert codes.newest_of("ip:203.0.113.9", with_overrides=True) is None


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
