"""The list of blocks and exemptions by state: those in force first, how many there are of each, and a filter.

Each part of the order is served by an index, so that a page of a million rows opens as fast as one of a hundred.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.models import Override
from ratewindow.models.override_manager import OverrideQuerySet
from ratewindow.reporting.summary import number


@dataclass(frozen=True)
class Counts:
    in_force: int
    waiting: int
    ended: int
    next_end: datetime | None  # of those in force

    def sentences(self) -> Iterator[str]:
        """``3 in force, the next one ends at 14:20.``, and how many wait or have ended."""
        values = {"count": number(self.in_force), "time": time_zone.in_short(self.next_end) if self.next_end else ""}
        if self.next_end is None:
            yield gettext("%(count)s in force.") % values if self.in_force else gettext("None in force.")
        elif self.in_force == 1:
            yield gettext("1 in force, it ends at %(time)s.") % values
        else:
            yield gettext("%(count)s in force, the next one ends at %(time)s.") % values
        if self.waiting:
            text = ngettext("%(count)s waits to begin.", "%(count)s wait to begin.", self.waiting)
            yield text % {"count": number(self.waiting)}
        if self.ended:
            yield ngettext("%(count)s has ended.", "%(count)s have ended.", self.ended) % {"count": number(self.ended)}


def counts(request: HttpRequest) -> Counts:
    """Of all overrides, counted once per request."""
    if not hasattr(request, "_ratewindow_override_counts"):
        request._ratewindow_override_counts = _counts(time_zone.now())  # type: ignore[attr-defined]
    return request._ratewindow_override_counts  # type: ignore[attr-defined,no-any-return]


def _counts(now: datetime) -> Counts:
    ending, __, waiting, ended = _parts(Override.objects.get_queryset(), now)
    wait, over = waiting.count(), ended.count()
    next_end = ending.values_list("expires_at", flat=True).first()
    return Counts(Override.objects.count() - wait - over, wait, over, next_end)


class StateFilter(admin.SimpleListFilter):
    """Whether an override is in force at this moment."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        found = counts(request)
        return [
            ("now", gettext("In force (%s)") % number(found.in_force)),
            ("waiting", gettext("Waiting to begin (%s)") % number(found.waiting)),
            ("ended", gettext("Ended (%s)") % number(found.ended)),
        ]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        now = time_zone.now()
        match self.value():
            case "now":
                return queryset.in_force(now)
            case "waiting":
                return queryset.not_ended(now).filter(starts_at__gt=now)
            case "ended":
                return queryset.ended(now)
        return queryset


class InForceFirst(ChangeList):
    """Those in force by their end, then those that wait by their beginning, then those that have ended, the last one first.

    Unless the user sorts the list.
    """

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if ORDER_VAR not in self.params:
            now = time_zone.now()
            if (self.show_all and self.can_show_all) or not self.multi_page:
                self.result_list: Any = sorted(self.queryset.order_by(), key=partial(_place, now))
                return
            parts = _parts(self.queryset, now)[_PARTS_OF.get(self.params.get(StateFilter.parameter_name) or "", slice(None))]
            shown = _some(parts, (self.page_num - 1) * self.list_per_page, self.list_per_page)
            rows = {row.pk: row for row in self.queryset.filter(pk__in=shown)}
            self.result_list = [rows[pk] for pk in shown if pk in rows]


def _parts(overrides: Any, now: datetime) -> tuple[OverrideQuerySet, ...]:
    """In force with an end, in force without one, waiting, ended."""
    begun = overrides.exclude(starts_at__gt=now)
    return (
        begun.filter(expires_at__gt=now).order_by("expires_at", "pk"),
        begun.filter(expires_at__isnull=True).order_by("-pk"),
        overrides.filter(starts_at__gt=now).exclude(expires_at__lte=now).order_by("starts_at", "pk"),
        overrides.filter(expires_at__lte=now).order_by("-expires_at", "-pk"),
    )


_PARTS_OF = {"now": slice(0, 2), "waiting": slice(2, 3), "ended": slice(3, 4)}  # by the value of the filter


def _place(now: datetime, override: Override) -> tuple[int, float, int]:
    """Where a row is in the order of the parts."""
    match override.state_at(now), override.expires_at:
        case "waiting", _:
            return 2, override.starts_at.timestamp() if override.starts_at else 0.0, override.pk
        case "ended", datetime() as end:
            return 3, -end.timestamp(), -override.pk
        case _, datetime() as end:
            return 0, end.timestamp(), override.pk
        case _:
            return 1, 0.0, -override.pk


def _some(parts: tuple[OverrideQuerySet, ...], first: int, most: int) -> list[int]:
    """The primary keys in a slice of the parts, one after the other: no more than the indexes know."""
    found: list[int] = []
    for part in parts:
        pks = list(part.values_list("pk", flat=True)[first : first + most - len(found)]) if len(found) < most else []
        found += pks
        first = 0 if pks or not first else max(0, first - part.count())
    return found
