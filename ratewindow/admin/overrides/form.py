"""The form of a block or exemption: the fields of its row, a duration, and checks of who may save it."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import switch_page
from ratewindow.admin.concerns_many import concerns_many, counted_by
from ratewindow.admin.history.conflicts import ConflictForm
from ratewindow.admin.masking import may_look_up, may_see, whom
from ratewindow.admin.overrides import twice, who
from ratewindow.conf import time_zone
from ratewindow.identity.address import whole_address
from ratewindow.limiter.durations import EXAMPLES as DURATIONS
from ratewindow.limiter.rates import EXAMPLES as RATES
from ratewindow.models import Override, RateRule
from ratewindow.models.override_manager import after
from ratewindow.models.overrides import CONTAINS_AUTHOR
from ratewindow.operations import lockout, staff
from ratewindow.operations.override_notes import already
from ratewindow.overrides import BLOCK, Ruling
from ratewindow.overrides.subjects import masked, parse_subject
from ratewindow.rules import code_rates

DEFAULT_DURATION = "1h"
DATALIST_ID = "rw-rule-names"


class RuleNameInput(forms.TextInput):
    """A text input that suggests the names of the rules, and accepts others."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        text_input = super().render(name, value, {**(attrs or {}), "list": DATALIST_ID}, renderer)
        names = sorted({*RateRule.objects.values_list("name", flat=True), *code_rates.names()})
        options = format_html_join("", '<option value="{}"></option>', ((each,) for each in names))
        return format_html('{}<datalist id="{}">{}</datalist>', text_input, DATALIST_ID, options)


class OverrideForm(ConflictForm):
    """`request`, set by the admin, is that of the author, whom a block must not contain."""

    request: HttpRequest

    lasts = forms.CharField(
        label=_("Duration"),
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs={"size": 10, "placeholder": DEFAULT_DURATION}),
        help_text=format_lazy(
            _("From now, or from the start below: such as {durations}. Leave it and “Until” empty for no end."),
            durations=_(DURATIONS),
        ),
    )

    class Meta:
        widgets = {
            "identity": forms.TextInput(attrs={"class": "vTextField"}),
            "rule": RuleNameInput(attrs={"class": "vTextField"}),
            "rate": forms.TextInput(attrs={"class": "vTextField"}),
            "reason": forms.TextInput(attrs={"class": "vTextField"}),
        }
        help_texts: dict[str, Any] = {
            "identity": who.HELP,
            "rule": _("The name of one rule. Leave empty for all rules; a block then refuses every request."),
            "rate": format_lazy(_("Only for “Another rate”, which replaces the limits of the rule: {rates}"), rates=_(RATES)),
            "starts_at": _("Leave empty to start now."),
            "expires_at": _("Instead of a duration. Leave both empty for no end."),
            "reason": _("Why, for colleagues who read the list."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.extends: Override | None = None  # the one that its author chose to extend instead of saving this one
        if "identity" not in self.fields:
            return
        self.fields["identity"].required = False  # a user or a group may be chosen instead
        self.fields["lasts"].initial = DEFAULT_DURATION

    def clean_identity(self) -> str:
        text = self.cleaned_data["identity"]
        return who.typed(self.request, text, self.data.get(who.CHOSEN, "")) if text else ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "identity" in self.fields:
            who.one_of(self)
        lasts, until = cleaned.get("lasts"), cleaned.get("expires_at")
        if lasts and until and "expires_at" in self.changed_data and "lasts" in self.changed_data:
            self.add_error("lasts", gettext("Enter either a duration or an end, not both."))
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
            self._add_identity_error(self._contained())
        elif not switch_page.may_switch(self.request) and concerns_many(self.instance.identity, counted_by()):
            self._add_identity_error(
                gettext(
                    "This may apply to all visitors, or nearly all. You need the permission to switch all limits off to save it."
                )
            )
        elif self.instance._state.adding:
            self._ask_if_there_is_one_already()

    def _ask_if_there_is_one_already(self) -> None:
        first = already(self.instance)
        answer = self.data.get(twice.FIELD)
        if first is None or answer == twice.ANOTHER or not may_look_up(self.request):
            return
        if answer == twice.EXTEND and twice.may_extend(self.request, first, self.instance):
            self.extends = first
        else:
            self.add_error(None, twice.question(self.request, first, self.instance))

    def _add_identity_error(self, message: str) -> None:
        self.add_error("identity" if "identity" in self.fields else None, message)

    def errors_of_absent_field(self, field: str, errors: list[Any]) -> list[Any]:
        """An identity is fixed after the first save. The model's errors quote it, which the user may not be allowed to see."""
        if field != "identity" or all(error.code == CONTAINS_AUTHOR for error in errors):
            return errors
        return [gettext("The identity is no longer valid, so this applies to nobody. Delete it and add a new one.")]

    def _contained(self) -> str:
        """That it contains its author: by the author's address, where the reader may see that the block is for it."""
        identity, address = self.instance.identity, whole_address(self.request)
        shown = may_see(self.request) or masked(identity) == identity
        if address is not None and shown and parse_subject(identity).network is not None:
            problem = gettext("This block contains your address, %s, and would lock you out. Choose a narrower identity.")
            return problem % address
        problem = gettext("This block contains you (%s) and would lock you out. Choose a narrower identity.")
        return problem % whom(self.request, identity)

    def contains_author(self) -> bool:
        """Whether it matches this request, or any other that its author would send to the admin."""
        entry = parse_subject(self.instance.identity), Ruling(BLOCK)
        return bool(staff.reaching(self.request, lockout.visits(self.request), [entry]))
