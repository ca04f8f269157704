"""A flood of clients that come once. ``python -m tests.serving.flood`` shows what a million of them take of memory.

Each has an address, a key and a path that nobody had before, and asks until it is refused.
"""

import gc
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Site = Callable[..., Any]


def site() -> Site:
    """A middleware and a decorator, with rules that see each client in three ways."""
    from ratewindow import ratelimit
    from ratewindow.limiter.types import Window
    from ratewindow.rulebook import current
    from ratewindow.rulebook.current import Rulebook
    from ratewindow.rules import code_rates
    from ratewindow.rules.rule import Rule
    from tests.support.doors import behind_middleware, plain

    hour = (Window(1, 3_600_000),)
    current.replace(
        Rulebook(
            [
                Rule("flood.ip", hour, applies_to="all", on_error="local"),
                Rule("flood.key", hour, applies_to="all", key="header:x-api-key", penalty_ms=60_000, on_error="local"),
                Rule("flood.path", (Window(5, 60_000, "sliding_log"),), applies_to="prefix", pattern="/flood/", key="ip+path"),
            ]
        )
    )
    view = ratelimit("flood.code", "1/h", key="user_or_ip")(plain(False))
    assert code_rates.rated("flood.code")
    return behind_middleware(view)


def flood(handler: Site, first: int, count: int) -> int:
    """Two requests from each of `count` new clients; how many were refused."""
    from django.test import RequestFactory

    factory, refused = RequestFactory(), 0
    for number in range(first, first + count):
        address = f"2001:db8:{number >> 16 & 0xFFFF:x}:{number & 0xFFFF:x}::1"
        for _ in range(2):
            request = factory.get(
                f"/flood/{number}/", REMOTE_ADDR=address, HTTP_X_API_KEY=f"key-{number}", HTTP_USER_AGENT=str(number)
            )
            refused += handler(request).status_code == 429
    return refused


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(clients: int = 1_000_000, rows: int = 10) -> int:
    import django
    from django.conf import settings

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    settings.RATEWINDOW["REDIS"] = "memory://"
    django.setup()
    handler, began_s = site(), time.monotonic()
    for row in range(rows):
        flood(handler, row * clients // rows, clients // rows)
        gc.collect()
        print(
            f"{(row + 1) * clients // rows:9,} clients  {resident_mb():7.1f} MB  {time.monotonic() - began_s:6.0f} s", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
