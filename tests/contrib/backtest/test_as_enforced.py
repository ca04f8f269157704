"""What a backtest would refuse is what enforcing refuses, request by request, when the same log is sent to the site."""

import math
import time
from itertools import islice

import pytest
import time_machine
from django.http import HttpResponse
from django.test import Client
from django.urls import path, re_path

from ratewindow import ratelimit
from ratewindow.contrib.backtest.requests import Addresses, Moments
from ratewindow.contrib.backtest.run import backtest, of_rule, of_site
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from ratewindow.testing import fresh_counts
from tests.contrib.backtest.support.logged import Heard, Logged, nasa
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db

DAY_S = 86_400


def answer(request):
    return HttpResponse(status=int(request.headers["X-Answer"]))


@ratelimit("front", "2/m; 20/h")
def front(request):
    return answer(request)


@ratelimit("front", "2/m; 20/h")
@ratelimit("history", "4/m", count_when="200", hold=True, cost=2)
def history(request):
    return answer(request)


@pytest.fixture(autouse=True)
def _middleware(settings):
    settings.MIDDLEWARE = ["ratewindow.middleware.RateWindowMiddleware"]


def log(lines):
    """The log as of tomorrow: blocks of today hold then."""
    entries = list(islice(nasa(), lines))
    later_s = math.ceil((time.time() - entries[0].at_s) / DAY_S) * DAY_S
    return [entry._replace(at_s=entry.at_s + later_s) for entry in entries]


def enforced(entries, course):
    """Whether the site refuses each request, at the times of one course."""
    refused, client, addresses = [], Client(), Addresses()
    with fresh_counts(), time_machine.travel(entries[0].at_s, tick=False) as travel:
        reading.reload()
        for entry, times_ms in Moments(entries):
            travel.move_to((times_ms[course] + 0.5) / 1000)
            sent = {"REMOTE_ADDR": addresses.of(entry.client), "HTTP_X_ANSWER": str(entry.status)}
            refused.append(client.generic(entry.method, entry.target, **sent).status_code == 429)
    return refused


def define(name, rate, **fields):
    RateRule.objects.define(name, rate, **{"mode": "enforce", **fields})


RULES = {
    "a log": {"rate": "10/m", "prefix": "/", "algorithm": "sliding_log"},
    "two windows and a cost": {"rate": "30/m; 60/h", "prefix": "/", "cost": 3},
    "a penalty": {"rate": "4/20s", "prefix": "/", "penalty": "90s"},
    "a penalty that grows": {"rate": "4/20s", "prefix": "/", "penalty": "10s; 1m; 5m within 10m"},
    "counted refusals": {"rate": "8/m", "prefix": "/", "count_refused": True},
    "half of the clients": {"rate": "6/m", "prefix": "/", "enforce_percent": 50},
    "everybody together": {"rate": "15/m", "prefix": "/shuttle/", "key": "global"},
    "each path": {"rate": "1/h", "prefix": "/", "key": "ip+path", "on_missing": "refuse"},
    "answers that count": {"rate": "1/h", "prefix": "/", "count_when": "302,304,4xx"},
    "answers that are held": {"rate": "1/h", "prefix": "/", "count_when": "302,304,4xx", "hold": True},
    "a bucket": {"rate": "20/m", "prefix": "/", "algorithm": "token_bucket", "burst": 4},
    "a header that nobody sends": {"rate": "10/m", "prefix": "/", "key": "header:x-key"},
    "a route": {"rate": "1/h", "route": "countdown"},
}


@pytest.mark.parametrize("name", RULES)
@site(path("shuttle/countdown/", answer, name="countdown"), re_path("", answer))
def test_one_rule_of_the_site(name, monkeypatch):
    fields = dict(RULES[name])
    define("tried", fields.pop("rate"), **fields)
    entries = log(1000)
    sent = enforced(entries, 0), enforced(entries, 1)
    heard = Heard(monkeypatch, entries)
    found = backtest(Logged(entries), of_rule("tried"))
    assert any(sent[0])
    assert (heard[0], heard[1]) == sent
    assert sorted(map(sum, sent)) == [found.total.refused.least, found.total.refused.most]


@site(path("", front), path("shuttle/countdown/", front), re_path("^history/", history), re_path("", answer))
def test_the_whole_site(monkeypatch):
    """Rules by path, rates in code at views further in, one in shadow, one that counts by the answer, blocks and exemptions."""
    define("everything", "12/m; 40/h", prefix="/", penalty="30s")
    define("images", "5/30s", prefix="/images/", count_refused=True)
    define("missing", "1/h", prefix="/", count_when="404")
    define("tried", "3/m", prefix="/", mode="shadow")
    define("history", "2/m", mode="shadow")
    entries = log(2000)
    clients = list(dict.fromkeys(entry.client for entry in entries))
    Override.objects.block(f"ip:{Addresses().of(clients[3])}", reason="scrapes")
    Override.objects.allow(f"ip:{Addresses().of(clients[5])}")
    Override.objects.allow(f"ip:{Addresses().of(clients[9])}", rule="images")
    Override.objects.create(action="rate", identity=f"ip:{Addresses().of(clients[0])}", rate="2/m")
    sent = enforced(entries, 0), enforced(entries, 1)
    heard = Heard(monkeypatch, entries)
    found = backtest(Logged(entries), of_site())
    assert any(sent[0])
    assert (heard[0], heard[1]) == sent
    assert sorted(map(sum, sent)) == [found.total.refused.least, found.total.refused.most]
    numbers = {each.name: each.numbers for each in found.rules}
    assert set(numbers) >= {"everything", "images", "missing", "tried", "history", "front"}
    assert numbers["tried"].refused.most == 0 < numbers["tried"].would_refuse.least
    assert numbers["front"].refused.most > 0


@ratelimit("named", "6/m", cost=5)
def dear(request):
    return answer(request)


@ratelimit("named", "6/m", block=False)
def lenient(request):
    return answer(request)


@ratelimit("named", "6/m")
def cheap(request):
    return answer(request)


@site(path("", dear), re_path("^images/", lenient), re_path("^shuttle/", cheap), re_path("", answer))
def test_a_rule_that_code_names_at_several_views(monkeypatch):
    define("named", "6/m")
    entries = log(1000)
    sent = enforced(entries, 0), enforced(entries, 1)
    heard = Heard(monkeypatch, entries)
    backtest(Logged(entries), of_rule("named"))
    assert any(sent[0])
    assert (heard[0], heard[1]) == sent
