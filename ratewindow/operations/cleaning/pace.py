"""How long a run may take, and how fast it may go."""

import time
from collections.abc import Callable
from dataclasses import dataclass

CATCHES_UP_S = 0.1  # after a pause of the machine, a run goes on at its pace rather than making up for it


@dataclass(frozen=True)
class Budget:
    """For so long, and so many keys of the server a second; others' keys count, too."""

    seconds: float = 60.0
    keys_per_second: int = 20_000


class Pace:
    """A budget that is being spent."""

    def __init__(
        self,
        budget: Budget,
        clock_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock_s, self._sleep, self._rate = clock_s, sleep, budget.keys_per_second
        self._free_at_s = clock_s()
        self._ends_s = self._free_at_s + budget.seconds

    def spend(self, keys: int) -> None:
        """So many keys have been looked at: wait until the next ones may be."""
        now_s = self._clock_s()
        self._free_at_s = max(self._free_at_s, now_s - CATCHES_UP_S) + keys / self._rate
        if self._free_at_s > now_s:
            self._sleep(self._free_at_s - now_s)

    def is_over(self) -> bool:
        return self._clock_s() >= self._ends_s
