"""What a test may change in a process that it does not run itself."""

import os

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "tests.serving.site"
    label = "servedsite"

    def ready(self) -> None:
        from ratewindow.rulebook import edits
        from tests.serving.site import timing

        if os.environ.get("SERVED_TIMED"):
            timing.install()
        if seconds := os.environ.get("SERVED_REREAD_S"):
            edits.REREAD_S = float(seconds)
