"""Alert channels in the admin."""

from ratewindow.admin.alerts import channel_admin  # noqa: F401  imported to register it
