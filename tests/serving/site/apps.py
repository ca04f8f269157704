"""What a test may change in a process that it does not run itself."""

import mmap
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig

if TYPE_CHECKING:
    from ratewindow.limiter.reply import Reply
    from ratewindow.limiter.types import Check, Decision


class SiteConfig(AppConfig):
    name = "tests.serving.site"
    label = "servedsite"

    def ready(self) -> None:
        from ratewindow.rulebook import reading
        from tests.serving.site import timing

        if os.environ.get("SERVED_TIMED"):
            timing.install()
        if seconds := os.environ.get("SERVED_REREAD_S"):
            reading.REREAD_S = float(seconds)
        if path := os.environ.get("SERVED_CLOCK"):
            _believe_by(Path(path))
        if path := os.environ.get("SERVED_QUERIES"):
            _write_queries(Path(path))


def _write_queries(path: Path) -> None:
    """Write a line for each query to the database."""
    from django.db.backends.signals import connection_created

    def write(execute: "Callable[..., Any]", sql: str, *arguments: Any) -> Any:
        with path.open("a") as file:
            file.write(" ".join(sql.split()) + "\n")
        return execute(sql, *arguments)

    def connected(connection: Any, **_: Any) -> None:
        if write not in connection.execute_wrappers:
            connection.execute_wrappers.append(write)

    connection_created.connect(connected, weak=False)


def _believe_by(path: Path) -> None:
    """Remember refusals by the clock that a test holds for the Redis, the second number of this file, in microseconds."""
    from ratewindow.limiter.reply import Refusals
    from ratewindow.store import outage

    with path.open("rb") as file:
        held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def now_ms() -> int:
        return int(struct.unpack_from("q", held, 8)[0]) // 1000

    class Held(Refusals):
        def recall(self, checks: "list[Check]", now_ms: float) -> "Decision | None":
            return super().recall(checks, self.clock_ms())

        def learn(self, checks: "list[Check]", reply: "Reply", asked_ms: float) -> None:
            super().learn(checks, reply, self.clock_ms())

    outage.refusals = Held(clock_ms=now_ms)
