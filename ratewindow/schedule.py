"""When Celery beat runs what: merge `BEAT_SCHEDULE` into ``CELERY_BEAT_SCHEDULE`` in settings.py."""

from typing import Any

# A run that waited longer than until the next one is dropped: that one does its work too.
BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "ratewindow.collect_stats": {"task": "ratewindow.tasks.collect_stats", "schedule": 60.0, "options": {"expires": 60}},
    "ratewindow.raise_alerts": {"task": "ratewindow.tasks.raise_alerts", "schedule": 60.0, "options": {"expires": 60}},
    "ratewindow.send_report": {"task": "ratewindow.tasks.send_report", "schedule": 300.0, "options": {"expires": 300}},
    "ratewindow.clean_orphans": {"task": "ratewindow.tasks.clean_orphans", "schedule": 3600.0, "options": {"expires": 3600}},
}
