"""Switching all limits off and on again: in the row, in Redis, and in this process."""

import contextlib
import logging
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.db import router, transaction
from redis.exceptions import RedisError

from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.models import LimitSwitch
from ratewindow.rulebook import edits, kill_switch, rule_rows
from ratewindow.rules.kill_switch import MOST, ON, Switch, from_text
from ratewindow.store import process_clients, state_keys

logger = logging.getLogger("ratewindow")

THE_ROW = 1
REDIS_S = 1.0  # how long Redis is waited for: until it has failed, the row is not written
_NO_DATABASE = (DatabaseError, ImproperlyConfigured)


@dataclass(frozen=True)
class Turned:
    """What was done. `unreached` has a sentence for each place that could not be told; with two, nothing was done."""

    switch: Switch
    unreached: list[str]

    @property
    def done(self) -> bool:
        return len(self.unreached) < 2


def seconds_of(duration: str) -> float:
    """A length of time for `turn_off`; ValueError says what to write instead."""
    for_s = parse_duration(duration) / 1000
    if for_s > MOST.total_seconds():
        raise ValueError(f"{duration!r} is too long: write at most {MOST.days}d, or no end at all")
    return for_s


def turn_off(for_s: float | None = None, reason: str = "", by: str = "") -> Turned:
    """No limit holds, in any process: for so long, or until `turn_on`. ValueError where no calendar has the end."""
    if for_s is not None and not 0 < for_s <= MOST.total_seconds():  # nobody must be told before it is known
        raise ValueError(f"for_s {for_s!r}: write more than 0 seconds, and at most {MOST.days} days, or None")
    now_s = time.time()
    return _turn(Switch(True, None if for_s is None else now_s + for_s, reason[:200], by[:150], now_s))


def turn_on(reason: str = "", by: str = "") -> Turned:
    """The limits hold again."""
    return _turn(Switch(False, None, reason[:200], by[:150], time.time()))


def current() -> Switch:
    """What holds by the row and by Redis, as far as they can be asked, and by what this process knows."""
    return max(_in_redis() or ON, _in_database(), kill_switch.turned, key=_at_s)


def _turn(switch: Switch) -> Turned:
    """Redis first: it is told in a moment, where a database that is away may be waited for for long. But one that has just
    not answered is not waited for again until the row is written, which acts while Redis is away."""
    known = _in_redis()
    switch = _later(switch, than=max(known or ON, kill_switch.turned, key=_at_s))
    told = known is not None and not _tell_redis(switch)
    row = _in_database()
    if row.at_s >= switch.at_s:
        switch, told = _later(switch, than=row), False
    of_database = _tell_database(switch)
    turned = Turned(switch, [*([] if told else _tell_redis(switch)), *of_database])
    if turned.done:
        kill_switch.learn(switch)
        logger.warning("ratewindow: limits are switched %s", switch.words())
    return turned


def _later(switch: Switch, than: Switch) -> Switch:
    """Later than what it is to replace, also when that was made by a clock ahead of ours."""
    return replace(switch, at_s=max(switch.at_s, than.at_s + 0.001))


def _at_s(switch: Switch) -> float:
    return switch.at_s


def _in_redis() -> Switch | None:
    """What Redis says; None where it does not answer."""
    if process_clients.in_memory():
        return ON
    try:
        with limited(REDIS_S):
            return from_text(cast("bytes | None", process_clients.patient_client().get(state_keys.switch()))) or ON
    except (RedisError, OSError):
        return None


def _in_database() -> Switch:
    with contextlib.suppress(*_NO_DATABASE):
        return rule_rows.read_switch() or ON
    return ON


def _tell_database(switch: Switch) -> list[str]:
    fields = {
        "off": switch.off,
        "until": None if switch.until_s is None else datetime.fromtimestamp(switch.until_s, UTC),
        "reason": switch.reason,
        "changed_by": switch.by,
        "changed_at": datetime.fromtimestamp(switch.at_s, UTC),
    }
    try:
        with transaction.atomic(using=router.db_for_write(LimitSwitch)):
            LimitSwitch.objects.update_or_create(pk=THE_ROW, defaults=fields)
    except _NO_DATABASE as error:
        return [f"The database was not reached ({error}): processes that do not reach Redis do not learn of it."]
    return []


def _tell_redis(switch: Switch) -> list[str]:
    if process_clients.in_memory():
        return []
    try:
        with limited(REDIS_S):
            process_clients.patient_client().set(state_keys.switch(), switch.to_text(), pxat=switch.kept_until_ms)
    except (RedisError, OSError) as error:
        within_s = f"{edits.REREAD_ALONE_S:.0f} s, those that reach it within {edits.REREAD_S:.0f} s"
        return [f"Redis was not reached ({error}): processes that do not reach it either learn of it within {within_s}."]
    return []
