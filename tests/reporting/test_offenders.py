"""Who is refused in a period: rows and open minutes together, each request once, by few queries."""

import random
from collections import Counter
from datetime import UTC, datetime

import pytest
import redis
from django.test import RequestFactory, override_settings
from django.utils import timezone

from ratewindow import conf
from ratewindow.models import OffenderStat
from ratewindow.reporting import counters, minutes, offender_rows, offenders
from ratewindow.reporting.collecting import collect_stats
from ratewindow.reporting.counters import Counters
from ratewindow.reporting.offender_rows import set_rows
from ratewindow.reporting.offenders import HowMany, Name
from ratewindow.reporting.periods import CHOICES, last
from ratewindow.reporting.stored import Resolution, minute_start
from ratewindow.reporting.who import CLIENT, Counted, Group, Known, Who
from tests.support.made_counts import NOW_MINUTE, NOW_S
from tests.support.made_offenders import met, refused, sent_who

pytestmark = pytest.mark.django_db

NOW = datetime.fromtimestamp(NOW_S + 30, UTC)


def asked(choice="1h", rule="", **options):
    return offenders.offenders(last(choice, NOW, conf.current().retention), rule, NOW_S + 30, **options)


def times(found):
    return {name.value: name.refused for name in found.clients.most}


def test_open_minutes_are_known_without_a_collector():
    sent_who(0, {"login": refused(a=3, b=1)})
    sent_who(1, {"login": refused(a=1), "api": refused(a=5)})
    found = asked()
    assert times(found) == {"user:a": 9, "user:b": 1}
    assert found.total == Counted(10, 0, 10) and found.clients.bound == Counted()
    assert (found.refused, found.would_refuse) == (HowMany(2), HowMany(0))
    assert found.live
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
        set_rows(Resolution.HOUR, {(minute_start((NOW_MINUTE - ago) // 60 * 60), "login"): refused(a=10)})
        set_rows(Resolution.MINUTE, {(minute_start(NOW_MINUTE - ago), "login"): refused(a=10)})
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
    assert [(name.value, name.refused) for name in asked().clients.most] == wanted[:10]
    collect_stats(NOW_S)
    assert [(name.value, name.refused) for name in asked("24h").clients.most] == wanted[:10]
    assert asked("24h").refused == HowMany(len(exact))


def test_the_busiest_clients_need_not_be_refused():
    process = Counters(lambda: NOW_S)
    process.record([met("user:busy")] * 30 + [met("user:1", "refused")])
    process.flush()
    assert [(name.value, name.met) for name in asked().busiest] == [("user:busy", 30), ("user:1", 1)]
    assert [name.value for name in asked().clients.most] == ["user:1"]


def test_would_refuse_is_said_of_clients_networks_and_routes_and_who_was_signed_in():
    process = Counters(lambda: NOW_S)
    for number in range(9):
        request = RequestFactory().get("/search/", REMOTE_ADDR=f"203.0.113.{number}", HTTP_USER_AGENT="curl/8")
        process.record([met(f"ip:203.0.113.{number}" if number else "user:7", "would_refuse", "search")], True, request)
    process.flush()
    found = asked(rule="search")
    assert (found.would_refuse, found.would_refuse_signed_in) == (HowMany(9), HowMany(1))
    assert (found.refused, found.refused_signed_in) == (HowMany(0), HowMany(0))
    assert found.networks.most == (Name("ip:203.0.113.0/24", 0, 9, 0, clients=HowMany(8)),)
    assert [(name.value, name.would_refuse) for name in found.agents.most] == [("curl", 9)]
    assert [name.would_refuse for name in found.routes.most] == [9]


def test_a_network_in_which_one_client_was_refused_is_left_to_the_client():
    process = Counters(lambda: NOW_S)
    for address in ("203.0.113.9", "198.51.100.1", "198.51.100.2"):
        process.record([met(f"ip:{address}", "refused")], True, RequestFactory().get("/", REMOTE_ADDR=address))
    process.flush()
    assert [(name.value, name.clients) for name in asked().networks.most] == [("ip:198.51.100.0/24", HowMany(2))]


def test_of_very_many_clients_it_says_at_least_how_many(monkeypatch):
    process = Counters(lambda: NOW_S)
    for number in range(3000):
        process.record([met(f"ip:10.0.{number >> 8}.{number & 255}", "refused")])
    process.flush()
    for found in (asked(), (collect_stats(NOW_S), asked("24h"))[1]):
        assert not found.refused.exact and 2000 <= found.refused.number <= 3000
        assert found.clients.bound.refused >= 1


def test_what_the_database_does_not_list_raises_the_bound(monkeypatch):
    monkeypatch.setattr(offenders, "MOST_READ", 3)
    named = {f"user:{number}": Known(Counted(number, 0, 100 - number)) for number in range(1, 9)}
    set_rows(Resolution.MINUTE, {(minute_start(NOW_MINUTE - 5), "login"): Who(Counted(36, 0, 800), {CLIENT: Group(named)})})
    found = asked()
    assert [name.value for name in found.clients.most] == ["user:8", "user:7", "user:6", "user:3", "user:2", "user:1"]
    assert found.clients.bound == Counted(5, 5, 96)
    assert not found.refused.exact


@pytest.mark.parametrize("choice", CHOICES)
def test_it_asks_the_same_few_questions_however_much_there_is(choice, django_assert_max_num_queries):
    for ago in range(15):
        sent_who(ago, {f"rule-{number}": refused(a=1, b=2) for number in range(20)})
    collect_stats(NOW_S)
    with django_assert_max_num_queries(18):
        assert asked(choice).total.refused == 15 * 20 * 3


def test_without_redis_the_rows_alone_are_read_and_it_says_so(monkeypatch):
    def away(*_):
        raise redis.ConnectionError

    sent_who(5, {"login": refused(a=7)})
    collect_stats(NOW_S)
    sent_who(0, {"login": refused(a=3)})
    assert times(asked(ask_redis=False)) == {"user:a": 7}
    monkeypatch.setattr(minutes, "waiting", away)
    assert (times(asked()), asked().live) == ({"user:a": 7}, False)


def test_in_memory_it_is_what_this_process_counted(settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        counters.record([met("user:1", "refused")])
        found = offenders.offenders(last("15m", timezone.now(), conf.current().retention))
    assert times(found) == {"user:1": 1}


def test_rows_that_people_edit_break_nothing():
    sent_who(5, {"login": refused(a=7)})
    collect_stats(NOW_S)
    minutes.settle([NOW_MINUTE - 5], NOW_S + 1)
    OffenderStat.objects.update(distinct=[1, 2])
    assert times(asked()) == {"user:a": 7}


def test_a_day_that_is_over_has_rows_of_all_rules_together_and_a_year_reads_these_alone():
    for number in range(3):
        sent_who(0, {f"rule-{number}": refused(a=2, b=number)})
    collect_stats(NOW_S)
    tomorrow_s = NOW_S + 86_400
    assert not OffenderStat.objects.filter(rule=offender_rows.EVERY_RULE).exists()  # today is not over
    collect_stats(tomorrow_s)
    together = OffenderStat.objects.filter(rule=offender_rows.EVERY_RULE)
    rows = {(row.kind, row.value, row.refused) for row in together}
    assert rows == {("all", "", 9), ("client", "user:a", 6), ("client", "user:b", 3)}
    collect_stats(tomorrow_s)
    assert together.count() == 3
    OffenderStat.objects.exclude(rule=offender_rows.EVERY_RULE).delete()  # what a report of one rule reads
    year = last("1y", datetime.fromtimestamp(tomorrow_s, UTC), conf.current().retention)
    found = offenders.offenders(year, now_s=tomorrow_s, ask_redis=False)
    assert (found.total.refused, times(found)) == (9, {"user:a": 6, "user:b": 3})
    assert times(offenders.offenders(year, "rule-1", tomorrow_s, ask_redis=False)) == {}


@pytest.mark.parametrize("choice", CHOICES)
def test_several_rules_are_asked_for_by_their_names(choice):
    sent_who(0, {"login": refused(a=3), "api": refused(a=5, b=1), "search": refused(a=7)})
    collect_stats(NOW_S)
    assert times(asked(choice, ["login", "api"])) == {"user:a": 8, "user:b": 1}
    assert times(asked(choice, [])) == {}
