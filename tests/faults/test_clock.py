"""The server's clock steps: counts may be lost, and nobody is locked out for longer than a limit would."""

from collections.abc import Iterator

import pytest

from ratewindow.store import outage
from tests.faults.clock import SteppedServer, stepped_server
from tests.faults.site import LIMIT, Answer, Visitor, site_on

HOUR_S = 3600
BUCKETS_S = 200  # more than a bucket, which is counted and dated as a whole


@pytest.fixture
def stepped() -> Iterator[SteppedServer]:
    with stepped_server() as stepped, site_on(stepped.server.url, "5s"):
        yield stepped


def test_a_step_forward_by_more_than_a_period_grants_one_more_limit_and_no_second(
    stepped: SteppedServer, visitor: Visitor
) -> None:
    assert visitor.admitted() == LIMIT
    stepped.step(HOUR_S + BUCKETS_S)
    outage.refusals.forget()  # as each process does within a second
    assert visitor.admitted() == LIMIT
    outage.refusals.forget()
    assert visitor.ask(3) == [Answer(429, "")] * 3


def test_a_small_step_forward_changes_nothing_for_who_is_refused(stepped: SteppedServer, visitor: Visitor) -> None:
    assert visitor.admitted() == LIMIT
    stepped.step(61)
    outage.refusals.forget()
    assert visitor.ask(3) == [Answer(429, "")] * 3


def test_a_step_back_by_less_than_a_period_lets_the_limit_hold(stepped: SteppedServer, visitor: Visitor) -> None:
    assert visitor.admitted() == LIMIT
    stepped.step(-HOUR_S // 2)
    outage.refusals.forget()
    assert visitor.ask(3) == [Answer(429, "")] * 3
    assert visitor.admitted(client="another") == LIMIT


def test_a_step_back_by_more_than_a_period_locks_nobody_out(stepped: SteppedServer, visitor: Visitor) -> None:
    assert visitor.admitted() == LIMIT
    stepped.step(-HOUR_S - BUCKETS_S)
    outage.refusals.forget()
    assert visitor.admitted() == LIMIT


def test_a_step_back_and_forth_again_leaves_every_key_an_end(stepped: SteppedServer, visitor: Visitor) -> None:
    visitor.ask(3)
    for offset_s in (61, -HOUR_S, 0, 2 * HOUR_S, 0):
        stepped.step(offset_s)
        outage.refusals.forget()
        visitor.ask(3)
        with stepped.server.client() as client:
            left_s = [client.ttl(key) for key in client.scan_iter("rw:s:*")]
        assert left_s and all(0 <= each <= 2 * HOUR_S + BUCKETS_S for each in left_s)
