"""The app in the place of ``django_ratelimit``: its settings count from the start."""

from django.apps import AppConfig


class DjangoRatelimitConfig(AppConfig):
    name = "ratewindow.contrib.moving.django_ratelimit"
    label = "ratewindow_django_ratelimit"

    def ready(self) -> None:
        from ratewindow.contrib.moving.django_ratelimit import checks, settings  # noqa: F401
