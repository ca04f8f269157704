"""The codes of refusals: for an hour it is known what was refused, which rule refused it, and for which client.
A refused client reads the code in the answer and tells it to staff, who type it into Explain.

The core's counts pass refusals on in batches (`Room.note_refusals`), and a thread sends them to Redis about once a second. In
a minute a process keeps at most `MOST_OF_NETWORK` of one network and `MOST` in all, so a flood leaves room for others.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.counting.counters import counters
from ratewindow.counting.sheets import Refusal, RequestFacts
from ratewindow.identity import kept
from ratewindow.identity.request_attributes import METHODS, resolved
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.limiter.reply import LETTERS
from ratewindow.rooms import Client, Found
from ratewindow.store import process_clients, state_keys

LENGTH = 5
SEND_S = 1.0
MINUTE_S, HOUR_S = 60, 3600
MOST_OF_NETWORK, MOST = 100, 500
MOST_RULES = 5  # that refuse one request
MOST_ROUTE = 200  # characters
_VARIES = frozenset("<([\\$*?|")  # what patterns have, and few paths


class By(NamedTuple):
    """One rule that refused a request: why, by which window, and for whom, as ``ANONYMIZE`` says."""

    rule: str
    reason: str
    window: str
    identity: str


class Refused(NamedTuple):
    """What is known of a code."""

    code: str
    at_s: float
    route: str  # ``POST /login/``; empty for a refusal of code that had no request
    by: tuple[By, ...]


class Codes:
    """The codes of this process that are not sent yet, or with memory:// those of an hour."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin with none. After a fork they are the parent's, and so is whoever held the lock."""
        self._lock = threading.Lock()
        self.held: dict[str, Refused] = {}
        self._minute, self._taken = 0, Counter[str]()

    def note(self, refusals: Iterable[Refusal]) -> None:
        """Keep the codes of refusals. Several rules that refuse one request follow each other, and have one code."""
        with self._lock:
            for code, of_rules in groupby(refusals, key=lambda refusal: refusal.decision.id):
                together = [*islice(of_rules, MOST_RULES)]
                first = together[0]
                if self._has_room(first.network or first.client):
                    by = (
                        By(each.decision.rule, each.decision.reason, each.decision.window, kept(each.client)) for each in together
                    )
                    self.held[code] = Refused(code, first.decision.at_s or time.time(), route_of(first.facts), tuple(by))

    def _has_room(self, network: str) -> bool:
        minute = int(time.time()) // MINUTE_S
        if minute != self._minute:
            self._minute, self._taken = minute, Counter()
            self.held = {code: refused for code, refused in self.held.items() if _is_recent(refused)}
        if (network and self._taken[network] >= MOST_OF_NETWORK) or self._taken.total() >= MOST:
            return False
        self._taken[network] += 1
        return True

    def has_unsent(self) -> bool:
        return bool(self.held) and not process_clients.in_memory()

    def send(self) -> None:
        """Send what is held. If that fails, the next call repeats it."""
        if self.has_unsent():
            with self._lock:
                held = dict(self.held)
            _write(held.values())
            with self._lock:
                for code in held:
                    self.held.pop(code, None)


def _is_recent(refused: Refused) -> bool:
    return refused.at_s > time.time() - HOUR_S


def route_of(facts: RequestFacts | None) -> str:
    """``POST /login/``, or ``GET /shop/<int:pk>/``; empty for a refusal of code that had no request."""
    if facts is None:
        return ""
    method = "GET" if facts.method == "HEAD" else facts.method
    match = facts.match or resolved(facts.path, facts.urlconf or settings.ROOT_URLCONF)
    pattern = f"/{match.route.removeprefix('^')}"[:MOST_ROUTE] if match is not None else "no route"
    return f"{method if method in METHODS else 'OTHER'} {pattern}"


