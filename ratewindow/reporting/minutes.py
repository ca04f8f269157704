"""The counts of single minutes in Redis: processes send them, the collector reads them.

Each process sets its own fields in the hash of a minute. A sorted set indexes the minutes by when a process last sent to
them. Fields are set rather than incremented, so that counts that are sent twice count once.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from ratewindow.limiter.redis.faults import BadReply
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.reporting.sums import NOTHING, Sums, from_text
from ratewindow.store import malformed, process_clients, state_keys
from ratewindow.store.repair import with_repair

MINUTE_S = 60
UNCOLLECTED_S = 6 * 3600  # how long counts wait for a collector
COLLECTED_S = 3 * 3600  # longer than a process keeps unsent minutes, so that late counts join those of other processes
MOST_MINUTES = UNCOLLECTED_S // MINUTE_S + 10  # read at once, newest first; a clock may be a little ahead

MOST_NAME = 64  # characters of a rule's name

ByRule = dict[str, Sums]


def send(fields: Mapping[int, Mapping[str, Sums]], now_s: float) -> None:
    """Set `fields`, by minute and name, in one transaction, so that no key is without its expiry."""
    client = process_clients.patient_client()

    def write() -> None:
        with limited(process_clients.PATIENT_S), client.pipeline(transaction=True) as pipe:
            for minute, sums in fields.items():
                pipe.hset(state_keys.minute(minute), mapping={name: value.to_text() for name, value in sums.items()})
                pipe.expire(state_keys.minute(minute), UNCOLLECTED_S)
            # GT: a process whose clock is behind must not make a minute look older.
            pipe.zadd(state_keys.minutes(), {str(minute): now_s for minute in fields}, gt=True)
            pipe.expire(state_keys.minutes(), UNCOLLECTED_S)
            pipe.execute()

    with_repair(client, {state_keys.minutes(): "zset", **_hashes(fields)}, write)


def waiting(now_s: float) -> list[int]:
    """The minutes in the index, oldest first, without those of a clock that is wrong by more than a day."""
    client, index = process_clients.patient_client(), state_keys.minutes()
    found = cast("list[bytes]", with_repair(client, {index: "zset"}, lambda: client.zrange(index, 0, -1)))
    if not isinstance(found, list) or not all(isinstance(each, bytes) for each in found):
        raise BadReply(f"not a list of minutes: {found!r:.100}")
    numbers = (int(each) for each in found if each.isdigit() and len(each) < 12)
    return sorted(minute for minute in numbers if abs(minute - now_s // MINUTE_S) <= 24 * 60)[-MOST_MINUTES:]


def read(minutes: Iterable[int]) -> dict[int, ByRule]:
    """The counts of all processes in `minutes`, by rule."""
    minutes = list(minutes)
    client = process_clients.patient_client()

    def ask() -> list[Mapping[bytes, bytes]]:
        with client.pipeline(transaction=False) as pipe:
            for minute in minutes:
                pipe.hgetall(state_keys.minute(minute))
            return pipe.execute()

    hashes = with_repair(client, _hashes(minutes), ask)
    if not all(isinstance(each, dict) for each in hashes):
        raise BadReply(f"not the counts of a minute: {hashes!r:.100}")
    return {minute: _by_rule(found) for minute, found in zip(minutes, hashes, strict=True)}


def _hashes(minutes: Iterable[int]) -> dict[str, str]:
    return dict.fromkeys(map(state_keys.minute, minutes), "hash")


def _by_rule(fields: Mapping[bytes, bytes]) -> ByRule:
    total: ByRule = {}
    for name, value in fields.items():
        rule = name.decode(errors="replace").partition("|")[2]
        sums = from_text(value.decode(errors="replace"))
        if sums is None or not 0 < len(rule) <= MOST_NAME or not rule.isprintable():
            malformed.skip("count", name.decode(errors="replace"), value.decode(errors="replace"))
        else:
            total[rule] = total.get(rule, NOTHING).plus(sums)
    return total


def settle(minutes: Iterable[int], quiet_since_s: float) -> None:
    """Remove those of `minutes` that no process has sent to since `quiet_since_s`. Call it once their counts are stored.

    A minute that a process sends to meanwhile gets a later score, so it stays in the index and is collected again.
    """
    index = state_keys.minutes()
    minutes = list(minutes)
    with process_clients.patient_client().pipeline(transaction=True) as pipe:
        for minute in minutes:
            pipe.zscore(index, str(minute))
        pipe.zremrangebyscore(index, "-inf", quiet_since_s)
        *scores, _ = pipe.execute()
        for minute, score in zip(minutes, scores, strict=True):
            if score is not None and float(score) <= quiet_since_s:  # a cluster's transaction returns text
                pipe.expire(state_keys.minute(minute), COLLECTED_S)
        pipe.execute()
