"""The room of moving."""

from django.utils.translation import gettext_lazy as _

from ratewindow import rooms


class MovingConfig(rooms.Room):
    name = "ratewindow.contrib.moving"
    verbose_name = _("Moving to rate limits")
    gives = "rules in shadow for what a site limits by django-ratelimit, DRF, axes, allauth or device cookies"
    subcommands = {"move": "ratewindow.contrib.moving.commands.move:MOVE"}