def method_and_path(route: str) -> tuple[str, str]:
    """``("POST", "/login/")``; a path that varies, or is not known, is empty, and so is a method that is not known."""
    method, _, path = route.partition(" ")
    is_one = path.startswith("/") and len(path) < MOST_ROUTE and _VARIES.isdisjoint(path)
    return (method if method in METHODS else ""), (path if is_one else "")


def _write(codes: Iterable[Refused]) -> None:
    """In one transaction, so that no key is without its expiry."""
    with limited(process_clients.PATIENT_S), process_clients.patient_client().pipeline(transaction=True) as pipe:
        for refused in codes:
            key = _key(int(refused.at_s) // MINUTE_S)
            pipe.hset(key, refused.code, json.dumps(refused[1:]))
            pipe.expire(key, HOUR_S + MINUTE_S)
        pipe.execute()


def _key(minute: int) -> str:
    return f"{state_keys.minute(minute)}:codes"


def find(text: str, with_overrides: bool = True) -> Refused | None:
    """The refusal of a code within the last hour; without overrides, what the limits of rules have refused.

    Raises ValueError for what is no code, RedisError or OSError while Redis is unavailable.
    """
    code = as_typed(text)
    if not code:
        raise Problem("{text!r} is not a code: it has five letters and digits, and never 0, 1, i, l or o", text=text[:40])
    counters.count_pending()
    refused = of_process.held.get(code) or (None if process_clients.in_memory() else read(code))
    if refused is None or not _is_recent(refused):
        return None
    if with_overrides:
        return refused
    by = [each._replace(window="") for each in refused.by if each.reason != "block"]  # the window may be that of another rate
    return refused._replace(by=tuple(by)) if by else None


def as_typed(text: str) -> str:
    """The code in what a person types or pastes; empty if it cannot be one."""
    code = text.strip().strip("[]()\"'.").lower()
    return code if len(code) == LENGTH and set(code) <= set(LETTERS) else ""


def why_unknown() -> str:
    """Why a code may not be found."""
    if not conf.current().stats:
        return gettext("No codes are kept, since the setting STATS is off.")
    return gettext("It may be mistyped, older than an hour, or one of too many; with memory:// each process knows its own alone.")


def read(code: str) -> Refused | None:
    """What processes have sent of a code within the hour; the newest if there are several."""
    sent = (_refused(code, text) for _, text in _answers("HGET", code) if text)
    return next(filter(_is_recent, sent), None)


def _answers(command: str, *more: str) -> Iterator[tuple[str, Any]]:
    """What Redis answers about each minute of the hour, with its key, the newest first. A clock may be a little ahead."""
    now = int(time.time()) // MINUTE_S
    keys = [_key(minute) for minute in range(now + 1, now - HOUR_S // MINUTE_S - 1, -1)]
    with process_clients.patient_client().pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.execute_command(command, key, *more)
        yield from zip(keys, pipe.execute(), strict=True)


def _refused(code: str, text: bytes) -> Refused:
    """Of ``[1800000000.5,"POST /login/",[["login","limit","5/m","ip:203.0.113.9"]]]``."""
    at_s, route, by = json.loads(text)
    return Refused(code, at_s, route, tuple(By(*each) for each in by))


def _of_client(client: Client) -> Iterator[tuple[str, Refused]]:
    """The refusals of a client that Redis has, each with its key."""
    for key, fields in () if process_clients.in_memory() else _answers("HGETALL"):
        for code, text in fields.items():
            refused = _refused(code.decode(), text)
            if any(client.is_in(by.identity) for by in refused.by):
                yield key, refused


def found(client: Client) -> Iterator[Found]:
    """For the room `privacy`, as `erase`: when this client was refused."""
    moments = [datetime.fromtimestamp(refused.at_s, UTC) for _, refused in _of_client(client)]
    yield Found.at("codes of refusals in Redis", moments)


def erase(client: Client) -> None:
    for key, refused in _of_client(client):
        process_clients.patient_client().hdel(key, refused.code)


of_process = Codes()
