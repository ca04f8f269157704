"""The model of a channel of alerts: how they are sent, about what, and which are raised now."""

import secrets
from collections.abc import Collection

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, URLValidator, validate_email
from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.contrib.alerts.public_addresses import internal_host
from ratewindow.models.fields import MomentField


def new_secret() -> str:
    return secrets.token_urlsafe(32)


class AlertChannel(models.Model):
    """`raised` is by event: the condition, since when it holds, when it was last seen, and its text. `revision` grows with each
    change of it."""

    class Way(models.TextChoices):
        MAIL = "mail", _("by mail")
        LOG = "log", _("into the log")
        WEBHOOK = "webhook", _("by webhook")
        SIGNAL = "signal", _("by a signal, to code of this site")

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
    everybody = models.BooleanField(
        _("a rule refuses nearly everybody"),
        default=True,
        help_text=_("It refuses nearly all requests, of many clients, and may be wrong."),
    )
    refused_a_minute = models.PositiveIntegerField(
        _("refusals a minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Alert when a rule refuses at least that many, on average over five minutes. Empty: never."),
    )
    unusual = models.BooleanField(
        _("far more refusals than usual"), default=True, help_text=_("As the report's first sentence judges it.")
    )
    without_redis = models.BooleanField(_("decisions without Redis"), default=True)
    not_collected = models.BooleanField(_("nobody collects"), default=True, help_text=_("Counts have waited for over an hour."))
    unmatched = models.BooleanField(
        _("rules without requests"), default=False, help_text=_("No request has matched an enforced rule for 30 days.")
    )
    ready = models.BooleanField(
        _("rules that are ready to be enforced"),
        default=False,
        help_text=_("A rule in shadow had requests on each of the last 7 days, and would have refused at most 1 % of them."),
    )
    daily_report = models.BooleanField(
        _("yesterday's report"), default=False, help_text=_("Every morning from eight o'clock on. By mail alone.")
    )
    reported = models.DateField(_("last report"), null=True, editable=False, help_text=_("The day that it was about."))
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

    def address_list(self) -> list[str]:
        return self.addresses.replace(",", " ").split()

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """Those of other ways may hold anything."""
        super().clean_fields({*(exclude or ()), *(name for name, way in WAY_OF.items() if way != self.way)})

    def clean(self) -> None:
        if self.way == self.Way.MAIL and not self.address_list():
            raise _at("addresses", _("Enter at least one address, or choose another way."))
        for address in self.address_list() if self.way == self.Way.MAIL else ():
            try:
                validate_email(address)
            except ValidationError:
                raise _at("addresses", _("%(value)s is not a mail address."), value=address) from None
        if self.way == self.Way.WEBHOOK and not self.url:
            raise _at("url", _("Enter the URL, or choose another way."))
        if self.way == self.Way.WEBHOOK and (host := internal_host(self.url)):
            raise _at("url", _("%(host)s is an internal address, to which nothing is sent: name a public one."), host=host)
        if self.daily_report and self.way != self.Way.MAIL:
            raise _at("daily_report", _("The report is sent by mail alone."))


WAY_OF = {"addresses": AlertChannel.Way.MAIL, "url": AlertChannel.Way.WEBHOOK, "secret": AlertChannel.Way.WEBHOOK}


def _at(field: str, text: object, **params: str) -> ValidationError:
    return ValidationError({field: ValidationError(text, code="invalid", params=params)})  # type: ignore[arg-type]
