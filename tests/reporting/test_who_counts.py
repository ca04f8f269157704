"""Who met a rule in this process: what is counted, how it is named, and that it is bounded."""

import random
import sys
import tracemalloc
from collections import Counter

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import RequestFactory, override_settings
from django.utils.functional import SimpleLazyObject

from ratewindow.identity import joined
from ratewindow.limiter.types import Decision, Window, WindowAnswer
from ratewindow.reporting.counters import Counters
from ratewindow.reporting.heavy_hitters import MOST
from ratewindow.reporting.who import AGENT, CLIENT, KINDS, MOST_REFUSED, NETWORK, ROUTE, Counted, Known
from tests.support.made_counts import NOW_MINUTE, NOW_S
from tests.support.made_offenders import met


@pytest.fixture
def process():
    return Counters(lambda: NOW_S)


def held(process, rule="login"):
    return process.held_who()[NOW_MINUTE][rule]


def named(process, kind=CLIENT):
    return {name: known.counted for name, known in held(process).groups[kind].named.items()}


def test_clients_are_counted_by_what_became_of_their_requests(process):
    for who, outcome in (("user:1", "passed"), ("user:1", "refused"), ("user:2", "would_refuse"), ("user:3", "other")):
        process.record([met(who, outcome)])
    assert named(process) == {"user:1": Counted(1, 0, 2), "user:2": Counted(0, 1, 1), "user:3": Counted(0, 0, 1)}
    assert held(process).total == Counted(1, 1, 4)


@override_settings(ROOT_URLCONF="tests.reporting.test_about_request")
def test_of_a_refused_request_network_route_and_user_agent_are_counted(process):
    request = RequestFactory().post("/nowhere/", REMOTE_ADDR="203.0.113.9", HTTP_USER_AGENT="curl/8.4")
    process.record([met("ip:203.0.113.9", "refused")], True, request)
    process.record([met("ip:203.0.113.8")], True, request)
    assert named(process, NETWORK) == {"ip:203.0.113.0/24": Counted(1, 0, 0)}
    assert named(process, ROUTE) == {"POST no route": Counted(1, 0, 0)}
    assert named(process, AGENT) == {"curl": Counted(1, 0, 0)}


def test_who_was_refused_without_a_key_is_its_address(process):
    request = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9")
    process.record([Decision(False, rule="login", outcome="refused", reason="block")], True, request)
    process.record([Decision(False, rule="login", outcome="refused", reason="block")], True, "user:7")
    process.record([Decision(False, rule="login", outcome="refused", reason="block")])
    assert named(process) == {"ip:203.0.113.9": Counted(1, 0, 1), "user:7": Counted(1, 0, 1)}
    assert held(process).total == Counted(3, 0, 3)


@pytest.mark.parametrize(
    ("user", "signed_in"),
    [
        (User(pk=1), True),
        (AnonymousUser(), False),
        (SimpleLazyObject(lambda: pytest.fail("the database was asked")), False),
        (5, False),
    ],
    ids=["user", "anonymous", "not looked at", "not a user"],
)
def test_a_client_was_signed_in_if_its_user_is_known_already(user, signed_in, process):
    request = RequestFactory().get("/")
    request.user = user
    process.record([met("ip:203.0.113.9", "would_refuse")], True, request)
    assert held(process).groups[CLIENT].named["ip:203.0.113.9"].signed_in == signed_in


