"""The counts of single minutes in Redis: processes send them, the collector reads them.

Each process sets its own fields in the two hashes of a minute: the sums of each rule, and who met it. A sorted set indexes
the minutes by when a process last sent to them. Fields are set rather than incremented, so that counts that are sent twice
count once.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

from ratewindow.limiter.redis.faults import BadReply
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.reporting import hashes, sums, totals, who
from ratewindow.reporting.codes import Unsent
from ratewindow.reporting.sums import Sums
from ratewindow.reporting.who import Who
from ratewindow.store import malformed, process_clients, state_keys
from ratewindow.store.repair import with_repair

MINUTE_S = 60
UNCOLLECTED_S = 6 * 3600  # how long counts wait for a collector
COLLECTED_S = 3 * 3600  # longer than a process keeps unsent minutes, so that late counts join those of other processes
MOST_MINUTES = UNCOLLECTED_S // MINUTE_S + 10  # read at once, newest first; a clock may be a little ahead

Value = TypeVar("Value", Sums, Who)
FromText = Callable[[str], Value | None]


def send(
    fields: Mapping[int, Mapping[str, Sums]],
    now_s: float,
    names: Mapping[int, Mapping[str, Who]] = MappingProxyType({}),
    codes: Mapping[int, Unsent] = MappingProxyType({}),
) -> None:
    """Set sums, who was counted, and the codes of refusals, by minute, and add to the totals what the sums have grown by: in
    one transaction, so that no key is without its expiry, and no total without its sums."""
    client = process_clients.patient_client()

    def write() -> None:
        grown = _growth(client, fields)
        with limited(process_clients.PATIENT_S), client.pipeline(transaction=True) as pipe:
            for name, count in grown.items():
                pipe.hincrby(state_keys.totals(), name, count)
            pipe.expire(state_keys.totals(), totals.SILENT_S)
            for minute, by_name in fields.items():
                pipe.hset(state_keys.minute(minute), mapping={name: value.to_text() for name, value in by_name.items()})
                pipe.expire(state_keys.minute(minute), UNCOLLECTED_S)
            for minute, who_by_name in names.items():
                pipe.hset(state_keys.minute_who(minute), mapping={name: each.to_text() for name, each in who_by_name.items()})
                pipe.expire(state_keys.minute_who(minute), UNCOLLECTED_S)
            for minute, unsent in codes.items():
                unsent.send(pipe, minute)
            # GT: a process whose clock is behind must not make a minute look older.
            pipe.zadd(state_keys.minutes(), {str(minute): now_s for minute in fields}, gt=True)
            pipe.expire(state_keys.minutes(), UNCOLLECTED_S)
            pipe.execute()

    types = {state_keys.minutes(): "zset"}
    by_minute = [*map(state_keys.minute, fields), *map(state_keys.minute_who, names), *map(state_keys.minute_codes, codes)]
    types |= dict.fromkeys([state_keys.totals(), *by_minute], "hash")
    with_repair(client, types, write)


def _growth(client: Any, fields: Mapping[int, Mapping[str, Sums]]) -> Mapping[str, int]:
    """What the sums have grown by since Redis has them. It is asked: an answer to the last time may have been lost."""
    with limited(process_clients.PATIENT_S), client.pipeline(transaction=False) as pipe:
        for minute, by_name in fields.items():
            pipe.hmget(state_keys.minute(minute), list(by_name))
        pipe.hlen(state_keys.totals())
        *known, size = pipe.execute()
    before = (sums.from_text(text.decode(errors="replace")) if text else None for texts in known for text in texts)
    after = (each for by_name in fields.values() for each in by_name.items())
    grown = totals.growth(
        (name.partition("|")[2], earlier or Sums(), now) for earlier, (name, now) in zip(before, after, strict=True)
    )
    with limited(process_clients.PATIENT_S):
        return totals.bounded(client, grown, size)


def waiting(now_s: float) -> list[int]:
    """The minutes in the index, oldest first, without those of a clock that is wrong by more than a day."""
    client, index = process_clients.patient_client(), state_keys.minutes()
    found = cast("list[bytes]", with_repair(client, {index: "zset"}, lambda: client.zrange(index, 0, -1)))
    if not isinstance(found, list) or not all(isinstance(each, bytes) for each in found):
        raise BadReply(f"not a list of minutes: {found!r:.100}")
    numbers = (int(each) for each in found if each.isdigit() and len(each) < 12)
    return sorted(minute for minute in numbers if abs(minute - now_s // MINUTE_S) <= 24 * 60)[-MOST_MINUTES:]


def read(minutes: Iterable[int]) -> dict[int, dict[str, Sums]]:
    """The counts of all processes in `minutes`, by rule."""
    return _read(minutes, state_keys.minute, sums.from_text)


def read_who(minutes: Iterable[int]) -> dict[int, dict[str, Who]]:
    """Who met the rules in `minutes`, by rule."""
    return _read(minutes, state_keys.minute_who, who.from_text)


def _read(minutes: Iterable[int], key: Callable[[int], str], from_text: FromText[Value]) -> dict[int, dict[str, Value]]:
    found = hashes.read({minute: key(minute) for minute in minutes})
    return {minute: _by_rule(fields, from_text) for minute, fields in found.items()}


def _by_rule(fields: Mapping[str, str], from_text: FromText[Value]) -> dict[str, Value]:
    total: dict[str, Value] = {}
    for name, text in fields.items():
        rule, value = name.partition("|")[2], from_text(text)
        if value is None or not totals.is_name(rule):
            malformed.skip("count", name, text)
        else:
            total[rule] = total[rule].plus(value) if rule in total else value
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
                pipe.expire(state_keys.minute_who(minute), COLLECTED_S)
        pipe.execute()
