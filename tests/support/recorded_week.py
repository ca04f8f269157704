"""A week that is recorded of a rule."""

from datetime import timedelta

from ratewindow.conf import time_zone
from ratewindow.limiter.keys import digest
from ratewindow.models import RateRule, RecordedHour, Recording
from ratewindow.operations import recordings
from ratewindow.reporting.recorded_hours import BAD, GOOD, is_in


def recorded_week(rule: RateRule, clients: int = 300, refused: int = 0, level: int = 0) -> Recording:
    """Clients take at most three units an hour, and one takes forty."""
    start = time_zone.now().replace(minute=0, second=0, microsecond=0) - timedelta(days=7)
    window = recordings.windows(rule)[0]
    values = {"rule": rule.name, "window": window.tag, "rate": window.text}
    recording = Recording.objects.create(**values, since=start, until=start + timedelta(days=7))
    names = [digest(f"client {number}", 9) for number in range(clients * 3 << level)]
    names = [name for name in names if is_in(name, level)][:clients]
    for hour in (0, 50, 100, 160):
        peaks = {name: [1 + number % 3, 0, 5, 0, GOOD] for number, name in enumerate(names)}
        peaks[names[0]] = [10, 30, 60, refused, BAD]
        RecordedHour.objects.create(recording=recording, start=start + timedelta(hours=hour), level=level, clients=peaks)
    return recording
