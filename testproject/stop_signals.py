"""Signals that end the demo, sent to it or to the ``make`` that started it."""

import contextlib
import os
import signal
from pathlib import Path
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """Raised where it is safe to stop, never in the middle of a start."""


class StopSignals:
    """The handlers only store the signal; the demo calls `check` between its steps, so that no program is left running."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._make = os.getppid() if _name_of(os.getppid()) == "make" else None
        for number in SIGNALS:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = signal.Signals(number)

    def check(self) -> None:
        if self.signal is None and self._make is not None:
            self.signal = self._signal_of_make(self._make)
        if self.signal is not None:
            raise Stopped

    @staticmethod
    def _signal_of_make(make: int) -> signal.Signals | None:
        """GNU make passes SIGTERM on, but not SIGINT, which it blocks while it waits for us."""
        if os.getppid() != make:
            return signal.SIGHUP  # make has ended
        with contextlib.suppress(OSError, StopIteration, ValueError):  # not Linux: only our own signals count
            lines = Path(f"/proc/{make}/status").read_text().splitlines()
            blocked = int(next(line.split()[1] for line in lines if line.startswith("SigBlk:")), 16)
            if blocked & (1 << (signal.SIGINT - 1)):
                return signal.SIGINT
        return None


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
