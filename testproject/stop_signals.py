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
    """The handlers only note that a signal came; the demo calls `check` between its steps, so that no program is left running."""

    def __init__(self) -> None:
        self._came = False
        self._make = os.getppid() if _name_of(os.getppid()) == "make" else None
        for number in SIGNALS:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True

    def check(self) -> None:
        # Nothing but a signal changes what is noted: one may come while the state of make is read.
        if self._came or (self._make is not None and _ends(self._make)):
            raise Stopped


def _ends(make: int) -> bool:
    """Whether make has ended, or waits for us to end: GNU make passes SIGTERM on, but not SIGINT, which it blocks meanwhile."""
    if os.getppid() != make:
        return True
    with contextlib.suppress(OSError, StopIteration, ValueError):  # not Linux: only our own signals count
        lines = Path(f"/proc/{make}/status").read_text().splitlines()
        blocked = int(next(line.split()[1] for line in lines if line.startswith("SigBlk:")), 16)
        return bool(blocked & (1 << (signal.SIGINT - 1)))
    return False


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
