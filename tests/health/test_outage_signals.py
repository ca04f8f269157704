"""What listeners hear of an outage, and when."""

from typing import Any

import pytest

from ratewindow.health import processes
from ratewindow.signals import degraded, recovered
from ratewindow.store import outage
from ratewindow.store.breaker import FAILURES_TO_OPEN, Breaker


@pytest.fixture(autouse=True)
def _nothing_has_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_since", None)
    processes._turns.clear()
    monkeypatch.setattr("ratewindow.store.breaker.listeners", [processes.add_turn])


def open_breaker() -> None:
    for _ in range(FAILURES_TO_OPEN):
        outage.breaker.failed(TimeoutError("no answer"))


def test_listeners_hear_once_of_each_turn_and_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []

    def failing(**_: Any) -> None:
        raise ZeroDivisionError

    def on_degraded(sender: Any, **told: Any) -> None:
        heard.append(("degraded", {**told, "sender": sender}))

    def on_recovered(sender: Any, **told: Any) -> None:
        heard.append(("recovered", told))

    for signal, listener in ((degraded, failing), (degraded, on_degraded), (recovered, failing), (recovered, on_recovered)):
        signal.connect(listener)
    try:
        open_breaker()
        open_breaker()
        processes.send_turns()
        processes.send_turns()
        outage.breaker.look()
        outage.breaker.succeeded()
        processes.send_turns()
    finally:
        for signal, listener in ((degraded, failing), (degraded, on_degraded), (recovered, failing), (recovered, on_recovered)):
            signal.disconnect(listener)
    assert [name for name, _ in heard] == ["degraded", "recovered"]
    told = heard[0][1]
    assert (told["sender"], told["server"], told["cause"]) == (Breaker, "Redis", "store:timeout")
    assert told["holds"] == "requests pass uncounted"
    assert told["since"] == heard[1][1]["since"]


def test_a_request_that_opens_the_breaker_does_not_wait_for_listeners() -> None:
    def slow(**_: Any) -> None:
        pytest.fail("it was called in the request")

    degraded.connect(slow)
    try:
        open_breaker()
    finally:
        degraded.disconnect(slow)
