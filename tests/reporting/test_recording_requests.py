"""From requests to rows: what a recorded rule's clients do, by the counts that processes share."""

from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from ratewindow import hit, ratelimit
from ratewindow.conf import time_zone
from ratewindow.models import RateRule, RecordedHour, Recording
from ratewindow.reporting import counters
from ratewindow.reporting.collecting import collect_stats
from ratewindow.reporting.peak_counts import SEND_S
from ratewindow.reporting.recorded_hours import BAD, GOOD, Peak, name_of
from ratewindow.store import state_keys

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rule():
    rule, _ = RateRule.objects.define("login", "3/m; 100/d", key="ip", mode="shadow")
    first = min(rule.windows.all(), key=lambda row: row.limit).freeze()
    now = time_zone.now()
    Recording.objects.create(rule="login", window=first.tag, rate=first.text, since=now, until=now + timedelta(days=1))
    return rule


def recorded():
    counters.flush(ending=True)
    collect_stats()
    return {name: Peak(*numbers) for row in RecordedHour.objects.all() for name, numbers in row.clients.items()}


def total(name, found):
    return found[name_of(state_keys.client_tag(name))]


def test_a_hit_of_code_is_recorded_with_what_is_refused_beyond(rule):
    for _ in range(5):
        hit("login", "ip:203.0.113.9")
    hit("login", "ip:203.0.113.7")
    found = recorded()
    assert total("ip:203.0.113.9", found) == Peak(used=3, beyond=2, requests=5, refused=2)
    assert total("ip:203.0.113.7", found) == Peak(used=1, requests=1)


def test_an_enforced_limit_is_recorded_alike(rule):
    rule.mode = "enforce"
    rule.save()
    for _ in range(5):
        hit("login", "ip:203.0.113.9")
    assert total("ip:203.0.113.9", recorded()) == Peak(used=3, beyond=2, requests=5, refused=2)


@pytest.mark.parametrize(("status", "marks"), [(200, GOOD), (403, BAD)])
def test_a_request_is_recorded_with_how_it_was_answered(rule, status, marks):
    view = ratelimit("login")(lambda request: HttpResponse(status=status))
    view(RequestFactory().get("/", REMOTE_ADDR="203.0.113.9"))
    assert total("ip:203.0.113.9", recorded()).marks == marks


def test_an_edited_limit_goes_on_being_recorded_and_another_period_is_not(rule):
    rule.windows.filter(limit=3).update(limit=4)
    rule.save()
    hit("login", "ip:203.0.113.9")
    rule.windows.filter(limit=4).update(period="2m")
    rule.save()
    hit("login", "ip:203.0.113.9")
    assert total("ip:203.0.113.9", recorded()) == Peak(used=1, requests=2)


def test_nothing_is_recorded_of_other_rules_or_after_the_end(rule):
    RateRule.objects.define("search", "3/m", key="ip", mode="enforce")
    hit("search", "ip:203.0.113.9")
    Recording.objects.get().delete()
    hit("login", "ip:203.0.113.9")
    assert recorded() == {}


def test_peaks_that_could_not_be_sent_are_sent_later(rule, monkeypatch):
    hit("login", "ip:203.0.113.9")
    with monkeypatch.context() as away:
        away.setattr(counters.hours, "send", _away)
        with pytest.raises(OSError, match="away"):
            counters.flush()
    counters.flush()
    assert counters._process._peaks.unsent({}, 0.0) == []
    assert total("ip:203.0.113.9", recorded()).requests == 1
    assert SEND_S > counters.FLUSH_S


def _away(unsent):
    raise OSError("Redis is away")
