"""The rules that staff edit: which requests they match, what identifies a client, and what a refused client gets."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from ratewindow import rooms
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import translated
from ratewindow.identity.site_answers import MOST_NAME
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.limiter.arguments import MOST_COST
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.types import Window
from ratewindow.models.defining import RateRuleManager as RateRuleManager, problems, tidy
from ratewindow.models.fields import MomentField, PenaltyField, PeriodField, to_text
from ratewindow.rules.rule import NAME_PATTERN, NAME_WORDS


class Mode(models.TextChoices):
    SHADOW = "shadow", _("Shadow: counts, refuses nobody")
    ENFORCE = "enforce", _("Enforce")
    OFF = "off", _("Off")


class AppliesTo(models.TextChoices):
    NAMED = "named", _("Only where code names it")
    ALL = "all", _("Every request")
    PATH = "path", _("One path")
    PREFIX = "prefix", _("Every path that starts with")
    REGEX = "regex", _("Every path that matches a pattern")
    ROUTE = "route", _("One view or namespace, by URL name")


def applies_to_choices() -> list[tuple[str, Any]]:
    """Those of the core, and those of the rooms that the site has."""
    return [*AppliesTo.choices, *((name, target.label) for name, target in rooms.targets().items())]


class OnMissing(models.TextChoices):
    IP = "ip", _("Count by address")
    ALLOW = "allow", _("Let pass uncounted")
    REFUSE = "refuse", _("Refuse")


class OnError(models.TextChoices):
    DEFAULT = "", _("As in the setting ON_ERROR")
    ALLOW = "allow", _("Let pass uncounted")
    REFUSE = "refuse", _("Refuse, with 503")
    LOCAL = "local", _("Count in each process, with its share of the limit")


class RateRule(models.Model):
    """One rule: which requests it matches, what identifies a client, and, as windows, how much it allows."""

    name = models.CharField(
        _("name"),
        max_length=64,
        unique=True,
        validators=[RegexValidator(NAME_PATTERN, format_lazy(_("This is not a rule name: use {words}."), words=_(NAME_WORDS)))],
        help_text=_("Clients see this name in headers. It cannot be changed after the first save."),
    )
    description = models.TextField(_("description"), blank=True, help_text=_("A note for your colleagues: why this rule exists."))
    mode = models.CharField(_("mode"), max_length=8, choices=Mode.choices, default=Mode.SHADOW)
    enforce_percent = models.PositiveSmallIntegerField(
        _("enforce percent"),
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_(
            "The percentage of clients for whom the rule is enforced, always the same ones. For the others it stays in shadow."
        ),
    )
    mode_since = MomentField(default=time_zone.now, editable=False)  # when mode or percentage last changed
    applies_to = models.CharField(_("applies to"), max_length=8, choices=applies_to_choices, default=AppliesTo.NAMED)
    pattern = models.CharField(
        _("pattern"),
        max_length=255,
        blank=True,
        help_text=_(
            "A path such as /login/, the beginning of paths such as /api/, a regular expression, or the name of a URL or "
            "of a namespace."
        ),
    )
    methods = models.CharField(
        _("methods"), max_length=100, blank=True, help_text=_("For example POST or GET,HEAD. Leave empty for all methods.")
    )
    key = models.CharField(
        _("count per"),
        max_length=255,
        default="ip",
        help_text=_("What identifies a client: ip, user, user_or_ip, global, header:NAME, or several joined by +."),
    )
    on_missing = models.CharField(
        _("if that is missing"),
        max_length=8,
        choices=OnMissing.choices,
        default=OnMissing.IP,
        help_text=_("What happens to a request that has no such user or header."),
    )
    normalise = models.BooleanField(
        _("ignore case and blanks"),
        default=False,
        help_text=_("Treat values as the same if they differ only in case, blanks or Unicode form."),
    )

    cost = models.PositiveIntegerField(
        _("cost"),
        default=1,
        validators=[MaxValueValidator(MOST_COST)],
        help_text=_("How many units each request uses. With 0 the limit is checked and nothing is counted."),
    )
    count_when = models.CharField(
        _("count when"),
        max_length=64,
        default="always",
        help_text=_(
            "Which requests count: always, login_failed, or statuses of the response such as 401,403,5xx. The limit "
            "is checked before the view, and the request is counted after it."
        ),
    )
    hold = models.BooleanField(
        _("charge first, refund after"),
        default=False,
        help_text=_(
            "Count each request before the view, and take that back if its response does not count. So the limit stays "
            "exact when many requests arrive at the same moment; otherwise those may all pass."
        ),
    )
    forgive = models.BooleanField(
        _("forgive after success"),
        default=False,
        help_text=_(
            "A login that succeeds, or another successful request that does not count, deletes this client's counts. Only for "
            "rules that count per name: whoever has an account could delete the counts of an address by logging in."
        ),
    )
    count_refused = models.BooleanField(
        _("count refused requests too"),
        default=False,
        help_text=_("A client that keeps trying stays refused, until it has sent nothing for a whole period."),
    )
    penalty = PenaltyField(
        _("penalty"),
        max_length=255,
        null=True,
        blank=True,
        help_text=_(
            "How long a client that has exceeded the limit is refused, for example 15m, or longer each time: 1m; 5m; 1h within "
            "1d. Leave empty for no penalty."
        ),
    )

    on_error = models.CharField(
        _("while Redis is unavailable"), max_length=8, choices=OnError.choices, blank=True, default=OnError.DEFAULT
    )
    soft = models.BooleanField(
        _("soft limit"),
        default=False,
        help_text=_("Over the limit, requests pass and still count, and code of this site is told. Fixed windows only."),
    )
    response_status = models.PositiveSmallIntegerField(
        _("response status"),
        default=429,
        validators=[MinValueValidator(400), MaxValueValidator(599)],
        help_text=_("The HTTP status of a refusal. 429 tells clients to slow down."),
    )
    message = models.CharField(
        _("message"),
        max_length=300,
        blank=True,
        help_text=_("What a refused client reads. Leave empty for the default sentence."),
    )

    limits_from = models.CharField(
        _("take limits from"),
        max_length=MOST_NAME,
        blank=True,
        help_text=_(
            "A function of this site's code that says how much each client may do, such as by plan. The limits below hold "
            "where it gives none."
        ),
    )

    objects = RateRuleManager()

    class Meta:
        verbose_name = _("rule")
        verbose_name_plural = _("rules")
        ordering = ["name"]
        permissions = [("enforce_raterule", "Can enforce rules")]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        """A rule whose mode or percentage changes has its new mode from now on."""
        before = type(self).objects.filter(pk=self.pk).values_list("mode", "enforce_percent").first() if self.pk else None
        if before is not None and before != (self.mode, self.enforce_percent):
            self.mode_since = time_zone.now()
            update_fields = None if update_fields is None else {*update_fields, "mode_since"}
        super().save(*args, update_fields=update_fields, **options)

    def clean(self) -> None:
        for field in ("description", "pattern", "methods", "on_error", "limits_from", "message"):  # NOT NULL, as all text
            setattr(self, field, getattr(self, field) or "")
        errors: dict[str, Any] = {field: f"{translated(problem)}." for field, problem in problems(self).items()}
        if self.pk and not type(self).objects.filter(pk=self.pk, name=self.name).exists():
            errors["name"] = _("A rule cannot be renamed: counts and history are stored by name. Add a new rule instead.")
        if errors:
            raise ValidationError(errors)
        if self.count_when is not None:
            tidy(self)

    def validate_unique(self, exclude: Collection[str] | None = None) -> None:
        """An expression also needs room beside those of all other rules."""
        super().validate_unique(exclude)
        if self.applies_to == AppliesTo.REGEX and "pattern" not in (exclude or ()):
            try:
                type(self).objects.check_bounds(self.name, self.pattern)
            except ValueError as error:
                raise ValidationError({"pattern": f"{translated(error)}."}) from None


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
        choices=[("minute", _("Minute")), ("hour", _("Hour")), ("day", _("Day")), ("week", _("Week")), ("month", _("Month"))],
        help_text=_(
            "Fixed windows only: begin with the clock instead of with the first request. A month is that of the calendar; its "
            "period is 30d."
        ),
    )

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
