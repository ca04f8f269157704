"""The forms of a block or exemption: the whole one, and the short one above the list."""

from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow.admin.base import EditForm
from ratewindow.limiter import durations, rates
from ratewindow.models import Override
from ratewindow.models.overrides import CONTAINS_AUTHOR
from ratewindow.operations.forms import PlainOverrideForm
from ratewindow.operations.lockout import contains_author
from ratewindow.operations.rights import whom
from ratewindow.overrides import conditions, lookup, subjects

DEFAULT_DURATION = "1h"
REQUIRED = format_lazy(_("Enter a client, such as {examples}."), examples=_(subjects.EXAMPLES))


class WhoInput(forms.TextInput):
    """A text, with the conditions that this site knows to choose from."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        choices = f"{name}-choices"
        text = super().render(name, value, {**(attrs or {}), "list": choices}, renderer)
        options = format_html_join("", '<option value="{}">{}</option>', conditions.choices())
        return format_html('{}<datalist id="{}">{}</datalist>', text, choices, options)


class OverrideForm(EditForm, PlainOverrideForm):
    lasts = forms.CharField(
        label=_("Duration"),
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs={"size": 10, "placeholder": DEFAULT_DURATION}),
        help_text=format_lazy(
            _("From now, or from the start below: such as {durations}. Leave it and “Until” empty for no end."),
            durations=_(durations.EXAMPLES),
        ),
    )

    class Meta:
        widgets = {
            "identity": WhoInput(attrs={"class": "vTextField"}),
            "rate": forms.TextInput(attrs={"class": "vTextField"}),
            "rule": forms.TextInput(attrs={"class": "vTextField"}),
            "reason": forms.TextInput(attrs={"class": "vTextField"}),
        }
        help_texts: dict[str, Any] = {
            "identity": _(
                "An address or a network, such as 203.0.113.9 or 203.0.113.0/24 (a single IPv6 address stands for its /64, as in "
                "rules); a login name; a user by number, such as user:42; a group, such as group:staff; staff, superuser or "
                "authenticated; those with a permission, such as permission:blog.change_post; a condition of this site's code; a "
                "value of any other key, such as header:x-api-key:VALUE; several joined by +, which must all match; or * for "
                "everybody."
            ),
            "rule": _("The name of one rule. Leave empty for all rules; a block then refuses every request."),
            "rate": format_lazy(
                _("Only for “Another rate”, which replaces the limits of the rule: {rates}"), rates=_(rates.EXAMPLES)
            ),
            "starts_at": _("Leave empty to start now."),
            "expires_at": _("Instead of a duration. Leave both empty for no end."),
            "reason": _("Why, for colleagues who read the list."),
        }
        error_messages = {"identity": {"required": REQUIRED}}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "identity" in self.fields:  # it is fixed after the first save
            self.fields["lasts"].initial = DEFAULT_DURATION
        if "reason" in self.fields:
            self.fields["reason"].required = True

    def forbidden(self) -> str:
        if self.instance.action == lookup.BLOCK and contains_author(self.request, subjects.parse_subject(self.instance.identity)):
            problem = gettext("This block contains you (%s) and would lock you out. Choose a narrower identity.")
            return problem % whom(self.by, self.instance.identity)
        return super().forbidden()

    def errors_of(self, field: str, errors: list[Any]) -> list[Any]:
        """An identity is fixed after the first save. The model's errors quote it, which the user may not be allowed to see."""
        if field != "identity" or field in self.fields or all(error.code == CONTAINS_AUTHOR for error in errors):
            return errors
        return [gettext("The identity is no longer valid, so this applies to nobody. Delete it and add a new one.")]


class QuickForm(OverrideForm):
    """The usual form with fewer fields, which is sent to the page of the usual one."""

    class Meta(OverrideForm.Meta):
        model = Override
        fields = ["identity", "action", "rate", "rule", "reason"]
        labels = {"rule": _("Rule"), "reason": _("Reason")}
        widgets = {
            "identity": WhoInput(attrs={"placeholder": _("203.0.113.9 or a login name"), "autocomplete": "off"}),
            "rate": forms.TextInput(attrs={"placeholder": "100/m", "autocomplete": "off"}),
            "rule": forms.TextInput(attrs={"placeholder": _("all rules"), "autocomplete": "off"}),
            "reason": forms.TextInput(attrs={"autocomplete": "off"}),
        }
        help_texts: dict[str, Any] = dict.fromkeys(fields, "")

    required_css_class = "required"
    action = forms.ChoiceField(label=_("Action"), choices=[("", _("Choose…")), *Override.Action.choices])
    field_order = ["identity", "action", "rate", "rule", "lasts", "reason"]

    def __init__(self) -> None:
        super().__init__(auto_id="rw-quick-%s", label_suffix="")
        self.fields["lasts"].help_text = ""
