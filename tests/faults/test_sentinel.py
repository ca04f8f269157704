"""A master under Sentinels that is killed, and Sentinels that are silent themselves."""

import signal
from collections.abc import Iterator

import pytest
import redis

from ratewindow.store import outage
from ratewindow.store.breaker import FAILURES_TO_OPEN
from tests.faults.proxy import proxied
from tests.faults.site import LIMIT, Answer, Touched, Visitor, probe, site_on
from tests.support.servers import SERVICE, Watched, until, watched_by_sentinels


@pytest.fixture
def mortal() -> Iterator[Watched]:
    """A master that may be killed, since nobody else uses it."""
    with watched_by_sentinels() as watched:
        yield watched


def _is_back() -> bool:
    probe()
    return not outage.breaker.state.open


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 5])
def test_after_a_failover_limits_hold_again_but_for_what_the_replica_had_not_heard_of(
    mortal: Watched, visitor: Visitor, touched: Touched, caplog: pytest.LogCaptureFixture, lag: int
) -> None:
    with site_on(mortal.url, "2s"):
        visitor.ask(8 - lag)
        with redis.Redis(port=mortal.master) as master:
            master.execute_command("WAIT", 1, 5000)
        if lag:  # the replica is stopped while the last requests are counted
            mortal.signal_replica(signal.SIGSTOP)
            visitor.ask(lag)
        mortal.kill_master()
        if lag:
            mortal.signal_replica(signal.SIGCONT)
        assert {answer.status for answer in visitor.ask(FAILURES_TO_OPEN)} == {200}
        assert outage.breaker.open
        with touched() as calls:
            visitor.ask(5)
        assert not calls
        until(_is_back, "nobody took over, or nobody noticed")
        assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
        # What was in the replica's socket when it was stopped it reads once it goes on.
        assert LIMIT - 8 <= visitor.admitted() <= LIMIT - 8 + lag


def test_a_sentinel_that_is_silent_leaves_time_for_the_next(watched: Watched, visitor: Visitor) -> None:
    with proxied(watched.sentinels[0]) as proxy, proxy.black_hole():
        rest = ",".join(f"127.0.0.1:{port}" for port in watched.sentinels[1:])
        with site_on(f"redis+sentinel://127.0.0.1:{proxy.port},{rest}/{SERVICE}/0", "2s"):
            assert visitor.admitted() == LIMIT


def test_a_service_that_no_sentinel_knows_is_a_fault_with_a_name(watched: Watched, visitor: Visitor) -> None:
    with site_on(watched.url.replace(SERVICE, "mistyped"), "2s"):
        assert visitor.ask(FAILURES_TO_OPEN) == [Answer(200, "store:sentinel")] * FAILURES_TO_OPEN
