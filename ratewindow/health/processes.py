"""The processes of the site: each writes a record to Redis of where it runs and whether it counts on the store.

A process writes its record every 2.5 seconds, to a key that expires, and its name to an index. One that no longer reaches Redis
is missing here within seconds: it tells its own state by its log, its signals and its `status()`.

A turn is the moment when a breaker opened or closed: from it come the signals `degraded` and `recovered`.
"""

import json
import os
import secrets
import socket
import sys
import time
from collections import deque
from collections.abc import Set
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from ratewindow import background, conf
from ratewindow.conf import in_words, news
from ratewindow.counting.counters import counters
from ratewindow.counting.sheets import ALL
from ratewindow.counting.sums import NOTHING, Sums
from ratewindow.identity import address
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.request import without_redis
from ratewindow.rulebook import current, kill_switch, reading
from ratewindow.signals import degraded, recovered
from ratewindow.store import outage, process_clients, state_keys
from ratewindow.store.breaker import Breaker, State

BEAT_S = 2.5  # twice before a record expires
RECORD_S = 6
INDEX_S = 120  # longer, since clocks differ
MOST_SHOWN = 200
LATELY_S = 8  # in which it shows that a rule refuses nearly everybody: short, and still many requests
MOST_RULES = 100  # of a record, those that most requests matched


class _Self:
    """This process. A fork is another one."""

    def __init__(self) -> None:
        self.token, self.since_s = secrets.token_hex(6), time.time()
        self._counts = deque([(time.monotonic(), counters.since_start())])

    def counted(self, for_s: float) -> dict[str, Sums]:
        """What this process has counted in so many seconds, at most a minute, and since the last call if that is longer ago."""
        now_s, counts = time.monotonic(), counters.since_start()
        if now_s - self._counts[-1][0] >= 1.0:
            self._counts.append((now_s, counts))
        while len(self._counts) > 1 and self._counts[1][0] <= now_s - outage.MINUTE_S:
            self._counts.popleft()
        before = next((then for at_s, then in reversed(self._counts) if at_s <= now_s - for_s), self._counts[0][1])
        return {rule: grown for rule, sums in counts.items() if (grown := sums.beyond(before.get(rule, NOTHING)))}

    @property
    def name(self) -> str:
        return f"{socket.gethostname()}|{os.getpid()}|{kind()}|{self.token}"


_self = _Self()


def own() -> dict[str, Any]:
    """The record of this process. Times are text in ISO 8601, in UTC."""
    away = outage.open_breakers()
    with in_words.in_english():  # others read it in languages of their own
        problem, policy = reading.problem(), without_redis.in_words()
    lately = sorted(_self.counted(LATELY_S).items(), key=lambda item: -item[1].met)
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "kind": kind(),
        "since": moment(_self.since_s),
        "breaker": "open" if away else "closed",
        "degraded_since": moment(min((each.since_s or time.time() for each in away), default=None)),
        "servers": [each.server for each in away],
        "error": away[0].cause if away else "",
        "policy": policy,
        "rules": len(current.of_site().by_name),
        "rules_read": moment(current.read_at_s()),
        "rules_error": problem,
        "switch": "off" if kill_switch.off else "on",
        "fallback": counters.causes(),
        "lately": {
            "decisions": _self.counted(outage.MINUTE_S).get(ALL, NOTHING).met,
            "failed": outage.failures_by_cause(),
            "rules": {rule: (sums.passed, sums.refused) for rule, sums in lately[:MOST_RULES]},
        },
        "warnings": [(each.message, each.values) for each in address.warnings],
        "secret": state_keys.secret_fingerprint(),
    }


def moment(moment_s: float | None) -> str | None:
    """A time as text in ISO 8601, in UTC."""
    return None if moment_s is None else datetime.fromtimestamp(moment_s, UTC).isoformat(timespec="seconds")


def kind() -> str:
    """The program of this process: ``gunicorn``, ``celery``, ``manage.py shell``."""
    program = Path(sys.argv[0] if sys.argv else "")
    name = program.parent.name if program.name == "__main__.py" else program.name
    return " ".join([name or "python", *(sys.argv[1:2] if name == "manage.py" else [])]).replace("|", "/")[:40]


def beat() -> None:
    """Write the record of this process, in one round trip within `TIMEOUT`."""
    if process_clients.in_memory():
        return
    text, now_s = json.dumps(own()), time.time()
    client, index = process_clients.patient_client(), state_keys.processes()
    with limited(conf.current().timeout_s), client.pipeline(transaction=False) as pipe:
        pipe.set(state_keys.process(_self.name), text, ex=RECORD_S)
        pipe.zadd(index, {_self.name: now_s})
        pipe.zremrangebyscore(index, "-inf", now_s - INDEX_S)
        pipe.expire(index, INDEX_S)
        pipe.execute()


def everywhere(client: Any) -> list[dict[str, Any]]:
    """The records of all processes, in two round trips, each within ``TIMEOUT``. What no process of this version writes is left
    out."""
    with limited(conf.current().timeout_s):
        index = client.zrange(state_keys.processes(), 0, MOST_SHOWN - 1, desc=True)
    if not index:
        return []
    names = [name.decode(errors="replace") for name in index]
    with limited(conf.current().timeout_s):
        texts = cast("list[bytes | None]", client.mget([state_keys.process(name) for name in names]))
    known = own().keys()
    records = [_read(name, text, known) for name, text in zip(names, texts, strict=True) if text is not None]
    return sorted((each for each in records if each), key=lambda each: (each["host"], each["pid"]))


def _read(name: str, text: bytes, known: Set[str]) -> dict[str, Any] | None:
    """None for what no process of this version writes: a record has the fields that are `known`."""
    try:
        host, pid, kind, _ = name.split("|")
        record = json.loads(text)
        if record.keys() != known:
            raise ValueError("fields of another version")
        return {**record, "host": host, "pid": int(pid), "kind": kind}
    except (ValueError, AttributeError, RecursionError) as error:
        news.leave_out("process record", name, error)
        return None


def reset() -> None:
    """In a fork, which is another process."""
    global _self
    _self = _Self()


_turns: deque[State] = deque(maxlen=100)  # of breakers, which `send_turns` makes signals of
_since: datetime | None = None  # while this process is degraded


def add_turn(state: State) -> None:
    _turns.append(state)
    background.hurry(send_turns)


def has_turns() -> bool:
    return bool(_turns)


def send_turns() -> None:
    """The signals `degraded` and `recovered`, once for each outage of this process: by a thread that receivers may hold up."""
    global _since
    while _turns:
        state = _turns.popleft()
        if state.open and _since is None:
            _since = datetime.fromtimestamp(state.since_s or time.time(), UTC)
            with in_words.in_english():
                holds = without_redis.in_words()
            degraded.send_robust(Breaker, since=_since, server=state.server, cause=state.cause, holds=holds)
        elif not state.open and _since is not None and not outage.open_breakers():
            since, _since = _since, None
            recovered.send_robust(Breaker, since=since)
