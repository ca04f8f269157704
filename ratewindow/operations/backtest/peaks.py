"""Each client's peak: the most units that it took in any window of a period, from requests in the order of time.

The window slides: it ends at every request and begins one period before it, not at a full minute. A client is refused by
a limit of ``sliding_log`` exactly if its peak is above that limit.

Memory is bounded by the number of clients. Of each, the times of its newest period are kept until it has gone quiet, at most
`MOST_TIMES` different ones: a client with more is from then on counted in steps of a 2048th of the period, so that its peak is at
most that of a window longer by that much. `tried_limits` states what the refusals take, and only the `MOST_SAMPLED` clients
with the highest peaks, and as many that may become one of them, have a sample of what they did.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat

from ratewindow.operations.backtest.samples import Sample, Sampling
from ratewindow.operations.backtest.tried_limits import TriedLimits

MOST_TIMES = 4096
MOST_SAMPLED = 1000
# The time is divided into 32 to 64 spans, each with a peak of its own, since nobody knows beforehand where its half will be.
# Spans begin as minutes and double. Peaks of shorter spans than now stay: they are few, as 32 at most come with each doubling.
MOST_SPANS = 64
MINUTE_MS = 60_000
LEAST_SWEEP = 20_000  # requests, after which the clients that have gone quiet are looked for
_NO_TIMES = array("q")


@dataclass(frozen=True, slots=True)
class ClientPeak:
    """What is known of one client under one period."""

    client: str  # identity
    peak: int  # units in its fullest window
    requests: int
    likely_innocent: bool
    first_half: int = 0  # the peak of each half of the time; 0: it was not there
    second_half: int = 0
    refused: tuple[int, ...] | None = None  # requests, by each of `LIMITS` below the peak; None: not known
    did: Sample | None = None


class Peaks:
    """The peaks of all clients. Requests that a rule does not count are not added."""

    def __init__(self, period_ms: int) -> None:
        self.period_ms = period_ms
        self.start_ms = self.end_ms = 0  # of the first and the last request
        self._clients: dict[str, _Client] = {}
        self._doubled = 0  # how often the spans have become twice as long
        self._sampled: list[_Client] = []
        self._sampled_above = 0  # clients with a higher peak are sampled
        self._until_sweep = LEAST_SWEEP

    def __len__(self) -> int:
        return len(self._clients)

    def add(
        self,
        client: str,
        at_ms: int,
        cost: int = 1,
        *,
        status: int = 0,
        signed_in: bool = False,
        never: bool = False,
        method: str = "",
        target: str = "",
        agent: str = "",
    ) -> None:
        """Count one request. `never`: the client is one of those that are never to be refused."""
        one = self._clients.get(client)
        if one is None:
            if not self._clients:
                self.start_ms = self.end_ms = at_ms
            one = self._clients[client] = _Client()
        if at_ms > self.end_ms:
            self.end_ms = at_ms
        minute = (at_ms - self.start_ms) // MINUTE_MS if at_ms > self.start_ms else 0
        while minute >> self._doubled >= MOST_SPANS:
            self._doubled += 1
        one.count(at_ms, cost, self.period_ms, minute, self._doubled)
        one.requests += 1
        one.faults += not 100 <= status < 400
        one.signed_in += signed_in
        one.never = one.never or never
        if one.sampling is None and one.peak > self._sampled_above:
            one.sampling = Sampling()
            self._sampled.append(one)
            if len(self._sampled) > 2 * MOST_SAMPLED:
                self._keep_highest()
        if one.sampling is not None:
            one.sampling.add(method, target, status, agent)
        self._until_sweep -= 1
        if not self._until_sweep:
            self._until_sweep = max(LEAST_SWEEP, len(self._clients))
            for each in self._clients.values():
                each.rest(at_ms - self.period_ms)

    def taken_clients(self, start_ms: int | None = None, end_ms: int | None = None) -> Iterator[ClientPeak]:
        """All clients, each with the peaks of both halves of the time; None: it begins or ends with a request of this rule.

        They are given away one by one, so that memory has none of them twice.
        """
        start_ms = self.start_ms if start_ms is None else start_ms
        end_ms = self.end_ms if end_ms is None else end_ms
        middle = round(((start_ms + end_ms) / 2 - self.start_ms) / (MINUTE_MS << self._doubled)) << self._doubled
        for name in [*self._clients]:
            one = self._clients.pop(name)
            yield ClientPeak(
                name,
                one.peak,
                one.requests,
                one.likely_innocent,
                *one.halves(middle),
                refused=tuple(one.tried.refused) if one.tried is not None else (),
                did=one.sampling.sample() if one.sampling else None,
            )

    def _keep_highest(self) -> None:
        self._sampled.sort(key=lambda one: one.peak, reverse=True)
        self._sampled_above = self._sampled[MOST_SAMPLED].peak
        for one in self._sampled[MOST_SAMPLED:]:
            one.sampling = None
        del self._sampled[MOST_SAMPLED:]


class _Client:
    """One client while its requests come. Most have few: what those do not need is not made."""

    __slots__ = (
        *("requests", "faults", "signed_in", "never", "peak", "used"),
        *("times", "units", "first", "grain_ms", "spans", "tried", "sampling"),
    )

    def __init__(self) -> None:
        self.requests = self.peak = self.used = self.faults = self.signed_in = 0
        self.never = False
        self.times = _NO_TIMES  # of the newest period, oldest first, from `first` on
        self.units: array[int] | None = None  # at each time; None: one
        self.first = 0
        self.grain_ms = 1
        self.spans: tuple[int, ...] = ()  # a minute of each span in which it was there, followed by the peak in it
        self.tried: TriedLimits | None = None
        self.sampling: Sampling | None = None

    @property
    def likely_innocent(self) -> bool:
        return self.never or not self.faults or 2 * self.signed_in > self.requests

    def count(self, at_ms: int, cost: int, period_ms: int, minute: int, doubled: int) -> None:
        times = self.times
        if times:
            at_ms = max(at_ms, times[-1] - self.grain_ms + 1)  # a clock that goes back stands still, as in the limiter
            if times[self.first] <= at_ms - period_ms:
                self._forget(at_ms - period_ms)
        if self.tried is not None:
            self.tried.decide(at_ms, cost, period_ms)
        self.used = used = self.used + cost
        if used > self.peak:
            self.peak = used
            if used > 1:
                self._try_limits()
        self._keep(at_ms - at_ms % self.grain_ms + self.grain_ms - 1, cost)
        if len(times) - self.first > MOST_TIMES:
            self._coarsen(period_ms)
        spans = self.spans
        if not spans or spans[-2] >> doubled < minute >> doubled:
            if len(spans) > 2 and spans[-3] >= spans[-1] <= used:  # nobody asks for a peak between two that are as high
                spans = spans[:-2]
            self.spans = (*spans, minute, used) if spans else _first_span(minute, used)
        elif used > spans[-1]:
            self.spans = (*spans[:-1], used)

    def _keep(self, at_ms: int, cost: int) -> None:
        times, units = self.times, self.units
        is_known = bool(times) and times[-1] == at_ms
        if units is None and (is_known or cost != 1):
            units = self.units = array("q", [1]) * len(times)
        if is_known and units is not None:
            units[-1] += cost
            return
        if times is _NO_TIMES:
            times = self.times = array("q")
        times.append(at_ms)
        if units is not None:
            units.append(cost)

    def rest(self, edge_ms: int) -> None:
        """Forget all times, if they have left the window."""
        if self.times and self.times[-1] <= edge_ms:
            self.times, self.units, self.first, self.used = _NO_TIMES, None, 0, 0
            if self.tried is not None:
                self.tried.rest()

    def _forget(self, edge_ms: int) -> None:
        """Forget what has left the window."""
        times, units, first = self.times, self.units, self.first
        if times[-1] <= edge_ms:
            del times[:]
            self.units, self.first, self.used = None, 0, 0
            return
        while first < len(times) and times[first] <= edge_ms:
            self.used -= 1 if units is None else units[first]
            first += 1
        if first > 32 and first > len(times) // 2:
            del times[:first]
            if units is not None:
                del units[:first]
            first = 0
        self.first = first

    def _window(self) -> Iterator[tuple[int, int]]:
        """The times of the window, and the units at each."""
        units = repeat(1) if self.units is None else self.units[self.first :]
        return zip(self.times[self.first :], units, strict=False)

    def _try_limits(self) -> None:
        if self.tried is None:
            self.tried = TriedLimits()
        if self.tried.next < self.used:
            self.tried.begin(self.used, self._window())

    def _coarsen(self, period_ms: int) -> None:
        """Join times within steps of a 2048th of the period, each to the end of its step."""
        self.grain_ms = grain_ms = max(1, period_ms // (MOST_TIMES // 2))
        joined: dict[int, int] = {}
        for time_ms, count in self._window():
            kept_ms = time_ms - time_ms % grain_ms + grain_ms - 1
            joined[kept_ms] = joined.get(kept_ms, 0) + count
        self.times, self.units, self.first = array("q", joined), array("q", joined.values()), 0

    def halves(self, middle: int) -> tuple[int, int]:
        """The peaks before the span that begins with a minute, and from it on."""
        first = second = 0
        for minute, peak in zip(self.spans[::2], self.spans[1::2], strict=True):
            if minute < middle:
                first = max(first, peak)
            else:
                second = max(second, peak)
        return first, second


@lru_cache(maxsize=4096)
def _first_span(minute: int, peak: int) -> tuple[int, ...]:
    """One for all clients that begin alike, which most of them do."""
    return minute, peak
