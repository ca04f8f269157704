"""The list of blocks and exemptions by state: those in force first, how many there are of each, and a filter.

Each part of the order is served by an index, and a page far back is read from the nearer end of its part, so that a million
rows open as fast as a hundred.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ORDER_VAR
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import few_rows
from ratewindow.conf import time_zone
from ratewindow.models import Override
from ratewindow.models.override_manager import OverrideQuerySet
from ratewindow.reporting.summary import number


@dataclass(frozen=True)
class Counts:
    now: datetime
    in_force: int
    waiting: int
    ended: int
    next_end: datetime | None  # of those in force

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """As `_parts`, of all overrides."""
        ending = _parts(Override.objects.get_queryset(), self.now)[0].count()
        return ending, self.in_force - ending, self.waiting, self.ended

    def of_state(self, state: str) -> int:
        """How many the filter leaves."""
        known = {"now": self.in_force, "waiting": self.waiting, "ended": self.ended}
        return known.get(state, sum(known.values()))

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
    return Counts(now, Override.objects.count() - wait - over, wait, over, next_end)


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
        now = counts(request).now
        match self.value():
            case "now":
                return queryset.in_force(now)
            case "waiting":
                return queryset.not_ended(now).filter(starts_at__gt=now)
            case "ended":
                return queryset.ended(now)
        return queryset


class OverridePaginator(few_rows.FewPaginator):
    """Does not count again all rows, or those of one state."""

    def __init__(self, request: HttpRequest, overrides: Any, per_page: int) -> None:
        state = request.GET.get(StateFilter.parameter_name, "")
        self.is_counted = request.GET.keys() <= {*few_rows.UNFILTERED, StateFilter.parameter_name}
        if self.is_counted:
            self.count = counts(request).of_state(state)
            Paginator.__init__(self, overrides, per_page)
        else:
            super().__init__(request, overrides, per_page)


class InForceFirst(few_rows.FewChangeList):
    """Those in force by their end, then those that wait by their beginning, then those that have ended, the last one first.

    Unless the user sorts the list.
    """

    def get_queryset(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        self._known = counts(request)
        # Not joined: SQLite would begin with the users, and sort all rows.
        return super().get_queryset(request, *args, **kwargs).prefetch_related("created_by")

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if ORDER_VAR in self.params or self.paginator.few is not None:
            return
        if (self.show_all and self.can_show_all) or not self.multi_page:
            self.result_list = self.sorted_rows(self.queryset.order_by())
            return
        known, chosen = self._known, _PARTS_OF.get(self.params.get(StateFilter.parameter_name) or "", slice(None))
        parts = _parts(self.queryset, known.now)[chosen]

        def size(number: int) -> int:
            return known.parts[chosen][number] if self.paginator.is_counted else parts[number].count()

        shown = _some(parts, size, (self.page_num - 1) * self.list_per_page, self.list_per_page)
        rows = {row.pk: row for row in self.queryset.filter(pk__in=shown)}
        self.result_list = [rows[pk] for pk in shown if pk in rows]

    def sorted_rows(self, rows: Iterable[Override]) -> list[Override]:
        return sorted(rows, key=partial(_place, self._known.now))


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


def _some(parts: Sequence[OverrideQuerySet], size: Callable[[int], int], first: int, most: int) -> list[int]:
    """The primary keys in a slice of the parts, one after the other: no more than the indexes know.

    `size` counts a part by its number; without any before the slice it is not called.
    """
    found: list[int] = []
    for place, part in enumerate(parts):
        wanted = most - len(found)
        if not wanted:
            break
        if not first:
            found += part.values_list("pk", flat=True)[:wanted]
        elif first >= (count := size(place)):
            first -= count
        else:
            found += _slice(part, first, wanted, count)
            first = 0
    return found


def _slice(part: OverrideQuerySet, first: int, most: int, count: int) -> list[int]:
    """So many primary keys of a part of `count` rows, from its nearer end."""
    pks, behind = part.values_list("pk", flat=True), max(0, count - first - most)
    return list(pks[first : first + most]) if first <= behind else list(pks.reverse()[behind : count - first])[::-1]
