"""The rules that staff edit: which requests they meet, what identifies a client, and what a refused client gets."""

from collections.abc import Callable, Collection
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from ratewindow.conf.translation import translated
from ratewindow.identity import recipe
from ratewindow.limiter.limiter import MOST_COST
from ratewindow.models.fields import PeriodField
from ratewindow.models.managers import RateRuleManager
from ratewindow.rules.count_when import parse_count_when, written
from ratewindow.rules.regex import check_room
from ratewindow.rules.rule import (
    BLOCKS,
    NAME_PATTERN,
    NAME_WORDS,
    check_candidate,
    check_hold,
    check_lease,
    check_methods,
    check_name,
    check_pattern,
    parse_methods,
)


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
    """One rule: which requests it meets, what identifies a client, and, as windows, how much it allows."""

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
    applies_to = models.CharField(_("applies to"), max_length=8, choices=AppliesTo.choices, default=AppliesTo.NAMED)
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
    count_refused = models.BooleanField(
        _("count refused requests too"),
        default=False,
        help_text=_("A client that keeps trying stays refused, until it has sent nothing for a whole period."),
    )
    penalty = PeriodField(
        _("penalty"),
        null=True,
        blank=True,
        help_text=_("How long a client that has exceeded the limit is refused, for example 15m. Leave empty for no penalty."),
    )

    candidate = models.CharField(
        _("limits to try"),
        max_length=200,
        blank=True,
        help_text=_(
            "Other limits for the same requests, such as 200/m; 5000/h, judged in shadow beside those that are enforced. "
            "Leave empty to try none."
        ),
    )
    lease = models.PositiveIntegerField(
        _("lease"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_COST)],
        help_text=_(
            "For very busy clients: how many units a process takes from Redis at a time. Each process may admit that many "
            "more in a period. With 1 Redis is asked for every request."
        ),
    )
    on_error = models.CharField(
        _("while Redis is away"), max_length=8, choices=OnError.choices, blank=True, default=OnError.DEFAULT
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

    objects = RateRuleManager()

    class Meta:
        verbose_name = _("rule")
        verbose_name_plural = _("rules")
        ordering = ["name"]
        permissions = [("enforce_raterule", "Can enforce rules")]

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[str]:
        return (self.name,)

    def clean(self) -> None:
        errors: dict[str, Any] = {
            field: _("None is not text: write an empty text.") for field in _MAY_BE_EMPTY if getattr(self, field) is None
        }
        checks: dict[str, Callable[[], object]] = {
            "name": lambda: check_name(self.name) if self.name == BLOCKS else None,  # the field's validator checks the rest
            "key": lambda: recipe(self.key),
            "pattern": lambda: check_pattern(self.applies_to, self.pattern),
            "methods": lambda: check_methods(self.methods),
            "count_when": lambda: parse_count_when(self.count_when),
            "candidate": lambda: check_candidate(self.candidate, self.count_refused),
            "hold": lambda: check_hold(self.hold, self.count_when),
            "lease": lambda: check_lease(self.lease, bool(self.penalty), self.count_refused, self.count_when),
        }
        for field, check in checks.items():
            needed = (field, "count_when") if field in ("hold", "lease") else (field,)
            if any(getattr(self, each) is None or each in errors for each in needed):
                continue  # reported above or by the field
            try:
                check()
            except ValueError as error:
                errors[field] = f"{translated(error)}."
        if self.pk and not type(self).objects.filter(pk=self.pk, name=self.name).exists():
            errors["name"] = _("A rule cannot be renamed: counts and history are stored by name. Add a new rule instead.")
        if errors:
            raise ValidationError(errors)
        self.methods = ",".join(sorted(parse_methods(self.methods)))
        if self.count_when is not None:
            self.count_when = written(self.count_when)

    def validate_unique(self, exclude: Collection[str] | None = None) -> None:
        """An expression also needs room beside those of all other rules, of which some may be off and be switched on."""
        super().validate_unique(exclude)
        if self.applies_to != AppliesTo.REGEX or "pattern" in (exclude or ()):
            return
        stored = dict(type(self).objects.filter(applies_to=AppliesTo.REGEX).values_list("name", "pattern"))
        if stored.pop(self.name, None) != self.pattern:
            try:
                check_room(self.pattern, stored.values())
            except ValueError as error:
                raise ValidationError({"pattern": f"{translated(error)}."}) from None


_MAY_BE_EMPTY = ("description", "pattern", "methods", "candidate", "on_error", "message")  # text columns, which are NOT NULL
