"""The rules of one mode, to which a report can be limited."""

from django.utils.translation import gettext_lazy as _

from ratewindow.models import Mode, RateRule
from ratewindow.rules import code_rates

CODE = "code"
MODES = ((Mode.ENFORCE.value, _("Enforced")), (Mode.SHADOW.value, _("In shadow")), (CODE, _("In code")))


def names_of(mode: str) -> list[str]:
    """The names of the rules in that mode; requests of blocked clients that met no rule are of none."""
    if mode == CODE:
        return sorted({*code_rates.names()} - {*RateRule.objects.values_list("name", flat=True)})
    return [*RateRule.objects.filter(mode=mode).order_by("name").values_list("name", flat=True)]
