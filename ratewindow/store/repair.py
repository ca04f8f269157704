"""Keys of ours under which somebody else has written: what is there is none of ours, and would stay in the way for ever."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from redis.exceptions import ResponseError

from ratewindow.limiter.redis import faults

Answer = TypeVar("Answer")

logger = logging.getLogger("ratewindow")

TELL_AGAIN_S = 60.0  # a program that goes on writing there would fill the log
_told_at_s = float("-inf")


def mended(client: Any, kinds: Mapping[str, str], ask: Callable[[], Answer], after: Callable[[], object] | None = None) -> Answer:
    """What `ask` answers. Where the server says that a key is of another type, those of `kinds` that are not of theirs are
    deleted, `after` that is done, and it is asked once more."""
    try:
        return ask()
    except ResponseError as error:
        if faults.of(error).name != "wrongtype" or not (wrong := _overwritten(client, kinds)):
            raise
    for key in wrong:
        client.unlink(key)
    _tell(wrong)
    if after is not None:
        after()
    return ask()


def _overwritten(client: Any, kinds: Mapping[str, str]) -> list[str]:
    return [key for key, kind in kinds.items() if client.type(key) not in (kind.encode(), b"none")]


def _tell(keys: list[str]) -> None:
    global _told_at_s
    now_s = time.monotonic()
    if now_s - _told_at_s > TELL_AGAIN_S:
        _told_at_s = now_s
        more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
        logger.warning("ratewindow: deleted what another program wrote under a key of ours: %s%s", ", ".join(keys[:5]), more)
