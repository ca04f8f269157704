"""Form fields for text that most people choose in words and few type: a key, a condition, HTTP methods."""

import re
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

OTHER = "other"  # the choice with which the text beside it counts, and the end of that text's name in the form
USUAL_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Undecided:
    """A choice and another text, both sent by a browser without JavaScript."""

    chosen: str
    typed: str


def _text(name: str, label: str, typed: str, attrs: Any, text_help: str) -> SafeString:
    """The text input that belongs to a chooser."""
    base = f"{(attrs or {}).get('id') or f'id_{name}'}_{OTHER}"
    text = forms.TextInput({"class": "vTextField", "id": base, "aria-describedby": f"{base}_helptext"})
    return format_html(
        '<label for="{}">{}</label> {}<div class="help" id="{}_helptext">{}</div>',
        *(base, label, text.render(f"{name}_{OTHER}", typed), base, text_help),
    )


class ChoiceOrText(forms.Select):
    """A select whose last choice is a text of one's own. Its value is the text that is stored."""

    def __init__(self, label: Any, text_help: Any = "", choices: Any = ()) -> None:
        super().__init__(choices=choices)
        self.label, self.text_help = label, text_help

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        chosen, typed = data.get(name), (data.get(f"{name}_{OTHER}") or "").strip()
        if chosen in (None, OTHER):
            return typed if chosen or typed else None
        return Undecided(chosen, typed) if typed and typed != chosen else chosen

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in data and f"{name}_{OTHER}" not in data

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        if isinstance(value, Undecided):
            chosen, typed = value.chosen, value.typed
        else:
            known = value in ("", None) or any(value == each for each, _ in self.choices)
            chosen, typed = (value, "") if known else (OTHER, value)
        select = super().render(name, chosen, attrs, renderer)
        text = _text(name, self.label, typed, attrs, self.text_help)
        return format_html('<div class="rw-choice">{}<div class="rw-other">{}</div></div>', select, text)


class ChoiceOrTextField(forms.CharField):
    def to_python(self, value: Any) -> Any:
        if isinstance(value, Undecided):
            words = dict(self.widget.choices)
            chosen, other = words.get(value.chosen, value.chosen), words[OTHER]
            text = gettext("“%(chosen)s” is chosen, but %(typed)r is typed: choose “%(other)s” or clear the text.")
            message = text % {"chosen": chosen, "typed": value.typed[:40], "other": other}
            raise ValidationError(message, code="undecided")
        return super().to_python(value)


class MethodsInput(forms.CheckboxSelectMultiple):
    """A checkbox for each usual method, and a text for others. Its value is the text that is stored."""

    use_fieldset = True

    def __init__(self) -> None:
        super().__init__(choices=[(each, each) for each in USUAL_METHODS])

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        sent = super().value_from_datadict(data, files, name) or []
        texts = [*([sent] if isinstance(sent, str) else sent), data.get(f"{name}_{OTHER}") or ""]
        return ",".join(sorted({word.upper() for text in texts for word in _words(text)}))

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        words = _words(value or "")
        boxes = super().render(name, [each for each in words if each in USUAL_METHODS], attrs, renderer)
        others = ", ".join(each for each in words if each not in USUAL_METHODS)
        return format_html(
            '<div class="rw-choice"><div class="rw-boxes" role="group" aria-label="{}">{}</div>'
            '<details class="rw-other"{}><summary>{}</summary>{}</details></div>',
            *(gettext("Methods"), boxes, SafeString(" open" if others else ""), gettext("Other methods")),
            _text(
                name, gettext("Other methods, as text:"), others, attrs, gettext("Such as PROPFIND, or several joined by commas.")
            ),
        )


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text) if word]
