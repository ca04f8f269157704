"""The form of a rule, without its limits."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.functional import lazy
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow import conf
from ratewindow.admin import code_keys
from ratewindow.admin.addresses import reverse
from ratewindow.admin.history.conflicts import ConflictForm
from ratewindow.admin.rules import places
from ratewindow.admin.rules.choice_fields import OTHER, ChoiceOrText, ChoiceOrTextField, MethodsInput
from ratewindow.admin.rules.places import PLACES
from ratewindow.admin.rules.suggestions import SuggestingInput
from ratewindow.identity import custom_keys
from ratewindow.limiter.limiter import MOST_COST
from ratewindow.models import Mode, RateRule
from ratewindow.models.origin import MOST_REASON
from ratewindow.models.rules import AppliesTo, OnError
from ratewindow.operations import presets
from ratewindow.rules import code_rates
from ratewindow.rules.count_when import ALWAYS, LOGIN_FAILED

PREVIEW_BUTTON = "_preview"  # its name in the form, for browsers without JavaScript
BOUNDS = {"cost": (0, MOST_COST), "enforce_percent": (1, 100), "lease": (1, MOST_COST), "response_status": (400, 599)}

ENFORCE_BUTTON = "_enforce"  # saves a new rule enforced; any other button in shadow

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
ON_ERROR_NOW = {
    "allow": _("As ON_ERROR says: let pass uncounted"),
    "refuse": _("As ON_ERROR says: refuse, with 503"),
    "local": _("As ON_ERROR says: count in each process"),
}
_NEVER_MISSING = "ip user_or_ip global"
_OF_NO_TEXT = "ip user_or_ip user session global"  # values that clients do not write


def _by_choice(*parts: tuple[str, Any, Any]) -> SafeString:
    """Parts of a help text, each shown for some choices of `applies_to`; where it says so, the pattern has another label then."""
    spans = format_html_join(
        " ", '<span class="rw-part" data-rw-when="applies_to={}" data-rw-label="{}">{}</span>', ((each) for each in parts)
    )
    return format_html("{}", spans)


_by_choices = lazy(_by_choice, SafeString)  # in the reader's language


class RuleForm(ConflictForm):
    """`may_enforce` and `request` are set by the admin."""

    may_enforce = False
    request: HttpRequest

    why = forms.CharField(
        required=False,
        max_length=MOST_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        label=_("Why"),
        help_text=_("For your colleagues: why you make this change. It is shown in the history, and is no part of the rule."),
    )

    class Meta:
        field_classes = {"key": ChoiceOrTextField, "count_when": ChoiceOrTextField}
        error_messages = {
            "name": {"required": _("Enter a name that no other rule has, such as login or api.minute.")},
            "applies_to": {"required": _("Choose which requests the rule applies to.")},
            "key": {"required": _("Choose what is counted apart, such as each address.")},
        }
        help_texts = {
            "applies_to": _by_choices(
                ("named", "", _("The name of the rule is then the one that code uses.")),
                ("all", "", _("“Every request” includes requests to this admin, and for static files that Django serves.")),
            ),
            "pattern": _by_choices(*((choice, place.label, place.help) for choice, place in PLACES.items())),
            "methods": _("Tick none for all methods. GET includes HEAD."),
            "key": _(
                "Requests with the same value of this are counted together, apart from all others. Values of the clients most "
                "refused are kept in statistics, those of sessions, cookies, tokens and keys as hashes."
            ),
            "on_error": _(
                "ON_ERROR is the setting for all rules. “Refuse” suits what must be protected, such as a login. A share "
                "is the limit over LOCAL_PROCESSES."
            ),
            "penalty": _(
                "How long a client that has exceeded the limit is refused, such as 15m, 1h or 1d, even if it would be "
                "within the limit again. Leave empty for no penalty."
            ),
            "on_missing": _(
                "What to do with a request that lacks this: nobody is logged in, or a header or field is missing or empty."
            ),
            "count_when": _("The limit is checked before the view, and what depends on the answer is counted after it."),
        }
        widgets = {
            "name": SuggestingInput("applies_to", {"class": "vTextField"}),
            "description": forms.Textarea(attrs={"rows": 2, "cols": 60}),
            "pattern": SuggestingInput("applies_to", {"class": "vTextField", "data-rw-used": f"applies_to={' '.join(PLACES)}"}),
            "methods": MethodsInput(),
            "key": ChoiceOrText(
                _("Something else, as text:"),
                _(
                    "Such as ip, user, user_or_ip, session, global, route, path, method, header:NAME, cookie:NAME, query:NAME, "
                    "post:NAME, json:NAME, body:NAME (a form or JSON), jwt:CLAIM, a key of your own, such as tenant or "
                    "shop.limits.tenant, or several joined by +, such as ip+post:username."
                ),
            ),
            "count_when": ChoiceOrText(
                _("Something else, as text:"), _("Statuses of the answer, such as 401,403,5xx."), choices=COUNTS
            ),
            "message": forms.Textarea(attrs={"rows": 2, "cols": 60}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "key" not in self.fields:
            return  # a person who may only look
        self.fields["count_when"].required = False
        self._offer_keys()
        self._offer_names()
        self.fields["on_error"].widget.choices = self._on_error_choices()
        if self.instance._state.adding:
            self._begin_with_no_choice("applies_to")
        if "enforce_percent" in self.fields:
            self.fields["enforce_percent"].widget.attrs["data-rw-shown"] = "mode=enforce"
        for name, values in (("on_missing", _NEVER_MISSING), ("normalise", _OF_NO_TEXT)):
            self.fields[name].widget.attrs["data-rw-shown"] = f"key!={values}"
        self.fields["hold"].widget.attrs["data-rw-used"] = f"count_when!={ALWAYS}"
        self.fields["penalty"].widget.attrs["list"] = "rw-periods"
        if place := PLACES.get(str(self["applies_to"].value())):
            self.fields["pattern"].label = place.label
        stored = "" if self.instance._state.adding else f"?rule={self.instance.pk}"
        self.fields["applies_to"].widget.attrs["data-rw-validate"] = reverse("admin:ratewindow_raterule_validate") + stored

    def _offer_keys(self) -> None:
        keys = presets.login_keys() or ["ip+post:username"]
        logins = [(key, f"{_LOGIN_NAMES} ({key.partition('+')[2]})" if keys[1:] else _LOGIN_NAMES) for key in keys]
        label = gettext("%s (a key of this site's code)")
        own = [(name, label % name) for name in sorted(custom_keys.known()) if "." not in name]
        self.fields["key"].widget.choices = [*KEYS[:3], *logins, *KEYS[3:], *own, (OTHER, _("Something else"))]

    def _offer_names(self) -> None:
        if "name" in self.fields:
            self.fields["name"].widget.suggestions = {"named": sorted(code_rates.uses())}
        self.fields["pattern"].widget.suggestions = places.suggestions()

    def _on_error_choices(self) -> list[tuple[Any, Any]]:
        now = ON_ERROR_NOW[conf.current().on_error]
        return [(value, words if value else now) for value, words in OnError.choices]

    def _begin_with_no_choice(self, name: str) -> None:
        field: Any = self.fields[name]
        field.initial = ""
        field.choices = [("", _("Choose…")), *AppliesTo.choices]

    def is_valid(self) -> bool:
        """What is sent by the button for a preview is never saved."""
        return super().is_valid() and PREVIEW_BUTTON not in self.data

    def clean(self) -> dict[str, Any] | None:
        """Give empty fields the default of the model."""
        cleaned = super().clean()
        place = PLACES.get(self.cleaned_data.get("applies_to", ""))
        if place and not self.cleaned_data.get("pattern", place):
            self.add_error("pattern", place.needed)
        for name in (*BOUNDS, "count_when"):
            if name in self.cleaned_data and self.cleaned_data[name] in (None, ""):
                self.cleaned_data[name] = getattr(RateRule(), name)
        if self.instance._state.adding and ENFORCE_BUTTON in self.data:
            self._check_enforcing()
            self.instance.mode = Mode.ENFORCE
        return cleaned

    def clean_key(self) -> str:
        return code_keys.check(self.request, self.cleaned_data["key"], self.initial.get("key"))

    def clean_mode(self) -> str:
        """Enforcing a rule takes a permission; a rule that is already enforced may stay so."""
        mode: str = self.cleaned_data["mode"]
        if mode == Mode.ENFORCE and self.initial.get("mode") != Mode.ENFORCE:
            self._check_enforcing()
        return mode

    def _check_enforcing(self) -> None:
        if not self.may_enforce:
            raise ValidationError(
                _("You may not enforce rules. Save this one in shadow, and ask somebody who may enforce it."), code="forbidden"
            )

    def clean_enforce_percent(self) -> int | None:
        """So does enforcing it for more clients."""
        percent: int | None = self.cleaned_data["enforce_percent"]
        if (
            self.initial.get("mode") == Mode.ENFORCE
            and not self.may_enforce
            and (percent or 100) > self.initial["enforce_percent"]
        ):
            raise ValidationError(
                _("You may not enforce rules for more clients. Ask somebody who may enforce them."), code="forbidden"
            )
        return percent
