"""Who is refused in a period: rows and open minutes together, each request once, by few queries."""

import random
from collections import Counter
from datetime import UTC, datetime

import pytest
import redis
from django.db.models import Value
from django.test import RequestFactory, override_settings
from django.utils import timezone

from ratewindow.counting import minutes
from ratewindow.counting.collecting import collect_stats, minute_start, store_who
from ratewindow.counting.counters import Counters, counters
from ratewindow.counting.sums import Counted, Group, Who
from ratewindow.models import OffenderStat
from ratewindow.report import offenders as offenders_module
from ratewindow.report.offenders import HowMany, Name
from ratewindow.report.report import CHOICES, last, waiting
from tests.support.made_counts import NOW_MINUTE, NOW_S
from tests.support.made_offenders import met, refused, sent_who

pytestmark = pytest.mark.django_db

NOW = datetime.fromtimestamp(NOW_S + 30, UTC)


def asked(choice="1h", rule="", ask_redis=True):
    return offenders_module.offenders(last(choice, NOW), rule, waiting(NOW_S + 30, ask_redis))


def times(found):
    return {name.value: name.refused for name in found.clients}


def test_open_minutes_are_known_without_a_collector():
    sent_who(0, {"login": refused(a=3, b=1)})
    sent_who(1, {"login": refused(a=1), "api": refused(a=5)})
    found = asked()
    assert times(found) == {"user:a": 9, "user:b": 1}
    assert found.total == Counted(10, 0, 10) and found.bound == Counted()
    assert (found.refused, found.would_refuse) == (HowMany(2), HowMany(0))
    assert times(asked(rule="api")) == {"user:a": 5}


@pytest.mark.parametrize("choice", CHOICES)
def test_no_request_counts_twice_whether_it_is_collected_or_not(choice):
    for ago in range(14):
        sent_who(ago, {"login": refused(a=3, b=2), "api": refused(a=1, c=1)})
    before = asked(choice)
    assert times(before) == {"user:a": 56, "user:b": 28, "user:c": 14}
    collect_stats(NOW_S)
    assert asked(choice) == before
    sent_who(1, {"login": refused(a=100)}, "late")
    assert times(asked(choice)) == {"user:a": 156, "user:b": 28, "user:c": 14}


@pytest.mark.parametrize("choice", ["1h", "24h", "7d"])
def test_hours_with_open_minutes_are_their_collected_part_and_the_open_ones(choice):
    for ago in (70, 130, 190) if choice != "1h" else ():
        store_who({(minute_start(NOW_MINUTE - ago), "login"): refused(a=10)})
    for ago in range(2, 31):
        sent_who(ago, {"login": refused(a=1, b=1)}, now_s=NOW_S - 60 * ago)
    collect_stats(NOW_S)
    sent_who(1, {"login": refused(b=1)})
    assert times(asked(choice)) == {"user:a": 29 + (30 if choice != "1h" else 0), "user:b": 30}


def test_the_top_ten_are_those_that_the_clients_counted():
    random_, exact = random.Random(5), Counter()
    for ago in range(20):
        for _ in range(2):
            process = Counters(lambda ago=ago: NOW_S - 60 * ago)
            for _ in range(200):
                who = f"ip:203.0.113.{int(random_.expovariate(0.08))}"
                exact[who] += 1
                process.record([met(who, "refused")])
            process.flush()
    wanted = sorted(exact.items(), key=lambda each: (-each[1], each[0]))
    assert [(name.value, name.refused) for name in asked().clients] == wanted[:10]
    collect_stats(NOW_S)
    assert [(name.value, name.refused) for name in asked("24h").clients] == wanted[:10]
    assert 0.8 * len(exact) <= asked().refused.number <= len(exact)  # of a minute fifty are kept


def test_would_refuse_is_said_of_clients_and_networks():
    process = Counters(lambda: NOW_S)
    for number in range(11):
        process.record([met(f"ip:203.0.113.{number}" if number else "user:7", "would_refuse", "search")])
    process.flush()
    found = asked(rule="search")
    assert (found.would_refuse, found.refused) == (HowMany(11), HowMany(0))
    assert found.networks == (Name("ip:203.0.113.0/24", 0, 10, clients=HowMany(10)),)


def test_a_network_of_few_clients_is_a_hint_beside_them():
    process = Counters(lambda: NOW_S)
    for address in ("203.0.113.9", "198.51.100.1", "198.51.100.2"):
        process.record([met(f"ip:{address}", "refused")], True, RequestFactory().get("/", REMOTE_ADDR=address))
    process.flush()
    assert asked().networks == ()
    hints = {name.value: name.hint for name in asked().clients}
    assert hints == {"ip:203.0.113.9": "", "ip:198.51.100.1": "ip:198.51.100.0/24", "ip:198.51.100.2": "ip:198.51.100.0/24"}


def test_of_very_many_clients_it_says_at_least_how_many(monkeypatch):
    process = Counters(lambda: NOW_S)
    for number in range(3000):
        process.record([met(f"ip:10.0.{number >> 8}.{number & 255}", "refused")])
    process.flush()
    for found in (asked(), (collect_stats(NOW_S), asked("24h"))[1]):
        assert not found.refused.exact and 2000 <= found.refused.number <= 3000
        assert found.bound.refused >= 1


def test_what_the_database_does_not_list_raises_the_bound(monkeypatch):
    monkeypatch.setattr(offenders_module, "MOST_READ", 3)
    named = {f"user:{number}": Counted(number) for number in range(1, 9)}
    store_who({(minute_start(NOW_MINUTE - 5), "login"): Who(Counted(36, 0, 800), Group(named))})
    found = asked()
    assert [name.value for name in found.clients] == ["user:8", "user:7", "user:6"]
    assert found.bound == Counted(5)
    assert not found.refused.exact


@pytest.mark.parametrize("choice", CHOICES)
def test_it_asks_the_same_few_questions_however_much_there_is(choice, django_assert_max_num_queries):
    for ago in range(15):
        sent_who(ago, {f"rule-{number}": refused(a=1, b=2) for number in range(20)})
    collect_stats(NOW_S)
    with django_assert_max_num_queries(18):
        assert asked(choice).total.refused == 15 * 20 * 3


def test_without_redis_the_rows_alone_are_read(monkeypatch):
    def away(*_):
        raise redis.ConnectionError

    sent_who(5, {"login": refused(a=7)})
    collect_stats(NOW_S)
    sent_who(0, {"login": refused(a=3)})
    assert times(asked(ask_redis=False)) == {"user:a": 7}
    monkeypatch.setattr(minutes, "waiting", away)
    assert times(asked()) == {"user:a": 7}


def test_in_memory_it_is_what_this_process_counted(settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        counters.record([met("user:1", "refused")])
        found = offenders_module.offenders(last("15m", timezone.now()), "", waiting())
    assert times(found) == {"user:1": 1}


@pytest.mark.parametrize("edited", [[1, 2], None, {"refused": "x", "would_refuse": 5}])
def test_rows_that_people_edit_break_nothing(edited):
    sent_who(5, {"login": refused(a=7)})
    collect_stats(NOW_S)
    OffenderStat.objects.update(distinct=Value(edited, OffenderStat._meta.get_field("distinct")))
    assert times(asked()) == times(asked("24h")) == {"user:a": 7}
    sent_who(5, {"login": refused(a=9)})
    collect_stats(NOW_S)
    assert times(asked()) == {"user:a": 9}
