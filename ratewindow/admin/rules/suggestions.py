"""A text input that suggests values by the choice of another field."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext


class SuggestingInput(forms.TextInput):
    """`suggestions` maps choices of the field `by` to values; other values are accepted, too."""

    def __init__(self, by: str, attrs: dict[str, Any]) -> None:
        super().__init__(attrs)
        self.by = by
        self.suggestions: Mapping[str, Iterable[str]] = {}

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        lists = {choice: list(values) for choice, values in self.suggestions.items() if values}
        more = {"data-rw-lists": self.by, "data-rw-choose": gettext("Choose…")}
        text_input = super().render(name, value, {**(attrs or {}), **more}, renderer)
        return format_html(
            "{}{}", text_input, format_html_join("", "{}", ((_datalist(f"rw-{name}-{key}", lists[key]),) for key in lists))
        )


def _datalist(id_: str, values: Iterable[str]) -> SafeString:
    options = format_html_join("", '<option value="{}"></option>', ((each,) for each in values))
    return format_html('<datalist id="{}">{}</datalist>', id_, options)
