"""The demo ends at any signal, whenever it comes."""

import os
import signal

import pytest

from testproject import stop_signals
from testproject.stop_signals import SIGNALS, Stopped, StopSignals


@pytest.fixture
def own_signals():
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_comes_while_the_state_of_make_is_read_is_not_lost(own_signals, monkeypatch, number):
    monkeypatch.setattr(stop_signals, "_name_of", lambda pid: "make")
    stop = StopSignals()
    stop.check()

    def interrupted(make):
        os.kill(os.getpid(), number)
        return False

    monkeypatch.setattr(stop_signals, "_ends", interrupted)
    stop.check()
    with pytest.raises(Stopped):
        stop.check()
