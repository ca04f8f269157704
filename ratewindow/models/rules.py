"""The rules that people edit: which requests, whose, and what happens to those who are refused."""

from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from ratewindow.identity import recipe
from ratewindow.limiter.limiter import MOST_COST
from ratewindow.models.fields import PeriodField
from ratewindow.models.managers import RateRuleManager
from ratewindow.rules.count_when import parse_count_when, written
from ratewindow.rules.regex import try_regex
from ratewindow.rules.rule import (
    BLOCKS,
    NAME_PATTERN,
    NAME_WORDS,
    check_hold,
    check_lease,
    check_methods,
    check_name,
    check_pattern,
    parse_methods,
)


class Mode(models.TextChoices):
    SHADOW = "shadow", "Shadow: counts, refuses nobody"
    ENFORCE = "enforce", "Enforce"
    OFF = "off", "Off"


class AppliesTo(models.TextChoices):
    NAMED = "named", "Only where code names it"
    ALL = "all", "Every request"
    PATH = "path", "One path"
    PREFIX = "prefix", "Every path that starts with"
    REGEX = "regex", "Every path that matches a pattern"
    ROUTE = "route", "One URL name, or a namespace"


class OnMissing(models.TextChoices):
    IP = "ip", "Count by address"
    ALLOW = "allow", "Let pass uncounted"
    REFUSE = "refuse", "Refuse"


class OnError(models.TextChoices):
    DEFAULT = "", "As the setting ON_ERROR says"
    ALLOW = "allow", "Let pass uncounted"
    REFUSE = "refuse", "Refuse, with 503"
    LOCAL = "local", "Count in each process, with its share of the limit"


class RateRule(models.Model):
    """One rule: which requests it meets, how it tells clients apart, and, as windows, how much it allows."""

    name = models.CharField(
        max_length=64,
        unique=True,
        validators=[RegexValidator(NAME_PATTERN, f"This is not a rule name: use {NAME_WORDS}.")],
        help_text="Clients see this name in headers. It is fixed after the first save.",
    )
    description = models.TextField(blank=True, help_text="For people: why this rule exists.")
    mode = models.CharField(max_length=8, choices=Mode.choices, default=Mode.SHADOW)
    enforce_percent = models.PositiveSmallIntegerField(
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="Enforced for so many of a hundred clients, always the same ones; for the others it is in shadow.",
    )
    applies_to = models.CharField(max_length=8, choices=AppliesTo.choices, default=AppliesTo.NAMED)
    pattern = models.CharField(
        max_length=255,
        blank=True,
        help_text="The path, such as /login/, or how it starts, such as /api/; a regular expression for the path, or the "
        "name of a URL or of a namespace.",
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
    normalise = models.BooleanField(
        "ignore case and blanks",
        default=False,
        help_text="Take values for the same that differ only in case, in blanks, or in how Unicode writes them.",
    )

    cost = models.PositiveIntegerField(
        default=1, validators=[MaxValueValidator(MOST_COST)], help_text="How many units each request takes; 0 only looks."
    )
    count_when = models.CharField(
        "count when",
        max_length=64,
        default="always",
        help_text="always; login_failed; or statuses of the answer, such as 401,403,5xx: looked at before, counted after it.",
    )
    hold = models.BooleanField(
        "charge first, refund after",
        default=False,
        help_text="Exact however many requests come at once: each is charged before the view, and refunded if its answer does "
        "not count. Without it, as many more may pass as are answered at the same moment.",
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

    lease = models.PositiveIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_COST)],
        help_text="For very hot keys: how many units a process may take from Redis at a time, so that any period may admit so "
        "many more for each process. 1 asks for every request.",
    )
    on_error = models.CharField("while Redis is away", max_length=8, choices=OnError.choices, blank=True, default=OnError.DEFAULT)
    response_status = models.PositiveSmallIntegerField(
        default=429,
        validators=[MinValueValidator(400), MaxValueValidator(599)],
        help_text="The status of a refusal; 429 tells clients to slow down.",
    )
    message = models.CharField(max_length=300, blank=True, help_text="What a refused client reads. Empty: the usual sentence.")

    objects = RateRuleManager()

    class Meta:
        verbose_name = "rule"
        ordering = ["name"]
        permissions = [("enforce_raterule", "Can enforce rules")]

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[str]:
        return (self.name,)

    def clean(self) -> None:
        errors = {field: "None is not text: leave it empty." for field in _MAY_BE_EMPTY if getattr(self, field) is None}
        checks: dict[str, Callable[[], object]] = {
            "name": lambda: check_name(self.name) if self.name == BLOCKS else None,  # the field has checked the rest
            "key": lambda: recipe(self.key),
            "pattern": self._check_pattern,
            "methods": lambda: check_methods(self.methods),
            "count_when": lambda: parse_count_when(self.count_when),
            "hold": lambda: check_hold(self.hold, self.count_when),
            "lease": lambda: check_lease(self.lease, bool(self.penalty), self.count_refused, self.count_when),
        }
        for field, check in checks.items():
            asked = (field, "count_when") if field in ("hold", "lease") else (field,)
            if any(getattr(self, each) is None or each in errors for each in asked):
                continue  # which has been said, here or by the field
            try:
                check()
            except ValueError as error:
                errors[field] = f"{error}."
        if self.pk and not type(self).objects.filter(pk=self.pk, name=self.name).exists():
            errors["name"] = "A rule keeps its name: counts and history are kept under it. Save a new rule instead."
        if errors:
            raise ValidationError(errors)
        self.methods = ",".join(sorted(parse_methods(self.methods)))
        if self.count_when is not None:
            self.count_when = written(self.count_when)

    def _check_pattern(self) -> None:
        check_pattern(self.applies_to, self.pattern)
        if self.applies_to == AppliesTo.REGEX:
            others = type(self).objects.filter(applies_to=AppliesTo.REGEX).exclude(pk=self.pk).exclude(mode=Mode.OFF)
            try_regex(self.pattern, others.values_list("pattern", flat=True))


_MAY_BE_EMPTY = ("description", "pattern", "methods", "on_error", "message")  # text, of which a column takes no None
