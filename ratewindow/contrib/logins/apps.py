"""The room of logins."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ratewindow import rooms
from ratewindow.rooms import Target


class LoginsConfig(rooms.Room):
    name = "ratewindow.contrib.logins"
    label = "ratewindow_logins"
    verbose_name = _("Rate limits: Logins")
    gives = "one count for every password that is tried, whatever way in"
    stores = "who logged in from which address, in Redis for a day; a cookie with who has logged in there"
    keys = {"login": _("login name tried"), "login_device": _("known device"), "network": _("network")}
    subcommands = {"protect": "ratewindow.contrib.logins.commands.protect"}

    @cached_property
    def targets(self) -> Mapping[str, Target]:  # type: ignore[override]
        from ratewindow.contrib.logins import door, steps

        return door.TARGETS | steps.TARGETS

    def ready(self) -> None:
        if not apps.is_installed(rooms.__package__):
            raise ImproperlyConfigured(f"{self.name} needs {rooms.__package__!r} in INSTALLED_APPS.")
        from ratewindow.contrib.logins import checks, endings, gate

        checks.register()
        endings.connect()
        gate.let_users_have_a_backend()

    def reset(self) -> None:
        from ratewindow.contrib.logins import trust

        trust.forget()

    def doors(self, request: HttpRequest) -> Iterable[Any]:
        from ratewindow.contrib.logins import explaining

        return explaining.doors(request)

    def ready_rules(self) -> Iterable[Any]:
        from ratewindow.contrib.logins import ready

        return ready.KINDS
