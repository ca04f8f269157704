"""The form of a rule, with its limits as rows; and widgets for text that most people choose and few type.

`rule_admin.py` shows it. A field with ``data-rw-shown`` is hidden by static/ratewindow/rule_form.js unless the condition in it
holds, one with ``data-rw-used`` is not sent either. ``rw-periods`` is the list of usual periods in the template of the limits.
"""

import re
from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow import rooms
from ratewindow.admin.base import EditForm
from ratewindow.admin.rules import new_rules
from ratewindow.admin.wording import clients
from ratewindow.conf.in_words import translated
from ratewindow.identity import custom_keys
from ratewindow.limiter.algorithms import Algorithm, algorithm, algorithm_choices
from ratewindow.limiter.types import MOST_BUCKETS, MOST_WINDOWS
from ratewindow.models import RateRule, RuleWindow, origin
from ratewindow.models.defining import PLACES
from ratewindow.models.rules import applies_to_choices
from ratewindow.operations.forms import PlainRuleForm
from ratewindow.rules import limits_from
from ratewindow.rules.rule import ALWAYS, LOGIN_FAILED, check_soft
from ratewindow.start import presets

OTHER = "other"  # the choice with which the text beside it counts, and the end of that text's name in the form
USUAL_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


class ChoiceOrText(forms.MultiWidget):
    """A select whose last choice is the text beside it. Its value is the text that is stored."""

    use_fieldset = False

    def __init__(self, label: Any, example: Any = "", choices: Iterable[Any] = ()) -> None:
        text = forms.TextInput({"class": "vTextField", "aria-label": label, "placeholder": example})
        super().__init__({"": forms.Select(choices=choices), OTHER: text})

    def id_for_label(self, id_: str) -> str:
        return f"{id_}_0" if id_ else ""

    def decompress(self, value: Any) -> list[Any]:
        select: Any = self.widgets[0]
        is_known = value in ("", None) or any(value == choice for choice, _ in select.choices)
        return [value, ""] if is_known else [OTHER, value]

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        chosen, typed = super().value_from_datadict(data, files, name)
        return typed if chosen == OTHER else chosen


class MethodsInput(forms.CheckboxSelectMultiple):
    """A checkbox for each usual method, and for others that are stored. Its value is the text that is stored."""

    def format_value(self, value: Any) -> list[str]:
        methods = re.findall(r"[^\s,]+", value or "")
        self.choices = [(method, method) for method in dict.fromkeys((*USUAL_METHODS, *methods))]
        return methods

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        sent = super().value_from_datadict(data, files, name) or []
        return ",".join(sorted([sent] if isinstance(sent, str) else sent))


KEYS = [
    ("ip", _("Each address")),
    ("user_or_ip", _("Each user, or each address when nobody is logged in")),
    ("user", _("Each user")),
    ("session", _("Each session")),
    ("header:x-api-key", _("Each API key (header x-api-key)")),
    ("global", _("All visitors together")),
]
_LOGIN_NAMES = _("Each login name tried, with the address")
COUNTS = [
    (ALWAYS, _("Every request")),
    (LOGIN_FAILED, _("Failed logins")),
    ("4xx", _("Refused or failed answers (status 4xx)")),
    (OTHER, _("Something else")),
]


