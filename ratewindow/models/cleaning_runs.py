"""The model of one run of the cleaner in Redis: what it looked at and deleted, and where the next one goes on."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.models.fields import MomentField


class CleaningRun(models.Model):
    """One run, from the moment it begins: one that was killed never ends."""

    class Ended(models.TextChoices):
        COMPLETE = "complete", _("all keys seen")
        TIME = "time", _("its time was over")
        ERROR = "error", _("an error")

    began_at = MomentField(_("began at"), db_index=True)
    took_ms = models.PositiveBigIntegerField(_("took"), default=0, help_text=_("Milliseconds."))
    dry_run = models.BooleanField(_("dry run"), default=False, help_text=_("It deleted nothing."))
    seen = models.PositiveBigIntegerField(_("keys seen"), default=0)
    orphans = models.PositiveBigIntegerField(_("of no rule"), default=0)
    harmed = models.PositiveBigIntegerField(
        _("overwritten"), default=0, help_text=_("Of another type, without an expiry, or with one that is too late.")
    )
    freed_bytes = models.PositiveBigIntegerField(
        _("bytes freed"),
        null=True,
        default=0,
        help_text=_("By keys of no rule. Unknown if Redis did not say how large they were."),
    )
    measured = models.PositiveBigIntegerField(
        _("keys measured"), default=0, help_text=_("If they are fewer than the keys of no rule, the bytes are an estimate.")
    )
    ended = models.CharField(_("ended by"), max_length=8, choices=Ended.choices, blank=True)
    error = models.CharField(_("error"), max_length=500, blank=True)
    position = models.JSONField(
        _("position"),
        default=dict,
        help_text=_("The cursor of each server, 0 if all its keys were seen. Empty: at the beginning."),
    )

    class Meta:
        verbose_name = _("cleaning run")
        verbose_name_plural = _("cleaning runs")
        default_permissions = ()  # the page State shows them
        ordering = ["-began_at", "-pk"]

    def __str__(self) -> str:
        return f"cleaning {self.began_at:%Y-%m-%d %H:%M}"
