"""What overrides the rules: blocks, exemptions and other rates for some clients, and the switch that turns all limits off."""

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models, transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import translated
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.rates import EXAMPLES as RATES, parse_rates
from ratewindow.models.fields import MomentField, SubjectField, user_field
from ratewindow.models.rules import RateRule
from ratewindow.overrides.conditions import holds_for, is_known
from ratewindow.overrides.subjects import MOST_CHARACTERS, Subject, parse_subject, stored, stored_forms, users_in
from ratewindow.overrides.users import check_user
from ratewindow.rules import code_rates
from ratewindow.rules.rule import NAME_PATTERN, NAME_WORDS

CONTAINS_AUTHOR = "author"  # the code of an error


MOST_DURATION = timedelta(days=10_000)
KEPT = timedelta(days=30)  # after their end overrides can still be looked up
YEARS = range(1900, 9000)  # of a start or an end: far enough from Python's bounds for any time zone


def after(duration: str | timedelta, begin: datetime | None = None) -> datetime:
    """The end of an override that begins then, or now. Raises ValidationError."""
    try:
        lasting_ms = parse_duration(duration)
    except ValueError as error:
        raise ValidationError({"expires_at": f"{translated(error)}."}) from None
    if lasting_ms > MOST_DURATION / timedelta(milliseconds=1):
        raise ValidationError(
            {
                "expires_at": _("%(duration)s is too long: write at most %(days)dd, or no end at all.")
                % {"duration": duration, "days": MOST_DURATION.days}
            }
        )
    first = begin if begin and begin.year in YEARS else time_zone.now()  # another year is reported for itself
    return first + timedelta(milliseconds=lasting_ms)


class OverrideQuerySet(models.QuerySet["Override"]):
    """`block`, `allow` and `rate` validate as the form does, and raise ValidationError with a dict by field."""

    def in_force(self) -> "OverrideQuerySet":
        return self.not_ended().exclude(starts_at__gt=time_zone.now())

    def not_ended(self) -> "OverrideQuerySet":
        return self.exclude(expires_at__lte=time_zone.now())

    def naming(self, subject: Subject) -> "OverrideQuerySet":
        """Those for exactly this subject, whatever ``ANONYMIZE`` was when they were saved.

        As expressions, since the field would rewrite each form into the one that is saved today.
        """
        return self.filter(identity__in=[models.Value(text, models.CharField()) for text in sorted(stored_forms(subject))])

    def end(self) -> "list[Override]":
        """End those that have not ended, one by one so that signals announce each; returns these."""
        now = time_zone.now()
        with transaction.atomic(using=self.db):
            lasting = list(self.not_ended())
            for override in lasting:
                override.expires_at = now
                override.save(update_fields=["expires_at"])
        return lasting

    def block(self, identity: str, *, duration: str | timedelta | None = None, **fields: Any) -> "Override":
        """Refuse every request, or those that match ``rule=``: ``block("ip:203.0.113.0/24", duration="1h", reason="...")``."""
        return self._make("block", identity, duration, fields)

    def allow(self, identity: str, *, duration: str | timedelta | None = None, **fields: Any) -> "Override":
        """Let every request pass, whatever rules and blocks say."""
        return self._make("allow", identity, duration, fields)

    def rate(self, identity: str, rate: str, *, duration: str | timedelta | None = None, **fields: Any) -> "Override":
        """Apply another rate than the rules': ``rate("user:42", "1000/h", rule="api")``."""
        return self._make("rate", identity, duration, {**fields, "rate": rate})

    def _make(self, action: str, identity: str, duration: str | timedelta | None, fields: dict[str, Any]) -> "Override":
        override = self.model(action=action, identity=identity, **fields)
        if duration is not None:
            override.expires_at = after(duration, override.starts_at)
        override.full_clean()
        override.save(using=self._db)  # type: ignore[attr-defined]  # missing in the stubs
        return override


