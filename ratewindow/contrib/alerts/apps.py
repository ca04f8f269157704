"""The room of alerts."""

from collections.abc import Iterator

from django.db import connections
from django.utils.translation import gettext_lazy as _

from ratewindow import conf, rooms
from ratewindow.background import Chore
from ratewindow.store import outage, process_clients

EVERY_S = 15


class AlertsConfig(rooms.Room):
    name = "ratewindow.contrib.alerts"
    verbose_name = _("Alerts of rate limits")
    gives = "alerts by mail, log, webhook or signal, and yesterday's report by mail"
    stores = "a row for each channel, with the secret of its webhook"
    key_names = ["alerts"]
    tabs = [
        rooms.Tab(
            8,
            "admin:ratewindow_alerts_alertchannel_changelist",
            _("Alert channels"),
            [f"ratewindow_alerts.{verb}_alertchannel" for verb in ("view", "change")],
        )
    ]
    subcommands = {
        "alerts": "ratewindow.contrib.alerts.commands:ALERTS",
        "report": "ratewindow.contrib.alerts.commands:REPORT",
    }
    tasks = {
        "raise_alerts": "ratewindow.contrib.alerts.sending.raise_alerts",
        "send_report": "ratewindow.contrib.alerts.report.send_report",
    }

    def chores(self) -> Iterator[Chore]:
        yield Chore(self.raise_alerts, lambda: EVERY_S, "alerts", lambda: not conf.tests_run())

    def raise_alerts(self) -> None:
        """In one process of the site, by a key that expires before its next turn. While Redis is unavailable, in each: the
        database lets one of them send."""
        from ratewindow.contrib.alerts.sending import raise_alerts

        if (
            process_clients.in_memory()
            or outage.open_breakers()
            or process_clients.patient_client().set(f"{conf.current().key_prefix}:alerts", 1, nx=True, ex=EVERY_S - 1)
        ):
            try:
                raise_alerts()
            finally:
                connections.close_all()
