"""The limits of a rule: how many requests in which period, counted by which algorithm."""

from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.conf.translation import translated
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.types import Window
from ratewindow.models.fields import PeriodField, to_text
from ratewindow.models.managers import RuleWindowManager
from ratewindow.models.rules import RateRule


class RuleWindow(models.Model):
    """One limit of a rule: at most `limit` requests in any `period`."""

    rule = models.ForeignKey(RateRule, models.CASCADE, related_name="windows")
    limit = models.PositiveBigIntegerField(_("limit"), help_text=_("How many requests are allowed in a period. 0 refuses all."))
    period = PeriodField(_("period"))
    algorithm = models.CharField(_("algorithm"), max_length=32, choices=algorithm_choices, default="sliding_window")
    buckets = models.PositiveIntegerField(
        _("buckets"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Sliding window only: how many parts a period is divided into. Leave empty for the default."),
    )

    burst = models.PositiveIntegerField(
        _("burst"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Token bucket and leaky bucket only: how many requests may come at once. Leave empty for the default."),
    )
    aligned_to = models.CharField(
        _("aligned to"),
        max_length=8,
        blank=True,
        choices=[("minute", _("Minute")), ("hour", _("Hour")), ("day", _("Day")), ("week", _("Week"))],
        help_text=_("Fixed windows only: begin with the clock instead of with the first request."),
    )

    objects = RuleWindowManager()

    class Meta:
        verbose_name = _("limit")
        verbose_name_plural = _("limits")
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "period", "algorithm"],
                name="ratewindow_one_limit_per_period",
                violation_error_message=_("This rule already has a limit for this period: change that one instead."),
            )
        ]
        ordering = ["rule", "period"]

    def __str__(self) -> str:
        return _("%(limit)s in %(period)s") % {"limit": self.limit, "period": to_text(self.period)}

    def natural_key(self) -> tuple[str, str, str]:
        return (self.rule.name, to_text(self.period), self.algorithm)

    natural_key.dependencies = ["ratewindow.raterule"]  # type: ignore[attr-defined]

    def clean(self) -> None:
        if not isinstance(self.limit, int) or not isinstance(self.period, timedelta):
            return  # reported by the field
        try:
            self.freeze()
        except ValueError as error:
            field = str(error).partition(" ")[0]  # the limiter's messages begin with the field
            if field in ("limit", "period", "buckets", "burst", "aligned_to"):  # the fields report any other error
                raise ValidationError({field: f"{translated(error)}."}) from None

    def freeze(self) -> Window:
        """This row as the limiter's value. Raises ValueError if it is out of bounds."""
        timezone = settings.TIME_ZONE if self.aligned_to else "UTC"
        return Window(
            self.limit, parse_duration(self.period), self.algorithm, self.buckets, self.burst, self.aligned_to, timezone
        )
