"""What a user may save as a rule or a block, and release, checked as forms: those of the admin add widgets and words to these."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow.conf import in_words, time_zone
from ratewindow.models import Mode, origin, overrides
from ratewindow.operations.rights import FORBIDDEN, check_code, may, may_view_users
from ratewindow.overrides.subjects import as_subject, parse_subject


def typed_client(by: Any, text: str) -> str:
    """The subject that a text names. Raises ValidationError."""
    if ":" in text:  # without one it names no key, and a login name may look like the path of a function
        check_code(by, text)
    try:
        return as_subject(text, find_users=may_view_users(by))
    except ValueError as error:
        raise forms.ValidationError(f"{in_words.translated(error)}.") from None


class PlainRuleForm(forms.ModelForm):  # type: ignore[type-arg]
    """`by` is the user who saves it; whoever makes one of these forms sets it."""

    by: Any

    def clean_key(self) -> str:
        return check_code(self.by, self.cleaned_data["key"], self.initial.get("key"))

    def clean_mode(self) -> str:
        """Also asked about the button that enforces a new rule in the admin, whose form has no such field."""
        mode: str = self.cleaned_data.get("mode", Mode.ENFORCE)
        if mode == Mode.ENFORCE and self.instance.mode != mode and not may(self.by, "enforce_raterule"):
            raise forms.ValidationError(
                _("You may not enforce rules. Save this one in shadow, and ask somebody who may enforce it."), code=FORBIDDEN
            )
        return mode

    def clean_enforce_percent(self) -> int | None:
        """Enforcing a rule for more clients takes the same permission."""
        percent: int | None = self.cleaned_data["enforce_percent"]
        if (
            self.instance.mode == Mode.ENFORCE
            and not may(self.by, "enforce_raterule")
            and (percent or 100) > self.initial["enforce_percent"]
        ):
            raise forms.ValidationError(
                _("You may not enforce rules for more clients. Ask somebody who may enforce them."), code=FORBIDDEN
            )
        return percent


class PlainOverrideForm(forms.ModelForm):  # type: ignore[type-arg]
    by: Any
    lasts = forms.Field(required=False)  # a duration

    def clean_identity(self) -> str:
        return typed_client(self.by, self.cleaned_data["identity"])

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or self.cleaned_data
        lasts = cleaned.get("lasts")
        if lasts and cleaned.get("expires_at") and "expires_at" in self.changed_data:
            if "lasts" in self.changed_data:
                self.add_error("lasts", gettext("Enter either a duration or an end, not both."))
        elif lasts:
            begins = time_zone.aware(cleaned["starts_at"]) if cleaned.get("starts_at") else None
            try:
                cleaned["expires_at"] = overrides.after(lasts, begins if begins and begins > time_zone.now() else None)
            except forms.ValidationError as error:
                self.add_error("lasts", error.message_dict["expires_at"])
        return cleaned

    def _post_clean(self) -> None:
        if self.instance._state.adding:
            self.instance.created_by, self.instance.source = self.by, origin.current().way
        super()._post_clean()  # type: ignore[misc]
        if not self.errors and (problem := self.forbidden()):
            self.add_error("identity" if "identity" in self.fields else None, forms.ValidationError(problem, code=FORBIDDEN))

    def forbidden(self) -> str:
        """Why this user may not save it; empty if they may."""
        if parse_subject(self.instance.identity).takes_switch and not may(self.by, "switch_limits"):
            return gettext(
                "This may apply to all visitors, or nearly all. You need the permission to switch all limits off to save it."
            )
        return ""


class PlainReleaseForm(forms.Form):
    by: Any

    identity = forms.CharField(max_length=255)
    rule = forms.CharField(required=False, max_length=64)

    def clean_identity(self) -> str:
        return typed_client(self.by, self.cleaned_data["identity"])
