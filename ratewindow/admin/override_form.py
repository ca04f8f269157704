"""The form of a block or an exemption: what it asks beyond the row's own fields, and what it refuses."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ratewindow.admin import code_keys, switch_page
from ratewindow.admin.masking import seen
from ratewindow.admin.model_form import SaidOnce
from ratewindow.conf import time_zone
from ratewindow.limiter.durations import EXAMPLES as DURATIONS
from ratewindow.limiter.rates import EXAMPLES as RATES
from ratewindow.models import Override, RateRule
from ratewindow.models.override_manager import after
from ratewindow.models.overrides import CONTAINS_AUTHOR
from ratewindow.operations import lockout
from ratewindow.overrides import BLOCK, Overrides, Ruling
from ratewindow.overrides.subjects import parse_subject
from ratewindow.rules import code_rates

USUAL = "1h"
RULES = "rw-rule-names"  # the list of suggestions


class RuleNameInput(forms.TextInput):
    """Text with the names of the rules as suggestions: one that does not exist yet may be typed, too."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        field = super().render(name, value, {**(attrs or {}), "list": RULES}, renderer)
        names = sorted({*RateRule.objects.values_list("name", flat=True), *code_rates.names()})
        options = format_html_join("", '<option value="{}"></option>', ((each,) for each in names))
        return format_html('{}<datalist id="{}">{}</datalist>', field, RULES, options)


class OverrideForm(SaidOnce):
    """`request`, which the admin sets, is that of the person who makes the block, and who must not be contained in it."""

    request: HttpRequest

    lasts = forms.CharField(
        label="For",
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs={"size": 10, "placeholder": USUAL}),
        help_text=f"From now or from its beginning, such as {DURATIONS}. Empty, with no time below: until somebody ends it.",
    )

    class Meta:
        widgets = {
            "identity": forms.TextInput(attrs={"class": "vTextField"}),
            "rule": RuleNameInput(attrs={"class": "vTextField"}),
            "rate": forms.TextInput(attrs={"class": "vTextField"}),
            "reason": forms.TextInput(attrs={"class": "vTextField"}),
        }
        help_texts = {
            "identity": "An address or a network, ip:203.0.113.9 or ip:203.0.113.0/24 (of IPv6 an address alone means its "
            "/64, as for rules); user:42 by number; group:staff, a group of the admin; header:x-api-key:VALUE and other keys "
            "of rules; several that must all be there, joined by +; or * for everybody.",
            "rule": "The name of one rule. Empty: all rules, and for a block every request.",
            "rate": f"Only for another rate: {RATES}. It takes the place of the rule's limits.",
            "starts_at": "Empty: at once.",
            "expires_at": "Instead of a duration. Empty, with no duration above: until somebody ends it.",
            "reason": "For whoever reads this list next: why.",
        }
        error_messages = {"identity": {"required": "Write whom it is about, such as ip:203.0.113.9 or user:42."}}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding and "lasts" in self.fields:
            self.fields["lasts"].initial = USUAL

    def clean_identity(self) -> str:
        return code_keys.check(self.request, self.cleaned_data["identity"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        lasts, until = cleaned.get("lasts"), cleaned.get("expires_at")
        if lasts and until and "expires_at" in self.changed_data and "lasts" in self.changed_data:
            self.add_error("lasts", "Write either a duration or a time until when, not both.")
        elif lasts and ("expires_at" not in self.changed_data or not until):
            begins = time_zone.aware(cleaned["starts_at"]) if cleaned.get("starts_at") else None
            try:
                cleaned["expires_at"] = after(lasts, begins if begins and begins > time_zone.now() else None)
            except ValidationError as error:
                self.add_error("lasts", error.message_dict["expires_at"])
        return cleaned

    def _post_clean(self) -> None:
        if self.instance._state.adding:
            self.instance.created_by = self.request.user
        super()._post_clean()  # type: ignore[misc]
        if self.errors:
            return
        if self.instance.action == BLOCK and self.contains_author():
            who = seen(self.request, self.instance.identity)
            told = f"This block contains you ({who}): you would lock yourself out. Leave yourself out of it."
            self.add_error("identity" if "identity" in self.fields else None, told)
        elif parse_subject(self.instance.identity).meets_everybody and not switch_page.may(self.request):
            told = "This is about everybody, or nearly: only who may switch all limits off may save it."
            self.add_error("identity" if "identity" in self.fields else None, told)

    def elsewhere(self, field: str, errors: list[Any]) -> list[Any]:
        """An identity was fixed by the first save: what is wrong with it would quote it to whoever may not see it."""
        if field != "identity" or all(error.code == CONTAINS_AUTHOR for error in errors):
            return errors
        return ["Whom this is about cannot be found any more, so it holds for nobody. Delete it, and add another one."]

    def contains_author(self) -> bool:
        """Whether it is about this very request, or about any that its author would send to the admin."""
        only = Overrides([(parse_subject(self.instance.identity), Ruling(BLOCK))], self._own_groups)
        return any(map(only.of_request, [self.request, *lockout.visits(self.request)]))

    def _own_groups(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        user: Any = self.request.user
        if not hasattr(user, "groups"):  # a user model of the site's
            return {}
        return {f"user:{user.pk}": tuple(user.groups.filter(name__in=names).values_list("name", flat=True))}


def made(override: Override) -> str:
    """``by boss, in the admin`` or ``by a command``."""
    place = {"admin": "in the admin", "command": "by a command", "code": "by code"}.get(override.source, override.source)
    return f"by {override.created_by.get_username()}, {place}" if override.created_by else place
