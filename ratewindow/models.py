"""What is stored in the database: the rules that people edit, and the history of what they did."""

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from ratewindow.fields import PeriodField, to_text
from ratewindow.identity import recipe
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.limiter.algorithms.fixed_window import ALIGNMENTS_MS
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.limiter import MOST_COST
from ratewindow.limiter.types import Window
from ratewindow.managers import RateRuleManager, RuleWindowManager
from ratewindow.rule import NAME_PATTERN, NAME_WORDS, check_pattern, parse_methods


class Mode(models.TextChoices):
    SHADOW = "shadow", "Shadow: counts, refuses nobody"
    ENFORCE = "enforce", "Enforce"
    OFF = "off", "Off"


class AppliesTo(models.TextChoices):
    NAMED = "named", "Only where code names it"
    ALL = "all", "Every request"
    PATH = "path", "One path"
    PREFIX = "prefix", "Every path that starts with"


class OnMissing(models.TextChoices):
    IP = "ip", "Count by address"
    ALLOW = "allow", "Let pass uncounted"
    REFUSE = "refuse", "Refuse"


class RateRule(models.Model):
    """One rule: which requests it meets, how it tells clients apart, and, as windows, how much it allows."""

    name = models.CharField(
        max_length=64,
        unique=True,
        validators=[RegexValidator(NAME_PATTERN, f"This is no rule name: use {NAME_WORDS}.")],
        help_text="Clients see this name in headers. It is fixed after the first save.",
    )
    description = models.TextField(blank=True, help_text="For people: why this rule exists.")
    mode = models.CharField(max_length=8, choices=Mode.choices, default=Mode.SHADOW)
    applies_to = models.CharField(max_length=8, choices=AppliesTo.choices, default=AppliesTo.NAMED)
    pattern = models.CharField(
        max_length=255, blank=True, help_text="The path, such as /login/, or how it starts, such as /api/."
    )
    methods = models.CharField(max_length=100, blank=True, help_text="Such as POST or GET,HEAD. Empty means all.")
    key = models.CharField(
        "count per",
        max_length=255,
        default="ip",
        help_text="What tells clients apart: ip, user, user_or_ip, global, header:NAME, or several joined by +.",
    )
    on_missing = models.CharField(
        "if that is missing",
        max_length=8,
        choices=OnMissing.choices,
        default=OnMissing.IP,
        help_text="What to do with a request that has no such user or header.",
    )

    cost = models.PositiveIntegerField(
        default=1, validators=[MaxValueValidator(MOST_COST)], help_text="How many units each request takes; 0 only looks."
    )
    count_refused = models.BooleanField(
        "count refused requests too",
        default=False,
        help_text="A client that keeps trying stays refused: it must be quiet for the whole period.",
    )
    penalty = PeriodField(
        null=True,
        blank=True,
        help_text="After a refusal, refuse everything of this client for so long, such as 15m. Empty: no penalty.",
    )

    objects = RateRuleManager()

    class Meta:
        verbose_name = "rule"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[str]:
        return (self.name,)

    def clean(self) -> None:
        errors: dict[str, str] = {}
        checks: dict[str, Callable[[], object]] = {
            "key": lambda: recipe(self.key),
            "pattern": lambda: check_pattern(self.applies_to, self.pattern),
            "methods": lambda: parse_methods(self.methods),
        }
        for field, check in checks.items():
            try:
                check()
            except ValueError as error:
                errors[field] = f"{error}."
        if self.pk and not type(self).objects.filter(pk=self.pk, name=self.name).exists():
            errors["name"] = "A rule keeps its name: counts and history are kept under it. Save a new rule instead."
        if errors:
            raise ValidationError(errors)
        self.methods = ",".join(sorted(parse_methods(self.methods)))


class RuleWindow(models.Model):
    """One limit of a rule: at most so many in any period."""

    rule = models.ForeignKey(RateRule, models.CASCADE, related_name="windows")
    limit = models.PositiveBigIntegerField(help_text="How many requests; 0 refuses all.")
    period = PeriodField()
    algorithm = models.CharField(max_length=32, choices=algorithm_choices, default="sliding_window")
    buckets = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Resolution; empty for the usual one."
    )

    burst = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Buckets only: how many at once; empty for the usual number.",
    )
    aligned_to = models.CharField(
        max_length=8,
        blank=True,
        choices=[(name, name.capitalize()) for name in ALIGNMENTS_MS],
        help_text="Fixed windows only: begin with the clock instead of the first request.",
    )

    objects = RuleWindowManager()

    class Meta:
        verbose_name = "limit"
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "period", "algorithm"],
                name="ratewindow_one_limit_per_period",
                violation_error_message="This rule already has a limit for this period: change that one instead.",
            )
        ]
        ordering = ["rule", "period"]

    def __str__(self) -> str:
        return f"{self.limit} in {to_text(self.period)}"

    def natural_key(self) -> tuple[str, str, str]:
        return (self.rule.name, to_text(self.period), self.algorithm)

    natural_key.dependencies = ["ratewindow.raterule"]  # type: ignore[attr-defined]

    def clean(self) -> None:
        if not isinstance(self.limit, int) or not isinstance(self.period, timedelta):
            return  # the field has said so
        try:
            self.freeze()
        except ValueError as error:
            field = str(error).partition(" ")[0]  # the limiter names first what it is about
            if field in ("limit", "period", "buckets", "burst", "aligned_to"):  # anything else a field has said by itself
                raise ValidationError({field: f"{error}."}) from None

    def freeze(self) -> Window:
        """This row as the limiter's value; ValueError when it is out of bounds."""
        timezone = settings.TIME_ZONE if self.aligned_to else "UTC"
        return Window(
            self.limit, parse_duration(self.period), self.algorithm, self.buckets, self.burst, self.aligned_to, timezone
        )


class ThrottleStat(models.Model):
    """What one rule did in one minute, hour or day. A request counts once in passed, refused or other."""

    class Resolution(models.TextChoices):
        MINUTE = "minute", "Minute"
        HOUR = "hour", "Hour"
        DAY = "day", "Day"

    rule = models.CharField(max_length=64, help_text="The rule's name, so that history survives its deletion.")
    resolution = models.CharField(max_length=8, choices=Resolution.choices)
    start = models.DateTimeField()
    passed = models.PositiveBigIntegerField(default=0)
    refused = models.PositiveBigIntegerField(default=0)
    other = models.PositiveBigIntegerField("refused by another rule", default=0)
    would_refuse = models.PositiveBigIntegerField(default=0, help_text="Passed, but an enforced rule would have refused.")
    fallback = models.PositiveBigIntegerField("decided without Redis", default=0, help_text="Passed or refused without counting.")

    class Meta:
        verbose_name = "report"
        verbose_name_plural = "report"
        constraints = [models.UniqueConstraint(fields=["resolution", "start", "rule"], name="ratewindow_one_stat_per_start")]

    def __str__(self) -> str:
        return f"{self.rule} {self.resolution} {self.start:%Y-%m-%d %H:%M}"
