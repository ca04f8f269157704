"""Who was refused in this process: what is counted, how it is named, and that it is bounded."""

import random
import sys
import tracemalloc
from collections import Counter
from dataclasses import replace

import pytest
from django.test import RequestFactory, override_settings

from ratewindow.counting.counters import Counters
from ratewindow.counting.sheets import ALL, MOST_LIMITS
from ratewindow.counting.sums import MOST_AGENT, MOST_CLIENTS, MOST_NETWORKS, Counted, Known
from ratewindow.limiter.types import RuleDecision, Window, WindowAnswer
from tests.support.made_counts import NOW_MINUTE, NOW_S
from tests.support.made_offenders import met


@pytest.fixture
def process():
    return Counters(lambda: NOW_S)


def held(process, rule="login"):
    return process.held_who()[NOW_MINUTE][rule]


def named(process):
    return dict(held(process).clients.named)


def test_clients_are_counted_by_what_became_of_their_requests(process):
    for who, outcome in (("user:1", "passed"), ("user:1", "refused"), ("user:2", "would_refuse"), ("user:3", "other")):
        process.record([met(who, outcome)])
    assert named(process) == {"user:1": Counted(1), "user:2": Counted(0, 1)}
    assert held(process).total == Counted(1, 1, 4)


def test_of_a_refused_request_the_network_is_counted(process):
    request = RequestFactory().post("/nowhere/", REMOTE_ADDR="203.0.113.9")
    process.record([met("ip:203.0.113.9", "refused")], True, request)
    process.record([met("user:1", "refused")], True, request)
    process.record([met("ip:203.0.113.8")], True, request)
    assert held(process).networks.named == {"ip:203.0.113.0/24": Counted(2, 0, 0)}


def test_who_was_refused_without_a_key_is_its_address(process):
    request = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9")
    process.record([RuleDecision(False, rule="login", outcome="refused", reason="block")], True, request)
    process.record([RuleDecision(False, rule="login", outcome="refused", reason="block")], True, "user:7")
    process.record([RuleDecision(False, rule="login", outcome="refused", reason="block")])
    assert named(process) == {"ip:203.0.113.9": Counted(1), "user:7": Counted(1)}
    assert held(process).total == Counted(3, 0, 3)


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
        found = held(process)
    assert {name.partition("#")[0] + "#" * ("#" in name) for name in found.clients.named} == names
    assert ("203.0.113.9" in text) == (mode != "all")
    assert [*found.networks.named] == ["ip:203.0.113.0/24"]  # of 256 clients: nobody's identity
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
    process.record([RuleDecision(rule="login", windows=(roomy, answer))])
    process.record([RuleDecision(rule="login", windows=(answer,), outcome="would_refuse", reason="limit")])
    process.record([RuleDecision(False, rule="login", windows=(answer,), outcome="refused", reason="limit")])
    assert process.held()[NOW_MINUTE]["login"].near == near


def test_how_much_was_used_is_counted_of_each_limit_of_each_rule_and_of_no_other_client(process):
    minute, hour = Window(10, 60_000), Window(1000, 3_600_000)
    process.record([RuleDecision(rule="api", windows=(WindowAnswer(minute, 7, 0, 1), WindowAnswer(hour, 999, 0, 1)))])
    full = (WindowAnswer(minute, 0, 5, 1), WindowAnswer(hour, 990, 0, 1))
    process.record([RuleDecision(rule="api", windows=full, outcome="would_refuse", reason="limit")])
    process.record([RuleDecision(False, rule="api", windows=full, outcome="other")])
    sums = process.held()[NOW_MINUTE]
    assert sums["api"].used == {"10/m:30": 1, "10/m:over": 1, "1000/h:5": 1}
    assert sums[ALL].used == {} and process.since_start()[ALL].used == {}


def test_of_many_limits_of_one_rule_the_first_are_counted(process):
    for limit in range(1, 100):
        process.record([RuleDecision(rule="api", windows=(WindowAnswer(Window(limit, 60_000), 0, 0, 1),))] * 2)
    used = process.held()[NOW_MINUTE]["api"].used
    assert used == {f"{limit}/m:100": 2 for limit in range(1, MOST_LIMITS + 1)}


