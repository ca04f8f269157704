"""How long the gate took for a request: measured inside it, where neither the server nor the client adds anything.

Beside it, for how much of that the thread was ready and had no processor: a busy machine is no slow limiter.
"""

import os
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

taken_us: ContextVar[float] = ContextVar("taken_us", default=0.0)
queued_us: ContextVar[float] = ContextVar("queued_us", default=0.0)


def install() -> None:
    """Time every decision of this process from now on."""
    from ratewindow.request import decide as gate

    gate.decide = _timed(gate.decide)
    gate.adecide = _atimed(gate.adecide)


def begin() -> None:
    """Another request."""
    taken_us.set(0.0)
    queued_us.set(0.0)


class _Watch:
    """One decision: how long it took, and what its thread waited for a processor."""

    def __enter__(self) -> None:
        self._queued_ns = _queued_ns()
        self._began_ns = time.perf_counter_ns()

    def __exit__(self, *_: object) -> None:
        taken_us.set(taken_us.get() + (time.perf_counter_ns() - self._began_ns) / 1000)
        queued_us.set(queued_us.get() + (_queued_ns() - self._queued_ns) / 1000)


_of_thread = threading.local()


def _queued_ns() -> int:
    """For how long this thread was ready and did not run, by Linux; 0 where nobody tells."""
    if getattr(_of_thread, "process", 0) != os.getpid():
        try:
            _of_thread.file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            _of_thread.file = -1
        _of_thread.process = os.getpid()
    if _of_thread.file < 0:
        return 0
    return int(os.pread(_of_thread.file, 100, 0).split()[1])


def _timed(decide: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        with _Watch():
            return decide(*arguments)

    return timed


def _atimed(adecide: Callable[..., Any]) -> Callable[..., Any]:
    async def timed(*arguments: Any) -> Any:
        with _Watch():
            return await adecide(*arguments)

    return timed
