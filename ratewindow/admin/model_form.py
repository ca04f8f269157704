"""Errors of a model in a form: each said once, and where the form can say it."""

from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError


class SaidOnce(forms.ModelForm):  # type: ignore[type-arg]
    """A form whose model checks more than single fields.

    Of what a field has refused the model sees nothing or the old value, and would complain of that, too. What it says of a
    field that is not in the form, since it is fixed after the first save, stands above the form.
    """

    def _update_errors(self, errors: ValidationError) -> None:
        if not hasattr(errors, "error_dict"):
            return super()._update_errors(errors)  # type: ignore[misc,no-any-return]
        told: dict[str, list[Any]] = {}
        for field, each in errors.error_dict.items():
            if field not in self.fields and field != NON_FIELD_ERRORS:
                told.setdefault(NON_FIELD_ERRORS, []).extend(self.elsewhere(field, each))
            elif field not in self.errors or field == NON_FIELD_ERRORS:
                told.setdefault(field, []).extend(each)
        if told:
            super()._update_errors(ValidationError(told))  # type: ignore[misc]
        return None

    def elsewhere(self, field: str, errors: list[Any]) -> list[Any]:
        """What to say of a field that is not in the form."""
        return errors
