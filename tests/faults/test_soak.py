"""Half a minute of mixed traffic on two servers, with a fault every few seconds; ten minutes of it are `make soak`."""

from pathlib import Path

import pytest

from tests.faults.ground import ground
from tests.faults.soak import LIMIT, Round, Soaked, soak
from tests.faults.soaking import connections_allowed
from tests.faults.traffic import Sample
from tests.serving.servers import needs_a_server

SEED = 4  # always the same order


@pytest.mark.pace
@pytest.mark.slow
def test_whatever_happens_no_request_fails_and_no_limit_is_exceeded_in_between(tmp_path: Path) -> None:
    needs_a_server()
    with ground(tmp_path, "1s", SEED) as site:
        told = soak(site, seconds=35, every_s=5, hold_s=(0.5, 1.0))
        assert max(told.connections) <= connections_allowed(site), told.connections
    assert len(told.rounds) >= 3
    assert not told.errors and not told.unanswered
    most, windows = told.most_admitted()
    assert windows and most <= LIMIT
    assert {200, 503} <= {sample.status for sample in told.samples}


def _sample(sent_s: float, status: int = 200, cause: str = "", path: str = "/soaked/") -> Sample:
    return Sample(sent_s, sent_s + 0.01, status, cause, 1.0, 0.0, 1, path, "somebody")


def test_a_run_that_admits_too_many_is_seen() -> None:
    told = Soaked(0.0, [_sample(number / 10) for number in range(12)] + [_sample(9.0)])
    assert told.most_admitted() == (12, 12)


def test_what_was_admitted_while_something_happened_is_not_held_against_it() -> None:
    told = Soaked(0.0, [_sample(number / 10) for number in range(12)] + [_sample(9.0)], [Round("x", 0.5, 0.6, 0.7)])
    assert told.most_admitted() == (5, 5)


def test_errors_are_seen_but_for_what_a_rule_that_refuses_says() -> None:
    refused = _sample(1.0, 503, "store:timeout", "/guarded/")
    told = Soaked(0.0, [refused, _sample(1.0, 500), _sample(1.0, 503), _sample(1.0, 0)])
    assert [sample.status for sample in told.errors] == [500, 503]
    assert len(told.unanswered) == 1
    assert told.strays == [refused]
