"""The app: its name in the admin, and what is connected when Django starts."""

from django.apps import AppConfig


class RateWindowConfig(AppConfig):
    name = "ratewindow"
    label = "ratewindow"
    verbose_name = "Rate limits"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.utils.module_loading import autodiscover_modules

        # Checks and chores register themselves; all that a request needs is imported here, not in the midst of traffic:
        # a process that forks while a thread imports leaves its child waiting for that thread.
        from ratewindow import afterwards, api, checks, edits, processes, turns  # noqa: F401
        from ratewindow.reporting import counters, sites  # noqa: F401

        autodiscover_modules("ratekeys")  # the site's own keys, before the first rule is read that asks for one
        edits.connect()
        afterwards.connect()
