"""The models of collected statistics, which the report shows: what rules did, and for whom."""

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
    near = models.PositiveBigIntegerField("near a limit", default=0, help_text="Passed, with over 80 % of a limit used.")
    reasons = models.JSONField(default=dict, help_text="Refusals and decisions without Redis, by reason.")
    latency = models.JSONField(default=dict, help_text="How long decisions took: counts by upper bounds in milliseconds.")

    class Meta:
        verbose_name = "report"
        verbose_name_plural = "report"
        constraints = [models.UniqueConstraint(fields=["resolution", "start", "rule"], name="ratewindow_one_stat_per_start")]

    def __str__(self) -> str:
        return f"{self.rule} {self.resolution} {self.start:%Y-%m-%d %H:%M}"


class OffenderStat(models.Model):
    """A client that one rule met in one minute, hour or day: one of those most refused, or of the busiest. Also a network, a
    route or a user agent of refused requests.

    Counts are never too large. The row of a kind without a value says by how much they may be too small, and how much a
    value may have that has no row; without that row they are exact. The row of kind ``all`` counts all requests.
    """

    class Kind(models.TextChoices):
        ALL = "all", "All"
        CLIENT = "client", "Client"
        NETWORK = "network", "Network"
        ROUTE = "route", "Route"
        AGENT = "agent", "User agent"

    rule = models.CharField(max_length=64)
    resolution = models.CharField(max_length=8, choices=ThrottleStat.Resolution.choices)
    start = MomentField()
    kind = models.CharField(max_length=8, choices=Kind.choices)
    value = models.CharField(
        max_length=255,
        blank=True,
        help_text="An identity as ANONYMIZE says it is stored, a route, or a user agent's family.",
    )
    refused = models.PositiveBigIntegerField(default=0)
    would_refuse = models.PositiveBigIntegerField(default=0)
    met = models.PositiveBigIntegerField("requests", default=0, help_text="All requests that met the rule, of clients alone.")
    signed_in = models.BooleanField(default=False, help_text="A client that is known to have been signed in.")
    network = models.CharField(max_length=255, blank=True, help_text="That of a client with an address.")
    distinct = models.JSONField(default=dict, help_text="Of all: from which the number of different clients is estimated.")

    class Meta:
        verbose_name = "offender"
        constraints = [
            models.UniqueConstraint(
                fields=["resolution", "start", "rule", "kind", "value"], name="ratewindow_one_offender_per_start"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.resolution} {self.start:%Y-%m-%d %H:%M} {self.kind} {self.value}"
