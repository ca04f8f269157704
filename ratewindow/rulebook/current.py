"""The rules in force in this process: the last good reading of the rows, replaced as a whole.

`edits` decides when they are read again, and `reading` does it.
"""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from os import getpid
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpRequest

from ratewindow import background
from ratewindow.rulebook import kill_switch
from ratewindow.rules import code_rates
from ratewindow.rules.matching import Index
from ratewindow.rules.rule import PLACES, Rule

if TYPE_CHECKING:
    from ratewindow.overrides.lookup import Overrides

logger = logging.getLogger("ratewindow")

MOST_LOGGED = 100  # names that nobody has defined: code may make them of what clients send
FIRST_READING_S = 1.0  # how long the first request of a process waits for the rules


class Rulebook:
    """One reading of the rules, with the blocks and exemptions where there are any; never changed after it was made.

    `alone`: rates in code do not hold beside it.
    """

    def __init__(self, rules: Iterable[Rule], alone: bool = False, overrides: "Overrides | None" = None) -> None:
        self.alone = alone
        self.overrides = overrides
        self.by_name = {rule.name: rule for rule in rules}
        self._has_shadow = any(rule.mode == "shadow" for rule in self.by_name.values())
        self.counts_by_answer = any(rule.count_when is not None for rule in self.by_name.values())
        self._index = Index(self.by_name.values())
        self.of_rooms: dict[str, list[Rule]] = {}  # by what they apply to
        for rule in self.by_name.values():
            if rule.applies_to not in PLACES and rule.mode != "off" and rule.windows:
                self.of_rooms.setdefault(rule.applies_to, []).append(rule)

    def match(self, request: HttpRequest) -> list[Rule]:
        """The rules that apply by path. Whether code enforces a rate is checked here, since views are imported late."""
        rules = self._index.match(request)
        if not self._has_shadow:
            return rules
        return [rule.beside if rule.mode == "shadow" and code_rates.enforces(rule.name) else rule for rule in rules]

    def named(self, name: str, code: Rule | None, method: str | None, warn: bool) -> list[Rule]:
        """The rules that a view names, of those that apply to this method."""
        return [rule for rule in self.of_name(name, code, warn) if rule.meets_method(method)]

    def of_name(self, name: str, code: Rule | None, warn: bool) -> list[Rule]:
        """The rules where code names one: the row once it is enforced or off, else the rate in code, beside a row in
        shadow. A row replaces a rate that is in shadow in any mode. `warn` if code gives no rate, so that without a row and a
        declared limit nothing holds."""
        row = self.by_name.get(name)
        if row is None:
            if warn and code is None and code_rates.declared(name) is None:
                self.log_missing(name)
            return [code] if code is not None else []
        if row.mode == "shadow" and code is not None and code.mode == "enforce":
            found = [code, row.beside]
        else:
            found = [row] if row.mode != "off" else []
        return [rule for rule in found if rule.windows]

    def log_missing(self, name: str, instead: str = "requests pass") -> None:
        """Log, once, that code names a rule that nobody has defined, and what happens `instead`."""
        if not self.alone and name not in _held.missing and len(_held.missing) < MOST_LOGGED:
            _held.missing.add(name)
            logger.warning("ratewindow: code names rule %r, which nobody has defined: %s", name, instead)

    def with_overrides(self, overrides: "Overrides | None") -> "Rulebook":
        """These rules, with these blocks and exemptions."""
        book = copy(self)
        book.overrides = overrides
        return book

    def prepare(self) -> None:
        """Index the URLconf's routes, if it has been imported by now; otherwise the first request does."""
        urlconf = sys.modules.get(getattr(settings, "ROOT_URLCONF", ""))
        if urlconf is not None and hasattr(urlconf, "urlpatterns"):
            with suppress(Exception):  # the first request reports a URLconf that is wrong
                self._index.prepare()


class _Held:
    """The rules that this process holds, and where they are from."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ready = threading.Event()  # requests need not wait any longer for a first `book`
        self.book: Rulebook | None = None
        self.number = 0  # of the reading that `book` is from
        self.read_at_s = time.monotonic()  # when `book` was read
        self.missing: set[str] = set()  # logged names in code that no row defines


_held = _Held()
_of_test: Rulebook | None = None
_EMPTY = Rulebook(())
_OFF = Rulebook((), alone=True)  # while the limits are switched off nothing holds, not even rates in code


def rulebook() -> Rulebook:
    """The rules in force. Only the first request of a process waits, for a moment, until they have been read."""
    if _of_test is not None:
        return _of_test
    if background.running_in != getpid():
        background.ensure_running()
    if _held.book is None and not _held.ready.wait(FIRST_READING_S):
        logger.error("ratewindow: no rules after %.0f s, requests pass: does this server run threads?", FIRST_READING_S)
        _held.ready.set()  # later requests must not wait for a thread that does not run
    return _OFF if kill_switch.off else _held.book or _EMPTY


async def arulebook() -> Rulebook:
    """`rulebook` without blocking the event loop."""
    if _of_test is not None:
        return _of_test
    if _held.book is None:
        return await asyncio.to_thread(rulebook)
    if background.running_in != getpid():
        background.ensure_running()
    return _OFF if kill_switch.off else _held.book


def held() -> Rulebook:
    """The rules in force without waiting for a reading: for messages about them."""
    return _of_test or _held.book or _EMPTY


def of_site() -> Rulebook:
    """The rules that have been read, whatever a test has put in their place."""
    return _held.book or _EMPTY


def replace(book: Rulebook | None) -> Rulebook | None:
    """Let `book` hold instead of the site's rules, for tests; None ends that. Returns what held instead before."""
    global _of_test
    before, _of_test = _of_test, book
    return before


def read_at_s() -> float | None:
    """When the rules held were read, in seconds since the epoch."""
    return None if _held.book is None else time.time() - (time.monotonic() - _held.read_at_s)


def hold(book: Rulebook, number: int) -> tuple[Rulebook | None, Rulebook | None]:
    """Hold this book, unless a reading with a higher number, which has seen more, is held. Returns what was held before, and
    what is held now."""
    with _held.lock:
        before = _held.book
        if number >= _held.number:
            _held.number, _held.book = number, book
            _held.read_at_s = time.monotonic()
        return before, _held.book


def stop_waiting() -> None:
    """Let requests pass that wait for the first reading."""
    _held.ready.set()


def renew() -> None:
    """In a fork: the rules held stay good, but a thread that does not exist here may hold the locks."""
    _held.lock, _held.ready = threading.Lock(), threading.Event()
