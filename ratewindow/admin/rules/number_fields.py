"""The form fields for whole numbers, whose errors quote the value."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from ratewindow.limiter.algorithms.base import MOST_UNIT_MS


class CountField(forms.IntegerField):
    """A whole number from 0 up, whose errors quote the value."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "min_value": None, "widget": forms.NumberInput(attrs={"class": "rw-count", "min": 0})})

    def to_python(self, value: Any) -> int | None:
        try:
            number = super().to_python(value)
        except ValidationError:
            problem = gettext("%r is not a whole number: enter one such as 5.") % str(value)[:40]
            raise ValidationError(problem, code="invalid") from None
        if number is not None:
            self.check_bounds(number)
        return number

    def check_bounds(self, number: int) -> None:
        if number < 0:
            raise ValidationError(gettext("%d is negative: enter 0 to refuse every request, or more.") % number, code="min_value")
        if number > MOST_UNIT_MS:
            problem = gettext("%(number)d is too high to be counted: enter at most %(most)d.")
            raise ValidationError(problem % {"number": number, "most": MOST_UNIT_MS}, code="max_value")


class BoundedField(CountField):
    """A whole number within bounds. Empty means the default of the model."""

    def __init__(self, *, low: int, high: int, **options: Any) -> None:
        super().__init__(**{**options, "required": False, "max_value": None})
        self.low, self.high = low, high

    def check_bounds(self, number: int) -> None:
        if not self.low <= number <= self.high:
            problem = gettext("%(number)d is out of range: enter %(low)d to %(high)d.")
            raise ValidationError(problem % {"number": number, "low": self.low, "high": self.high}, code="bounds")