class RuleForm(EditForm, PlainRuleForm):
    why = forms.CharField(
        required=False,
        max_length=origin.MOST_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        label=_("Reason"),
        help_text=_("For your colleagues: why you make this change. It is shown in the history, and is no part of the rule."),
    )

    class Meta:
        error_messages = {
            "name": {"required": _("Enter a name that no other rule has, such as login or api.minute.")},
            "applies_to": {"required": _("Choose which requests the rule applies to.")},
            "key": {"required": _("Choose what is counted apart, such as each address.")},
        }
        help_texts = {
            "applies_to": _("“Every request” includes requests to this admin, and for static files that Django serves."),
            "methods": _("Tick none for all methods. GET includes HEAD."),
            "key": _(
                "Requests with the same value count together. As text: ip, user, user_or_ip, session, global, "
                "route, path, method, header:NAME, cookie:NAME, query:NAME, post:NAME, json:NAME, body:NAME (a form or JSON), "
                "jwt:CLAIM, a key of this site's code, or several joined by +."
            ),
            "on_error": _(
                "ON_ERROR is the setting for all rules. “Refuse” suits what must be protected, such as a login. A share "
                "is the limit over LOCAL_PROCESSES."
            ),
            "penalty": _(
                "How long a client that has exceeded the limit is refused, such as 15m, 1h or 1d, even if it would be "
                "within the limit again. Longer each time as a list, 1m; 5m; 1h within 1d: each lock-out that begins within a "
                "day of the start of the one before lasts the next duration. Leave empty for no penalty."
            ),
            "count_when": _("The limit is checked before the view, and what depends on the answer is counted after it."),
        }
        widgets = {
            "name": forms.TextInput({"class": "vTextField"}),
            "description": forms.Textarea({"rows": 2, "cols": 60}),
            "pattern": forms.TextInput({"class": "vTextField", "data-rw-used": f"applies_to={' '.join(PLACES)}"}),
            "methods": MethodsInput(),
            "key": ChoiceOrText(_("Something else, as text"), "ip+post:username"),
            "on_missing": forms.Select({"data-rw-shown": "key!=ip user_or_ip global"}),
            "normalise": forms.CheckboxInput({"data-rw-shown": "key!=ip user_or_ip user session global"}),
            "count_when": ChoiceOrText(_("Something else, as text"), "401,403,5xx", choices=COUNTS),
            "penalty": forms.TextInput({"list": "rw-periods"}),
            "message": forms.Textarea({"rows": 2, "cols": 60}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "key" not in self.fields:
            return  # a person who may only look
        fields: dict[str, Any] = self.fields
        fields["key"].widget.widgets[0].choices = _keys()
        _fill_choices(fields["limits_from"], sorted(limits_from.registered), self.instance.limits_from)
        holding = " ".join(name for name, target in rooms.targets().items() if target.holds)
        fields["forgive"].widget.attrs["data-rw-used"] = f"count_when!={ALWAYS}"
        fields["hold"].widget.attrs["data-rw-used"] = f"count_when!={ALWAYS};applies_to!={holding}"
        if self.instance._state.adding:
            fields["applies_to"].initial = ""
            fields["applies_to"].choices = [("", _("Choose…")), *applies_to_choices()]

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.instance._state.adding and "_enforce" in self.data:  # any other button saves in shadow
            self.instance.mode = self.clean_mode()
        return cleaned


def _fill_choices(field: Any, names: list[str], stored: str) -> None:
    """The functions that the site registers, and the stored one if it has gone; nothing to see on a site without any."""
    known = dict.fromkeys([*names, *filter(None, [stored])])
    choices = [("", _("The limits below")), *((name, name) for name in known)]
    field.widget = forms.Select(choices=choices) if known else forms.HiddenInput()


def _keys() -> list[tuple[str, Any]]:
    keys = presets.login_keys() or ["ip+post:username"]
    logins = [(key, f"{_LOGIN_NAMES} ({key.partition('+')[2]})" if keys[1:] else _LOGIN_NAMES) for key in keys]
    of_rooms = [(name, clients(name)) for name in rooms.client_keys()]
    named = (name for name in sorted(custom_keys.known()) if "." not in name and name not in rooms.client_keys())
    own = [(name, gettext("%s (a key of this site's code)") % name) for name in named]
    return [*KEYS[:3], *logins, *KEYS[3:], *of_rooms, *own, (OTHER, _("Something else"))]


class LimitForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        help_texts = dict.fromkeys(("limit", "period", "buckets", "burst", "aligned_to"), "")  # explained below the rows
        error_messages = {
            "limit": {"required": _("Enter how many requests are allowed, such as 5.")},
            "period": {"required": _("Enter a period, such as 1m.")},
        }
        widgets = {"period": forms.TextInput({"list": "rw-periods"})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():  # a cell of a table has no label
            if field.label:
                field.widget.attrs["aria-label"] = str(field.label).capitalize()
        if "algorithm" in self.fields:
            self.fields["algorithm"].choices = [(name, gettext(label)) for name, label in algorithm_choices()]  # type: ignore[attr-defined]


class LimitsFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]
    """The limits of one rule, with messages about limits where Django's are about forms."""

    default_error_messages = {
        "too_few_forms": _("A rule needs at least one limit, such as 5 in 1m."),
        "too_many_forms": _("A rule has at most %(num)d limits: split it into several rules."),
    }

    def clean(self) -> None:
        super().clean()
        typed = [form for form in self.forms if form.is_valid() and form not in self.deleted_forms]
        windows = [form.instance.freeze() for form in typed if form.instance.period]  # an empty form has none
        buckets = sum(window.buckets or 0 for window in windows)
        if buckets > MOST_BUCKETS:
            raise forms.ValidationError(
                gettext("The limits of a rule have at most %(most)d buckets together, not %(buckets)d: enter fewer.")
                % {"most": MOST_BUCKETS, "buckets": buckets}
            )
        try:
            check_soft(self.instance.soft, windows)
        except ValueError as error:
            raise forms.ValidationError(f"{translated(error)}.") from None


class RuleWindowInline(admin.TabularInline):  # type: ignore[type-arg]
    model = RuleWindow
    form = LimitForm
    formset = LimitsFormSet
    template = "admin/ratewindow/raterule/limits.html"
    fields = ["limit", "period", "algorithm", "buckets", "burst", "aligned_to"]
    formfield_overrides = {models.PositiveBigIntegerField: {"widget": forms.NumberInput({"class": "rw-count"})}}
    verbose_name_plural = _("how much (all of these limits hold)")
    extra = 0
    min_num, max_num = 1, MOST_WINDOWS
    periods = ("10s", "1m", "5m", "15m", "1h", "1d", "7d")  # that the browser offers

    def has_add_permission(self, request: HttpRequest, obj: RateRule | None = None) -> bool:
        """Limits have no permissions of their own: who may save a rule saves it whole."""
        return request.user.has_perm(f"ratewindow.{'add' if obj is None else 'change'}_raterule")

    has_change_permission = has_delete_permission = has_add_permission

    def has_view_permission(self, request: HttpRequest, obj: RateRule | None = None) -> bool:
        return any(request.user.has_perm(f"ratewindow.{verb}_raterule") for verb in ("view", "change"))

    def get_extra(self, request: HttpRequest, obj: RateRule | None = None, **kwargs: Any) -> int:
        return self.extra if obj is not None else max(0, len(new_rules.limits(request)) - self.min_num)

    def get_formset(self, request: HttpRequest, obj: RateRule | None = None, **kwargs: Any) -> Any:
        return super().get_formset(request, obj, **{"validate_min": True, "absolute_max": 2 * type(self).max_num, **kwargs})

    def explained(self) -> list[tuple[str, Algorithm, str]]:
        """Each algorithm with the columns that it uses, for the template."""
        return [(gettext(label), algorithm(name), _columns(algorithm(name))) for name, label in algorithm_choices()]


def _columns(used: Algorithm) -> str:
    columns = {"buckets": used.most_buckets, "burst": used.default_burst, "aligned_to": used.alignable}
    return " ".join(name for name, uses in columns.items() if uses)
