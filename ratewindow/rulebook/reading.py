"""Reading the rows into a rulebook. What cannot be read leaves the rules held in force: all of them, or the one whose row is
wrong."""

import contextlib
import itertools
import logging
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.db import (
    Error as DatabaseError,  # InterfaceError, a lost connection, is no django.db.DatabaseError
    close_old_connections,
    router,
)
from django.db.models import Prefetch

from ratewindow import background
from ratewindow.conf.in_words import translated
from ratewindow.limiter.arguments import check_cost
from ratewindow.limiter.penalties import parse_penalty
from ratewindow.limiter.problem import Problem, translatable
from ratewindow.limiter.types import Window, too_much
from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow
from ratewindow.rulebook import current, kill_switch
from ratewindow.rules.matching import TOO_MANY, beyond_bounds
from ratewindow.rules.regex import check_regex
from ratewindow.rules.rule import Rule, check_name, check_soft, parse_count_when, parse_methods
from ratewindow.signals import rules_changed

if TYPE_CHECKING:
    from ratewindow.overrides.lookup import Overrides

logger = logging.getLogger("ratewindow")


REREAD_S = 30.0  # how soon an edit without a signal acts
REREAD_ALONE_S = 2.0  # the same while Redis is down, or the last reading failed or found a wrong row
REREAD_SPARING = 20  # a reading is repeated after so many times the time that it took, or later


