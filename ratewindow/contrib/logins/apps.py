"""The room of logins."""

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from ratewindow import rooms
from ratewindow.contrib.logins.targets import LOGINS, STEPS


class LoginsConfig(rooms.Room):
    name = "ratewindow.contrib.logins"
    verbose_name = _("Rate limits: Logins")
    gives = "one count for every password that is tried, whatever the way in"
    stores = "who logged in from which address, in Redis for a day; a cookie with who has logged in there"
    key_names = ["login"]
    keys = {"login": _("login name tried"), "login_device": _("known device"), "network": _("network")}
    subcommands = {"protect": "ratewindow.contrib.logins.commands.protect:PROTECT"}
    ready_rules = "ratewindow.contrib.logins.ready.KINDS"
    doors = "ratewindow.contrib.logins.explaining.doors"
    targets = LOGINS | STEPS

    def ready(self) -> None:
        if missing := [name for name in (rooms.__package__, "django.contrib.auth") if not apps.is_installed(name)]:
            raise ImproperlyConfigured(f"{self.name} needs {missing[0]!r} in INSTALLED_APPS.")
        from ratewindow.contrib.logins import checks, endings, gate

        checks.register()
        endings.connect()
        gate.watch_backends()

    def reset(self) -> None:
        from ratewindow.contrib.logins import trust

        trust.forget()
