"""The switch of recordings: what the clients of a rule use is recorded until a time, and then ends by itself."""

from contextlib import suppress
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from ratewindow import conf
from ratewindow.conf import time_zone
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.types import Window
from ratewindow.models import Mode, RateRule, RecordedHour, Recording, origin
from ratewindow.operations.history import recording as history
from ratewindow.store import process_clients

DAYS = (1, 7, 14)  # what is offered
MOST_DAYS = max(DAYS)
MOST_AT_ONCE = 10  # rules: what bounds the memory of processes and of Redis


def windows(rule: RateRule) -> list[Window]:
    """The limits that can be recorded: those that count over a period. What is left in a bucket says no such number."""
    found = []
    for row in rule.windows.all():
        with suppress(ValueError):  # an invalid row, written by raw SQL, counts nothing
            found.append(row.freeze())
    return [window for window in found if window.burst is None]


def start(rule: RateRule, window: Window, until: datetime) -> Recording:
    """Record from now on. ValueError says why not."""
    problem = _why_not(rule, window) or _too_long(until)
    if problem:
        raise problem
    going_on = Recording.objects.filter(until__gt=time_zone.now())
    if going_on.filter(rule=rule.name).exists():
        raise Problem("{rule} is being recorded already: end that recording first", rule=rule.name)
    if going_on.values("rule").distinct().count() >= MOST_AT_ONCE:
        raise Problem("{most} rules are being recorded already: end one of these recordings first", most=MOST_AT_ONCE)
    now = time_zone.now()
    recording = Recording.objects.create(
        rule=rule.name, window=window.tag, rate=window.text, since=now, until=until, by=origin.current().by
    )
    history.record_recording(rule.name, None, _values(recording))
    return recording


def end(recording: Recording) -> None:
    """Record no longer, and keep what was recorded."""
    _move(recording, time_zone.now())


def go_on(recording: Recording, until: datetime) -> None:
    """Record again, into the same recording. ValueError says why not."""
    if problem := _too_long(until):
        raise problem
    _move(recording, until)


def _move(recording: Recording, until: datetime) -> None:
    before = _values(recording)
    recording.until = until
    recording.save(update_fields=["until"])
    history.record_recording(recording.rule, before, _values(recording))


def _why_not(rule: RateRule, window: Window) -> Problem | None:
    if window.burst is not None:
        return Problem("{rate} admits bursts, whose peak says nothing about a limit: record another limit", rate=window.text)
    if rule.mode == Mode.OFF:
        return Problem("{rule} is off and meets no requests: put it in shadow first", rule=rule.name)
    if not conf.current().stats:
        return Problem("the setting STATS is off, and with it all that is counted for reports: turn it on first")
    if process_clients.in_memory():
        return Problem("the setting REDIS is memory://, and recordings are collected from Redis: use a Redis server")
    return None


def _too_long(until: datetime) -> Problem | None:
    now = time_zone.now()
    if now < until <= now + timedelta(days=MOST_DAYS, minutes=1):
        return None
    return Problem("a recording ends within {days} days: choose another end", days=MOST_DAYS)


def _values(recording: Recording) -> dict[str, str]:
    return {"limit": recording.rate, "until": recording.until.isoformat()}


def is_going_on(recording: Recording) -> bool:
    return bool(recording.until > time_zone.now())


def window_of(recording: Recording, rule: RateRule) -> Window | None:
    """The limit that is recorded, as the rule has it now; None if it no longer has it."""
    return next((window for window in windows(rule) if window.tag == recording.window), None)


def recorded() -> list[tuple[RateRule, Recording, Window]]:
    """The rules of whose limits hours are recorded, by name, each with its newest such recording."""
    hours = RecordedHour.objects.filter(recording=OuterRef("pk"))
    newest = {each.rule: each for each in Recording.objects.filter(Exists(hours)).order_by("since", "pk")}
    rules = RateRule.objects.filter(name__in=newest).prefetch_related("windows").order_by("name")
    found = [(rule, newest[rule.name], window_of(newest[rule.name], rule)) for rule in rules]
    return [(rule, recording, window) for rule, recording, window in found if window is not None]


def latest(rule: str) -> Recording | None:
    return Recording.objects.filter(rule=rule).order_by("-since", "-pk").first()
