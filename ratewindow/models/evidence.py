"""The model of evidence: why a rule has its limits, as a backtest found it. It names no client."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ratewindow.models.fields import MomentField
from ratewindow.models.origin import MOST_BY
from ratewindow.models.rules import RateRule

MOST_NAME, MOST_FORMAT, MOST_RATES = 200, 100, 300  # characters


class Evidence(models.Model):
    """The backtest from which a rule was made, or other limits were tried beside it, and the limits that were chosen then."""

    rule = models.ForeignKey(RateRule, models.CASCADE, related_name="evidence", verbose_name=_("rule"))
    log = models.CharField(_("log"), max_length=MOST_NAME)
    format = models.CharField(_("format"), max_length=MOST_FORMAT, blank=True)
    first = MomentField(_("first request"), null=True, blank=True)
    last = MomentField(_("last request"), null=True, blank=True)
    requests = models.PositiveBigIntegerField(_("requests"), default=0)
    clients = models.PositiveBigIntegerField(_("clients"), default=0)
    chosen = models.CharField(_("chosen limits"), max_length=MOST_RATES)
    periods = models.JSONField(
        _("periods"), default=list, help_text=_("Of each period of the rule: the suggested limit, its reason, and the curve.")
    )
    is_candidate = models.BooleanField(_("of limits beside those that are enforced"), default=False)
    by = models.CharField(_("person"), max_length=MOST_BY, blank=True)
    at = MomentField(_("time"))

    class Meta:
        verbose_name = _("evidence")
        verbose_name_plural = _("evidence")
        default_permissions = ()  # the page of the rule shows it
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.log}"
