"""How long the gate took for a request: measured inside it, where neither the server nor the client adds anything."""

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

taken_us: ContextVar[float] = ContextVar("taken_us", default=0.0)


def install() -> None:
    """Time every decision of this process from now on."""
    from ratewindow import gate

    gate.decide = _timed(gate.decide)
    gate.adecide = _atimed(gate.adecide)


def _timed(decide: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        began_ns = time.perf_counter_ns()
        try:
            return decide(*arguments)
        finally:
            taken_us.set(taken_us.get() + (time.perf_counter_ns() - began_ns) / 1000)

    return timed


def _atimed(adecide: Callable[..., Any]) -> Callable[..., Any]:
    async def timed(*arguments: Any) -> Any:
        began_ns = time.perf_counter_ns()
        try:
            return await adecide(*arguments)
        finally:
            taken_us.set(taken_us.get() + (time.perf_counter_ns() - began_ns) / 1000)

    return timed
