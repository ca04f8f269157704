"""The rules as this process holds them: the last good reading of the rows, swapped whole.

What cannot be read is not lost: the rules held so far stay in force, all of them or the one whose row is wrong.
When they are read anew, `edits` decides.
"""

import asyncio
import contextlib
import itertools
import logging
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from typing import NamedTuple

from django.conf import settings
from django.db import Error as DatabaseError  # InterfaceError, a lost connection, is no django.db.DatabaseError
from django.http import HttpRequest

from ratewindow import background
from ratewindow.identity import custom
from ratewindow.limiter import forks
from ratewindow.overrides import Overrides
from ratewindow.rulebook import announce, override_rows, rule_copy
from ratewindow.rulebook.rule_rows import read_switch, readings
from ratewindow.rules import code_rates
from ratewindow.rules.kill_switch import ON, Switch, clock
from ratewindow.rules.matching import TOO_MANY, Index, without_room
from ratewindow.rules.rule import Rule

logger = logging.getLogger("ratewindow")

MOST_TOLD = 100  # names that nobody has defined: code may make them of what clients send
FIRST_READING_S = 1.0  # how long the first request of a process waits for the rules


class Rulebook:
    """One reading of the rules, and of the blocks and exemptions where there are any; it is swapped whole, never changed.

    Alone, it also stands for the rates in code.
    """

    def __init__(self, rules: Iterable[Rule], alone: bool = False, overrides: Overrides | None = None) -> None:
        self.alone = alone
        self.overrides = overrides
        self.by_name = {rule.name: rule for rule in rules}
        self.counts_later = any(rule.count_when is not None for rule in self.by_name.values())
        self._index = Index(self.by_name.values())

    def match(self, request: HttpRequest) -> list[Rule]:
        """The rules that apply by path. Views are imported late, so only a request knows which have a rate in code."""
        rules = self._index.match(request)
        return [rule.beside if rule.mode == "shadow" and code_rates.has_rate(rule.name) else rule for rule in rules]

    def named(self, name: str, code: Rule | None, method: str | None, warn: bool) -> list[Rule]:
        """The rules where code names one: the row once it is enforced or off, else what code gives, beside a row in
        shadow. `warn` where code gives no rate, so that without a row nothing holds."""
        row = self.by_name.get(name)
        if row is None:
            found = [code] if code is not None else []
            if warn:
                self.tell_absent(name)
        elif row.mode == "shadow" and code is not None:
            found = [code, row.beside]
        else:
            found = [row] if row.mode != "off" else []
        return [rule for rule in found if rule.windows and rule.meets_method(method)]

    def tell_absent(self, name: str, instead: str = "requests pass") -> None:
        """Code names a rule that nobody has defined: the log says so once, and what holds instead."""
        if self.alone or name in _held.told or len(_held.told) > MOST_TOLD:
            return
        _held.told.add(name)
        if len(_held.told) <= MOST_TOLD:
            logger.warning("ratewindow: code names rule %r, which nobody has defined: %s", name, instead)
        else:
            logger.warning("ratewindow: code names more than %d such rules, the others are not logged: %s", MOST_TOLD, instead)

    def beside(self, overrides: Overrides | None) -> "Rulebook":
        """These rules, with these blocks and exemptions."""
        book = copy(self)
        book.overrides = overrides
        return book

    def prepare(self) -> None:
        """Look through the URLconf, if it has been imported by now: else the first request does."""
        urlconf = sys.modules.get(getattr(settings, "ROOT_URLCONF", ""))
        if urlconf is not None and hasattr(urlconf, "urlpatterns"):
            with suppress(Exception):  # a URLconf that is wrong is the first request's to tell
                self._index.prepare()


class _Held:
    """What this process knows of the rules, and of the last time it read them."""

    def __init__(self) -> None:
        self.book: Rulebook | None = None
        self.read = threading.Event()
        self.read_at_s = float("-inf")  # all rows
        self.good_at_s = time.monotonic()  # when `book` was read
        self.begun = itertools.count(1)  # readings
        self.newest = 0  # the reading that `book` is from
        self.swapping = threading.Lock()
        self.switch = ON  # as it was last turned, as far as this process has heard
        self.off = False  # what it means now
        self.unreadable = self.blocks_unreadable = ""
        self.complaint = ""  # as it was logged last
        self.copy: rule_copy.Copy | None = None  # what another process has read, until this one has
        self.of_copy = False  # whether `book` is
        self.took_s = 0.0  # the last reading that went well
        self.overrides = override_rows.Reader()
        self.wrong: dict[str, str] = {}  # what has been logged of rows that are wrong, by the names of their rules
        self.own_keys = -1  # which of the site's own keys were known at the last reading
        self.told: set[str] = set()  # names in code that no row defines, which have been logged


