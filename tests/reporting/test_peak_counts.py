"""A process records of each client what it used at most, what was refused beyond, and no more clients than it has room for."""

import pytest

from ratewindow.limiter.types import Window
from ratewindow.reporting.peak_counts import HOUR_S, MOST_UNSENT, SEND_S, SLOTS, PeakCounts
from ratewindow.reporting.recorded_hours import BAD, GOOD, MOST_CLIENTS, SIGNED_IN, Peak, erased, is_in, name_of
from ratewindow.store import state_keys
from tests.support.made_peaks import NOW_S, asked, recorded

HELD = {"login": recorded()}
WHO = "ip:203.0.113.9"


def named(who=WHO):
    return name_of(state_keys.client_tag(who))


def peaks_of(counts, held=HELD, now_s=NOW_S):
    (unsent,) = counts.unsent(held, now_s, all_of_it=True)
    return unsent.peaks


@pytest.fixture
def counts():
    return PeakCounts()


def test_the_peak_is_the_most_that_was_used_after_any_request(counts):
    for used in (1, 7, 3):
        counts.add(HELD, [asked(used=used)], NOW_S, 200)
    assert dict(peaks_of(counts).clients) == {named(): Peak(used=7, requests=3, marks=GOOD)}


def test_what_is_refused_is_added_up_over_one_period_and_no_longer(counts):
    """Within a minute three are refused; of the ten minutes after, one in each."""
    for at_s in (0, 20, 40, *range(100, 700, 60)):
        counts.add(HELD, [asked(used=10, outcome="refused")], NOW_S + at_s, 429)
    peak = peaks_of(counts).clients[named()]
    assert (peak.used, peak.beyond, peak.refused, peak.requests) == (10, 3, 13, 13)


def test_a_refused_request_is_as_many_units_as_it_costs(counts):
    counts.add(HELD, [asked(used=8, outcome="would_refuse", cost=5)], NOW_S, 200)
    assert peaks_of(counts).clients[named()] == Peak(used=8, beyond=5, requests=1, refused=1, marks=GOOD)


def test_what_was_refused_before_the_full_hour_counts_in_a_period_that_goes_over_it(counts):
    counts.add(HELD, [asked(used=10, outcome="refused")], NOW_S + HOUR_S - 10, 429)
    counts.add(HELD, [asked(used=10, outcome="refused")], NOW_S + HOUR_S + 10, 429)
    first, second = counts.unsent(HELD, NOW_S + HOUR_S + 10, all_of_it=True)
    assert [each.peaks.clients[named()].beyond for each in (first, second)] == [1, 2]


@pytest.mark.parametrize("odd", [{"outcome": "other"}, {"cause": "store:timeout"}, {"window": Window(99, 1000)}])
def test_a_decision_that_says_nothing_about_the_window_is_one_request(counts, odd):
    counts.add(HELD, [asked(used=9, **odd)], NOW_S, 0)
    assert peaks_of(counts).clients[named()] == Peak(requests=1)


@pytest.mark.parametrize(
    ("outcome", "status", "marks"),
    [
        ("passed", 200, GOOD),
        ("passed", 302, GOOD),
        ("passed", 404, BAD),
        ("would_refuse", 500, BAD),
        ("refused", 429, 0),
        ("passed", 0, 0),
    ],
)
def test_answers_of_the_site_count_and_refusals_do_not(counts, outcome, status, marks):
    counts.add(HELD, [asked(outcome=outcome)], NOW_S, status)
    assert peaks_of(counts).clients[named()].marks == marks


@pytest.mark.parametrize("who", ["user:42", "6:user:7+11:ip:10.0.0.1"])
def test_a_client_that_is_a_user_is_signed_in(counts, who):
    counts.add(HELD, [asked(who)], NOW_S, 404)
    assert peaks_of(counts).clients[named(who)].marks == SIGNED_IN | BAD


def test_only_rules_that_are_recorded_count_and_only_until_their_end(counts):
    held = {"login": recorded(until_s=NOW_S + 1)}
    counts.add(held, [asked(rule="search")], NOW_S, 200)
    counts.add(held, [asked()], NOW_S + 1, 200)
    assert counts.unsent(held, NOW_S, all_of_it=True) == []


def test_an_hour_is_sent_as_a_whole_now_and_then_and_once_more_at_its_end(counts):
    counts.add(HELD, [asked(used=1)], NOW_S, 200)
    (first,) = counts.unsent(HELD, NOW_S)
    counts.note_sent([first], NOW_S)
    counts.add(HELD, [asked(used=2)], NOW_S + 1, 200)
    assert counts.unsent(HELD, NOW_S + 1) == []
    (second,) = counts.unsent(HELD, NOW_S + SEND_S)
    assert second.field == first.field
    (last,) = counts.unsent(HELD, NOW_S + HOUR_S)
    assert (last.hour, last.field, last.peaks.clients[named()].used) == (first.hour, first.field, 2)
    counts.note_sent([last], NOW_S + HOUR_S)
    assert counts.unsent(HELD, NOW_S + HOUR_S, all_of_it=True) == []


def test_a_recording_that_was_ended_is_sent_a_last_time_and_forgotten(counts):
    counts.add(HELD, [asked()], NOW_S, 200)
    (last,) = counts.unsent({}, NOW_S + 1)
    counts.note_sent([last], NOW_S + 1)
    assert counts.unsent({}, NOW_S + 2, all_of_it=True) == []
    assert not counts._rules


def test_hours_that_cannot_be_sent_are_kept_and_not_for_ever(counts):
    for hour in range(5):
        counts.add(HELD, [asked()], NOW_S + hour * HOUR_S, 200)
    hours = [each.hour - NOW_S // HOUR_S for each in counts.unsent(HELD, NOW_S + 4 * HOUR_S, all_of_it=True)]
    assert hours == [4 - MOST_UNSENT, 3, 4]


def test_a_client_that_was_erased_is_dropped_and_does_not_come_back(counts):
    counts.add(HELD, [asked(), asked("ip:198.51.100.1")], NOW_S, 200)
    held = {"login": recorded(left_out=frozenset({erased(named())}))}
    (unsent,) = counts.unsent(held, NOW_S + 1)
    counts.add(held, [asked()], NOW_S + 2, 200)
    assert [*unsent.peaks.clients] == [*peaks_of(counts, held, NOW_S + 2).clients] == [named("ip:198.51.100.1")]


@pytest.mark.long
def test_a_million_identities_leave_a_fair_sample_and_no_more_memory(counts):
    """Those that remain are the ones that their hash says, with all that they did; refused ones, which take most."""
    decision = asked(used=10, outcome="refused")
    check = decision.check
    for number in range(1_000_000):
        who = f"ip:{number}"
        decision.check = check._replace(identity=who, keys=(f"rw:s:xy:{{{number * 2654435761 % 2**61:020d}}}",))
        counts.add(HELD, [decision], NOW_S + number / 300, 429)
    (rule,) = counts._rules.values()
    assert len(rule._clients) <= MOST_CLIENTS
    assert len(rule._refused) <= MOST_CLIENTS
    assert max(len(each.slots) for each in rule._refused.values()) <= SLOTS + 1
    peaks = peaks_of(counts, now_s=NOW_S + 3333)
    assert 7 <= peaks.level <= 12
    assert all(is_in(name, peaks.level) for name in peaks.clients)
    assert len(peaks.to_text()) < 50 * MOST_CLIENTS
