"""What the log has not told lately: a fault that each request meets would fill it."""

import logging
import time

logger = logging.getLogger("ratewindow")

AGAIN_S = 600.0
MOST_KINDS = 100  # told in that time, since calls may make names of rules from what clients send
LONGEST = 80  # characters of a name, or of what is wrong, where other programs wrote it


class News:
    """Kinds of faults that the log has told lately, and when."""

    def __init__(self) -> None:
        self._told_s: dict[tuple[str, str], float] = {}

    def is_new(self, kind: tuple[str, str]) -> bool:
        """Whether the log is to tell this kind now, which counts as told then."""
        now_s = time.monotonic()
        told_s = {each: at_s for each, at_s in self._told_s.copy().items() if now_s - at_s < AGAIN_S}
        is_new = kind not in told_s and len(told_s) < MOST_KINDS
        self._told_s = {**told_s, kind: now_s} if is_new else told_s
        return is_new

    def forget(self) -> None:
        """Tell all of it again, as a process that has just started."""
        self._told_s.clear()


left_out = News()


def leave_out(what: str, name: object, why: object) -> None:
    """Say that `what` (``process record``, ``count``) of this name, which another program has written to Redis, is left out."""
    kind = what, ascii(name)[:LONGEST]
    if left_out.is_new(kind):
        logger.warning(
            "ratewindow: a %s in Redis is left out, %s (logged every ten minutes): %s", *kind, ascii(str(why))[1:-1][:LONGEST]
        )
