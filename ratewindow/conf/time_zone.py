"""Datetimes, which are aware everywhere in this app, also with ``USE_TZ = False``.

There Django's `timezone.now` and its fields give naive datetimes, in which an hour comes twice each autumn; counts and ends of
blocks need the exact moment.
"""

from datetime import UTC, datetime

from django.utils import timezone


def now() -> datetime:
    return datetime.now(UTC)


def aware(moment: datetime) -> datetime:
    """A datetime from a form or from the site's code; a naive one is in the current time zone."""
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment


def local(moment: datetime) -> datetime:
    """The same moment in the current time zone."""
    return timezone.localtime(moment)


def in_short(moment: datetime) -> str:
    """``14:20`` if it is today, else ``2026-11-23 14:20``, in the current time zone."""
    at = local(moment)
    return f"{at:%H:%M}" if at.date() == local(now()).date() else f"{at:%Y-%m-%d %H:%M}"


def to_second(moment: datetime) -> str:
    """``2026-11-23 14:20:05 CET``, in the current time zone."""
    return f"{local(moment):%Y-%m-%d %H:%M:%S %Z}"
