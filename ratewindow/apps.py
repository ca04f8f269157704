"""The app: its name in the admin, and what is connected when Django starts."""

from django.apps import AppConfig


class RateWindowConfig(AppConfig):
    name = "ratewindow"
    label = "ratewindow"
    verbose_name = "Rate limits"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.utils.module_loading import autodiscover_modules

        from ratewindow import (
            api,  # noqa: F401
            checks,  # noqa: F401
        )
        from ratewindow.health import (
            outage_signals,  # noqa: F401
            processes,  # noqa: F401
        )
        from ratewindow.operations import shared_prefix  # noqa: F401
        from ratewindow.reporting import counters  # noqa: F401

        # Checks and chores register themselves; all that a request needs is imported here, not in the midst of traffic:
        # a process that forks while a thread imports leaves its child waiting for that thread.
        from ratewindow.request import count_by_answer
        from ratewindow.rulebook import edits

        autodiscover_modules("ratekeys")  # the site's own keys, before the first rule is read that asks for one
        edits.connect()
        count_by_answer.connect()
