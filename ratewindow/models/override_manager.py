"""`Override.objects`: create blocks, exemptions and other rates from code, and query them."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils.translation import gettext as _

from ratewindow.conf import time_zone
from ratewindow.conf.translation import translated
from ratewindow.limiter.durations import parse_duration
from ratewindow.overrides.subjects import Subject, stored_forms

if TYPE_CHECKING:
    from ratewindow.models import Override

MOST_DURATION = timedelta(days=10_000)
KEPT = timedelta(days=30)  # after their end overrides can still be looked up
YEARS = range(1900, 9000)  # of a start or an end: far enough from Python's bounds for any time zone
_BATCH = 500


def after(duration: str | timedelta, begin: datetime | None = None) -> datetime:
    """The end of an override that begins then, or now. Raises ValidationError."""
    try:
        lasting = timedelta(milliseconds=min(parse_duration(duration), 2 * MOST_DURATION // timedelta(milliseconds=1)))
    except ValueError as error:
        raise ValidationError({"expires_at": f"{translated(error)}."}) from None
    if lasting > MOST_DURATION:
        raise ValidationError(
            {
                "expires_at": _("%(duration)s is too long: write at most %(days)dd, or no end at all.")
                % {"duration": duration, "days": MOST_DURATION.days}
            }
        )
    begin = begin or time_zone.now()
    if begin.year not in YEARS:
        raise ValidationError(
            {"expires_at": _("The year %d is out of bounds: choose another time to begin, or none.") % begin.year}
        )
    return begin + lasting


class OverrideQuerySet(models.QuerySet["Override"]):
    def in_force(self, now: datetime | None = None) -> "OverrideQuerySet":
        now = now or time_zone.now()
        return self.not_ended(now).exclude(starts_at__gt=now)

    def not_ended(self, now: datetime | None = None) -> "OverrideQuerySet":
        return self.exclude(expires_at__lte=now or time_zone.now())

    def ended(self, now: datetime | None = None) -> "OverrideQuerySet":
        return self.filter(expires_at__lte=now or time_zone.now())

    def long_ended(self, now: datetime | None = None) -> "OverrideQuerySet":
        """Those that ended more than `KEPT` ago."""
        return self.ended((now or time_zone.now()) - KEPT)

    def naming(self, subject: Subject) -> "OverrideQuerySet":
        """Those for exactly this subject, whatever ``ANONYMIZE`` was when they were saved.

        As expressions, since the field would rewrite each form into the one that is saved today.
        """
        return self.filter(identity__in=[models.Value(text, models.CharField()) for text in sorted(stored_forms(subject))])

    def end(self, now: datetime | None = None) -> int:
        """End those that have not ended, one by one so that signals announce each; returns how many."""
        now, ended = now or time_zone.now(), 0
        with transaction.atomic(using=self.db):
            for override in self.not_ended(now):
                override.expires_at = now
                override.save(update_fields=["expires_at"])
                ended += 1
        return ended

    def delete_in_batches(self) -> int:
        """Delete all, a few hundred in each transaction; returns how many."""
        deleted = 0
        while pks := list(self.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
            with transaction.atomic(using=self.db):  # one announcement
                deleted += self.model._base_manager.filter(pk__in=pks).delete()[0]
        return deleted


class OverrideManager(models.Manager["Override"]):
    """`block`, `allow` and `rate` validate as the form does, and raise ValidationError with a dict by field."""

    def get_queryset(self) -> OverrideQuerySet:
        return OverrideQuerySet(self.model, using=self._db)

    def in_force(self, now: datetime | None = None) -> OverrideQuerySet:
        return self.get_queryset().in_force(now)

    def block(self, identity: str, *, duration: str | timedelta | None = None, **fields: Any) -> "Override":
        """Refuse every request, or those that meet ``rule=``: ``block("ip:203.0.113.0/24", duration="1h", reason="...")``."""
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
        override.save(using=self._db)
        return override
