"""A question before the same block or exemption is saved twice: extend the first one, or save another."""

from datetime import datetime

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from ratewindow.conf import time_zone
from ratewindow.models import Override
from ratewindow.operations.override_notes import already_in_words
from ratewindow.overrides.subjects import in_words

FIELD, EXTEND, ANOTHER = "twice", "extend", "another"  # the name and the values of the radio buttons


class ExtendInstead(Exception):
    """Raised while a new override is saved, so that it is not, since its author chose to extend `first`."""

    def __init__(self, first: Override, end: datetime | None) -> None:
        self.first, self.end = first, end


def may_extend(request: HttpRequest, first: Override, new: Override) -> bool:
    """Whether the new one ends later, and this person may change the first one."""
    later = first.expires_at is not None and (new.expires_at is None or new.expires_at > first.expires_at)
    return later and request.user.has_perm("ratewindow.change_override")


def question(request: HttpRequest, first: Override, new: Override) -> SafeString:
    """What there is already, with a radio button for each answer; the form is sent again with one of them."""
    said = already_in_words(first, in_words(first.identity))
    another = _radio(ANOTHER, gettext("Save another one"))
    if not may_extend(request, first, new):
        return format_html("{} {}", said, another)
    label = gettext("Let that one have no end")
    if new.expires_at:
        label = gettext("Extend that one until %s") % time_zone.in_short(new.expires_at)
    return format_html("{} {} {}", said, _radio(EXTEND, label), another)


def _radio(value: str, label: str) -> SafeString:
    return format_html('<label class="rw-choice"><input type="radio" name="{}" value="{}"> {}</label>', FIELD, value, label)
