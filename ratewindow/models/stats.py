"""The model of collected statistics, which the report shows."""

from django.db import models

from ratewindow.models.fields import MomentField


class ThrottleStat(models.Model):
    """What one rule did in one minute, hour or day. A request counts once in passed, refused or other."""

    class Resolution(models.TextChoices):
        MINUTE = "minute", "Minute"
        HOUR = "hour", "Hour"
        DAY = "day", "Day"

    rule = models.CharField(max_length=64, help_text="The name of the rule. Its history remains when the rule is deleted.")
    resolution = models.CharField(max_length=8, choices=Resolution.choices)
    start = MomentField()
    passed = models.PositiveBigIntegerField(default=0)
    refused = models.PositiveBigIntegerField(default=0)
    other = models.PositiveBigIntegerField("refused by another rule", default=0)
    would_refuse = models.PositiveBigIntegerField(
        default=0, help_text="Passed in shadow, but would have been refused if the rule were enforced."
    )
    fallback = models.PositiveBigIntegerField(
        "decided without Redis", default=0, help_text="Passed or refused without being counted in Redis."
    )
    reasons = models.JSONField(default=dict, help_text="Refusals and decisions without Redis, by reason.")
    latency = models.JSONField(default=dict, help_text="How long decisions took: counts by upper bounds in milliseconds.")

    class Meta:
        verbose_name = "report"
        verbose_name_plural = "report"
        constraints = [models.UniqueConstraint(fields=["resolution", "start", "rule"], name="ratewindow_one_stat_per_start")]

    def __str__(self) -> str:
        return f"{self.rule} {self.resolution} {self.start:%Y-%m-%d %H:%M}"
