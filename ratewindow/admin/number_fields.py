"""The form fields for whole numbers, whose errors quote the value."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from ratewindow.limiter.algorithms.base import MOST_UNIT_MS


class CountField(forms.IntegerField):
    """A whole number from 0 up, whose errors quote the value."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "min_value": None, "widget": forms.NumberInput(attrs={"class": "rw-count", "min": 0})})

    def to_python(self, value: Any) -> int | None:
        try:
            number = super().to_python(value)
        except ValidationError:
            raise ValidationError(f"{str(value)[:40]!r} is not a whole number: enter one such as 5.", code="invalid") from None
        if number is not None:
            self.check_bounds(number)
        return number

    def check_bounds(self, number: int) -> None:
        if number < 0:
            raise ValidationError(f"{number} is negative: enter 0 to refuse every request, or more.", code="min_value")
        if number > MOST_UNIT_MS:
            raise ValidationError(f"{number} is too high to be counted: enter at most {MOST_UNIT_MS}.", code="max_value")


class BoundedField(CountField):
    """A whole number within bounds. Empty means the default of the model."""

    def __init__(self, *, low: int, high: int, **options: Any) -> None:
        super().__init__(**{**options, "required": False, "max_value": None})
        self.low, self.high = low, high

    def check_bounds(self, number: int) -> None:
        if not self.low <= number <= self.high:
            raise ValidationError(f"{number} is out of range: enter {self.low} to {self.high}.", code="bounds")
