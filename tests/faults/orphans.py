"""A Cluster full of keys, a site under traffic on it, and the cleaner meanwhile."""

import math
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import redis
from redis.crc import key_slot

from ratewindow.limiter import RedisStore
from ratewindow.limiter.types import Check, Window
from ratewindow.store import state_keys
from tests.faults.clusters import CLIENTS, PATH
from tests.faults.traffic import Sample, Traffic
from tests.serving.servers import CHECKOUT, Place, Served
from tests.support.servers import SLOTS

WATCHED_US = 100  # commands that take longer are noted by the server
AT_ONCE = 5_000
HOUR_MS = 3_600_000
WINDOW = Window(100_000, HOUR_MS)
OF_REQUESTS = "evalsha"  # what decisions are, and nothing that the cleaner does
ASKED_MS, LOOKED_S = 20, 0.1


class Kind(NamedTuple):
    """Keys of one sort among those of a full server."""

    name: str
    rule: str  # empty for a key that is not ours
    stays: bool
    expires_ms: int | None = HOUR_MS

    def key(self, number: int) -> str:
        """It ends by a number that tells the sorts apart; the limiter's end by a digest."""
        begin = state_keys.state_prefix() + state_keys.state_name(self.rule, WINDOW.tag, False).removeprefix(":s:")
        return f"{begin if self.rule else 'session:'}{{{self.name} {number}}}"


KINDS = {
    Kind("living", "many", stays=True): 0.49,
    Kind("foreign", "", stays=True, expires_ms=None): 0.01,
    Kind("of no rule", "gone", stays=False): 0.49,
    Kind("without expiry", "many", stays=False, expires_ms=None): 0.01,
}
"""All sorts, and of how many keys in all each is."""


def wanted(keys: int) -> dict[str, int]:
    """How many keys of each sort are left when all have been cleaned."""
    return {kind.name: round(share * keys) for kind, share in KINDS.items() if kind.stays}


def seed(masters: Sequence[redis.Redis], keys: int) -> None:
    """Fill the masters of a Cluster, each with what belongs to its slots."""
    state = _state(masters)
    for kind, share in KINDS.items():
        for first in range(0, round(share * keys), AT_ONCE):
            batch = [kind.key(number) for number in range(first, min(first + AT_ONCE, round(share * keys)))]
            _seed(masters, kind, batch, state)


def _seed(masters: Sequence[redis.Redis], kind: Kind, batch: Sequence[str], state: bytes) -> None:
    """By commands that are put together here: a client would take minutes for a million."""
    words: dict[int, list[bytes]] = {}
    for key in batch:
        words.setdefault(_home(key, len(masters)), []).append(_set(key.encode(), kind, state))
    for home, commands in words.items():
        connection = masters[home].connection_pool.get_connection()
        connection.send_packed_command([b"".join(commands)])
        for _ in range(len(commands)):
            connection.read_response()
        masters[home].connection_pool.release(connection)


def _set(key: bytes, kind: Kind, state: bytes) -> bytes:
    expiry = () if kind.expires_ms is None else (b"PX", b"%d" % kind.expires_ms)
    return _command(b"SET", key, state, *expiry)


def _command(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def _state(masters: Sequence[redis.Redis]) -> bytes:
    """What the limiter writes for a client."""
    key = Kind("as an example", "many", stays=False).key(0)
    master = masters[_home(key, len(masters))]
    RedisStore(master).run([Check("many", (WINDOW,), (key,))], "hit")
    state = master.get(key)
    master.unlink(key)
    assert isinstance(state, bytes)
    return state


def _home(key: str, masters: int) -> int:
    slot = key_slot(key.encode())
    return next(number for number in range(masters) if slot < SLOTS * (number + 1) // masters)


def left(masters: Sequence[redis.Redis]) -> dict[str, int]:
    """How many of each sort are there."""
    sort = re.compile(rb"\{([a-z ]+) \d+\}\Z")
    return dict(
        Counter(found[1].decode() for master in masters for key in master.scan_iter(count=1_000) if (found := sort.search(key)))
    )


class Cleaned(NamedTuple):
    """What the command did."""

    told: str
    took_s: float
    resident_kb: list[int]  # from its first moment to its last
    longest_us: dict[str, int]  # of each command of the cleaner

    @property
    def growth_kb(self) -> int:
        """From the second quarter of its time to the last."""
        quarter = len(self.resident_kb) // 4
        return _median(self.resident_kb[-quarter:]) - _median(self.resident_kb[quarter : 2 * quarter])


def _median(values: Sequence[int]) -> int:
    return sorted(values)[len(values) // 2]


def clean(place: Place, masters: Sequence[redis.Redis], settings: str, *options: str) -> Cleaned:
    """Run the command as cron does, and ask the servers what they were busy with."""
    for master in masters:
        master.config_set("slowlog-log-slower-than", WATCHED_US)
        master.config_set("slowlog-max-len", 100_000)
        master.slowlog_reset()
    began_s = time.monotonic()
    command = [sys.executable, "manage.py", "ratewindow", "clean", *options]
    environment = place.environment(SERVED_RATEWINDOW=settings)
    with subprocess.Popen(
        command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        resident_kb = list(_resident_kb(process))
        out, problems = process.communicate()
    assert process.returncode == 0, problems
    return Cleaned(out.splitlines()[-1], time.monotonic() - began_s, resident_kb, _longest_us(masters))


def _resident_kb(process: "subprocess.Popen[str]") -> Iterator[int]:
    """How much memory the process has, again and again until it ends."""
    status = Path(f"/proc/{process.pid}/status")
    while True:
        if found := re.search(r"VmRSS:\s+(\d+)", status.read_text()):
            yield int(found[1])
        try:
            process.wait(LOOKED_S)
        except subprocess.TimeoutExpired:
            continue
        return


def _longest_us(masters: Sequence[redis.Redis]) -> dict[str, int]:
    """Of commands that took longer than `WATCHED_US`."""
    longest: dict[str, int] = {}
    for master in masters:
        for each in master.slowlog_get(100_000):
            name = each["command"].split()[0].decode().lower()
            if name not in (OF_REQUESTS, "config", "slowlog"):
                longest[name] = max(longest.get(name, 0), int(each["duration"]))
    return longest


class Latency(NamedTuple):
    """What the gate took of requests, in milliseconds, but for waiting for a processor."""

    requests: int
    failed: int
    alone: int  # decided without Redis
    p50_ms: float
    p99_ms: float
    worst_ms: float

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> "Latency":
        times = sorted(each.gate_ms - each.queued_ms for each in samples)
        failed = sum(each.status != 200 for each in samples)
        return cls(
            len(samples),
            failed,
            sum(bool(each.cause) for each in samples),
            times[len(times) // 2],
            times[math.ceil(len(times) * 0.99) - 1],
            times[-1],
        )


def traffic(served: Served) -> Traffic:
    return Traffic(served, (PATH,), pause_s=ASKED_MS / 1000, clients=CLIENTS)


def lost(served: Served, asked: Sequence[Sample]) -> int:
    """How many of the requests that were admitted are no longer counted for their clients."""
    missing = 0
    for client, times in Counter(each.client for each in asked if each.status == 200 and not each.cause).items():
        answer = served.get(PATH, X_Client=client)
        found = re.search(r"r=(\d+)", answer["RateLimit"])
        assert found, answer.headers
        missing += times + 1 - (WINDOW.limit - int(found[1]))
    return missing