def test_an_attack_of_rotating_addresses_shows_as_its_network(process):
    random_ = random.Random(3)
    for number in range(6000):
        address = f"203.0.113.{random_.randrange(256)}" if number % 2 else f"{number % 199}.{number % 251}.{number // 255}.7"
        request = RequestFactory().get("/", REMOTE_ADDR=address)
        process.record([met(f"ip:{address}", "refused")], True, request)
    networks = held(process).networks
    first = max(networks.named, key=lambda name: networks.named[name].refused)
    assert first == "ip:203.0.113.0/24"
    assert networks.named[first].refused <= 3000 <= networks.named[first].refused + networks.bound.refused


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
def test_sixty_thousand_refused_clients_take_bounded_memory_and_hide_none_of_the_top_ten(process):
    top = {f"user:{number}": 2_000 + 200 * number for number in range(10)}
    names = [name for name, times in top.items() for _ in range(times)]
    names += [f"ip:10.{number >> 16}.{number >> 8 & 255}.{number & 255}" for number in range(60_000)]
    random.Random(2).shuffle(names)

    def record(first, end):
        for name in names[first:end]:
            process.record([met(name, "refused")])

    record(0, 5_000)
    blocks = sys.getallocatedblocks()
    assert bytes_that_stay(lambda: record(5_000, 15_000), lambda: record(15_000, 65_000)) < 50_000  # a byte for a client
    record(65_000, None)
    assert sys.getallocatedblocks() - blocks < 1_000  # an object for sixty clients
    who = held(process)
    clients = who.clients
    assert len(who.to_text()) < 20_000
    assert clients.bound.refused <= 2 * len(names) / (2 * MOST_CLIENTS + 1)
    order = sorted(clients.named, key=lambda name: -clients.named[name].refused)
    assert set(order[:10]) == set(top)
    for name, times in top.items():
        assert 0 <= times - clients.named[name].refused <= clients.bound.refused


def test_minutes_that_cannot_be_sent_shrink_to_what_would_be_sent(process, monkeypatch):
    for number in range(150):
        process.record([met(f"user:{number}", "refused")])
    monkeypatch.setattr(process, "_clock_s", lambda: NOW_S + 60)
    process.record([met("user:1")])
    refused = process._sheets[NOW_MINUTE].lines["login"].refused["refused"]
    assert len(refused.clients.counts) <= MOST_CLIENTS and len(refused.networks.counts) <= MOST_NETWORKS


def test_many_rules_share_what_a_process_sends_and_keeps(process, monkeypatch):
    for rule in range(100):
        process.record([met(f"user:{number}", "refused", f"rule{rule}") for number in range(20)])
    assert {len(who.clients.named) for who in process.held_who()[NOW_MINUTE].values()} == {6}
    monkeypatch.setattr(process, "_clock_s", lambda: NOW_S + 60)
    process.record([met("user:1")])
    assert {len(line.refused["refused"].clients.counts) for line in process._sheets[NOW_MINUTE].lines.values()} <= {0, 6}


def test_requests_do_not_wait_until_it_is_said_who_was_refused(process, monkeypatch):
    said = []

    def kept(name):
        said.append(process._lock.locked())
        return name

    monkeypatch.setattr("ratewindow.counting.sheets.kept", kept)
    process.record([met("user:1", "refused")])
    assert named(process) == {"user:1": Counted(1)}
    process.flush()
    assert said == [False, False]


def test_counts_that_meet_in_one_name_are_added_up(process, settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "all"}):
        process.record([met("ip:203.0.113.9", "refused")] * 3)
        assert Counter(counted.refused for counted in held(process).clients.named.values()) == {3: 1}


def test_a_network_that_is_one_client_is_named_as_the_setting_says(process, settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "all", "IPV4_PREFIX": 24}):
        process.record([met("ip:203.0.113.0/24", "refused")], True, RequestFactory().get("/", REMOTE_ADDR="203.0.113.9"))
        assert "203.0.113" not in held(process).to_text()


def test_observers_have_each_refusal_with_a_code_once_it_is_counted_who_it_was(process):
    seen = []
    process.observers.append(seen.extend)
    request = RequestFactory().post("/login/", REMOTE_ADDR="203.0.113.9")
    process.record([replace(met("user:1", "refused"), id="abc12"), met("user:2", "would_refuse")], True, request)
    assert not seen
    process.count_pending()
    process.count_pending()
    assert [(each.decision.id, each.client, each.network) for each in seen] == [("abc12", "user:1", "ip:203.0.113.0/24")]


def test_it_is_known_of_a_refused_client_what_it_came_with_and_how_its_other_requests_ended(process, rf, monkeypatch):
    request = rf.get("/", HTTP_USER_AGENT="orders-sync/2.4 " + "x" * 200)
    process.record([met("user:7", "refused")], True, request)
    process.count_pending()
    for succeeded in (True, True, False):
        process.record([met("user:7")], True, request, succeeded)
    process.record([met("user:8")], True, request, True)
    (known,) = process.held_who()[NOW_MINUTE]["login"].known.items()
    assert known == ("user:7", Known(("orders-sync/2.4 " + "x" * 200)[:MOST_AGENT], True, 3, 2))


def test_answers_of_the_next_minute_count_too_as_long_as_the_client_comes(process, rf, monkeypatch):
    process.record([met("user:7", "refused")], True, rf.get("/"))
    process.count_pending()
    for minute in range(1, 4):
        monkeypatch.setattr(process, "_clock_s", lambda minute=minute: NOW_S + 60 * minute)
        process.record([met("user:7" if minute != 3 else "user:8")], True, None, True)
    answers = [who["login"].known.get("user:7", Known()).answers for who in process.held_who().values()]
    assert answers == [0, 1, 1, 0]
