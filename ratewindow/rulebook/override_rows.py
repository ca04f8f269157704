"""Reading rows of blocks and exemptions into the frozen values that requests use."""

import logging
import time
from array import array
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from django.db.models import Count, Max, Q, QuerySet

from ratewindow.conf import time_zone
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
from ratewindow.models import Override
from ratewindow.models.batches import in_batches
from ratewindow.overrides import ACTIONS, RATE, Overrides, Ruling, users
from ratewindow.overrides.subjects import Subject, read_subject

logger = logging.getLogger("ratewindow")

MOST_MEMBERS = 100_000  # users that are read of the groups that overrides name
MANY = 1000  # with fewer rows, all are read at each edit
MOST_CHANGED = 5000  # with more changed rows, too
MOST_AGE_S = 120.0  # of the last reading of all, where threads do not run
_CLOCKS_DIFFER = timedelta(minutes=1)  # between the servers that write the time of a change
_NEVER_S = float("inf")
_MOST_LOGGED = 20  # wrong rows of one reading
_ROWS_OF_A_QUERY = 500
_ROWS_AT_ONCE = 100
_REST_S = 0.0005  # after so many rows: requests would wait 5 ms for each turn of a thread that never sleeps
_FIELDS = ("identity", "action", "rule", "rate", "starts_at", "expires_at")


class _Whole(NamedTuple):
    """The last reading of all rows, and what is needed to find rows deleted since."""

    overrides: Overrides
    pks: "array[int]"  # of the rows read
    rows: int  # their number, with those that had ended
    last_pk: int
    began: datetime
    read_at_s: float  # monotonic


class Reader:
    """Reads the overrides that hold now or later; each wrong row is logged once.

    After an edit of many rows only those are read that changed since all were read. Edits without a signal are found when all
    are read the next time.
    """

    def __init__(self) -> None:
        self._logged: set[str] = set()
        self._whole: _Whole | None = None

    def read(self, after_edit: bool = False) -> Overrides | None:
        """All overrides; None if there are none. A wrong row is left out."""
        wrong: list[str] = []
        overrides = self._changed(wrong) if after_edit else None
        if overrides is None:
            overrides = self._all(wrong)
            self._logged &= set(wrong)
        for problem in wrong[:_MOST_LOGGED]:
            if problem not in self._logged:
                self._logged.add(problem)
                logger.error("ratewindow: %s", problem)
        return overrides if overrides.count else None

    def _all(self, wrong: list[str]) -> Overrides:
        began, pks = time_zone.now(), array("q")
        told = Override.objects.aggregate(last=Max("pk"), rows=Count("pk"))
        rows, last_pk = told["rows"], told["last"] or 0
        found = _not_ended(began) if rows else Override.objects.none()  # most sites have none, and read that often
        overrides = Overrides(_entries(found, wrong, pks), lambda groups: members_of(groups, wrong))
        self._whole = _Whole(overrides, pks, rows, last_pk, began, time.monotonic())
        return overrides

    def _changed(self, wrong: list[str]) -> Overrides | None:
        """The last reading of all with what has changed since; None if all should be read instead."""
        whole = self._whole
        if whole is None or len(whole.pks) < MANY or time.monotonic() - whole.read_at_s > MOST_AGE_S:
            return None
        # Members of a group may have changed without a change of the row.
        changed = Override.objects.filter(Q(changed_at__gte=whole.began - _CLOCKS_DIFFER) | Q(identity__startswith="group:"))
        pks = set(changed.values_list("pk", flat=True)[: MOST_CHANGED + 1])
        if len(pks) > MOST_CHANGED:
            return None
        gone = pks.intersection(whole.pks)
        if _count(whole.last_pk) != whole.rows:
            gone |= set(whole.pks).difference(pk for (pk,) in in_batches(Override.objects.all(), size=MOST_CHANGED))
        rows = _not_ended(time_zone.now()).filter(pk__in=pks)
        above = Overrides(_entries(rows, wrong, array("q")), lambda groups: members_of(groups, wrong))
        return above.above(whole.overrides, frozenset(gone))


def _count(last_pk: int) -> int:
    return Override.objects.filter(pk__lte=last_pk).count()


def _not_ended(now: datetime) -> QuerySet[Override]:
    return Override.objects.exclude(expires_at__lte=now)


def _entries(rows: QuerySet[Override], wrong: list[str], pks: "array[int]") -> Iterator[tuple[Subject, Ruling]]:
    """Subject and ruling of each correct row, oldest first; its primary key is added to `pks`."""
    for number, (pk, identity, *fields) in enumerate(in_batches(rows, *_FIELDS, size=_ROWS_OF_A_QUERY), 1):
        try:
            entry = read_subject(identity), _ruling(pk, *fields)
            if entry[0].everybody and not (entry[1].rule and entry[1].expires_s < _NEVER_S):
                raise ValueError("* means everybody, and needs the name of one rule and an end")  # else nobody could undo it
        except Exception as error:  # a newer version of this app may write what this one does not know
            wrong.append(f"block or exemption {pk} is left out: {error}")
        else:
            pks.append(pk)
            yield entry
        if not number % _ROWS_AT_ONCE:
            time.sleep(_REST_S)


def _ruling(pk: int, action: str, rule: str, rate: str, starts_at: datetime | None, expires_at: datetime | None) -> Ruling:
    if action not in ACTIONS:
        raise ValueError(f"action {action!r} is unknown, choose from {', '.join(ACTIONS)}")
    return Ruling(
        action,
        rule,
        _windows(rate) if action == RATE else (),
        starts_at.timestamp() if starts_at else 0.0,
        expires_at.timestamp() if expires_at else _NEVER_S,
        pk,
    )


@lru_cache(maxsize=1024)
def _windows(rate: str) -> tuple[Window, ...]:
    windows = parse_rates(rate)
    if not windows:
        raise ValueError("another rate is empty: write for example 100/m")
    return windows


def members_of(groups: Collection[str], wrong: list[str]) -> dict[str, tuple[str, ...]]:
    """The groups of each member, by the identity of the user."""
    if not groups or users.groups_of_users() is None:
        return {}
    manager = users.model()._base_manager
    found: dict[str, tuple[str, ...]] = {}
    members = ((group, pk) for group in sorted(groups) for (pk,) in in_batches(manager.filter(groups__name=group)))
    for number, (group, pk) in enumerate(members):
        if number == MOST_MEMBERS:
            wrong.append(
                f"the groups {', '.join(sorted(groups))} have more than {MOST_MEMBERS:,} members: the others are ignored"
            )
            break
        found[f"user:{pk}"] = (*found.get(f"user:{pk}", ()), group)
        if not number % _ROWS_AT_ONCE:
            time.sleep(_REST_S)
    return found
