"""Progress of a replay: a bar on a terminal, otherwise a line every ten seconds."""

import time
from typing import TextIO

from ratewindow.management.replay.sending import Outcome

BAR = 24
LINE_EVERY_S = 10.0


class Progress:
    """Called with the outcome so far, writes it to `stream`; `end` leaves the cursor on a new line."""

    def __init__(self, stream: TextIO, total: int) -> None:
        self._stream, self._total = stream, total
        self._bar = stream.isatty()
        self._started = self._lined = time.monotonic()

    def __call__(self, outcome: Outcome) -> None:
        now = time.monotonic()
        if self._bar:
            self._stream.write(f"\r{self._text(outcome, now)}\x1b[K")
            self._stream.flush()
        elif now - self._lined >= LINE_EVERY_S:
            self._lined = now
            self._stream.write(self._text(outcome, now) + "\n")
            self._stream.flush()

    def _text(self, outcome: Outcome, now: float) -> str:
        done, share = outcome.total, outcome.total / max(1, self._total)
        bar = "█" * round(share * BAR)
        pace = done / max(now - self._started, 0.001)
        drawn = f"{bar:░<{BAR}} " if self._bar else ""
        return f"{drawn}{share:4.0%}  {done:,} of {self._total:,}  {pace:,.0f} a second  429: {outcome.statuses[429]:,}"

    def end(self, outcome: Outcome) -> None:
        if self._bar:
            self(outcome)
            self._stream.write("\n")
            self._stream.flush()
