"""Moments in time, which have a time zone everywhere in this app, also where those of the site have none (``USE_TZ = False``).

Django's `timezone.now` and its columns give such a site times without a zone: one clock for all, in which an hour comes
twice each autumn. Counts and ends of blocks need the moment itself.
"""

from datetime import UTC, datetime

from django.conf import settings
from django.utils import timezone


def now() -> datetime:
    return datetime.now(UTC)


def aware(moment: datetime) -> datetime:
    """A moment that a person or the site's code gave; without a zone it is meant in the current one."""
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment


def local(moment: datetime) -> datetime:
    """The same moment by the clock of the current time zone."""
    return timezone.localtime(moment)


def as_the_site_has_it(moment: datetime) -> datetime:
    """For forms and fixtures: without a zone where the site's times have none."""
    return moment if settings.USE_TZ else timezone.make_naive(moment)
