"""Progress of a long command: a bar on a terminal, otherwise a line every ten seconds."""

import time
from typing import TextIO

BAR = 24
LINE_EVERY_S = 10.0


class ProgressLine:
    """Shows a share, where it is known, and what is said about it; `end` leaves the cursor on a new line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._bar = stream, stream.isatty()
        self._lined_s = time.monotonic()

    def show(self, said: str, share: float | None = None) -> None:
        now_s = time.monotonic()
        text = f"{share:4.0%}  {said}" if share is not None else said
        if self._bar:
            bar = f"{'█' * round((share or 0.0) * BAR):░<{BAR}} " if share is not None else ""
            self._stream.write(f"\r{bar}{text}\x1b[K")
            self._stream.flush()
        elif now_s - self._lined_s >= LINE_EVERY_S:
            self._lined_s = now_s
            self._stream.write(text + "\n")
            self._stream.flush()

    def end(self) -> None:
        if self._bar:
            self._stream.write("\n")
            self._stream.flush()
