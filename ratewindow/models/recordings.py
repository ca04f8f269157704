"""The models of recordings: for how long the peaks of a rule's clients are recorded, and those of each hour."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.models.fields import MomentField
from ratewindow.models.origin import MOST_BY


class Recording(models.Model):
    """One recording of one limit of a rule, from `since` until `until`."""

    rule = models.CharField(_("rule"), max_length=64, db_index=True)
    window = models.CharField(_("limit"), max_length=8, help_text=_("The tag of its shape: an edited limit stays the same one."))
    rate = models.CharField(_("rate"), max_length=40, help_text=_("The limit as it was when the recording began."))
    since = MomentField(_("since"))
    until = MomentField(_("until"), db_index=True)
    by = models.CharField(_("person"), max_length=MOST_BY, blank=True)
    left_out = models.JSONField(
        _("left out"),
        default=list,
        help_text=_("Digests of the names of clients that have been erased and are not recorded again."),
    )

    class Meta:
        verbose_name = _("recording")
        verbose_name_plural = _("recordings")
        default_permissions = ()  # the page of the rule shows it
        ordering = ["-since", "-pk"]

    def __str__(self) -> str:
        return f"{self.rule} {self.rate} {self.since:%Y-%m-%d %H:%M}"


class RecordedHour(models.Model):
    """The clients of one hour of a recording, each by a keyed hash: its peak, and what was refused beyond.

    At `level` n the hour has one of 2 to the n clients: those whose hash says so, the same ones in every hour.
    """

    recording = models.ForeignKey(Recording, models.CASCADE, related_name="hours")
    start = MomentField(_("start"))
    level = models.PositiveSmallIntegerField(_("level"), default=0)
    clients = models.JSONField(_("clients"), default=dict)

    class Meta:
        verbose_name = _("recorded hour")
        verbose_name_plural = _("recorded hours")
        default_permissions = ()
        ordering = ["start"]
        constraints = [models.UniqueConstraint(fields=["recording", "start"], name="ratewindow_one_recorded_hour")]

    def __str__(self) -> str:
        return f"{self.recording_id} {self.start:%Y-%m-%d %H:%M}"
