"""Switch all limits off and on again: in the database, in Redis and in this process."""

import contextlib
import logging
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.db import router, transaction
from django.utils.translation import gettext
from redis.exceptions import RedisError

from ratewindow.conf.translation import in_english
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.models import LimitSwitch
from ratewindow.rulebook import edits, kill_switch, rule_rows
from ratewindow.rules.kill_switch import MOST, ON, Switch
from ratewindow.store import process_clients, state_keys

logger = logging.getLogger("ratewindow")

THE_ROW = 1
REDIS_S = 1.0  # the time limit for Redis, which comes before the database
_NO_DATABASE = (DatabaseError, ImproperlyConfigured)


@dataclass(frozen=True)
class Turned:
    """The result. `unreached` has a sentence for each place that could not be reached; with two, nothing was done."""

    switch: Switch
    unreached: list[str]

    @property
    def done(self) -> bool:
        return len(self.unreached) < 2


def seconds_of(duration: str) -> float:
    """A duration for `turn_off` in seconds; ValueError says what to write instead."""
    for_s = parse_duration(duration) / 1000
    if for_s > MOST.total_seconds():
        raise Problem("{duration!r} is too long: write at most {days}d, or no end at all", duration=duration, days=MOST.days)
    return for_s


def turn_off(for_s: float | None = None, reason: str = "", by: str = "") -> Turned:
    """Switch all limits off in all processes, for `for_s` seconds or until `turn_on`. ValueError if that is too long."""
    if for_s is not None and not 0 < for_s <= MOST.total_seconds():  # before anything is written
        raise ValueError(f"for_s {for_s!r}: write more than 0 seconds, and at most {MOST.days} days, or None")
    now_s = time.time()
    return _turn(Switch(True, None if for_s is None else now_s + for_s, _line(reason), by[:150], now_s))


def turn_on(reason: str = "", by: str = "") -> Turned:
    """Switch the limits on again."""
    return _turn(Switch(False, None, _line(reason), by[:150], time.time()))


def _line(reason: str) -> str:
    return " ".join(reason.splitlines())[:200]


def turn_on_commit(switch: Switch) -> None:
    """Save the switch, dated now, in the transaction of the caller; Redis and this process follow if that is committed."""
    switch = _later(replace(switch, at_s=time.time()), than=current())
    _save(switch)
    transaction.on_commit(lambda: _follow(switch), using=router.db_for_write(LimitSwitch))


def _follow(switch: Switch) -> None:
    with in_english():
        for sentence in _write_redis(switch):
            logger.warning("ratewindow: %s", sentence)
    kill_switch.learn(switch)
    logger.warning("ratewindow: limits are switched %s", switch.words())


def current() -> Switch:
    """The newest of what the database, Redis and this process know."""
    return max(_in_redis() or ON, _in_database(), kill_switch.turned, key=_at_s)


def _turn(switch: Switch) -> Turned:
    """Write to Redis, then to the database, which may take long to fail.

    If Redis has just not answered, the database comes first, since the row acts while Redis is away.
    """
    known = _in_redis()
    switch = _later(switch, than=max(known or ON, kill_switch.turned, key=_at_s))
    is_in_redis = known is not None and not _write_redis(switch)
    row = _in_database()
    if row.at_s >= switch.at_s:
        switch, is_in_redis = _later(switch, than=row), False
    of_database = _write_database(switch)
    turned = Turned(switch, [*([] if is_in_redis else _write_redis(switch)), *of_database])
    if turned.done:
        kill_switch.learn(switch)
        logger.warning("ratewindow: limits are switched %s", switch.words())
    return turned


def _later(switch: Switch, than: Switch) -> Switch:
    """The switch, dated later than the one that it replaces, even if that was dated by a clock ahead of ours."""
    return replace(switch, at_s=max(switch.at_s, than.at_s + 0.001))


def _at_s(switch: Switch) -> float:
    return switch.at_s


def _in_redis() -> Switch | None:
    """The switch in Redis; None if Redis does not answer."""
    if process_clients.in_memory():
        return ON
    try:
        with limited(REDIS_S):
            text = cast("bytes | None", process_clients.patient_client().get(state_keys.switch()))
            return kill_switch.from_redis(text) or ON
    except (RedisError, OSError):
        return None


def _in_database() -> Switch:
    with contextlib.suppress(*_NO_DATABASE):
        return rule_rows.read_switch() or ON
    return ON


def _write_database(switch: Switch) -> list[str]:
    try:
        _save(switch)
    except _NO_DATABASE as error:
        return [gettext("The database was not reached (%s): processes that do not reach Redis do not learn of it.") % error]
    return []


def _save(switch: Switch) -> None:
    fields = {
        "off": switch.off,
        "until": None if switch.until_s is None else datetime.fromtimestamp(switch.until_s, UTC),
        "reason": switch.reason,
        "changed_by": switch.by,
        "changed_at": datetime.fromtimestamp(switch.at_s, UTC),
    }
    with transaction.atomic(using=router.db_for_write(LimitSwitch)):
        LimitSwitch.objects.update_or_create(pk=THE_ROW, defaults=fields)


def _write_redis(switch: Switch) -> list[str]:
    if process_clients.in_memory():
        return []
    try:
        with limited(REDIS_S):
            text = kill_switch.to_redis(switch)
            process_clients.patient_client().set(state_keys.switch(), text, pxat=switch.kept_until_ms)
    except (RedisError, OSError) as error:
        sentence = gettext(
            "Redis was not reached (%(error)s): processes that do not reach it either learn of it within %(alone)d s, those that "
            "reach it within %(others)d s."
        )
        return [sentence % {"error": error, "alone": edits.REREAD_ALONE_S, "others": edits.REREAD_S}]
    return []
