"""The processes of the site: each writes a record to Redis of where it runs and whether it counts on the store.

A process writes its record every 2.5 seconds, to a key that expires. An index keeps the names for longer, so that a process
that no longer reaches Redis is reported as silent.
"""

import json
import os
import secrets
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, cast

from ratewindow import conf
from ratewindow.conf.translation import in_english
from ratewindow.health import process_record
from ratewindow.health.process_record import moment
from ratewindow.identity import proxy_warning
from ratewindow.limiter import forks
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.reporting import counters
from ratewindow.request import without_redis
from ratewindow.rulebook import reading
from ratewindow.store import malformed, outage, process_clients, state_keys, stores
from ratewindow.store.failures import MINUTE_S
from ratewindow.store.repair import with_repair

BEAT_S = 2.5  # twice before a process is taken for silent
SILENT_MS = 6_000  # a process without a record for so long is silent
FORGOTTEN_S = 600  # a silent process is reported for so long
TIDY_S = 60.0  # how often a process tidies the index, and counts the others
MOST_SHOWN = 200


class _Self:
    """This process. A fork is another one."""

    def __init__(self) -> None:
        self.token, self.since_s = secrets.token_hex(6), time.time()
        self.has_record = False
        self.others = 0  # as it last tidied the index
        self.tidy_at_s = 0.0
        self._totals: deque[tuple[float, int]] = deque([(time.monotonic(), counters.total())])

    def decided(self) -> int:
        """How many decisions this process has counted in the last minute, or since the last call if that is longer ago."""
        now_s, total = time.monotonic(), counters.total()
        if now_s - self._totals[-1][0] >= 1.0:
            self._totals.append((now_s, total))
        while len(self._totals) > 1 and self._totals[1][0] <= now_s - MINUTE_S:
            self._totals.popleft()
        return max(0, total - self._totals[0][1])

    @property
    def name(self) -> str:
        return f"{socket.gethostname()}|{os.getpid()}|{kind()}|{self.token}"


_self = _Self()


def own() -> dict[str, Any]:
    """The record of this process. Times are text in ISO 8601, in UTC."""
    away = outage.open_breakers()
    with in_english():  # others read it in languages of their own
        held, policy = reading.status(), without_redis.in_words()
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
        "rules": held.rules,
        "rules_read": moment(held.read_at_s),
        "rules_error": held.error,
        "switch": "off" if held.off else "on",
        "fallback": counters.causes(),
        "lately": {"decisions": _self.decided(), "failed": outage.failures.by_cause()},
        "warnings": [*proxy_warning.address_warnings(), *stores.warnings()],
        "secret": state_keys.secret_fingerprint(),
        "database": state_keys.database_fingerprint(),
    }


def last_known() -> int:
    """How many processes there were, including this one, when this process last tidied the index: up to `TIDY_S` ago."""
    return max(1, _self.others)


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
    is_tidying = now_s >= _self.tidy_at_s
    client = process_clients.patient_client()

    def ask() -> list[int]:
        with limited(conf.current().timeout_s), client.pipeline(transaction=False) as pipe:
            pipe.set(state_keys.process(_self.name), text, px=SILENT_MS)
            pipe.zadd(state_keys.processes(), {_self.name: now_s})
            if is_tidying:
                pipe.zremrangebyscore(state_keys.processes(), "-inf", now_s - FORGOTTEN_S)
                pipe.expire(state_keys.processes(), FORGOTTEN_S)
                pipe.zcard(state_keys.processes())
            return pipe.execute()

    found = with_repair(client, {state_keys.processes(): "zset"}, ask)
    _self.has_record = True
    if is_tidying:
        rest_s = TIDY_S if _self.others else BEAT_S  # others may have started at the same moment
        _self.others, _self.tidy_at_s = found[-1], now_s + rest_s


def leave() -> None:
    """Delete the record of this process, which ends, so that it is not reported as silent."""
    forks.notice()
    if not _self.has_record or process_clients.in_memory() or outage.breaker.open:
        return
    try:
        with limited(process_clients.PATIENT_S), process_clients.patient_client().pipeline(transaction=False) as pipe:
            pipe.zrem(state_keys.processes(), _self.name)
            pipe.delete(state_keys.process(_self.name))
            pipe.execute()
    except Exception:  # the record expires anyway
        return


def everywhere(client: Any) -> list[dict[str, Any]]:
    """The records of all processes, in two round trips, each within ``TIMEOUT``.

    A silent process has only its name and since when. A malformed record is left out.
    """
    index = with_repair(client, {state_keys.processes(): "zset"}, lambda: _index(client))
    names = [(name.decode(errors="replace"), seen_s) for name, seen_s in index]
    if not names:
        return []
    with limited(conf.current().timeout_s):
        texts = cast("list[bytes | None]", client.mget([state_keys.process(name) for name, _ in names]))
    found = [_read(name, text, float(seen_s)) for (name, seen_s), text in zip(names, texts, strict=True)]
    return sorted((each for each in found if each), key=lambda each: (str(each["host"]), int(each["pid"])))


def _index(client: Any) -> list[tuple[bytes, float]]:
    with limited(conf.current().timeout_s):
        found = client.zrange(state_keys.processes(), 0, MOST_SHOWN - 1, desc=True, withscores=True)
    return cast("list[tuple[bytes, float]]", found)


def _read(name: str, text: bytes | None, seen_s: float) -> dict[str, Any] | None:
    """None for a malformed record, and for a process of this host that no longer runs."""
    try:
        process = process_record.read(name, text, seen_s)
    except Exception as error:
        malformed.skip("process record", name, error)
        return None
    gone = process["breaker"] == "silent" and process["host"] == socket.gethostname() and not _runs(process["pid"])
    return None if gone else process


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it belongs to another user, or is not a process id
        return True
    return True


def reset() -> None:
    """In a fork, which is another process."""
    global _self
    _self = _Self()