class _Progress:
    """How reading has gone in this process so far."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.ended_at_s = float("-inf")  # of all rows
        self.took_s = 0.0
        self.problem: Problem | None = None  # why nothing could be read
        self.wrong: dict[str, Problem] = {}  # rows that are wrong, by the names of their rules


_progress = _Progress()
_UNREAD = translatable("The rules cannot be read, those held stay in force: {error}")
_NONE_READ = translatable("The rules cannot be read, and this process holds none but rates in code: {error}")
_BLOCKS_UNREAD = translatable("Blocks and exemptions cannot be read, those held stay in force: {error}")


def reload(listeners_wait: bool = False) -> None:
    """Read the rows now, in this thread. An error is logged once and leaves the rules as they are.

    `rules_changed` is sent before this returns or, with `listeners_wait`, soon, by another thread.
    """
    number, began_s = next(_progress.numbers), time.monotonic()
    problem: Problem | None = None
    with contextlib.suppress(Exception):  # Redis may know, and the database's error is logged below
        kill_switch.learn(read_switch())
    try:
        book = current.Rulebook(read_rules(), overrides=current.of_site().overrides)
        book.prepare()
    except Exception as caught:  # neither a save nor the next reading may fail by it
        problem = _logged_once(_UNREAD if current.read_at_s() is not None else _NONE_READ, caught)
    else:
        if book.overrides is not None:
            _hold(book, number)  # an edited rule need not wait until a hundred thousand blocks are read
        try:
            book = book.with_overrides(_read_overrides())
        except Exception as caught:  # the rules hold all the same
            problem = _logged_once(_BLOCKS_UNREAD, caught)
        _hold(book, number)
    _progress.problem = problem
    _progress.ended_at_s = time.monotonic()
    _progress.took_s = _progress.ended_at_s - began_s
    current.stop_waiting()
    if not listeners_wait:
        send_changes()


def _read_overrides() -> "Overrides | None":
    rows = Override.objects.using(database())
    if not rows.exists():
        return None
    from ratewindow.rulebook.override_rows import read_overrides  # many sites have none

    return read_overrides(rows)


def read_rules() -> list[Rule]:
    """Every row as a frozen rule, whatever its mode. For a row that is wrong the last good reading stays."""
    before = current.of_site().by_name
    rules: list[Rule] = []
    wrong: dict[str, Problem] = {}
    for row, rule in readings():
        if isinstance(rule, Rule):
            rules.append(rule)
        elif row.name in before and row.mode != "off":
            rules.append(before[row.name])
            wrong[row.name] = Problem("stays as it was, it cannot be enforced as it is now: {problem}", problem=rule)
        else:
            wrong[row.name] = Problem(_LEFT_OUT, problem=rule)
    for rule in beyond_bounds(rules):
        wrong[rule.name] = Problem(_LEFT_OUT, problem=TOO_MANY)
    for name, problem in _in_english(wrong) - _in_english(_progress.wrong):  # once, not at each reading
        logger.error("ratewindow: rule %r %s", name, problem)
    _progress.wrong = wrong
    return rules


_LEFT_OUT = translatable("is left out, it cannot be enforced: {problem}")


def _in_english(wrong: dict[str, Problem]) -> set[tuple[str, str]]:
    return {(name, str(problem)) for name, problem in wrong.items()}


def _hold(book: current.Rulebook, number: int) -> None:
    before, now = current.hold(book, number)
    old, new = before.by_name if before is not None else {}, now.by_name if now is not None else {}
    if before is not None and (names := [name for name in old.keys() | new.keys() if old.get(name) != new.get(name)]):
        changed.extend(names)
        background.hurry(send_changes_apart)


changed: deque[str] = deque()  # names of rules; those added while receivers are busy are sent together


def has_changes() -> bool:
    return bool(changed)


def send_changes() -> None:
    """The signal `rules_changed` about what has changed since it was sent last."""
    names = set()
    with contextlib.suppress(IndexError):  # another thread may send, too
        while True:
            names.add(changed.popleft())
    if names:
        rules_changed.send_robust(RateRule, changed=sorted(names))


def send_changes_apart() -> None:
    """The same in a thread of its own: if the one that reads the rows waited for a receiver, no edit would act meanwhile."""
    try:
        send_changes()
    finally:
        close_old_connections()  # a receiver may have used the database, and no request ends in this thread


def _logged_once(words: str, error: Exception) -> Problem:
    """What is wrong with a reading, in the log unless it was wrong with the last one, too."""
    problem = Problem(words, error=str(error) or type(error).__name__)
    if (text := str(problem)) != str(_progress.problem):
        traceback = None if isinstance(error, DatabaseError) else error
        logger.error("ratewindow: %s%s", text[0].lower(), text[1:], exc_info=traceback)
    return problem


def problem() -> str:
    """What was wrong with the last reading, and which rules hold instead, in a sentence; empty if nothing was."""
    return translated(_progress.problem) if _progress.problem is not None else ""


def problem_of(name: str) -> str:
    """What is wrong with the row of this rule at the last reading: ``is left out, ...``; empty if nothing is."""
    return translated(_progress.wrong[name]) if name in _progress.wrong else ""


def took_s() -> float:
    """How long the last reading took."""
    return _progress.took_s


def is_old(is_alone: bool) -> bool:
    """Whether to read again, by what the last reading found and how long ago it ended; `is_alone` while Redis is unavailable."""
    rest_s = REREAD_S
    if is_alone or _progress.problem or _progress.wrong:  # whose key a module that is imported late may register
        rest_s = min(REREAD_S, max(REREAD_ALONE_S, REREAD_SPARING * _progress.took_s))  # of a hundred thousand blocks two seconds
    return time.monotonic() - _progress.ended_at_s >= rest_s


def readings() -> Iterator[tuple[RateRule, Rule | Exception]]:
    """Each row with its rule, or with the error if it is wrong."""
    windows = Prefetch("windows", RuleWindow.objects.using(database()))
    for row in RateRule.objects.using(database()).prefetch_related(windows):
        try:
            yield row, freeze(row)
        except Exception as error:  # a newer version of this app may write what this one does not know
            yield row, error


def freeze(row: RateRule, windows: tuple[Window, ...] | None = None) -> Rule:
    """A row as a rule, with its own windows or these; ValueError if it is wrong."""
    check_name(row.name)  # raw SQL and fixtures check nothing, and it goes into headers
    rule = Rule(
        name=row.name,
        windows=tuple(window.freeze() for window in row.windows.all()) if windows is None else windows,
        mode=row.mode,
        key=row.key,
        on_missing=row.on_missing,
        normalise=row.normalise,
        applies_to=row.applies_to,
        pattern=row.pattern,
        methods=parse_methods(row.methods),
        cost=check_cost(row.cost),
        count_when=parse_count_when(row.count_when),
        hold=row.hold,
        forgive=row.forgive,
        count_refused=row.count_refused,
        limits_from=row.limits_from,
        penalty_ms=parse_penalty(row.penalty) if row.penalty else 0,
        enforce_percent=row.enforce_percent,
        on_error=row.on_error,
        response_status=row.response_status,
        message=row.message,
        soft=row.soft,
    )
    check_soft(rule.soft, rule.windows)
    if problem := too_much(rule.windows):
        raise Problem("rule {name!r} has {problem}: give it fewer", name=row.name, problem=problem)
    _ = rule.recipe, rule.state_names  # parsed here, so that a bad key is found here
    if rule.applies_to == "regex":
        check_regex(rule.pattern)  # here it may not be installed
    return rule


def database() -> str:
    """Where rows are read: where they are written, since a replica may not have the edit yet that is announced."""
    return router.db_for_write(RateRule)


def read_switch() -> kill_switch.Switch | None:
    """The kill switch by its row, if there is one."""
    row = LimitSwitch.objects.using(database()).order_by("-changed_at").first()
    if row is None:
        return None
    return kill_switch.Switch(
        row.off, row.until.timestamp() if row.until else None, row.reason, row.changed_by, row.changed_at.timestamp()
    )
