"""The signals `degraded` and `recovered`, sent by a background thread once for each outage of this process."""

import time
from collections import deque
from datetime import UTC, datetime

from ratewindow import background
from ratewindow.conf.translation import in_english
from ratewindow.request import without_redis
from ratewindow.signals import degraded, recovered
from ratewindow.store import outage
from ratewindow.store.breaker import Breaker, State

LOOK_S = 1.5  # a change makes it due immediately


class Changes:
    """Queue of breaker changes, sent as signals by a background thread."""

    def __init__(self) -> None:
        self._waiting: deque[State] = deque(maxlen=100)
        self._since: datetime | None = None  # while this process is degraded

    def add(self, state: State) -> None:
        self._waiting.append(state)
        background.hurry(send)

    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def send(self) -> None:
        while self._waiting:
            state = self._waiting.popleft()
            at = datetime.fromtimestamp(state.since_s or time.time(), UTC)
            if state.open and self._since is None:
                self._since = at
                with in_english():
                    arguments = {"server": state.server, "cause": state.cause, "holds": without_redis.in_words()}
                degraded.send_robust(Breaker, since=at, **arguments)
            elif not state.open and self._since is not None and not outage.open_breakers():
                since, self._since = self._since, None
                recovered.send_robust(Breaker, since=since)


_changes = Changes()
add = _changes.add
send = _changes.send
is_waiting = _changes.is_waiting
