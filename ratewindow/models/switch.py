"""The model of the kill switch, which turns all limits off, also for a limited time."""

from django.db import models

from ratewindow.models.fields import MomentField


class LimitSwitch(models.Model):
    """One row at most: whether somebody has switched the limits off, until when, and why."""

    off = models.BooleanField(default=False)
    until = MomentField(null=True, blank=True)
    reason = models.CharField(max_length=200, blank=True)
    changed_by = models.CharField(max_length=150, blank=True)
    changed_at = MomentField()

    class Meta:
        default_permissions = ()
        permissions = [("switch_limits", "Can switch all limits off and on")]

    def __str__(self) -> str:
        return f"limits {'off' if self.off else 'on'} since {self.changed_at:%Y-%m-%d %H:%M}"
