"""The counts of single minutes in Redis: processes send them, the collector reads them.

Each process sets its own fields in the two hashes of a minute: the sums of each rule, and whom it refused. A sorted set indexes
the minutes by when a process last sent to them. Fields are set rather than incremented, so that counts that are sent twice
count once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from ratewindow.conf import news
from ratewindow.counting.sums import Sums, Value, Who, added, sums_from_text, who_from_text
from ratewindow.limiter.redis.faults import BadReply
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.store import process_clients, state_keys

MINUTE_S = 60
LATE_S = 3600  # after which nobody seems to collect
UNCOLLECTED_S = 6 * 3600  # how long counts wait for a collector, and, once collected, for those of late processes
MOST_MINUTES = UNCOLLECTED_S // MINUTE_S + 10  # that are read, the newest; a clock may be a little ahead

MOST_NAME = 64  # characters of a rule's name

FromText = Callable[[str], Value | None]


# What a room keeps of the sums that are sent, in a hash of its own: what to add to the transaction. Redis is asked before, since
# an answer to the last time may have been lost.
Also = Callable[[Any, Mapping[int, Mapping[str, Sums]]], Callable[[Any], None]]

also: list[Also] = []


def send(
    fields: Mapping[int, Mapping[str, Sums]],
    now_s: float,
    names: Mapping[int, Mapping[str, Who]] = MappingProxyType({}),
) -> None:
    """Set sums and who was refused, by minute and field, with what rooms keep of these: in one transaction, so that no key is
    without its expiry."""
    hashes: dict[str, Mapping[str, Sums | Who]] = {state_keys.minute(minute): by_name for minute, by_name in fields.items()}
    hashes |= {state_keys.minute_who(minute): by_name for minute, by_name in names.items()}
    client = process_clients.patient_client()
    additions = [addition(client, fields) for addition in also]
    with limited(process_clients.PATIENT_S), client.pipeline(transaction=True) as pipe:
        for add in additions:
            add(pipe)
        for key, by_name in hashes.items():
            pipe.hset(key, mapping={name: value.to_text() for name, value in by_name.items()})
            pipe.expire(key, UNCOLLECTED_S)
        # GT: a process whose clock is behind must not make a minute look older.
        pipe.zadd(state_keys.minutes(), {str(minute): now_s for minute in fields}, gt=True)
        pipe.expire(state_keys.minutes(), UNCOLLECTED_S)
        pipe.execute()


def waiting(now_s: float) -> list[int]:
    """The minutes in the index, oldest first, without those of a clock that is wrong by hours."""
    members = cast("list[bytes]", process_clients.patient_client().zrange(state_keys.minutes(), 0, -1))
    if not isinstance(members, list) or not all(isinstance(member, bytes) for member in members):
        raise BadReply(f"not a list of minutes: {members!r:.100}")
    numbers = (int(member) for member in members if member.isdigit() and len(member) < 12)
    return sorted(minute for minute in numbers if abs(minute - now_s // MINUTE_S) <= MOST_MINUTES)[-MOST_MINUTES:]


def read(minutes: Iterable[int]) -> dict[int, dict[str, Sums]]:
    """The counts of all processes in `minutes`, by rule."""
    return _read(minutes, state_keys.minute, sums_from_text)


def read_who(minutes: Iterable[int]) -> dict[int, dict[str, Who]]:
    """Who was refused by the rules in `minutes`, by rule: as many names as rows have."""
    found = _read(minutes, state_keys.minute_who, who_from_text)
    return {minute: {rule: value.cut() for rule, value in by_rule.items()} for minute, by_rule in found.items()}


def _read(minutes: Iterable[int], key: Callable[[int], str], from_text: FromText[Value]) -> dict[int, dict[str, Value]]:
    sent = fields({minute: key(minute) for minute in minutes})
    return {minute: added(_values(of_minute, from_text)) for minute, of_minute in sent.items()}


def fields(keys: Mapping[int, str]) -> dict[int, dict[str, str]]:
    """What processes have sent to the hashes of some minutes, by minute and field."""
    with process_clients.patient_client().pipeline(transaction=False) as pipe:
        for name in keys.values():
            pipe.hgetall(name)
        hashes = pipe.execute()
    if not all(isinstance(sent, dict) for sent in hashes):
        raise BadReply(f"not the hashes of processes: {hashes!r:.100}")
    return {minute: _as_text(sent) for minute, sent in zip(keys, cast("list[dict[bytes, bytes]]", hashes), strict=True)}


def _as_text(sent: Mapping[bytes, bytes]) -> dict[str, str]:
    return {field.decode(errors="replace"): text.decode(errors="replace") for field, text in sent.items()}


def _values(sent: Mapping[str, str], from_text: FromText[Value]) -> Iterator[tuple[str, Value]]:
    for name, text in sent.items():
        rule, value = name.partition("|")[2], from_text(text)
        if value is not None and is_rule(rule):
            yield rule, value
        else:
            news.leave_out("count", name, text)


def is_rule(name: str) -> bool:
    """Whether a rule may have this name, or a site's own function: as a row can have it."""
    return 0 < len(name) <= MOST_NAME and name.isprintable()


def are_late(now_s: float) -> bool:
    """Whether counts have waited for an hour: the collector comes every minute, and forgets what is quiet for ten."""
    quietest: Any = process_clients.patient_client().zrange(state_keys.minutes(), 0, 0, withscores=True)
    return any(sent_s < now_s - LATE_S for _, sent_s in quietest)


def settle(quiet_since_s: float) -> None:
    """Forget the minutes that no process has sent to since then. Call it once their counts are stored.

    A minute that a process sends to meanwhile gets a later score, so it stays in the index and is collected again.
    """
    process_clients.patient_client().zremrangebyscore(state_keys.minutes(), "-inf", quiet_since_s)
