"""Yesterday's report as text, by the same reading as the report page's: mailed once to each channel that wants it
(`send_report`), or printed by the command `report` (`of_yesterday`)."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from django.db.models import Q
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext

from ratewindow.conf import time_zone
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.contrib.alerts.sending import attempt, language, outcome, send_lines
from ratewindow.overrides.subjects import masked
from ratewindow.report.reading import Reading, read
from ratewindow.report.report import between
from ratewindow.report.summary import figures, summary

HOUR = 8  # of the morning from which on it is sent, in the site's time zone
MOST_READ = 10  # clients
UNKNOWN = "A run ended while it sent the report of {}: it may not have arrived."


def send_report(now: datetime | None = None) -> list[str]:
    """Send it to each channel that is due, and return a line for each; called by the task, and by ``report --send``."""
    now = now or time_zone.now()
    with timezone.override(timezone.get_default_timezone()):
        day = _yesterday(now)
        channels = AlertChannel.objects.filter(active=True, daily_report=True, way=AlertChannel.Way.MAIL)
        due = channels.filter(Q(reported=None) | Q(reported__lt=day)) if time_zone.local(now).hour >= HOUR else channels.none()
        reading = _read(day, now) if due else None
        return [f"{each.name}: {day}: {_send_once(each, day, reading)}" for each in due if reading] or ["no report is due"]


def of_yesterday() -> str:
    """The report's text, in the current language."""
    now = time_zone.now()
    with timezone.override(timezone.get_default_timezone()):
        day = _yesterday(now)
        return "\n\n".join(_paragraphs(day, _read(day, now)))


def _yesterday(now: datetime) -> date:
    return time_zone.local(now).date() - timedelta(days=1)


def _read(day: date, now: datetime) -> Reading:
    start, end = (time_zone.aware(datetime.combine(each, time())) for each in (day, day + timedelta(days=1)))
    return read(between(start, end, now), "", now, MOST_READ)


def _send_once(channel: AlertChannel, day: date, reading: Reading) -> str:
    """All is made before the claim, so that a run that is killed meanwhile leaves it to the next one."""
    with translation.override(language(channel)):
        title, first, *rest = _paragraphs(day, reading)
    mine = AlertChannel.objects.filter(pk=channel.pk)
    if not mine.filter(reported=channel.reported).update(reported=day, error=UNKNOWN.format(day)):
        return "another run sends it"
    if error := attempt(channel, reading.now, lambda: send_lines(channel, f"{title}: {first}", [title, first, *rest])):
        mine.filter(reported=day).update(reported=channel.reported)
    return outcome(error)


def _paragraphs(day: date, reading: Reading) -> Iterator[str]:
    """Clients are masked, whatever ``ANONYMIZE`` says: a mail leaves the site."""
    yield gettext("Rate limits, %(day)s") % {"day": date_format(day, pgettext("date format", "l j F Y"))}
    yield summary(reading, masked)
    yield "\n".join(f"{figure['label']}: {figure['value']} ({figure['note']})" for figure in figures(reading.report))
    yield gettext("Times are in %(zone)s. Clients are masked.") % {"zone": reading.report.period.zone}
