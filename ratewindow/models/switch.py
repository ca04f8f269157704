"""The model of the kill switch, which turns all limits off, also for a limited time."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.models.fields import MomentField


class LimitSwitch(models.Model):
    """One row at most: whether somebody has switched the limits off, until when, and why."""

    off = models.BooleanField(_("off"), default=False)
    until = MomentField(_("until"), null=True, blank=True)
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    changed_by = models.CharField(_("changed by"), max_length=150, blank=True)
    changed_at = MomentField(_("changed at"))

    class Meta:
        verbose_name = verbose_name_plural = _("switch of all limits")
        default_permissions = ()
        permissions = [("switch_limits", "Can switch all limits off and on")]

    def __str__(self) -> str:
        return f"limits {'off' if self.off else 'on'} since {self.changed_at:%Y-%m-%d %H:%M}"
