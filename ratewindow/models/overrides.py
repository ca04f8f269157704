"""The model of blocks, exemptions and other rates for some clients."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.conf.translation import translated
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.rates import EXAMPLES as RATES
from ratewindow.limiter.rates import parse_rates
from ratewindow.models.fields import MomentField, SubjectField, user_field
from ratewindow.models.override_manager import YEARS, OverrideManager
from ratewindow.overrides.subjects import MOST_CHARACTERS, Subject, parse_subject, stored, users_in
from ratewindow.overrides.users import check_user
from ratewindow.rules.rule import NAME_PATTERN, NAME_WORDS

CONTAINS_AUTHOR, HAS_PASSED = "author", "passed"  # codes of errors


class Override(models.Model):
    """One override of the rules: a client, or everybody, is let pass, refused, or limited by another rate."""

    class Action(models.TextChoices):
        BLOCK = "block", _("Block: refuse everything")
        ALLOW = "allow", _("Let pass: no rule applies")
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
        help_text=_("Where it was created: in the admin, by a command or by code."),
    )
    created_by = user_field("created_by_id", editable=False)
    created_at = MomentField(_("created at"), auto_now_add=True)
    changed_at = MomentField(_("changed at"), auto_now=True, db_index=True)

    objects = OverrideManager()

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
        return self._words(self.pk)

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        """Also updates `changed_at`, by which processes read only the rows that have changed."""
        if update_fields is not None:
            update_fields = {*update_fields, "changed_at"}
        super().save(*args, update_fields=update_fields, **kwargs)

    def words_for(self, who: str) -> str:
        """``block ip:203.0.113.x (login)``, with its client as the reader may see it."""
        text = self._words(who)
        return f"{text} ({self.rule})" if self.rule else text

    def _words(self, who: Any) -> str:
        texts = {self.Action.BLOCK: _("block %s"), self.Action.ALLOW: _("allow %s"), self.Action.RATE: _("rate %s")}
        return str(texts[self.Action(self.action)] % who) if self.action in texts else f"{self.action} {who}"

    @property
    def state(self) -> str:
        """``in force``, ``waiting`` for its start, or ``ended``."""
        return self.state_at(time_zone.now())

    def state_at(self, now: datetime) -> str:
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
            message = _("This block contains you: you would lock yourself out.")
            errors.setdefault("identity", ValidationError(message, code=CONTAINS_AUTHOR))
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
            at = getattr(self, field)
            if at is not None and at.year not in YEARS:
                errors[field] = _("This is not a valid time: choose one from %(first)d to %(last)d, or leave it empty.") % {
                    "first": YEARS.start,
                    "last": YEARS.stop - 1,
                }
                return
        if self.expires_at is None:
            return
        if self.starts_at is not None and self.expires_at <= self.starts_at:
            errors["expires_at"] = _("The end is not after the beginning: choose a later time.")
        elif self._state.adding and self.expires_at <= time_zone.now():
            errors["expires_at"] = ValidationError(_("This time has passed: choose a later one."), code=HAS_PASSED)

    def _contains_author(self, subject: Subject) -> bool:
        if self.created_by is None:
            return False
        if subject.group and hasattr(self.created_by, "groups"):
            return bool(self.created_by.groups.filter(name=subject.group).exists())
        return subject.everybody or subject.text == f"user:{self.created_by.pk}"
