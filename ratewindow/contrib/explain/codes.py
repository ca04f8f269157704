"""The codes of refusals: for an hour it is known what was refused, which rule refused it, and for which client.
A refused client reads the code in the answer and tells it to staff, who type it into Explain.

A code is one rule's for one client in one hour of the clock (`limiter/reply.py` `refusal_code`), so who tries again takes no more
room. The core's counts pass refusals on in batches (`Room.note_refusals`), and a thread sends them to Redis about once a
second. In an hour a process keeps at most `MOST_OF_NETWORK` of one network and `MOST` in all.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext
from redis.exceptions import RedisError

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
AGAIN_S = 10.0  # after which a client that hammers is noted again: its route takes long to find
MINUTE_S, HOUR_S = 60, 3600
MOST_OF_NETWORK, MOST = 1000, 30_000
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
    """What is known of a code: the newest refusal that has it."""

    code: str
    at_s: float
    route: str  # ``POST /login/``; empty for a refusal of code that had no request
    by: tuple[By, ...]

    def shown(self, with_overrides: bool = True) -> "Refused | None":
        """It within the hour, as a reader may see it: without overrides, what the limits of rules have refused."""
        of_rules = (each._replace(window="") for each in self.by if each.reason != "block")  # it may be that of another rate
        by = self.by if with_overrides else tuple(of_rules)
        return self._replace(by=by) if by and self.at_s > time.time() - HOUR_S else None


class Codes:
    """The codes of this process that are not sent yet, or with memory:// those of an hour."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin with none. After a fork they are the parent's, and so is whoever held the lock."""
        self._lock = threading.Lock()
        self.held: dict[str, Refused] = {}
        self._hour, self._noted_s, self._taken = 0, dict[str, float](), Counter[str]()

    def note(self, refusals: Iterable[Refusal]) -> None:
        """Keep the codes of refusals. Several rules that refuse one request follow each other, and have one code."""
        with self._lock:
            for code, of_rules in groupby(refusals, key=lambda refusal: refusal.decision.id):
                together = [*{refusal.decision.rule: refusal for refusal in of_rules}.values()][:MOST_RULES]
                newest = together[-1]
                at_s = newest.decision.at_s or time.time()
                if self._has_room(code, at_s, newest.network or newest.client):
                    self.held[code] = Refused(code, at_s, route_of(newest.facts), tuple(map(_by, together)))

    def _has_room(self, code: str, at_s: float, network: str) -> bool:
        """Whether it is a code of this hour, which was not noted a moment ago, or there is room for one more."""
        hour = int(time.time()) // HOUR_S
        if hour != self._hour:
            self._hour, self._noted_s, self._taken = hour, {}, Counter()
            self.held = {code: refused for code, refused in self.held.items() if refused.shown()}
        if code not in self._noted_s:
            if (network and self._taken[network] >= MOST_OF_NETWORK) or len(self._noted_s) >= MOST:
                return False
            self._taken[network] += 1
        elif at_s - self._noted_s[code] < AGAIN_S:
            return False
        self._noted_s[code] = at_s
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
                self.held = {code: refused for code, refused in self.held.items() if held.get(code) is not refused}


def _by(refusal: Refusal) -> By:
    """For the client as the rule counts it: of a rule that counts all together one code is everybody's."""
    decision = refusal.decision
    counted = decision.check.identity if decision.check is not None else ""
    return By(decision.rule, decision.reason, decision.window, kept(counted or refusal.client))


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
            key = _key(int(refused.at_s) // HOUR_S)
            pipe.hset(key, refused.code, json.dumps(refused[1:]))
            pipe.expire(key, HOUR_S + MINUTE_S)
        pipe.execute()


def _key(hour: int) -> str:
    """In the slot of all minutes, on a cluster, so that one transaction writes several."""
    return f"{state_keys.minutes()}:codes:{hour}"


def _keys() -> list[str]:
    """Those of the last hour, and of the next: a clock may be a little ahead."""
    now = int(time.time()) // HOUR_S
    return [] if process_clients.in_memory() else [_key(hour) for hour in (now, now - 1, now + 1)]


def find(text: str, with_overrides: bool = True) -> Refused:
    """The refusal of a code within the last hour; without overrides, what the limits of rules have refused. Raises ValueError."""
    code = as_typed(text)
    if not code:
        raise Problem("{text!r} is not a code: it has five letters and digits, and never 0, 1, i, l or o", text=text[:40])
    counters.count_pending()
    try:
        refused = of_process.held.get(code) or read(code)
    except (RedisError, OSError):
        raise Problem("Codes are looked up in Redis, which does not answer now.") from None
    shown = refused.shown(with_overrides) if refused is not None else None
    if shown is None:
        why = gettext(
            "It may be mistyped, older than an hour, or one of too many; with memory:// each process knows its own alone."
        )
        if not conf.current().stats:
            why = gettext("No codes are kept, since the setting STATS is off.")
        raise Problem("No refusal with this code is known. {why}", why=why)
    return shown


def newest_of(identity: str, with_overrides: bool) -> Refused | None:
    """The newest refusal of a client within the last hour that processes have sent."""
    shown = (refused.shown(with_overrides) for _, refused in _sent(identity.__eq__))
    return max(filter(None, shown), key=lambda each: each.at_s, default=None)


def as_typed(text: str) -> str:
    """The code in what a person types or pastes; empty if it cannot be one."""
    code = text.strip().strip("[]()\"'.").lower()
    return code if len(code) == LENGTH and set(code) <= set(LETTERS) else ""


def read(code: str) -> Refused | None:
    """What processes have sent of a code."""
    sent = (process_clients.patient_client().hget(key, code) for key in _keys())
    return next((_refused(code, text) for text in sent if text), None)


def _refused(code: str, text: bytes | str) -> Refused:
    """Of ``[1800000000.5,"POST /login/",[["login","limit","5/m","ip:203.0.113.9"]]]``."""
    at_s, route, by = json.loads(text)
    return Refused(code, at_s, route, tuple(By(*each) for each in by))


def _sent(is_client: Callable[[str], bool]) -> Iterator[tuple[str, Refused]]:
    """What Redis has of a client, each refusal with its key."""
    for key in _keys():
        for code, text in process_clients.patient_client().hscan_iter(key, count=1000):
            refused = _refused(code.decode(), text)
            if any(is_client(by.identity) for by in refused.by):
                yield key, refused


def found(client: Client) -> Iterator[Found]:
    """For the room `privacy`, as `erase`: when this client was refused."""
    yield Found.at("codes of refusals in Redis", [datetime.fromtimestamp(each.at_s, UTC) for _, each in _sent(client.is_in)])


def erase(client: Client) -> None:
    for key, refused in _sent(client.is_in):
        process_clients.patient_client().hdel(key, refused.code)


of_process = Codes()
