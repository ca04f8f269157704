"""The room Privacy: what is stored about one client, and its erasure."""

from django.utils.translation import gettext_lazy as _

from ratewindow import rooms


class PrivacyConfig(rooms.Room):
    name = "ratewindow.contrib.privacy"
    verbose_name = _("Rate limits: Privacy")
    gives = "what is stored about one client, and its erasure, by command"
    subcommands = {"subject": "ratewindow.contrib.privacy.commands.subject:SUBJECT"}
