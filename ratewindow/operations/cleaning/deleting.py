"""Deleting keys from one server, and what memory that frees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from redis.exceptions import AskError, MovedError, ResponseError, TryAgainError

from ratewindow.limiter.redis.scripts import SLACK_MS, alone
from ratewindow.operations.cleaning.living import Likeness

AT_ONCE = 200  # keys
MEASURED = 10  # keys of each batch: the others are taken to be as large

_SLACK_MS = 2 * SLACK_MS  # one that the limiter adds where a caller gives the time, and one by which the clocks may differ
_ELSEWHERE = (MovedError, AskError, TryAgainError)  # the key's slot moves to another server, where the next run finds it


@dataclass(frozen=True)
class Deleted:
    """`freed` is None if the server did not say how large a key was. It is exact if all keys were `measured`."""

    keys: int = 0
    freed: float | None = 0.0
    measured: int = 0

    def plus(self, other: "Deleted") -> "Deleted":
        freed = None if self.freed is None or other.freed is None else self.freed + other.freed
        return Deleted(self.keys + other.keys, freed, self.measured + other.measured)


def unlink(master: redis.Redis, keys: Sequence[bytes], dry_run: bool) -> Deleted:
    """Delete these keys, or say what that would free."""
    deleted = Deleted()
    for batch in _batches(keys):
        sizes, gone = _unlink(master, batch, dry_run)
        freed = None if gone and not sizes else sum(sizes) / max(1, len(sizes)) * gone
        deleted = deleted.plus(Deleted(gone, freed, len(sizes)))
    return deleted


def _unlink(master: redis.Redis, batch: Sequence[bytes], dry_run: bool) -> tuple[list[int], int]:
    """The sizes of the first keys, and how many are gone, or would be."""
    with master.pipeline(transaction=False) as pipe:
        for key in batch[:MEASURED]:
            pipe.memory_usage(key)
        for key in () if dry_run else batch:
            pipe.unlink(key)  # one command each: on a cluster they are in many slots
        replies = pipe.execute(raise_on_error=False)
    measured = min(MEASURED, len(batch))
    sizes = [size for size in replies[:measured] if isinstance(size, int)]  # older users may lack the right to ask
    return sizes, len(batch) if dry_run else sum(_here(replies[measured:]))


def delete_unlike(master: redis.Redis, keys: Sequence[tuple[bytes, Likeness]], dry_run: bool) -> int:
    """Delete the keys that are not like the state that they should be, as they are at that moment. Returns how many."""
    deleted, script = 0, alone("clean").source
    for batch in _batches(list(suspects(master, keys))):
        now_ms = _now_ms(master)
        with master.pipeline(transaction=False) as pipe:
            for key, like in batch:
                numbers = ["" if each is None else each for each in (like.most_ms, like.says, like.ahead_ms)]
                pipe.eval(script, 1, key, like.types, *numbers, _SLACK_MS, now_ms, int(dry_run))
            deleted += sum(_here(pipe.execute(raise_on_error=False)))
    return deleted


def _now_ms(master: redis.Redis) -> int:
    """The server's clock, which some servers hide from scripts."""
    seconds, microseconds = master.time()
    return int(seconds) * 1000 + int(microseconds) // 1000


def suspects(master: redis.Redis, keys: Sequence[tuple[bytes, Likeness]]) -> Iterator[tuple[bytes, Likeness]]:
    """The keys that seem to be of another type, without an expiry, or with one that is too late."""
    for batch in _batches(keys):
        with master.pipeline(transaction=False) as pipe:
            for key, _ in batch:
                pipe.pttl(key)
                pipe.type(key)
            replies = pipe.execute(raise_on_error=False)
        for (key, like), left_ms, kind in zip(batch, replies[::2], replies[1::2], strict=True):
            if len(list(_here([left_ms, kind]))) < 2 or left_ms == -2:
                continue
            too_late = like.most_ms is not None and left_ms > like.most_ms
            if left_ms == -1 or too_late or kind.decode() not in like.types:
                yield key, like


def _here(replies: Sequence[Any]) -> Iterator[Any]:
    """The replies, without those about keys that have moved to another server."""
    for reply in replies:
        if isinstance(reply, ResponseError) and not isinstance(reply, _ELSEWHERE):
            raise reply
        if not isinstance(reply, ResponseError):
            yield reply


def _batches(keys: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (keys[first : first + AT_ONCE] for first in range(0, len(keys), AT_ONCE))
