"""Who met a rule, as a value: what is dropped raises the bound, and no report is counted twice."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewindow.reporting.heavy_hitters import HeavyHitters
from ratewindow.reporting.who import CLIENT, MOST_BUSY, MOST_REFUSED, NETWORK, NOBODY, Counted, Group, Known, Who, from_text
from tests.support.made_offenders import refused

FULL = Who(
    Counted(2, 1, 9),
    {
        CLIENT: Group({"ip:203.0.113.9": Known(Counted(2, 1, 7), True, "ip:203.0.113.0/24")}, Counted(0, 0, 3)),
        NETWORK: Group({"ip:203.0.113.0/24": Known(Counted(2, 1, 0))}),
    },
    "0" * 256,
    "1" * 256,
)


def test_text_comes_back_as_it_was():
    assert from_text(FULL.to_text()) == FULL
    assert from_text(NOBODY.to_text()) == NOBODY


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "5", "[]", "[[0,0,0],{}]", '[[0,0,0],[],"",""]', '[[0,0],{},"",""]', '[[0,0,-1],{},"",""]', "[" * 99_999),
        *('[[0,0,1.5],{},"",""]', '[[0,0,0],{},5,""]', '[[0,0,0],{},"x",""]', '[[0,0,0],{"client":5},"",""]'),
        *('[[0,0,0],{"client":[{"a":[[1,1,1],0]},[0,0,0]]},"",""]', '[[0,0,0],{"client":[{"a":5},[0,0,0]]},"",""]'),
        '[[0,0,0],{"client":[{"a\\u0000":[[1,1,1],0,""]},[0,0,0]]},"",""]',
        f'[[0,0,0],{{"client":[{{"{"a" * 256}":[[1,1,1],0,""]}},[0,0,0]]}},"",""]',
        '[[0,0,0],{"client":[{"":[[1,1,1],0,""]},[0,0,0]]},"",""]',
    ],
    ids=lambda text: f"{text:.40}",
)
def test_any_other_text_is_none(text):
    assert from_text(text) is None


def test_kinds_of_another_version_are_left_out():
    assert from_text('[[0,0,1],{"planet":[{},[0,0,0]]},"",""]') == Who(Counted(met=1))


def test_of_two_reports_of_the_same_requests_the_one_that_has_seen_more_is_taken_whole():
    more, less = refused(a=3, b=1), refused(a=2)
    assert more.at_least(less) == less.at_least(more) == more


def test_the_names_most_refused_and_the_busiest_of_the_others_are_kept():
    named = {f"user:{number:04}": Known(Counted(number, 0, number)) for number in range(100)}
    named |= {f"user:busy{number:04}": Known(Counted(0, 0, 1000 + number)) for number in range(100)}
    group = Group(named).cut(5, 3)
    assert sorted(group.named) == [f"user:{number:04}" for number in range(95, 100)] + [
        f"user:busy{number:04}" for number in range(97, 100)
    ]
    assert group.bound == Counted(94, 0, 1096)


def counted(requests):
    """A process's clients, of requests that were refused or not, in sketches that are much too small."""
    refusals, all_ = HeavyHitters(3), HeavyHitters(3)
    for client, is_refused in requests:
        all_.add(client)
        if is_refused:
            refusals.add(client)
    names = {*refusals.counts, *all_.counts}
    known = {name: Known(Counted(refusals.counts.get(name, 0), 0, all_.counts.get(name, 0))) for name in names}
    return Group(known, Counted(refusals.bound, 0, all_.bound)).cut(4, 2)


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 30).map(str), st.booleans()), max_size=120), max_size=6))
def test_however_they_are_added_up_and_cut_each_client_has_its_requests_within_the_bound(processes):
    total = Group()
    for requests in processes:
        total = total.plus(counted(requests)).cut(6, 3)
    exact = {
        "refused": Counter(client for requests in processes for client, is_refused in requests if is_refused),
        "met": Counter(client for requests in processes for client, _ in requests),
    }
    for column, times in exact.items():
        for name in {*times, *total.named}:
            listed = getattr(total.named.get(name, Known()).counted, column)
            assert listed <= times[name] <= listed + getattr(total.bound, column)


def test_a_process_with_many_rules_sends_fewer_of_each():
    named = {f"user:{number}": Known(Counted(1, 0, 1)) for number in range(100)}
    who = Who(Counted(100, 0, 100), {CLIENT: Group(named), NETWORK: Group(named)})
    assert len(who.cut().groups[CLIENT].named) == MOST_REFUSED[CLIENT] + MOST_BUSY
    assert len(who.cut(5).groups[CLIENT].named) == 5 + 1
    assert len(who.cut(5).groups[NETWORK].named) == 2
