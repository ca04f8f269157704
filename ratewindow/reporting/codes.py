"""The codes of refusals: for an hour it is known what was refused, which rule refused it, and for which client.

A process keeps of each minute the newest `MOST_OF_CLIENT` codes of each client, of at most `MOST_OF_NETWORK` clients of one
network and `MOST_CLIENTS` in all: 500 codes a minute, whatever comes, and 30,000 in an hour. A flood from one network leaves room
for the codes of others. They are sent with the counts, once a second, and cost a request nothing but its place in their list.
"""

import json
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any, NamedTuple

from ratewindow.identity import kept
from ratewindow.limiter.redis.faults import BadReply
from ratewindow.limiter.reply import LETTERS
from ratewindow.limiter.types import Decision
from ratewindow.reporting.about_request import About
from ratewindow.store import malformed, process_clients, state_keys

MINUTES = 60  # for which a code is found
EXPIRES_S = (MINUTES + 1) * 60
MOST_OF_CLIENT = 5
MOST_OF_NETWORK = 20
MOST_CLIENTS = 100
MOST_RULES = 5  # that refuse one request
LENGTH = 5


class By(NamedTuple):
    """One rule that refused a request: why, by which window, and for whom, as ``ANONYMIZE`` says."""

    rule: str
    reason: str
    window: str
    identity: str


@dataclass(frozen=True)
class Refusal:
    """What is known of a code."""

    code: str
    at_s: float
    route: str  # ``POST /login/``; empty for a refusal of code that had no request
    by: tuple[By, ...]


class Codes:
    """The codes of one process in one minute."""

    __slots__ = ("_by_client", "_gone", "_networks", "_refusals", "_unsent")

    def __init__(self) -> None:
        self._refusals: dict[str, Refusal] = {}
        self._by_client: dict[str, deque[str]] = {}  # the newest last
        self._networks: Counter[str] = Counter()
        self._unsent: set[str] = set()
        self._gone: set[str] = set()  # sent, and replaced since by newer ones

    def add(self, decision: Decision, client: str, about: About) -> None:
        """Keep the code of a refusal, unless there are too many."""
        code = decision.id
        by = By(decision.rule, decision.reason, decision.window, client)
        known = self._refusals.get(code)
        if known is not None:  # several rules refuse the request
            by_all = (*known.by, by)[:MOST_RULES]
        elif self._takes(code, client, about.network):
            by_all = (by,)
        else:
            return
        self._refusals[code] = Refusal(code, decision.at_s or time.time(), about.route, by_all)
        self._unsent.add(code)

    def _takes(self, code: str, client: str, network: str) -> bool:
        """Whether there is room for one more code of this client, in the place of its oldest if it has many."""
        newest = self._by_client.get(client)
        if newest is None:
            if len(self._by_client) >= MOST_CLIENTS or self._networks[network] >= MOST_OF_NETWORK:
                return False
            newest = self._by_client[client] = deque()
            self._networks[network] += bool(network)
        if len(newest) >= MOST_OF_CLIENT:
            oldest = newest.popleft()
            self._refusals.pop(oldest, None)
            if oldest in self._unsent:
                self._unsent.remove(oldest)
            else:
                self._gone.add(oldest)
        newest.append(code)
        return True

    def find(self, code: str) -> Refusal | None:
        return self._refusals.get(code)

    def unsent(self) -> "Unsent":
        return Unsent({code: self._refusals[code] for code in self._unsent}, set(self._gone))

    def note_sent(self, sent: "Unsent") -> None:
        self._unsent -= {code for code, refusal in sent.new.items() if self._refusals.get(code) is refusal}
        self._gone -= sent.gone


class Unsent(NamedTuple):
    """What a process has to send of one minute."""

    new: dict[str, Refusal]
    gone: set[str]

    def send(self, pipe: Any, minute: int) -> None:
        """Add commands to a pipeline, of which none leaves a key without its expiry."""
        key = state_keys.minute_codes(minute)
        if self.gone:
            pipe.hdel(key, *self.gone)
        if self.new:
            pipe.hset(key, mapping={code: _to_text(refusal) for code, refusal in self.new.items()})
            pipe.expire(key, EXPIRES_S)


def read(code: str, now_s: float) -> Refusal | None:
    """What processes have sent of a code within the hour; the newest if there are several."""
    now = int(now_s) // 60
    client = process_clients.patient_client()
    with client.pipeline(transaction=False) as pipe:
        for minute in range(now + 1, now - MINUTES - 1, -1):  # a clock may be a little ahead
            pipe.hget(state_keys.minute_codes(minute), code)
        answers = pipe.execute(raise_on_error=False)
    errors = [each for each in answers if isinstance(each, Exception)]
    if len(errors) == len(answers):
        raise errors[0] if answers else BadReply("no answer")
    texts = [each.decode(errors="replace") for each in answers if isinstance(each, bytes)]
    return next((found for text in texts if (found := from_text(code, text)) is not None), None)


def as_typed(text: str) -> str:
    """The code in what a person types or pastes; empty if it cannot be one."""
    code = text.strip().strip("[]()\"'.").lower()
    return code if len(code) == LENGTH and set(code) <= set(LETTERS) else ""


def _to_text(refusal: Refusal) -> str:
    """``[1800000000.5,"POST /login/",[["login","limit","5/m","ip:203.0.113.9"]]]``"""
    by = [(each.rule, each.reason, each.window, kept(each.identity)) for each in refusal.by]
    return json.dumps([round(refusal.at_s, 3), refusal.route, by], separators=(",", ":"))


def from_text(code: str, text: str) -> Refusal | None:
    """Read what `_to_text` wrote; None for anything else, which another program must have written."""
    try:
        at_s, route, by = json.loads(text)
        refusal = Refusal(code, float(at_s), _text(route), tuple(By(*map(_text, each)) for each in by))
    except (ValueError, TypeError, RecursionError):
        malformed.skip("code", code, text)
        return None
    return refusal if refusal.by else None


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 255 or not value.isprintable():
        raise ValueError(f"{value!r:.100} is no text of a refusal")
    return value