class Override(models.Model):
    """One override of the rules: a client, or everybody, is let pass, refused, or limited by another rate."""

    class Action(models.TextChoices):
        BLOCK = "block", _("Block: refuse requests")
        ALLOW = "allow", _("Exempt: do not limit")
        RATE = "rate", _("Another rate")

    action = models.CharField(_("action"), max_length=8, choices=Action.choices)
    rule = models.CharField(
        _("rule"),
        max_length=64,
        blank=True,
        validators=[RegexValidator(NAME_PATTERN, format_lazy(_("This is not a rule name: use {words}."), words=_(NAME_WORDS)))],
        help_text=_("The name of the rule for which it holds. Leave empty for all rules."),
    )
    identity = SubjectField(
        _("who"),
        max_length=MOST_CHARACTERS,
        help_text=_("For example ip:203.0.113.0/24, user:42, group:staff or header:x-api-key:VALUE; * means everybody."),
    )
    rate = models.CharField(
        _("rate"), max_length=100, blank=True, help_text=_("Only for another rate, for example 100/m or 5/s; 1000/h.")
    )
    starts_at = MomentField(_("from"), null=True, blank=True, help_text=_("Leave empty to begin now."))
    expires_at = MomentField(_("until"), null=True, blank=True, help_text=_("Leave empty for no end."))
    reason = models.CharField(_("reason"), max_length=200, blank=True, help_text=_("Why, for your colleagues."))
    source = models.CharField(
        _("source"),
        max_length=32,
        default="code",
        editable=False,
        help_text=_("Where it was created: in the admin, by the API, by a command or by code."),
    )
    created_by = user_field("created_by_id", editable=False)
    created_at = MomentField(_("created at"), default=time_zone.now, editable=False)

    named = ""  # in words, once the admin has set it for messages to its user

    objects = OverrideQuerySet.as_manager()

    class Meta:
        verbose_name = _("block or exemption")
        verbose_name_plural = _("blocks and exemptions")
        ordering = ["-pk"]  # the newest first, also among a hundred thousand
        indexes = [  # for the list in the admin, for those of one rule, and for those of one client
            models.Index(fields=["expires_at", "id", "starts_at"], name="ratewindow_override_expires"),
            models.Index(fields=["starts_at", "id", "expires_at"], name="ratewindow_override_starts"),
            models.Index(fields=["rule", "expires_at"], name="ratewindow_override_rule"),
            # Of identities also by how they begin, which PostgreSQL serves from an index of this class alone.
            models.Index(fields=["identity"], name="ratewindow_override_identity", opclasses=["varchar_pattern_ops"]),
        ]
        permissions = [("view_identity", "Can see identities unmasked"), ("release_identity", "Can release clients")]

    def __str__(self) -> str:
        """``block 17``: Django's log of the admin has this, and readers who may know of no override."""
        return self.named or self._words(self.pk)

    def words_for(self, who: str) -> str:
        """``block ip:203.0.113.x (login)``, with its client as the reader may see it."""
        text = self._words(who)
        return f"{text} ({self.rule})" if self.rule else text

    def _words(self, who: Any) -> str:
        texts = {self.Action.BLOCK: _("block %s"), self.Action.ALLOW: _("allow %s"), self.Action.RATE: _("rate %s")}
        return str(texts[self.Action(self.action)] % who) if self.action in texts else f"{self.action} {who}"

    def unknown_name(self) -> str:
        """That there is no permission, or no rule, of the name that it has, which may be a mistake; otherwise empty."""
        if not is_known(self.identity):
            return str(
                _("There is no %r in Django: this applies to superusers alone, unless an authentication backend grants it.")
                % self.identity
            )
        if not self.rule or self.rule in code_rates.load_names() or RateRule.objects.filter(name=self.rule).exists():
            return ""
        return _("There is no rule %r yet: this applies once there is one.") % self.rule

    def until(self) -> str:
        """``until 14:20``, with the date unless it is today, or ``until somebody ends it``."""
        return _("until %s") % time_zone.in_short(self.expires_at) if self.expires_at else str(_("until somebody ends it"))

    @property
    def state(self) -> str:
        """``in force``, ``waiting`` for its start, or ``ended``."""
        now = time_zone.now()
        if self.expires_at is not None and self.expires_at <= now:
            return "ended"
        return "waiting" if self.starts_at is not None and self.starts_at > now else "in force"

    def clean(self) -> None:
        errors: dict[str, Any] = {}
        self.reason = " ".join((self.reason or "").splitlines())  # a line of the log, and of what commands print
        subject = self._clean_subject(errors) if self.identity else None  # the field reports that it is missing
        self._clean_rate(errors)
        self._clean_time(errors)
        if subject is not None and subject.meets_everybody:
            for field in ("rule", "expires_at"):
                if not getattr(self, field):
                    errors.setdefault(field, _("This applies to all visitors of the site: name one rule and an end."))
        if subject is not None and self.action == self.Action.BLOCK and self._contains_author(subject):
            errors.setdefault(
                "identity", ValidationError(_("This block contains you: you would lock yourself out."), code=CONTAINS_AUTHOR)
            )
        if errors:
            raise ValidationError(errors)

    def _clean_subject(self, errors: dict[str, Any]) -> Subject | None:
        try:
            subject = parse_subject(self.identity)
            if len(stored(subject)) > MOST_CHARACTERS:
                raise Problem("{text!r} is too long to be stored: write fewer parts", text=self.identity[:64])
            for user in users_in(subject):
                check_user(user)
        except ValueError as error:
            errors["identity"] = f"{translated(error)}."
            return None
        return subject

    def _clean_rate(self, errors: dict[str, Any]) -> None:
        if self.action != self.Action.RATE:
            if self.rate:
                errors["rate"] = _("Only “Another rate” has a rate: clear %r, or choose that action.") % self.rate
            return
        try:
            if not parse_rates(self.rate):
                errors["rate"] = _("Write how much is allowed instead, such as %s.") % _(RATES)
        except ValueError as error:
            errors["rate"] = f"{translated(error)}."

    def _clean_time(self, errors: dict[str, Any]) -> None:
        for field in ("starts_at", "expires_at"):
            if (at := getattr(self, field)) is not None and at.year not in YEARS:
                errors[field] = _("This is not a valid time: choose another one, or leave it empty.")
                return
        if self.expires_at is None:
            return
        if self.starts_at is not None and self.expires_at <= self.starts_at:
            errors["expires_at"] = _("The end is not after the beginning: choose a later time.")
        elif self._state.adding and self.expires_at <= time_zone.now():
            errors["expires_at"] = _("This time has passed: choose a later one.")

    def _contains_author(self, subject: Subject) -> bool:
        if self.created_by is None:
            return False
        if subject.group and hasattr(self.created_by, "groups"):
            return bool(self.created_by.groups.filter(name=subject.group).exists())
        if subject.condition:
            return holds_for(self.created_by, subject.condition)
        return subject.everybody or subject.text == f"user:{self.created_by.pk}"


class LimitSwitch(models.Model):
    """One row at most: whether somebody has switched the limits off, until when, and why."""

    off = models.BooleanField(_("off"), default=False)
    until = MomentField(_("until"), null=True, blank=True)
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    changed_by = models.CharField(_("changed by"), max_length=150, blank=True)
    changed_at = MomentField(_("changed at"))

    class Meta:
        verbose_name = verbose_name_plural = _("switch of all limits")
        default_permissions = ()
        permissions = [("switch_limits", "Can switch all limits off and on")]

    def __str__(self) -> str:
        return f"limits {'off' if self.off else 'on'} since {self.changed_at:%Y-%m-%d %H:%M}"
