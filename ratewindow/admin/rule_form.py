"""The form of a rule, without its limits."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from ratewindow.admin import code_keys
from ratewindow.admin.model_form import MergedErrorsForm
from ratewindow.limiter.limiter import MOST_COST
from ratewindow.models import Mode, RateRule
from ratewindow.models.origin import MOST_REASON

BOUNDS = {"cost": (0, MOST_COST), "enforce_percent": (1, 100), "lease": (1, MOST_COST), "response_status": (400, 599)}


class RuleForm(MergedErrorsForm):
    why = forms.CharField(
        required=False,
        max_length=MOST_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text="For your colleagues: why you make this change. It is shown in the history, and is no part of the rule.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "count_when" in self.fields:
            self.fields["count_when"].required = False

    def clean(self) -> dict[str, Any] | None:
        """Give empty fields the default of the model."""
        cleaned = super().clean()
        for name in (*BOUNDS, "count_when"):
            if name in self.cleaned_data and self.cleaned_data[name] in (None, ""):
                self.cleaned_data[name] = getattr(RateRule(), name)
        return cleaned

    class Meta:
        error_messages = {"name": {"required": "Enter a name that no other rule has, such as login or api.minute."}}
        help_texts = {
            "applies_to": "“Every request” includes requests to this admin, and for static files that Django serves.",
            "key": (
                "What tells clients apart: ip, user, user_or_ip, session, global, route, path, method, header:NAME, cookie:NAME, "
                "query:NAME, post:NAME, json:NAME, body:NAME (a form or JSON), jwt:CLAIM, a key of your own, such as tenant or "
                "shop.limits.tenant, or several joined by +, such as ip+post:username."
            ),
            "on_error": "“Refuse” suits what must be protected, such as a login. A share is the limit over LOCAL_PROCESSES.",
            "on_missing": "What to do with a request without this key: nobody logged in, or a header or field missing or empty.",
        }
        widgets = {
            "description": forms.Textarea(attrs={"rows": 2, "cols": 60}),
            "pattern": forms.TextInput(attrs={"class": "vTextField"}),
            "methods": forms.TextInput(attrs={"class": "vTextField"}),
            "key": forms.TextInput(attrs={"class": "vTextField"}),
            "count_when": forms.TextInput(attrs={"class": "vTextField"}),
            "message": forms.Textarea(attrs={"rows": 2, "cols": 60}),
        }

    may_enforce = False
    request: HttpRequest

    def clean_key(self) -> str:
        return code_keys.check(self.request, self.cleaned_data["key"], self.initial.get("key"))

    def clean_mode(self) -> str:
        """Enforcing a rule takes a permission; a rule that is already enforced may stay so."""
        mode: str = self.cleaned_data["mode"]
        if mode == Mode.ENFORCE and not self.may_enforce and self.initial.get("mode") != Mode.ENFORCE:
            raise ValidationError(
                "You may not enforce rules. Save this one in shadow, and ask somebody who may enforce it.", code="forbidden"
            )
        return mode


def may_enforce(request: HttpRequest) -> bool:
    return request.user.has_perm("ratewindow.enforce_raterule")
