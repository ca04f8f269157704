"""The short form above the list of blocks and exemptions: who, what, for how long, and why."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin.masking import whom
from ratewindow.admin.overrides import ends, who
from ratewindow.admin.overrides.form import OverrideForm, RuleNameInput
from ratewindow.models import Override
from ratewindow.operations.override_notes import until

SUBMIT = "_quick"  # the name of its button
UNTIL = "until"
LENGTHS = (("1h", _("1 hour")), ("24h", _("24 hours")), (UNTIL, _("Until a time")))
ACTIONS = (("block", _("Block")), ("allow", _("Exempt")), ("rate", _("Another rate")))
GROUPS_ID = "rw-group-names"
MOST_SUGGESTED = 100


class WhoInput(forms.TextInput):
    """A text input that suggests the groups."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        text_input = super().render(name, value, {**(attrs or {}), "list": GROUPS_ID}, renderer)
        names = Group.objects.order_by("name").values_list("name", flat=True)[:MOST_SUGGESTED]
        options = format_html_join("", '<option value="group:{}"></option>', ((each,) for each in names))
        return format_html('{}<datalist id="{}">{}</datalist>', text_input, GROUPS_ID, options)


class QuickForm(OverrideForm):
    """The usual form with fewer fields, of which the reason is required."""

    class Meta(OverrideForm.Meta):
        model = Override
        fields = ["identity", "action", "rate", "rule", "expires_at", "reason"]
        labels = {"rule": _("Rule"), "expires_at": _("Until"), "reason": _("Why")}
        widgets = {
            "identity": WhoInput(attrs={"placeholder": _("203.0.113.9, name or e-mail"), "autocomplete": "off"}),
            "rate": forms.TextInput(attrs={"placeholder": "100/m", "autocomplete": "off"}),
            "rule": RuleNameInput(attrs={"placeholder": _("all rules"), "autocomplete": "off"}),
            "expires_at": forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
            "reason": forms.TextInput(attrs={"autocomplete": "off"}),
        }
        help_texts: dict[str, Any] = dict.fromkeys(fields, "")

    required_css_class = "required"

    action = forms.ChoiceField(label=_("What"), choices=ACTIONS)
    lasts = forms.ChoiceField(label=_("How long"), choices=LENGTHS)  # type: ignore[assignment]
    field_order = ["identity", "action", "rate", "rule", "lasts", "expires_at", "reason"]

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="rw-quick-%s", label_suffix="")
        self.fields["identity"].required = self.fields["reason"].required = True
        self.fields["identity"].error_messages["required"] = who.REQUIRED
        self.fields["reason"].error_messages["required"] = gettext("Enter a reason for your colleagues.")

    def add_prefix(self, field_name: str) -> str:
        """The action has another name, since `action` is that of the list's own actions."""
        return "what" if field_name == "action" else super().add_prefix(field_name)

    def clean_lasts(self) -> str:
        """Empty for a time, which the other field has."""
        lasts: str = self.cleaned_data["lasts"]
        return "" if lasts == UNTIL else lasts

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not cleaned.get("lasts") and not cleaned.get("expires_at") and not self.errors:
            self.add_error("expires_at", gettext("Enter until when, or choose 1 or 24 hours."))
        return cleaned


def form_for(request: HttpRequest, data: Any = None) -> QuickForm:
    """The form, bound to `data`, or, if its button was pressed, to what was sent."""
    form: type[QuickForm] = type("QuickForm", (QuickForm,), {"request": request})
    return form(request.POST if SUBMIT in request.POST else data)


def save(model_admin: "ModelAdmin[Any]", request: HttpRequest, form: QuickForm, to: str = "") -> HttpResponse:
    """Save the override of a valid form, offer to undo it, and go `to` a page, or to the list; or extend the one that its author
    chose instead."""
    new: Override = form.instance
    if form.extends is not None:
        return ends.extend_instead(model_admin, request, form.extends, new.expires_at)
    with transaction.atomic():
        model_admin.save_model(request, new, form, change=False)
        model_admin.log_addition(request, new, [{"added": {}}])
    messages.success(request, ends.added(request, _done(new, whom(request, new.identity)), new))
    return HttpResponseRedirect(to or request.get_full_path())


def _done(new: Override, name: str) -> str:
    return str(_DONE[new.action][bool(new.rule)]).format(who=name, rule=new.rule, rate=new.rate, until=until(new))


_DONE: Mapping[str, tuple[Any, Any]] = {  # for all rules, and for one
    "block": (_("Blocked {who} {until}."), _("Blocked {who} where rule {rule} applies, {until}.")),
    "allow": (_("Exempted {who} from all rules {until}."), _("Exempted {who} from rule {rule} {until}.")),
    "rate": (_("Limited {who} to {rate} {until}."), _("Limited {who} to {rate} under rule {rule} {until}.")),
}
