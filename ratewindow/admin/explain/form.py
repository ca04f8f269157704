"""The form of Explain: a code, or a request in words. What it finds is the form's result."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from redis.exceptions import RedisError

from ratewindow.admin.masking import may_look_up, may_see
from ratewindow.admin.overrides.who import may_view_users
from ratewindow.conf.translation import translated
from ratewindow.identity.privacy import is_secret
from ratewindow.operations.explain import by_code
from ratewindow.operations.explain.explanation import Asked, Explanation, explain
from ratewindow.operations.staff import may_view_overrides
from ratewindow.reporting.codes import Refusal

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_NO_COMPLETION = {"autocomplete": "off"}


class Pairs(forms.CharField):
    """Lines of a name and a value."""

    def __init__(self, separator: str, **options: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}), **options)
        self.separator = separator

    def to_python(self, value: Any) -> Any:
        found = {}
        for line in (super().to_python(value) or "").splitlines():
            if line.strip():
                name, separator, text = line.partition(self.separator)
                if not separator:
                    raise forms.ValidationError(
                        gettext("%(line)r has no %(separator)r: write one name and value in each line.")
                        % {"line": line[:60], "separator": self.separator}
                    )
                found[name.strip()] = text.strip()
        return found


class ExplainForm(forms.Form):
    """`result` is the explanation, `refusal` what the code is about; either may be missing."""

    code = forms.CharField(
        label=_("Code"),
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={**_NO_COMPLETION, "size": 8, "placeholder": "k7f2q"}),
        help_text=_("That a refused visitor reads. Known for an hour."),
    )
    method = forms.ChoiceField(label=_("Method"), required=False, choices=[(each, each) for each in METHODS])
    path = forms.CharField(
        label=_("Path"),
        required=False,
        max_length=2000,
        widget=forms.TextInput(attrs={**_NO_COMPLETION, "size": 22, "placeholder": "/login/", "spellcheck": "false"}),
    )
    address = forms.CharField(
        label=_("Address"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={**_NO_COMPLETION, "size": 14, "placeholder": "203.0.113.9"}),
    )
    user = forms.CharField(
        label=_("User"),
        required=False,
        max_length=255,
        widget=forms.TextInput(attrs={**_NO_COMPLETION, "size": 12, "placeholder": _("nobody")}),
    )
    headers = Pairs(":", label=_("Headers"), help_text=_("One in each line, such as X-Api-Key: VALUE."))
    fields_ = Pairs("=", label=_("Fields of the form"), help_text=_("One in each line, such as username=ann."))

    def __init__(self, request: HttpRequest) -> None:
        given = request.POST if request.method == "POST" else request.GET
        is_link = request.method == "GET" and not any(given.get(name) for name in ("code", "path"))
        to_fill = is_link and any(given.get(name) for name in ("address", "user", "fields_"))  # the reader types the path
        data = None if to_fill else given or None
        super().__init__(data, auto_id="rw-explain-%s", label_suffix="", initial=given.dict())
        self._request = request
        self.result: Explanation | None = None
        self.refusal: Refusal | None = None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        asked = None
        if code := cleaned.get("code", "").strip():
            asked = self._of_code(code)
        elif cleaned.get("path"):
            asked = self._of_request(cleaned)
        else:
            self.add_error("path", gettext("Enter the code of a refusal, or a path such as /login/."))
        if asked is not None:
            try:
                request = self._request
                self.result = explain(asked, find_users=may_view_users(request), with_overrides=may_look_up(request))
            except ValueError as error:
                self.add_error(None, gettext("%s.") % translated(error))
        return cleaned

    def _of_code(self, code: str) -> Asked | None:
        """What is known of a code; without the permission to see identities its request is not asked again."""
        try:
            self.refusal = by_code.find(code, with_blocks=may_view_overrides(self._request))
        except ValueError as error:
            self.add_error("code", gettext("%s.") % translated(error))
            return None
        except (RedisError, OSError):
            self.add_error("code", gettext("Codes are looked up in Redis, which does not answer now."))
            return None
        if self.refusal is None:
            why = by_code.why_unknown()
            if not may_view_overrides(self._request):
                why += " " + gettext("You are not shown the code of a block: that takes the permission view_override.")
            self.add_error("code", gettext("No refusal with this code is known. %s") % why)
            return None
        return by_code.asked_of(self.refusal) if may_see(self._request) else None

    def _of_request(self, cleaned: dict[str, Any]) -> Asked:
        return Asked(
            method=cleaned.get("method") or "GET",
            path=cleaned["path"],
            address=cleaned["address"],
            user=cleaned["user"],
            headers=cleaned["headers"],
            fields=cleaned["fields_"],
        )

    @property
    def has_more(self) -> bool:
        """Whether headers or fields are typed, or wrong."""
        return any(self.data.get(name) or name in self.errors for name in ("headers", "fields_")) if self.is_bound else False

    def query(self) -> str:
        """What shows the same to a colleague; empty where a header or field may be a secret, which no address may hold."""
        cleaned = self.cleaned_data
        secret = [
            *(is_secret("cookie" if name.lower() == "cookie" else "header", name.lower()) for name in cleaned["headers"]),
            *(is_secret("post", name) for name in cleaned["fields_"]),
        ]
        if any(secret) or any(name.lower() == "authorization" for name in cleaned["headers"]):
            return ""
        return urlencode({name: self.data[name] for name in self.fields if self.data.get(name)})
