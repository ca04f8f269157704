"""What a test may change in a process that it does not run itself."""

import mmap
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from ratewindow.limiter.reply import Reply
    from ratewindow.limiter.types import Check, Decision


class SiteConfig(AppConfig):
    name = "tests.serving.site"
    label = "servedsite"

    def ready(self) -> None:
        from ratewindow.rulebook import edits
        from tests.serving.site import timing

        if os.environ.get("SERVED_TIMED"):
            timing.install()
        if seconds := os.environ.get("SERVED_REREAD_S"):
            edits.REREAD_S = float(seconds)
        if path := os.environ.get("SERVED_CLOCK"):
            _believe_by(Path(path))


def _believe_by(path: Path) -> None:
    """Remember refusals by the clock that a test holds for the Redis, the second number of this file, in microseconds."""
    from ratewindow.limiter.refusals import Refusals
    from ratewindow.store import outage

    with path.open("rb") as file:
        held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def now_ms() -> int:
        return int(struct.unpack_from("q", held, 8)[0]) // 1000

    class Held(Refusals):
        def recall(self, checks: "list[Check]", now_ms: float | None = None) -> "Decision | None":
            return super().recall(checks)

        def learn(self, checks: "list[Check]", reply: "Reply", asked_ms: float) -> None:
            super().learn(checks, reply, self.clock_ms())

    outage.refusals = Held(clock_ms=now_ms)
