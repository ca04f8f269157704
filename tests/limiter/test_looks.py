"""A check that only looks: it refuses and locks like any other, and takes nothing from who passes."""

import pytest

from ratewindow.limiter import Window
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.reply import decision
from ratewindow.limiter.types import Check
from tests.support.clock import Clock
from tests.support.histories import ALGORITHMS

pytestmark = pytest.mark.usefixtures("never_expiring")

NOW_MS = Clock().now_ms


def look(algorithm: str, **fields: object) -> Check:
    return Check(
        "login", (Window(2, 60_000, algorithm, burst=2 if algorithm == "leaky_bucket" else None),), ("w:{42}",), 1, True
    )._replace(only_looks=True, **fields)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_who_is_looked_at_pays_nothing_and_who_is_charged_is_refused_at_the_next_look(store: Store, algorithm: str) -> None:
    check = look(algorithm)
    for _ in range(5):
        told = decision([check], store.run([check], "hit", NOW_MS))
        assert (told.allowed, told.remaining, told.retry_after, told.windows[0].charged_at_ms) == (True, 2, None, -1)
    counted = [check._replace(only_looks=False)]
    assert [decision(counted, store.run(counted, "charge", NOW_MS), "charge").remaining for _ in range(2)] == [1, 0]
    refused = decision([check], store.run([check], "hit", NOW_MS))
    assert (refused.allowed, refused.reason) == (False, "limit")
    assert refused.retry_after is not None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_look_that_refuses_locks_out(store: Store, algorithm: str) -> None:
    check = look(algorithm, penalty_ms=900_000, lock="l:{42}")
    store.run([check._replace(only_looks=False)], "charge", NOW_MS)
    store.run([check._replace(only_looks=False)], "charge", NOW_MS)
    assert decision([check], store.run([check], "hit", NOW_MS)).retry_after == 900
    later = decision([check], store.run([check], "hit", NOW_MS + 600_000))
    assert (later.allowed, later.reason, later.retry_after) == (False, "penalty", 300)


def test_what_stands_beside_it_is_charged(store: Store) -> None:
    beside = Check("site", (Window(9, 60_000),), ("s:{42}",))
    for left in (8, 7, 6):
        told = decision([look("sliding_window"), beside], store.run([look("sliding_window"), beside], "hit", NOW_MS))
        assert {part.rule: part.remaining for part in told.decisions} == {"login": 2, "site": left}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_that_counts_refused_requests_counts_none_that_passes(store: Store, algorithm: str) -> None:
    check = look(algorithm, counts_refused=True)
    for _ in range(5):
        assert decision([check], store.run([check], "hit", NOW_MS)).remaining == 2
    counted = [check._replace(only_looks=False)]
    for _ in range(2):
        store.run(counted, "charge", NOW_MS)
    assert not decision([check], store.run([check], "hit", NOW_MS)).allowed
