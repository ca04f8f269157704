"""The models of collected statistics, which the report shows: what rules did, and whom they refused."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.models.fields import ExactField, MomentField


class Resolution(models.TextChoices):
    """Of statistics: the span of time that a row is about."""

    MINUTE = "minute", _("Minute")
    HOUR = "hour", _("Hour")
    DAY = "day", _("Day")


class ThrottleStat(models.Model):
    """What one rule did in one minute, hour or day. A request counts once in passed, refused or other."""

    rule = models.CharField(
        _("rule"), max_length=64, help_text=_("The name of the rule. Its history remains when the rule is deleted.")
    )
    resolution = models.CharField(_("resolution"), max_length=8, choices=Resolution.choices)
    start = MomentField(_("start"))
    passed = models.PositiveBigIntegerField(_("passed"), default=0)
    refused = models.PositiveBigIntegerField(_("refused"), default=0)
    other = models.PositiveBigIntegerField(_("refused by another rule"), default=0)
    would_refuse = models.PositiveBigIntegerField(
        _("would refuse"), default=0, help_text=_("Passed in shadow, but would have been refused if the rule were enforced.")
    )
    fallback = models.PositiveBigIntegerField(
        _("decided without Redis"), default=0, help_text=_("Passed or refused without being counted in Redis.")
    )
    near = models.PositiveBigIntegerField(_("near a limit"), default=0, help_text=_("Passed, with over 80 % of a limit used."))
    reasons = models.JSONField(_("reasons"), default=dict, help_text=_("Refusals and decisions without Redis, by reason."))
    latency = models.JSONField(
        _("latency"), default=dict, help_text=_("How long decisions took: counts by upper bounds in milliseconds.")
    )
    used = models.JSONField(
        _("used"),
        default=dict,
        db_default={},  # what an older version writes does not name it
        help_text=_("How much of each limit requests had used: counts by upper bounds in percent."),
    )

    class Meta:
        verbose_name = _("report")
        verbose_name_plural = _("report")
        indexes = [models.Index(fields=["rule", "resolution", "start"], name="ratewindow_stat_of_rule")]
        constraints = [models.UniqueConstraint(fields=["resolution", "start", "rule"], name="ratewindow_one_stat_per_start")]
        permissions = [("export_throttlestat", "Can export rules and reports")]

    def __str__(self) -> str:
        return f"{self.rule} {self.resolution} {self.start:%Y-%m-%d %H:%M}"


class OffenderStat(models.Model):
    """A client that one rule refused in one minute, hour or day, or would have, or a network of such clients: those most refused.

    Counts are never too large. The row of kind client, or network, whose `value` is empty has a bound in `refused` and
    `would_refuse`: by so much the other rows of its kind may be too small, and so much a client without a row may have. Where
    there is no such row, the counts are exact. The row of kind ``all`` counts all requests.
    """

    class Kind(models.TextChoices):
        ALL = "all", _("All")
        CLIENT = "client", _("Client")
        NETWORK = "network", _("Network")

    rule = models.CharField(_("rule"), max_length=64)
    resolution = models.CharField(_("resolution"), max_length=8, choices=Resolution.choices)
    start = MomentField(_("start"))
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    value = ExactField(
        _("value"),
        max_length=255,
        blank=True,
        help_text=_("An identity as ANONYMIZE says it is stored, or a network."),
    )
    refused = models.PositiveBigIntegerField(_("refused"), default=0)
    would_refuse = models.PositiveBigIntegerField(_("would refuse"), default=0)
    met = models.PositiveBigIntegerField(_("requests"), default=0, help_text=_("Of all: how many matched the rule."))
    distinct = models.JSONField(
        _("distinct"), default=dict, help_text=_("Of all: from which the number of different clients is estimated.")
    )

    class Meta:
        verbose_name = _("offender")
        verbose_name_plural = _("offenders")
        default_permissions = ()  # the report shows it
        indexes = [models.Index(fields=["rule", "resolution", "start"], name="ratewindow_offender_of_rule")]
        constraints = [
            models.UniqueConstraint(
                fields=["resolution", "start", "rule", "kind", "value"], name="ratewindow_one_offender_per_start"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.resolution} {self.start:%Y-%m-%d %H:%M} {self.kind} {self.value}"
