"""The demo's Celery app with a schedule that waits for nothing: ``celery -A tests.support.hasty_beat beat``."""

from ratewindow.schedule import BEAT_SCHEDULE
from testproject.celery import app

app.conf.beat_schedule = {name: {**entry, "schedule": 0.5} for name, entry in BEAT_SCHEDULE.items()}