_held = _Held()
_instead: Rulebook | None = None
_EMPTY = Rulebook(())
_OFF = Rulebook((), alone=True)  # what holds while the limits are switched off: nothing, not even rates in code


def replace(book: Rulebook | None) -> Rulebook | None:
    """Put `book` in the place of what is read, for tests; None ends that. Returns what stood there before."""
    global _instead
    before, _instead = _instead, book
    return before


def current() -> Rulebook:
    """The rules in force. Only the first request of a process waits, a moment, until they have been read."""
    if _instead is not None:
        return _instead
    background.ensure_running()
    if _held.book is None and not _held.read.wait(FIRST_READING_S):
        if not _take_copy():
            logger.error("ratewindow: no rules after %.0f s, requests pass: does this server run threads?", FIRST_READING_S)
        _held.read.set()  # once is enough: requests must not go on waiting for a thread that does not run
    return _OFF if _held.off else _held.book or _EMPTY


def held() -> Rulebook:
    """The rules in force, or none while they have not been read: for what is said about them, which must not wait."""
    return _instead or _held.book or _EMPTY


def of_site() -> Rulebook:
    """The rules that have been read, whatever a test has put in their place."""
    return _held.book or _EMPTY


async def acurrent() -> Rulebook:
    """`current` without blocking the event loop."""
    if _instead is not None:
        return _instead
    if _held.book is None:
        return await asyncio.to_thread(current)
    background.ensure_running()
    return _OFF if _held.off else _held.book


class Knowledge(NamedTuple):
    """What this process knows of the rules: how many hold, when they were read, and what was wrong with the last reading."""

    rules: int
    read_at_s: float | None
    error: str
    off: bool


def knowledge() -> Knowledge:
    book = _held.book
    ago_s = time.monotonic() - _held.good_at_s
    return Knowledge(len(book.by_name) if book else 0, time.time() - ago_s if book else None, _complaint(), _held.off)


def _complaint() -> str:
    """What is wrong with the last reading, and what holds instead, in a sentence; empty where nothing is."""
    if not _held.unreadable:
        held = "Blocks and exemptions cannot be read, those held stay in force: "
        return f"{held}{_held.blocks_unreadable}" if _held.blocks_unreadable else ""
    if _held.book is None:
        holds = "and this process holds none but rates in code"
    else:
        holds = "those that another process read last hold" if _held.of_copy else "those held stay in force"
    return f"The rules cannot be read, {holds}: {_held.unreadable}"


def problem_of(name: str) -> str:
    """What is wrong with the row of this rule as this process has read it: ``is left out, ...``; empty where nothing is."""
    return _held.wrong.get(name, "")


class Reading(NamedTuple):
    """The last reading of the rows: how long ago it ended and how long it took, whether it failed, and whether another
    one would find a key that a row asks for, since the module that has it has been imported meanwhile."""

    age_s: float
    took_s: float
    failed: bool
    finds_more: bool


def last_reading() -> Reading:
    finds_more = bool(_held.wrong) and _held.own_keys != custom.version()
    failed = bool(_held.unreadable or _held.blocks_unreadable)
    return Reading(time.monotonic() - _held.read_at_s, _held.took_s, failed, finds_more)


def wait_no_longer() -> None:
    """The rows are not going to be read: the first request need not wait for them."""
    _held.read.set()


def names_groups() -> bool:
    """Whether some block or exemption speaks of a group."""
    overrides = _held.book.overrides if _held.book is not None else None
    return overrides is not None and bool(overrides.groups)


