"""When each request of a log came: a log of whole seconds leaves open when within its second."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ratewindow.operations.logs.entry import Entry

AHEAD = 5_000  # requests
MOST_OF_A_SECOND = 50_000  # requests that are spread over one second; those beyond come at its end


class Moment(NamedTuple):
    """A request with the times at which it is decided, in milliseconds: its own or, in a log of whole seconds, the
    beginning of its second, and its place if the requests of that second are spread evenly over it."""

    entry: Entry
    times_ms: tuple[int, ...]


class Moments:
    """The requests of a log, some thousand at a time. Whether its times are whole seconds is known before the first one."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = iter(entries)
        self._ahead = [*islice(self._entries, 2 * AHEAD)]
        self._is_last = len(self._ahead) < 2 * AHEAD
        self._latest_ms = [-1, -1]
        self.whole_seconds = all(float(entry.at_s).is_integer() for entry in self._ahead)

    def batches(self) -> Iterator[Sequence[Moment]]:
        while self._ahead:
            ahead = self._ahead
            count = len(ahead) if self._is_last else len(ahead) - AHEAD
            while self.whole_seconds and count < len(ahead) and _second(ahead[count]) == _second(ahead[count - 1]):
                count += 1
            if count == len(ahead) < MOST_OF_A_SECOND and not self._is_last:  # the last second may go on
                self._read_on()
                continue
            ready, self._ahead = ahead[:count], ahead[count:]
            self._read_on()
            yield [*(self._whole_seconds(ready) if self.whole_seconds else self._exact(ready))]

    def _read_on(self) -> None:
        more = [*islice(self._entries, AHEAD)]
        self._is_last = self._is_last or len(more) < AHEAD
        self._ahead += more

    def _exact(self, ready: Sequence[Entry]) -> Iterator[Moment]:
        for entry in ready:
            yield Moment(entry, (self._in_order(0, round(entry.at_s * 1000)),))

    def _whole_seconds(self, ready: Sequence[Entry]) -> Iterator[Moment]:
        begin = 0
        while begin < len(ready):
            second, end = _second(ready[begin]), begin + 1
            while end < len(ready) and _second(ready[end]) == second:
                end += 1
            start_ms, count = self._in_order(0, second * 1000), end - begin
            for place in range(count):
                yield Moment(ready[begin + place], (start_ms, self._in_order(1, start_ms + place * 1000 // count)))
            begin = end

    def _in_order(self, which: int, at_ms: int) -> int:
        """A line that stands too far from its place comes when it stands there: time does not go back."""
        self._latest_ms[which] = max(self._latest_ms[which], at_ms)
        return self._latest_ms[which]


def _second(entry: Entry) -> int:
    return int(entry.at_s)
