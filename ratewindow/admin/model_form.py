"""A model form that shows each error of its model once, at a field that it has."""

from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError


class MergedErrorsForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form that merges the errors of its model's `clean` with its own.

    A field that failed in the form reaches the model empty or with its old value, so the model's errors for it are dropped.
    Errors of a field that the form does not have, such as one fixed after the first save, are shown above the form.
    """

    def _update_errors(self, errors: ValidationError) -> None:
        if not hasattr(errors, "error_dict"):
            return super()._update_errors(errors)  # type: ignore[misc,no-any-return]
        merged: dict[str, list[Any]] = {}
        for field, messages in errors.error_dict.items():
            if field not in self.fields and field != NON_FIELD_ERRORS:
                merged.setdefault(NON_FIELD_ERRORS, []).extend(self.errors_of_absent_field(field, messages))
            elif field not in self.errors or field == NON_FIELD_ERRORS:
                merged.setdefault(field, []).extend(messages)
        if merged:
            super()._update_errors(ValidationError(merged))  # type: ignore[misc]
        return None

    def errors_of_absent_field(self, field: str, errors: list[Any]) -> list[Any]:
        """The errors to show above the form for a field that it does not have."""
        return errors
