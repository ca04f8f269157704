"""Who was refused by a rule, as a value: what is dropped raises the bound, and no report is counted twice."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from ratewindow.counting.sheets import HeavyHitters
from ratewindow.counting.sums import NOBODY, Counted, Group, Known, Who, who_from_text
from tests.support.made_offenders import refused

FULL = Who(
    Counted(2, 1, 9),
    Group({"ip:203.0.113.9": Counted(2, 1)}, Counted(0, 3)),
    Group({"ip:203.0.113.0/24": Counted(2, 1, 0)}),
    "0" * 256,
    "1" * 256,
)


def test_text_comes_back_as_it_was():
    assert who_from_text(FULL.to_text()) == FULL
    assert who_from_text(NOBODY.to_text()) == NOBODY


GROUP = "[{},[0,0,0]]"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "null",
            "5",
            "[]",
            f"[[0,0,0],{GROUP}]",
            f'[[0,0,0],[],{GROUP},"",""]',
            "[" * 99_999,
        ),
        f'[[0,0],{GROUP},{GROUP},"",""]',
        *(f'[[0,0,-1],{GROUP},{GROUP},"",""]', f'[[0,0,1.5],{GROUP},{GROUP},"",""]'),
        *(f'[[0,0,0],{GROUP},{GROUP},5,""]', f'[[0,0,0],{GROUP},{GROUP},"x",""]', f'[[0,0,0],{GROUP},5,"",""]'),
        *(f'[[0,0,0],[{{"a":5}},[0,0,0]],{GROUP},"",""]', f'[[0,0,0],[{{"a\\u0000":[1,1,1]}},[0,0,0]],{GROUP},"",""]'),
        f'[[0,0,0],[{{"{"a" * 256}":[1,1,1]}},[0,0,0]],{GROUP},"",""]',
        f'[[0,0,0],[{{"":[1,1,1]}},[0,0,0]],{GROUP},"",""]',
    ],
    ids=lambda text: f"{text:.40}",
)
def test_any_other_text_is_none(text):
    assert who_from_text(text) is None


def test_of_two_reports_of_the_same_requests_the_one_that_has_seen_more_has_the_rest():
    more, less = refused(a=3, b=1), refused(a=2, c=1)
    assert more.beyond(less) == refused(a=1, b=1)._replace(total=Counted(1, 0, 1))
    assert less.plus(more.beyond(less)).clients.named == refused(a=3, b=1, c=1).clients.named
    assert not less.beyond(more) and not more.beyond(more)


def test_the_names_most_refused_are_kept():
    named = {f"user:{number:04}": Counted(number, 1) for number in range(100)}
    group = Group(named).cut(5)
    assert sorted(group.named) == [f"user:{number:04}" for number in range(95, 100)]
    assert group.bound == Counted(94, 1)


def counted(requests):
    """A process's clients, of requests that were refused or would be, in sketches that are much too small."""
    refusals, others = HeavyHitters(3), HeavyHitters(3)
    for client, is_refused in requests:
        (refusals if is_refused else others).add(client)
    names = {*refusals.counts, *others.counts}
    known = {name: Counted(refusals.counts.get(name, 0), others.counts.get(name, 0)) for name in names}
    return Group(known, Counted(refusals.bound, others.bound)).cut(4)


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 30).map(str), st.booleans()), max_size=120), max_size=6))
def test_however_they_are_added_up_and_cut_each_client_has_its_requests_within_the_bound(processes):
    total = Group()
    for requests in processes:
        total = total.plus(counted(requests)).cut(6)
    exact = {
        "refused": Counter(client for requests in processes for client, is_refused in requests if is_refused),
        "would_refuse": Counter(client for requests in processes for client, is_refused in requests if not is_refused),
    }
    for column, times in exact.items():
        for name in {*times, *total.named}:
            listed = getattr(total.named.get(name, Counted()), column)
            assert listed <= times[name] <= listed + getattr(total.bound, column)


def test_what_is_known_of_a_client_adds_up_and_is_the_newest() -> None:
    first, later = Known("curl/8", False, 3, 2), Known("", True, 1, 1)
    assert first.plus(later) == Known("curl/8", True, 4, 3)
    who = Who(Counted(1), known={"user:1": first}).plus(Who(Counted(1), known={"user:1": later, "user:2": later}))
    assert who.known == {"user:1": Known("curl/8", True, 4, 3), "user:2": later}
    assert who_from_text(who.to_text()) == who


@pytest.mark.parametrize("known", [["curl", False, -1, 0], ["curl", False, 1, "many"], ["curl", False]])
def test_what_others_write_of_a_client_is_left_out(known: list[object]) -> None:
    text = Who(Counted(1)).to_text().replace(",{}]", f",{json.dumps({'user:1': known})}]")
    assert who_from_text(text) is None
