"""The room of alerts."""

from django.utils.translation import gettext_lazy as _

from ratewindow import rooms


class AlertsConfig(rooms.Room):
    name = "ratewindow.contrib.alerts"
    label = "ratewindow_alerts"
    verbose_name = _("Alerts of rate limits")
    default_auto_field = "django.db.models.BigAutoField"
    gives = "alerts by mail, log, webhook or signal, and yesterday's report by mail"
    stores = "a row for each channel, with the secret of its webhook"
    subcommands = {
        "alerts": "ratewindow.contrib.alerts.commands:ALERTS",
        "report": "ratewindow.contrib.alerts.commands:REPORT",
    }
    tasks = {
        "raise_alerts": "ratewindow.contrib.alerts.sending.raise_alerts",
        "send_report": "ratewindow.contrib.alerts.report.send_report",
    }
