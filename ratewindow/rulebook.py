"""The rules as this process holds them, and how it hears that somebody has edited them.

An edit renews a token in Redis. Housekeeping compares the token three times within `REFRESH`; when it has
changed, a thread beside reads the rows anew, so that neither a request nor what housekeeping does for Redis
ever waits for the database. It also reads them every half minute, for edits that no signal told of
(``QuerySet.update()``, raw SQL), and more often while Redis is away. What cannot be read is not lost: the
rules held so far stay in force, all of them or the one whose row is wrong.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import secrets
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from typing import Any, NamedTuple, cast

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import Error as DatabaseError  # InterfaceError, a lost connection, is no django.db.DatabaseError
from django.db import connections, router, transaction
from django.db.models.signals import m2m_changed, post_delete, post_migrate, post_save
from django.http import HttpRequest
from redis.exceptions import RedisError

from ratewindow import coderules, conf, connection, freezing, housekeeping, statekeys
from ratewindow.identity import own
from ratewindow.matching import Index
from ratewindow.models import LimitSwitch, RateRule
from ratewindow.overrides import Overrides
from ratewindow.rule import Rule
from ratewindow.rulerows import read_switch, readings
from ratewindow.signals import rules_changed
from ratewindow.switch import ON, Switch, from_text

logger = logging.getLogger("ratewindow")

REREAD_S = 30.0  # how soon an edit acts that no signal told of
REREAD_ALONE_S = 2.0  # the same while Redis is away, or the last reading failed
REREAD_SPARING = 20  # at least so many times as long as a reading takes
FIRST_READING_S = 1.0  # how long the first request of a process waits for the rules

LISTEN_S = 1.5  # how soon the kill switch acts, at most, however long REFRESH is

_EDITED = ("ratewindow.raterule", "ratewindow.rulewindow", "ratewindow.limitswitch", "ratewindow.override")


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
        return [rule.beside if rule.mode == "shadow" and coderules.has_rate(rule.name) else rule for rule in rules]

    def named(self, name: str, code: Rule | None, method: str | None, warn: bool) -> list[Rule]:
        """The rules where code names one: the row once it is enforced or off, else what code gives, beside a row in
        shadow. `warn` where code gives no rate, so that without a row nothing holds."""
        row = self.by_name.get(name)
        if row is None:
            found = [code] if code is not None else []
            if warn and not self.alone and name not in _held.told:
                _held.told.add(name)
                logger.warning("ratewindow: code names rule %r, which nobody has defined: requests pass", name)
        elif row.mode == "shadow" and code is not None:
            found = [code, row.beside]
        else:
            found = [row] if row.mode != "off" else []
        return [rule for rule in found if rule.windows and rule.meets_method(method)]

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
    """What this process knows of the rules, and of the last time it asked."""

    def __init__(self) -> None:
        self.book: Rulebook | None = None
        self.read = threading.Event()
        self.token: bytes | str | None = None
        self.edited = False  # somebody has renewed the token since the last reading began
        self.alone = False  # Redis tells nothing
        self.read_at_s = float("-inf")  # all rows
        self.good_at_s = time.monotonic()  # when `book` was read
        self.begun = itertools.count(1)  # readings
        self.newest = 0  # the reading that `book` is from
        self.swapping = threading.Lock()
        self.switch = ON  # as it was last turned, as far as this process has heard
        self.off = False  # what it means now
        self.unannounced = False
        self.unreadable = ""
        self.took_s = 0.0  # the last reading that went well
        self.overrides = freezing.Reader()
        self.wrong: set[str] = set()  # what has been logged of rows that are wrong
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
    housekeeping.ensure_running()
    if _held.book is None and not _held.read.wait(FIRST_READING_S):
        logger.error("ratewindow: no rules after %.0f s, requests pass: does this server run threads?", FIRST_READING_S)
        _held.read.set()  # once is enough: requests must not go on waiting for a thread that does not run
    return _OFF if _held.off else _held.book or _EMPTY


def held() -> Rulebook:
    """The rules in force, or none while they have not been read: for what is said about them, which must not wait."""
    return _instead or _held.book or _EMPTY


async def acurrent() -> Rulebook:
    """`current` without blocking the event loop."""
    if _instead is not None:
        return _instead
    if _held.book is None:
        return await asyncio.to_thread(current)
    housekeeping.ensure_running()
    return _OFF if _held.off else _held.book


class Knowledge(NamedTuple):
    """What this process knows of the rules: how many hold, when they were read, and why the last reading failed."""

    rules: int
    read_at_s: float | None
    error: str
    off: bool


def knowledge() -> Knowledge:
    book = _held.book
    ago_s = time.monotonic() - _held.good_at_s
    return Knowledge(len(book.by_name) if book else 0, time.time() - ago_s if book else None, _held.unreadable, _held.off)


def reload(after_edit: bool = False) -> None:
    """Read the rows now, in this thread. What cannot be read is logged once and leaves the rules as they are.

    `after_edit`, of which a signal has told, of many blocks and exemptions only those are read that have changed.
    """
    number, began_s = next(_held.begun), time.monotonic()
    try:
        book = Rulebook(read_rules(), overrides=_held.book.overrides if _held.book is not None else None)
        book.prepare()
        if book.overrides is not None:
            _swap(number, book)  # an edited rule need not wait until a hundred thousand blocks are read
        book = book.beside(_held.overrides.read(after_edit))
    except Exception as error:  # whatever it is, neither a save nor the next reading may stumble over it
        if str(error) != _held.unreadable:
            logger.error(
                "ratewindow: the rules cannot be read, those held stay in force: %s",
                error,
                exc_info=not isinstance(error, DatabaseError),
            )
        _held.unreadable = str(error)
    else:
        _swap(number, book)
        _held.unreadable, _held.good_at_s = "", time.monotonic()
        _held.took_s = _held.good_at_s - began_s if not after_edit else _held.took_s
        with contextlib.suppress(Exception):  # Redis may tell, and what is wrong with the database has been told
            learn_switch(read_switch())
    finally:
        if not after_edit:
            _held.read_at_s = time.monotonic()
        _held.read.set()


def _swap(number: int, book: Rulebook) -> None:
    """Hold this book, unless a reading that began later, and so has seen more, is held already."""
    with _held.swapping:
        before = _held.book
        if number >= _held.newest:
            _held.newest, _held.book = number, book
    if before is not None and (changed := _differing(before.by_name, _held.book.by_name if _held.book else {})):
        rules_changed.send_robust(RateRule, changed=changed)


def _differing(before: dict[str, Rule], now: dict[str, Rule]) -> list[str]:
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


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
    rules, wrong = [], set()
    _held.own_keys = own.version()
    for row, told in readings():
        if isinstance(told, Rule):
            rules.append(told)
        elif row.name in before and row.mode != "off":
            rules.append(before[row.name])
            wrong.add(f"rule {row.name!r} stays as it was, it cannot be enforced as it is now: {told}")
        else:
            wrong.add(f"rule {row.name!r} is left out, it cannot be enforced: {told}")
    for words in wrong - _held.wrong:  # once, not at each reading
        logger.error("ratewindow: %s", words)
    _held.wrong = wrong
    return rules


def announce() -> None:
    """Tell every process that the rules have changed; this one reads them at once."""
    reload(after_edit=True)
    _held.unannounced = not connection.in_memory()
    try:
        _renew_token()
    except (RedisError, OSError) as error:
        logger.warning("ratewindow: other processes learn of the edited rules within %.0f s: %s", REREAD_S, error)


def _renew_token() -> None:
    if not _held.unannounced:
        return
    _held.unannounced = False  # before it is sent: an edit meanwhile is another one
    try:
        # Random, not counted up: a Redis that lost its data would repeat a number.
        connection.client().set(statekeys.token(), secrets.token_hex(8))
    except BaseException:
        _held.unannounced = True
        raise


def _listen() -> None:
    """Hear from Redis whether somebody has edited the rules, or turned the kill switch."""
    learn_switch()
    if connection.in_memory():
        _held.alone = True
        return
    try:
        _renew_token()
        token, turned = cast("list[bytes | None]", connection.client().mget(statekeys.token(), statekeys.switch()))
        if turned is None and _held.off:  # a server that has lost its data: processes that start shall hear of it
            connection.client().set(statekeys.switch(), _held.switch.to_text(), nx=True, pxat=_held.switch.forgotten_ms)
    except (RedisError, OSError):
        _held.alone = True
        return
    _held.alone = False
    if turned is not None:
        learn_switch(from_text(turned))
    if token != _held.token:
        _held.token, _held.edited = token, True
        _look_now()


def _look() -> None:
    """Read the rows when somebody has edited them, or nobody has read them for a while."""
    is_old = time.monotonic() - _held.read_at_s >= _rest_s()
    # A module may have been imported since, and with it the key that a row asks for.
    is_news = _held.edited or (_held.wrong and _held.own_keys != own.version())
    if not is_news and not is_old:
        return
    _held.edited = False  # before the rows are read, so that no edit falls between
    database = connections[router.db_for_read(RateRule)]
    if _is_in_memory(database):
        _held.read.set()
        return
    try:
        reload(after_edit=not is_old)
    finally:
        database.close()


def _look_at_switch() -> None:
    """Read its row while Redis tells nothing: a reading of all rows may rest for longer than the switch may."""
    database = connections[router.db_for_read(LimitSwitch)]
    if not _held.alone or _is_in_memory(database):
        return
    try:
        learn_switch(read_switch())
    except DatabaseError:
        return  # told where the rules are read
    finally:
        database.close()


def _rest_s() -> float:
    """How long a reading is good without news. A hundred thousand blocks take a second: not all of a process's time."""
    if not _held.alone and not _held.unreadable:
        return REREAD_S
    return min(REREAD_S, max(REREAD_ALONE_S, REREAD_SPARING * _held.took_s))


