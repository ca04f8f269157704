"""Deleting what another program has written under one of our keys, where it would fail each call."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from redis.exceptions import ResponseError

from ratewindow.limiter.redis import faults

Answer = TypeVar("Answer")

logger = logging.getLogger("ratewindow")

LOGGED_AGAIN_S = 60.0  # a program that goes on writing there would fill the log
_logged_at_s = float("-inf")


def with_repair(
    client: Any, types: Mapping[str, str], call: Callable[[], Answer], after: Callable[[], object] | None = None
) -> Answer:
    """What `call` returns. If the server says that a key has the wrong type, the keys that do not have their type by `types`
    are deleted, `after` is called, and then `call` again."""
    try:
        return call()
    except ResponseError as error:
        if faults.of(error).name != "wrongtype" or not (wrong := _overwritten(client, types)):
            raise
    for key in wrong:
        client.unlink(key)
    _log(wrong)
    if after is not None:
        after()
    return call()


def _overwritten(client: Any, types: Mapping[str, str]) -> list[str]:
    return [key for key, type_ in types.items() if client.type(key) not in (type_.encode(), b"none")]


def _log(keys: list[str]) -> None:
    global _logged_at_s
    now_s = time.monotonic()
    if now_s - _logged_at_s > LOGGED_AGAIN_S:
        _logged_at_s = now_s
        more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
        logger.warning("ratewindow: deleted what another program wrote under a key of ours: %s%s", ", ".join(keys[:5]), more)
