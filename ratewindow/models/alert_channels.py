"""The model of a channel of alerts: how they are sent, about what, and which are raised now."""

import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, URLValidator, validate_email
from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.conf.public_addresses import internal_host
from ratewindow.models.fields import MomentField

MOST_DAYS = 60


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def _days() -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(1), MaxValueValidator(MOST_DAYS)]


def page_address(value: str) -> None:
    """Of any host, also one that only the staff's network knows."""
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or set(value) & set(" \"'<>\\?#"):
        raise ValidationError(
            _("%(value)s is not the address of a page: copy that of the report, https://…, without what follows “?”."),
            code="invalid",
            params={"value": value},
        )


class AlertChannel(models.Model):
    """`raised` is by condition: since when, when last seen, and what was sent. `revision` grows with each change of it.

    `digest_until` is the day on which the newest period ends that is sent, or that was over when the digest was switched on.
    """

    class Way(models.TextChoices):
        MAIL = "mail", _("by mail")
        LOG = "log", _("into the log")
        WEBHOOK = "webhook", _("by webhook")

    class Digest(models.TextChoices):
        NONE = "", _("none")
        DAILY = "day", _("every day")
        WEEKLY = "week", _("every week, on Monday")

    name = models.CharField(_("name"), max_length=100, unique=True)
    active = models.BooleanField(_("active"), default=True, help_text=_("An inactive channel sends nothing but tests."))
    way = models.CharField(_("way"), max_length=8, choices=Way.choices, default=Way.MAIL)
    addresses = models.TextField(
        _("mail addresses"), blank=True, max_length=2000, help_text=_("One a line. Needed for alerts by mail.")
    )
    url = models.CharField(
        _("URL of the webhook"),
        max_length=500,
        blank=True,
        validators=[URLValidator(["https", "http"])],
        help_text=_("Needed for alerts by webhook. Internal addresses are refused, and redirects are not followed."),
    )
    secret = models.CharField(
        _("secret of the webhook"),
        max_length=128,
        default=new_secret,
        help_text=_("Signs what is sent, so that the receiver can check it."),
    )
    refused_a_minute = models.PositiveIntegerField(
        _("refusals a minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Alert when a rule refuses at least that many, on average over five minutes. Empty: never."),
    )
    refused_percent = models.PositiveSmallIntegerField(
        _("refusals in percent"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_("Alert when a rule refuses at least that share of the requests that it meets. Empty: never."),
    )
    unusual = models.BooleanField(
        _("far more refusals than usual"), default=True, help_text=_("As the report's first sentence judges it.")
    )
    digest = models.CharField(
        _("digest"),
        max_length=6,
        choices=Digest.choices,
        default=Digest.NONE,
        blank=True,
        help_text=_("What the rules did, who was refused, and what to do: of the day before, or of the week before on Mondays."),
    )
    digest_hour = models.PositiveSmallIntegerField(
        _("hour of the digest"), choices=[(hour, f"{hour:02}:00") for hour in range(24)], default=8
    )
    report_url = models.CharField(
        _("address of the report"),
        max_length=500,
        blank=True,
        validators=[page_address],
        help_text=_("Where the links of digests lead, as a browser opens it. Empty: digests have no links."),
    )
    without_redis = models.BooleanField(_("decisions without Redis"), default=True)
    not_collected = models.BooleanField(_("nobody collects"), default=True, help_text=_("Counts have waited for over an hour."))
    never_met_days = models.PositiveSmallIntegerField(
        _("never met, in days"),
        null=True,
        blank=True,
        validators=_days(),
        help_text=_("Alert when no request has met an enforced rule for so many days. Empty: never."),
    )
    ready_days = models.PositiveSmallIntegerField(
        _("ready to enforce, in days"),
        null=True,
        blank=True,
        validators=_days(),
        help_text=_(
            "Alert when a rule in shadow has met requests on each of so many days, and would have refused at most 1 % of them. "
            "Empty: never."
        ),
    )
    digest_until = models.DateField(_("digests sent until"), null=True, editable=False)
    raised = models.JSONField(_("raised"), default=dict, editable=False)
    revision = models.PositiveBigIntegerField(default=0, editable=False)
    sent_at = MomentField(_("last sent"), null=True, editable=False)
    error = models.CharField(_("error"), max_length=500, blank=True, editable=False)

    class Meta:
        verbose_name = _("alert channel")
        verbose_name_plural = _("alert channels")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def save(self, *, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        """Digests begin with the first day or week that ends after they are switched on."""
        before = self.digest_until
        if not (self.digest and self.active):
            self.digest_until = None
        elif self.digest_until is None:
            self.digest_until = time_zone.local(time_zone.now()).date()
        if update_fields is not None and self.digest_until != before:
            update_fields = {*update_fields, "digest_until"}
        super().save(update_fields=update_fields, **options)

    def address_list(self) -> list[str]:
        return self.addresses.replace(",", " ").split()

    def clean(self) -> None:
        errors: dict[str, list[ValidationError]] = {}
        for address in self.address_list():
            try:
                validate_email(address)
            except ValidationError:
                error = ValidationError(_("%(value)s is not a mail address."), code="invalid", params={"value": address})
                errors.setdefault("addresses", []).append(error)
        if self.way == self.Way.MAIL and not self.address_list():
            errors["addresses"] = [ValidationError(_("Enter at least one address, or choose another way."), code="missing")]
        if self.way == self.Way.WEBHOOK and not self.url:
            errors["url"] = [ValidationError(_("Enter the URL, or choose another way."), code="missing")]
        if host := internal_host(self.url):
            error = ValidationError(
                _("%(host)s is an internal address, to which nothing is sent: name a public one."),
                code="internal",
                params={"host": host},
            )
            errors["url"] = [error]
        if errors:
            raise ValidationError(errors)
