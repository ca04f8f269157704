"""Two people edit the same rule or block: the second is refused once, reads what the first changed, and may save all the same.

The form carries a digest of the values that it was opened with. What was typed stays in it.
"""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import router
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext

from ratewindow.admin.history.changes_in_words import Line, clock, lines
from ratewindow.admin.history.entries import way_in_words
from ratewindow.admin.masking import fingerprint
from ratewindow.admin.model_form import MergedErrorsForm
from ratewindow.conf.in_words import listed
from ratewindow.models import Edit, RateRule
from ratewindow.models.fields import to_text, to_timedelta
from ratewindow.operations.documents.differences import Change
from ratewindow.operations.documents.values import Values
from ratewindow.operations.history.recording import Subject, read

OPENED = "opened"
MOST_EDITS = 50  # that are looked through for the one after which the form was opened
_LIMIT = ("limit", "period", "algorithm", "buckets", "burst", "aligned_to")


class ConflictForm(MergedErrorsForm):
    """A form of a row that others may change while it is open. The admin sets `request`."""

    request: HttpRequest

    opened = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._subject = None if self.instance._state.adding else _subject(self.instance)
        if self._subject is not None and not self.is_bound:
            self.initial[OPENED] = _digest(self._subject, _read(self._subject))

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        opened = self.data.get(OPENED)
        if self._subject is None or not opened:
            return cleaned
        now = _read(self._subject, lock=True)
        if _digest(self._subject, now) != opened:
            self.data: Any = self.data.copy()
            self.data[OPENED] = _digest(self._subject, now)  # saved again, it replaces what this page tells of
            self.add_error(None, ValidationError(_in_words(self.request, self._subject, opened, now), code="conflict"))
        return cleaned


def rebased(request: HttpRequest, rule: RateRule, prefix: str) -> QueryDict:
    """The POST data with rows for the limits that the rule has now, if they have changed since its form was opened.

    Limits that somebody else has added appear as they are, and those that somebody else has deleted as new ones.
    """
    opened = request.POST.get(OPENED)
    if not opened or opened == _digest(_subject(rule), _read(_subject(rule))):
        return request.POST
    left = {str(window.pk): window for window in rule.windows.all()}
    typed = [
        {name: request.POST.get(f"{prefix}-{number}-{name}", "") for name in (*_LIMIT, "id", "DELETE")}
        for number in range(min(_whole(request.POST.get(f"{prefix}-TOTAL_FORMS")), 100))
    ]
    known = [row for row in typed if left.pop(row["id"], None)]
    others = [row for row in typed if row not in known and not row["DELETE"]]
    for row in others:
        row["id"] = next((pk for pk, window in left.items() if _is_for(row, window)), "")
        left.pop(row["id"], None)
    added = [{**_row(window), "id": pk, "DELETE": ""} for pk, window in left.items()]
    rows = sorted([*known, *others, *added], key=lambda row: not row["id"])  # rows of the database come first
    data = request.POST.copy()
    for name in [name for name in data if name.startswith(f"{prefix}-") and name.split("-")[1].isdigit()]:
        del data[name]
    for number, row in enumerate(rows):
        data.update({f"{prefix}-{number}-{name}": value for name, value in row.items() if value or name != "DELETE"})
        data[f"{prefix}-{number}-rule"] = str(rule.pk)
    data[f"{prefix}-TOTAL_FORMS"] = str(len(rows))
    data[f"{prefix}-INITIAL_FORMS"] = str(sum(bool(row["id"]) for row in rows))
    return data


def _subject(row: Any) -> Subject:
    return Subject(Edit.Kind.RULE, row.name) if isinstance(row, RateRule) else Subject(Edit.Kind.OVERRIDE, str(row.pk))


def _read(subject: Subject, lock: bool = False) -> Values | None:
    return read(subject, router.db_for_write(RateRule), lock=lock)


def _digest(subject: Subject, values: Values | None) -> str:
    """A digest of the values of this row. Another row with them has another digest, or a reader of masks could try values."""
    return fingerprint([*subject, values])


def _in_words(request: HttpRequest, subject: Subject, opened: str, now: Values | None) -> str:
    """Who has changed what since the form was opened, and what to do."""
    edits = list(Edit.objects.filter(kind=subject.kind, subject=subject.name)[:MOST_EDITS])
    seen = next((number for number, edit in enumerate(edits) if _digest(subject, edit.after) == opened), None)
    later = edits[: len(edits) if seen is None else seen]
    before = edits[seen].after if seen is not None else later[-1].before if later else None
    found = "; ".join(map(_line, lines(request, Change(subject.kind, before, now)))) if before and now else ""
    if later:
        who = listed(dict.fromkeys(f"{edit.by} {way_in_words(edit.way)}".strip() for edit in reversed(later)))
        values = {"time": clock(later[0].at), "who": who, "changes": found or gettext("and back again")}
        text = gettext("This has been changed since you opened it, last %(time)s, by %(who)s: %(changes)s.") % values
    elif found:
        text = gettext("This has been changed since you opened it: %s.") % found
    else:
        text = gettext("This has been changed since you opened it.")
    remedy = gettext("What you typed is still here: save again to replace their change, or open the page again to see it first.")
    return f"{text} {remedy}"


def _line(line: Line) -> str:
    return f"{line.field}: {line.before} → {line.after}"


def _is_for(row: dict[str, str], window: Any) -> bool:
    """Whether a typed row is about the period of this limit, by the same algorithm."""
    period: timedelta | None = None
    with suppress(ValidationError):
        period = to_timedelta(row["period"])
    return (period, row["algorithm"]) == (window.period, window.algorithm)


def _row(window: Any) -> dict[str, str]:
    values = {name: getattr(window, name) for name in _LIMIT}
    return {name: "" if value is None else to_text(value) for name, value in values.items()}


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0
