"""Alert channels in the admin."""

from ratewindow.admin.alerts.channel_admin import AlertChannelAdmin

__all__ = ["AlertChannelAdmin"]
