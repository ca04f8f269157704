"""The list of blocks and exemptions in order, those in force first, and how many there are of each state.

Each part of the order is served by an index, so that a page of a million rows opens as fast as one of a hundred.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.http import HttpRequest

from ratewindow.conf import time_zone
from ratewindow.models import Override
from ratewindow.models.override_manager import OverrideQuerySet


@dataclass(frozen=True)
class Counts:
    in_force: int
    waiting: int
    ended: int
    next_end: datetime | None  # of those in force

    def sentences(self) -> Iterator[str]:
        """``3 in force, the next one ends at 14:20.``, and how many wait or have ended."""
        if self.next_end is None:
            yield f"{self.in_force:,} in force." if self.in_force else "None in force."
        elif self.in_force == 1:
            yield f"1 in force, it ends at {time_zone.in_short(self.next_end)}."
        else:
            yield f"{self.in_force:,} in force, the next one ends at {time_zone.in_short(self.next_end)}."
        if self.waiting:
            yield "1 waits to begin." if self.waiting == 1 else f"{self.waiting:,} wait to begin."
        if self.ended:
            yield "1 has ended." if self.ended == 1 else f"{self.ended:,} have ended."


def counts(request: HttpRequest) -> Counts:
    """Of all overrides, counted once per request."""
    if not hasattr(request, "_ratewindow_override_counts"):
        request._ratewindow_override_counts = _counts(time_zone.now())  # type: ignore[attr-defined]
    return request._ratewindow_override_counts  # type: ignore[attr-defined,no-any-return]


def _counts(now: datetime) -> Counts:
    ending, _, waiting, ended = _parts(Override.objects.get_queryset(), now)
    wait, over = waiting.count(), ended.count()
    next_end = ending.values_list("expires_at", flat=True).first()
    return Counts(Override.objects.count() - wait - over, wait, over, next_end)


class InForceFirst(ChangeList):
    """Those in force by their end, then those that wait by their beginning, then those that have ended, the last one first.

    Unless the user sorts the list.
    """

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if ORDER_VAR not in self.params:
            first = (self.page_num - 1) * self.list_per_page if self.multi_page and not self.show_all else 0
            most = self.list_per_page if self.multi_page and not self.show_all else self.result_count
            self.result_list: Any = _some(_parts(self.queryset, time_zone.now()), first, most)


def _parts(overrides: Any, now: datetime) -> tuple[OverrideQuerySet, ...]:
    """In force with an end, in force without one, waiting, ended."""
    begun = overrides.exclude(starts_at__gt=now)
    return (
        begun.filter(expires_at__gt=now).order_by("expires_at", "pk"),
        begun.filter(expires_at__isnull=True).order_by("-pk"),
        overrides.filter(starts_at__gt=now).exclude(expires_at__lte=now).order_by("starts_at", "pk"),
        overrides.filter(expires_at__lte=now).order_by("-expires_at", "-pk"),
    )


def _some(parts: tuple[OverrideQuerySet, ...], first: int, most: int) -> list[Override]:
    """A slice of the parts, one after the other."""
    found: list[Override] = []
    for part in parts:
        rows = list(part[first : first + most - len(found)]) if len(found) < most else []
        found += rows
        first = 0 if rows or not first else max(0, first - part.count())
    return found