def _is_in_memory(database: Any) -> bool:
    """Such a database belongs to the thread of a test, which a reader beside it would lock out."""
    return database.vendor == "sqlite" and bool(database.is_in_memory_db())


def _edited(sender: Any, using: str, **_: Any) -> None:
    if sender._meta.label_lower in _EDITED and not _will_announce(using):  # by name: migrations have classes of their own
        transaction.on_commit(announce, using=using)


def _regrouped(action: str, using: str, **_: Any) -> None:
    """Somebody has come into a group or has left it, of which a block or an exemption may speak."""
    overrides = _held.book.overrides if _held.book is not None else None
    if overrides is not None and overrides.groups and action.startswith("post_") and not _will_announce(using):
        transaction.on_commit(announce, using=using)


def _will_announce(using: str) -> bool:
    """Whether this transaction will do so anyway: loading a thousand rules is one edit, not a thousand."""
    return any(entry[1] is announce for entry in connections[using].run_on_commit)


def _emptied(**_: Any) -> None:
    """After ``migrate`` there is a table to read, after ``flush`` (and so after many a test) there are no rows."""
    reload()


def code_names() -> set[str]:
    """The names under which code gives a rate; imports the URLconf, so that limited views are among them."""
    from django.urls import get_resolver

    _ = get_resolver().url_patterns
    coderules.seek()
    return coderules.names()


def _after_fork() -> None:
    """What this process holds stays good; its locks may be held by a thread that does not exist here."""
    _held.swapping, _held.read = threading.Lock(), threading.Event()
    if _held.book is not None:
        _held.read.set()


def connect() -> None:
    """Listen for this process's edits; called once, when Django starts."""
    post_save.connect(_edited, dispatch_uid="ratewindow.rulebook")
    post_delete.connect(_edited, dispatch_uid="ratewindow.rulebook")
    if (groups := getattr(get_user_model(), "groups", None)) is not None:
        m2m_changed.connect(_regrouped, sender=groups.through, dispatch_uid="ratewindow.rulebook")
    post_migrate.connect(_emptied, sender=apps.get_app_config("ratewindow"), dispatch_uid="ratewindow.rulebook")


def _interval_s() -> float:
    return min(conf.current().refresh_s / 3, LISTEN_S)


housekeeping.every(_interval_s, _listen)
_look_now = housekeeping.every(_interval_s, _look, apart="rules")
housekeeping.every(lambda: REREAD_ALONE_S, _look_at_switch, apart="rules")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
