"""The app: its name in the admin, and what starts with Django."""

import logging

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from ratewindow.conf.in_words import escape_values


class RateWindowConfig(AppConfig):
    name = "ratewindow"
    verbose_name = _("Rate limits")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        logging.getLogger("ratewindow").addFilter(escape_values)  # a command prints its log to the terminal
        from django.utils.module_loading import autodiscover_modules

        # All that a request needs is imported now: a process that forks while a thread imports leaves its child waiting for
        # that thread. Checks register themselves.
        from ratewindow import api, checks, process  # noqa: F401

        autodiscover_modules("ratekeys")  # the site's own keys, before the first rule is read that names one
        process.start()