def reload(after_edit: bool = False, listeners_wait: bool = False) -> None:
    """Read the rows now, in this thread. What cannot be read is logged once and leaves the rules as they are.

    `after_edit`, of which a signal has told, of many blocks and exemptions only those are read that have changed. Who
    listens to `rules_changed` hears of it before this returns, or if `listeners_wait` soon, from another thread.
    """
    number, began_s = next(_held.begun), time.monotonic()
    error: Exception | None = None
    try:
        book = Rulebook(read_rules(), overrides=_held.book.overrides if _held.book is not None else None)
        book.prepare()
    except Exception as problem:  # whatever it is, neither a save nor the next reading may stumble over it
        error, _held.unreadable = problem, str(problem) or type(problem).__name__
        _take_copy()
    else:
        if book.overrides is not None:
            _swap(number, book)  # an edited rule need not wait until a hundred thousand blocks are read
        try:
            book = book.beside(_held.overrides.read(after_edit))
            _held.blocks_unreadable = ""
        except Exception as problem:  # the rules hold all the same
            error, _held.blocks_unreadable = problem, str(problem) or type(problem).__name__
        _swap(number, book)
        _held.unreadable, _held.of_copy, _held.copy, _held.good_at_s = "", False, None, time.monotonic()
        _held.took_s = _held.good_at_s - began_s if not after_edit else _held.took_s
        with contextlib.suppress(Exception):  # Redis may tell, and what is wrong with the database has been told
            learn_switch(read_switch())
    finally:
        complaint = _complaint()
        if complaint and complaint != _held.complaint:
            told = f"{complaint[0].lower()}{complaint[1:]}"
            logger.error("ratewindow: %s", told, exc_info=None if isinstance(error, DatabaseError) else error)
        _held.complaint = complaint
        if not after_edit:
            _held.read_at_s = time.monotonic()
        _held.read.set()
        if not listeners_wait:
            announce.send()


def is_to_begin() -> bool:
    """Whether this process holds no rules yet."""
    return _held.book is None


def offer(copy: rule_copy.Copy | None) -> None:
    """What another process has read, for this one to hold if it cannot read itself."""
    _held.copy = copy


def _take_copy() -> bool:
    """Hold the copy, where nothing better is held."""
    with _held.swapping:
        copy = _held.copy
        if copy is None or _held.book is not None:
            return False
        _held.book, _held.of_copy = Rulebook(copy.rules), True
        _held.good_at_s = time.monotonic() - (time.time() - copy.read_at_s)
        _held.copy = None
    moment = clock(copy.read_at_s)
    logger.warning("ratewindow: %d rules hold as another process read them at %s", len(copy.rules), moment)
    return True


def _swap(number: int, book: Rulebook) -> None:
    """Hold this book, unless a reading that began later, and so has seen more, is held already."""
    with _held.swapping:
        before = _held.book
        if number >= _held.newest:
            _held.newest, _held.book = number, book
    if before is not None:
        announce.add(_differing(before.by_name, _held.book.by_name if _held.book else {}))


def _differing(before: dict[str, Rule], now: dict[str, Rule]) -> list[str]:
    return [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]


def switch() -> Switch:
    """The kill switch, as it was last turned, as far as this process has heard."""
    return _held.switch


def learn_switch(told: Switch | None = None) -> None:
    """Follow the switch as it was turned last, and let go when its time is over."""
    with _held.swapping:
        if told is not None and told.at_s > _held.switch.at_s:
            _held.switch = told
        off = _held.switch.is_off(time.time())
        was_off, _held.off = _held.off, off
    if off != was_off:
        logger.warning("ratewindow: this process follows, limits are %s", _held.switch.words() if off else "on")


def read_rules() -> list[Rule]:
    """Every row as a frozen rule, whatever its mode. Of a row that cannot be right the last good reading stays."""
    before = _held.book.by_name if _held.book else {}
    rules: list[Rule] = []
    wrong: dict[str, str] = {}
    _held.own_keys = custom.version()
    for row, told in readings():
        if isinstance(told, Rule):
            rules.append(told)
        elif row.name in before and row.mode != "off":
            rules.append(before[row.name])
            wrong[row.name] = f"stays as it was, it cannot be enforced as it is now: {told}"
        else:
            wrong[row.name] = f"is left out, it cannot be enforced: {told}"
    for rule in without_room(rules):
        wrong[rule.name] = f"is left out, it cannot be enforced: {TOO_MANY}"
    for name, words in wrong.items() - _held.wrong.items():  # once, not at each reading
        logger.error("ratewindow: rule %r %s", name, words)
    _held.wrong = wrong
    return rules


def code_names() -> set[str]:
    """The names under which code gives a rate; imports the URLconf, so that limited views are among them."""
    from django.urls import get_resolver

    _ = get_resolver().url_patterns
    code_rates.seek()
    return code_rates.names()


def _after_fork() -> None:
    """What this process holds stays good; its locks may be held by a thread that does not exist here."""
    _held.swapping, _held.read = threading.Lock(), threading.Event()
    if _held.book is not None:
        _held.read.set()


forks.after_fork(_after_fork)
