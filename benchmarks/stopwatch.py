"""Where the time of a call goes: some functions are put behind stopwatches, each of which stops while another one runs.

So a step's time is its own, without that of the steps in it, and it is what the step takes amid the others, with caches as
cold as the server leaves them: alone in a loop it would seem half of that. What the stopwatches take is left out.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

CALIBRATIONS = 2000


class Step(NamedTuple):
    """An attribute, of a module or class, whose calls belong to what is called `name`."""

    name: str
    owner: Any
    attribute: str


class Stopwatches:
    """One for each name; several functions may share one."""

    def __init__(self) -> None:
        self._own_ns: dict[str, int] = {}
        self._running: list[list[int]] = []
        self._calls = {"": 0}
        self._inside_ns = self._outside_ns = 0.0  # what a stopwatch adds to the step that it times, and to the one around
        self._calibrate()

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        own_ns, calls, running, clock_ns = self._own_ns, self._calls, self._running, time.perf_counter_ns
        own_ns.setdefault(name, 0)
        calls.setdefault(name, 0)

        def timed(*arguments: Any, **options: Any) -> Any:
            others = [0, 0]  # nanoseconds and number of the steps inside
            running.append(others)
            started_ns = clock_ns()
            try:
                return function(*arguments, **options)
            finally:
                taken_ns = clock_ns() - started_ns
                running.pop()
                own_ns[name] += taken_ns - others[0] - int(others[1] * self._outside_ns)
                calls[name] += 1
                if running:
                    running[-1][0] += taken_ns
                    running[-1][1] += 1

        return timed

    def take_us(self, calls: int) -> dict[str, float]:
        """Microseconds of each step for one of `calls`; then all begin anew."""
        taken = {
            name: max(0.0, ns - self._calls[name] * self._inside_ns) / calls / 1000 for name, ns in self._own_ns.items() if name
        }
        for name in self._own_ns:
            self._own_ns[name] = self._calls[name] = 0
        return taken

    def _calibrate(self) -> None:
        def nothing() -> None: ...

        watched = self.around("", nothing)
        started_ns = time.perf_counter_ns()
        for _ in range(CALIBRATIONS):
            nothing()
        called_ns = time.perf_counter_ns()
        for _ in range(CALIBRATIONS):
            watched()
        watched_ns = time.perf_counter_ns() - called_ns
        bare_ns = called_ns - started_ns
        self._inside_ns = max(0.0, (self._own_ns[""] - bare_ns) / CALIBRATIONS)
        self._outside_ns = max(0.0, (watched_ns - self._own_ns[""]) / CALIBRATIONS)
        self._own_ns[""] = self._calls[""] = 0


@contextmanager
def timing(steps: Sequence[Step]) -> Iterator[Stopwatches]:
    """Put `steps` behind stopwatches for a while."""
    watches, before = Stopwatches(), [getattr(step.owner, step.attribute) for step in steps]
    try:
        for step, function in zip(steps, before, strict=True):
            setattr(step.owner, step.attribute, watches.around(step.name, function))
        yield watches
    finally:
        for step, function in zip(steps, before, strict=True):
            setattr(step.owner, step.attribute, function)
