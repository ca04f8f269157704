"""Progress of a replay: how many requests have been sent, and how many were refused."""

import time
from typing import TextIO

from ratewindow.management.progress import ProgressLine
from ratewindow.management.replay.sending import Outcome


class Progress:
    """Called with the outcome so far."""

    def __init__(self, stream: TextIO, total: int) -> None:
        self._line, self._total = ProgressLine(stream), total
        self._started_s = time.monotonic()

    def __call__(self, outcome: Outcome) -> None:
        done = outcome.total
        pace = done / max(time.monotonic() - self._started_s, 0.001)
        said = f"{done:,} of {self._total:,}  {pace:,.0f} a second  429: {outcome.statuses[429]:,}"
        self._line.show(said, done / max(1, self._total))

    def end(self, outcome: Outcome) -> None:
        self(outcome)
        self._line.end()
