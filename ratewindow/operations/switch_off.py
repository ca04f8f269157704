"""Switch all limits off and on again: in Redis, in the database and in this process."""

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError, router, transaction
from django.utils.translation import gettext
from redis.exceptions import RedisError

from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.models import LimitSwitch
from ratewindow.rulebook import edits, kill_switch, reading
from ratewindow.rulebook.kill_switch import MOST_DAYS, Switch
from ratewindow.store import process_clients, state_keys

REMEMBERED_S = 86_400  # how long Redis has a turn after its end
REDIS_S = 1.0  # the time limit for Redis, which comes before the database
_AWAY = (DatabaseError, ImproperlyConfigured, RedisError, OSError)


def seconds_of(duration: str) -> float:
    """A duration for `turn_off` in seconds; ValueError says what to write instead."""
    for_s = parse_duration(duration) / 1000
    if for_s > MOST_DAYS * 86_400:
        raise Problem("{duration!r} is too long: write at most {days}d, or no end at all", duration=duration, days=MOST_DAYS)
    return for_s


def turn_off(for_s: float | None = None, reason: str = "", by: str = "") -> list[str]:
    """Switch all limits off in all processes, for `for_s` seconds or until `turn_on`."""
    return turn(Switch(True, None if for_s is None else time.time() + for_s, reason, by))


def turn_on(reason: str = "", by: str = "") -> list[str]:
    """Switch the limits on again."""
    return turn(Switch(False, None, reason, by))


def turn(switch: Switch) -> list[str]:
    """Date and store a turn, in Redis first, since the database may take long to fail. Returns a sentence if one of them was
    not reached, and raises OSError, with nothing done, if neither was."""
    edits.check_redis()
    at_s = max(time.time(), kill_switch.turned.at_s + 0.001)  # the last turn may be dated by a clock ahead of ours
    switch = replace(switch, reason=" ".join(switch.reason.splitlines())[:200], by=switch.by[:150], at_s=at_s)
    to_redis = gettext(
        "Redis was not reached (%(error)s): processes that do not reach it either learn of it within %(alone)d s, those that "
        "reach it within %(others)d s."
    ) % {"error": "%s", "alone": reading.REREAD_ALONE_S, "others": reading.REREAD_S}
    unreached = _try(_write_redis, switch, to_redis)
    with contextlib.suppress(*_AWAY):
        row = reading.read_switch()  # Redis has perhaps lost that turn, which others know
        if row is not None and row.at_s >= switch.at_s:
            switch = replace(switch, at_s=row.at_s + 0.001)
            unreached = _try(_write_redis, switch, to_redis)
    unreached += _try(_save, switch, gettext("The database was not reached (%s): processes follow Redis."))
    if len(unreached) == 2:
        raise OSError(gettext("Neither Redis nor the database was reached. Nothing has changed."))
    kill_switch.learn(switch)
    return unreached


def current() -> Switch:
    """The newest turn that Redis, the database or this process knows of."""
    edits.check_redis()
    with contextlib.suppress(*_AWAY):
        kill_switch.learn(reading.read_switch())
    return kill_switch.turned


def _try(write: Callable[[Switch], None], switch: Switch, sentence: str) -> list[str]:
    try:
        write(switch)
    except _AWAY as error:
        return [sentence % error]
    return []


def _write_redis(switch: Switch) -> None:
    if not process_clients.in_memory():
        ended_ms = None if switch.until_s is None else int((switch.until_s + REMEMBERED_S) * 1000)
        with limited(REDIS_S):
            process_clients.patient_client().set(state_keys.switch(), json.dumps(asdict(switch)), pxat=ended_ms)


def _save(switch: Switch) -> None:
    with transaction.atomic(using=router.db_for_write(LimitSwitch)):
        LimitSwitch.objects.update_or_create(
            pk=1,
            defaults={
                "off": switch.off,
                "until": None if switch.until_s is None else datetime.fromtimestamp(switch.until_s, UTC),
                "reason": switch.reason,
                "changed_by": switch.by,
                "changed_at": datetime.fromtimestamp(switch.at_s, UTC),
            },
        )