def test_a_client_whose_identity_has_a_user_was_signed_in(process):
    process.record([met(joined(["scope:acme", "user:7"]), "refused"), met("header:x:user:7", "refused")])
    assert [known.signed_in for _, known in sorted(held(process).groups[CLIENT].named.items())] == [True, False]


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("none", {"ip:203.0.113.9", "session:abcdefghijklmnop"}),
        ("secrets", {"ip:203.0.113.9", "session:#"}),
        ("all", {"ip:#", "session:#"}),
    ],
)
def test_identities_are_named_as_the_setting_says(mode, names, process, settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": mode}):
        request = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9")
        process.record([met("ip:203.0.113.9", "refused")], True, request)
        process.record([met("session:abcdefghijklmnop", "refused")], True, request)
        text = held(process).to_text()
        found = held(process).groups
    assert {name.partition("#")[0] + "#" * ("#" in name) for name in found[CLIENT].named} == names
    assert ("203.0.113.9" in text) == (mode != "all")
    assert [*found[NETWORK].named] == ["ip:203.0.113.0/24"]  # of 256 clients: nobody's identity
    assert ("abcdefghijkl" in text) == (mode == "none")


def test_what_clients_send_is_named_within_bounds(process):
    for number in range(5):
        process.record([met(f"header:x:\x00{number}" + "x" * 10_000, "refused")])
    assert all(name.startswith("header:x:#") and len(name) < 60 for name in named(process))


@pytest.mark.parametrize(
    ("limit", "burst", "algorithm", "remaining", "near"),
    [
        (5, None, "sliding_window", 1, 0),
        (5, None, "sliding_window", 0, 1),
        (100, None, "sliding_window", 20, 0),
        (100, None, "sliding_window", 19, 1),
        (100, 10, "token_bucket", 2, 0),
        (100, 10, "token_bucket", 1, 1),
    ],
)
def test_near_is_a_request_that_passed_with_over_80_percent_of_any_limit_used(limit, burst, algorithm, remaining, near, process):
    roomy = WindowAnswer(Window(1000, 3_600_000), 900, 0, 1)
    answer = WindowAnswer(Window(limit, 60_000, algorithm, burst=burst), remaining, 0, 1)
    process.record([Decision(rule="login", windows=(roomy, answer))])
    process.record([Decision(rule="login", windows=(answer,), outcome="would_refuse", reason="limit")])
    process.record([Decision(False, rule="login", windows=(answer,), outcome="refused", reason="limit")])
    assert process.held()[NOW_MINUTE]["login"].near == near


def test_an_attack_of_rotating_addresses_shows_as_its_network(process):
    random_ = random.Random(3)
    for number in range(6000):
        address = f"203.0.113.{random_.randrange(256)}" if number % 2 else f"{number % 199}.{number % 251}.{number // 255}.7"
        request = RequestFactory().get("/", REMOTE_ADDR=address)
        process.record([met(f"ip:{address}", "refused")], True, request)
    networks = held(process).groups[NETWORK]
    first = max(networks.named, key=lambda name: networks.named[name].counted.refused)
    assert first == "ip:203.0.113.0/24"
    assert networks.named[first].counted.refused <= 3000 <= networks.named[first].counted.refused + networks.bound.refused


def bytes_that_stay(begin, go_on):
    """What the process holds more after `go_on`. Tracing takes four times the time: once what is held has been renewed, a
    hundred thousand clients say as much as a million."""
    tracemalloc.start()
    try:
        begin()
        before, _ = tracemalloc.get_traced_memory()
        go_on()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_a_million_refused_clients_take_bounded_memory_and_hide_none_of_the_top_ten(process):
    top = {f"user:{number}": 20_000 + 2000 * number for number in range(10)}
    names = [name for name, times in top.items() for _ in range(times)]
    names += [f"ip:10.{number >> 16}.{number >> 8 & 255}.{number & 255}" for number in range(1_000_000)]
    random.Random(2).shuffle(names)

    def record(first, end):
        for name in names[first:end]:
            process.record([met(name, "refused")])

    record(0, 10_000)
    blocks = sys.getallocatedblocks()
    assert bytes_that_stay(lambda: record(10_000, 30_000), lambda: record(30_000, 130_000)) < 100_000  # a byte for a client
    record(130_000, None)
    assert sys.getallocatedblocks() - blocks < 10_000  # an object for a hundred clients
    who = held(process)
    clients = who.groups[CLIENT]
    assert len(who.to_text()) < 20_000
    assert clients.bound.refused <= 2 * len(names) / (MOST + 1)
    order = sorted(clients.named, key=lambda name: -clients.named[name].counted.refused)
    assert set(order[:10]) == set(top)
    for name, times in top.items():
        assert 0 <= times - clients.named[name].counted.refused <= clients.bound.refused


def test_minutes_that_cannot_be_sent_shrink_to_what_would_be_sent(process, monkeypatch):
    for number in range(150):
        process.record([met(f"user:{number}", "refused")])
    monkeypatch.setattr(process, "_clock_s", lambda: NOW_S + 60)
    process.record([met("user:1")])
    line = process._sheets[NOW_MINUTE].lines["login"]
    assert len(line.met) <= MOST_REFUSED[CLIENT]
    assert all(len(each.counts) <= MOST_REFUSED[CLIENT] for each in line.who.refused["refused"].hitters.values())
    assert sorted(line.who.refused["refused"].hitters) == sorted(KINDS)


def test_many_rules_share_what_a_process_sends(process):
    for rule in range(100):
        process.record([met(f"user:{number}", "refused", f"rule{rule}") for number in range(20)])
    assert {len(who.groups[CLIENT].named) for who in process.held_who()[NOW_MINUTE].values()} == {6 + 1}


def test_counts_that_meet_in_one_name_are_added_up(process, settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "all"}):
        process.record([met("ip:203.0.113.9", "refused")] * 3)
        assert Counter(known.counted.refused for known in held(process).groups[CLIENT].named.values()) == {3: 1}
        assert isinstance(next(iter(held(process).groups[CLIENT].named.values())), Known)


def test_a_network_that_is_one_client_is_named_as_the_setting_says(process, settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "all", "IPV4_PREFIX": 24}):
        process.record([met("ip:203.0.113.0/24", "refused")], True, RequestFactory().get("/", REMOTE_ADDR="203.0.113.9"))
        assert "203.0.113" not in held(process).to_text()
