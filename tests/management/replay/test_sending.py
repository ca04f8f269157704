"""Requests on their way: order, pace, connections that end, servers that do not answer."""

import contextlib

import pytest

from ratewindow.management.replay.sending import Sender
from ratewindow.management.replay.site import Site
from ratewindow.operations.backtest.addresses import Addresses
from ratewindow.operations.logs.entry import Entry


def send(recorder, schedule):
    site = Site(f"http://127.0.0.1:{recorder.server_port}")
    with contextlib.closing(site):
        return Sender(site, Addresses()).run(schedule, lambda outcome: None)


def replay(recorder, entries, due_s=0.0):
    return send(recorder, [(due_s, entry) for entry in entries])


def test_each_clients_requests_arrive_in_the_order_of_the_log(recorder):
    entries = [Entry(0, f"203.0.113.{number % 40}", "GET", f"/{number}") for number in range(800)]
    outcome = replay(recorder, entries)
    assert outcome.statuses == {200: 800}
    assert len(recorder.seen) == 40
    for paths in recorder.seen.values():
        numbers = [int(path[1:]) for _, path in paths]
        assert numbers == sorted(numbers)
        assert len(numbers) == 20


def test_methods_and_statuses_are_counted_as_they_are(recorder):
    entries = [Entry(0, "203.0.113.1", "POST", "/?status=429"), Entry(0, "203.0.113.1", "HEAD", "/?status=204")]
    outcome = replay(recorder, entries)
    assert outcome.statuses == {429: 1, 204: 1}
    assert outcome.refused == {"203.0.113.1": 1}
    assert recorder.seen["203.0.113.1"] == [("POST", "/?status=429"), ("HEAD", "/?status=204")]


def test_a_connection_that_ended_meanwhile_costs_no_request(recorder):
    entries = [Entry(0, "203.0.113.1", method, "/hangup") for method in ("GET", "GET", "POST", "POST", "GET")]
    assert replay(recorder, entries).statuses == {200: 5}
    assert len(recorder.seen["203.0.113.1"]) == 5


def test_no_answer_is_counted_by_its_error_and_the_rest_still_sent(recorder):
    outcome = replay(recorder, [Entry(0, "203.0.113.1", "POST", "/drop"), Entry(0, "203.0.113.1", "GET", "/")])
    assert outcome.statuses == {"RemoteDisconnected": 1, 200: 1}


def test_nothing_is_sent_before_it_is_due(recorder):
    outcome = replay(recorder, [Entry(0, "203.0.113.1", "GET", "/")], due_s=0.3)
    assert outcome.took_s >= 0.3
    assert 0 <= outcome.latest_s < 5


def test_an_interrupt_ends_early_and_tells_what_was_sent(recorder):
    def schedule():
        yield 0.0, Entry(0, "203.0.113.1", "GET", "/")
        raise KeyboardInterrupt

    outcome = send(recorder, schedule())
    assert outcome.interrupted
    assert outcome.total <= 1


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://a.example", "http://", ""])
def test_what_is_no_address_of_a_site_says_what_to_write(url):
    with pytest.raises(ValueError, match="write for example"):
        Site(url)
