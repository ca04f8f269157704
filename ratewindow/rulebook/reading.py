"""Reading the rows into a rulebook. What cannot be read leaves the rules held in force: all of them, or the one whose row is
wrong."""

import contextlib
import itertools
import logging
import time
from typing import NamedTuple

from django.db import Error as DatabaseError  # InterfaceError, a lost connection, is no django.db.DatabaseError
from django.utils.translation import gettext

from ratewindow.conf.translation import in_english, translated
from ratewindow.identity import custom_keys
from ratewindow.limiter.problem import Problem, translatable
from ratewindow.rulebook import announce, current, kill_switch, override_rows, recordings
from ratewindow.rulebook.current import Rulebook
from ratewindow.rulebook.rule_rows import read_switch, readings
from ratewindow.rules.matching import TOO_MANY, without_room
from ratewindow.rules.rule import Rule

logger = logging.getLogger("ratewindow")


class _Readings:
    """How reading has gone in this process so far."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.ended_at_s = float("-inf")  # of all rows
        self.took_s = 0.0  # the last one of all rows that succeeded
        self.rules_error = self.overrides_error = ""
        self.logged_error = ""
        self.wrong: dict[str, Problem] = {}  # rows that are wrong, by the names of their rules
        self.custom_keys = -1  # the version of the site's own keys at the last reading
        self.overrides = override_rows.Reader()


_readings = _Readings()


def reload(after_edit: bool = False, listeners_wait: bool = False) -> None:
    """Read the rows now, in this thread. An error is logged once and leaves the rules as they are.

    `after_edit`: a signal has reported the edit, so of many blocks and exemptions only those that have changed are read.
    `rules_changed` is sent before this returns or, with `listeners_wait`, soon, by another thread.
    """
    number, began_s = next(_readings.numbers), time.monotonic()
    error: Exception | None = None
    try:
        book = Rulebook(read_rules(), overrides=current.of_site().overrides)
        book.prepare()
    except Exception as caught:  # neither a save nor the next reading may fail by it
        error, _readings.rules_error = caught, str(caught) or type(caught).__name__
        current.hold_copy()
    else:
        if book.overrides is not None:
            _hold(book, number)  # an edited rule need not wait until a hundred thousand blocks are read
        try:
            book = book.with_overrides(_readings.overrides.read(after_edit))
            _readings.overrides_error = ""
        except Exception as caught:  # the rules hold all the same
            error, _readings.overrides_error = caught, str(caught) or type(caught).__name__
        _hold(book, number)
        _readings.rules_error = ""
        if not after_edit:
            _readings.took_s = time.monotonic() - began_s
        with contextlib.suppress(Exception):  # Redis may know, and the database's error has been logged
            kill_switch.learn(read_switch())
        with contextlib.suppress(Exception):  # nothing but a recording would begin later
            recordings.hold(recordings.read(), number)
    finally:
        with in_english():
            _log_once(_error(), error)
        if not after_edit:
            _readings.ended_at_s = time.monotonic()
        current.stop_waiting()
        if not listeners_wait:
            announce.send()


def read_rules() -> list[Rule]:
    """Every row as a frozen rule, whatever its mode. For a row that is wrong the last good reading stays."""
    before = current.of_site().by_name
    rules: list[Rule] = []
    wrong: dict[str, Problem] = {}
    _readings.custom_keys = custom_keys.version()
    for row, rule in readings():
        if isinstance(rule, Rule):
            rules.append(rule)
        elif row.name in before and row.mode != "off":
            rules.append(before[row.name])
            wrong[row.name] = Problem("stays as it was, it cannot be enforced as it is now: {problem}", problem=rule)
        else:
            wrong[row.name] = Problem(_LEFT_OUT, problem=rule)
    for rule in without_room(rules):
        wrong[rule.name] = Problem(_LEFT_OUT, problem=TOO_MANY)
    for name, problem in _in_english(wrong) - _in_english(_readings.wrong):  # once, not at each reading
        logger.error("ratewindow: rule %r %s", name, problem)
    _readings.wrong = wrong
    return rules


_LEFT_OUT = translatable("is left out, it cannot be enforced: {problem}")


def _in_english(wrong: dict[str, Problem]) -> set[tuple[str, str]]:
    return {(name, str(problem)) for name, problem in wrong.items()}


def _hold(book: Rulebook, number: int) -> None:
    before, now = current.hold(book, number)
    if before is not None:
        announce.add(_differing(before.by_name, now.by_name if now is not None else {}))


def _differing(before: dict[str, Rule], now: dict[str, Rule]) -> list[str]:
    return [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]


def _error() -> str:
    """What is wrong with the last reading, and which rules hold instead, in a sentence; empty if nothing is."""
    if not _readings.rules_error:
        blocks = gettext("Blocks and exemptions cannot be read, those held stay in force: %s")
        return blocks % _readings.overrides_error if _readings.overrides_error else ""
    if current.is_empty():
        text = gettext("The rules cannot be read, and this process holds none but rates in code: %s")
    elif current.is_copy():
        text = gettext("The rules cannot be read, those that another process read last hold: %s")
    else:
        text = gettext("The rules cannot be read, those held stay in force: %s")
    return text % _readings.rules_error


def _log_once(message: str, error: Exception | None) -> None:
    if message and message != _readings.logged_error:
        traceback = None if isinstance(error, DatabaseError) else error
        logger.error("ratewindow: %s%s", message[0].lower(), message[1:], exc_info=traceback)
    _readings.logged_error = message


def problem_of(name: str) -> str:
    """What is wrong with the row of this rule at the last reading: ``is left out, ...``; empty if nothing is."""
    problem = _readings.wrong.get(name)
    return "" if problem is None else translated(problem)


class Last(NamedTuple):
    """The last reading of all rows: how long ago it ended, how long it took, and whether it failed. `finds_more`: another
    one would find a key that a row asks for, since the module that defines it has been imported meanwhile."""

    age_s: float
    took_s: float
    failed: bool
    finds_more: bool


def last() -> Last:
    finds_more = bool(_readings.wrong) and _readings.custom_keys != custom_keys.version()
    failed = bool(_readings.rules_error or _readings.overrides_error)
    return Last(time.monotonic() - _readings.ended_at_s, _readings.took_s, failed, finds_more)


class Status(NamedTuple):
    """How many rules this process holds, when they were read, and what was wrong with the last reading; `off` if limits are
    switched off."""

    rules: int
    read_at_s: float | None
    error: str
    off: bool


def status() -> Status:
    return Status(len(current.of_site().by_name), current.read_at_s(), _error(), kill_switch.off)


def reset() -> None:
    """As in a process that has read nothing yet."""
    global _readings
    _readings = _Readings()
