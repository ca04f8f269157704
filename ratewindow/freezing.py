"""Rows of blocks and exemptions as the frozen values that requests see."""

import logging
import time
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import lru_cache

from django.contrib.auth import get_user_model
from django.utils import timezone

from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
from ratewindow.models import Override
from ratewindow.overrides import ACTIONS, RATE, Overrides, Ruling
from ratewindow.subjects import Subject, read_subject

logger = logging.getLogger("ratewindow")

MOST_MEMBERS = 100_000  # users in the groups that overrides name; those beyond are not known to be in them
_MOST_TOLD = 20  # wrong rows in the log
_ROWS_AT_ONCE = 100
_REST_S = 0.0005  # after so many: a thread that only computes would make requests wait 5 ms for each turn of theirs
_FIELDS = ("pk", "identity", "action", "rule", "rate", "starts_at", "expires_at")


class Reader:
    """Reads what holds now, or will; of rows that are wrong it tells the log once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def read(self) -> Overrides | None:
        """All that holds, as one value; None where nothing does. A row that cannot be right is left out."""
        wrong: list[str] = []
        overrides = Overrides(_entries(wrong), lambda groups: _members(groups, wrong))
        for told in wrong[:_MOST_TOLD]:
            if told not in self._told:
                logger.error("ratewindow: %s", told)
        self._told = set(wrong[:_MOST_TOLD])
        return overrides if overrides.count else None


def _entries(wrong: list[str]) -> Iterator[tuple[Subject, Ruling]]:
    rows = Override.objects.exclude(expires_at__lte=timezone.now()).order_by("pk").values_list(*_FIELDS)
    for number, (pk, identity, *fields) in enumerate(rows.iterator(chunk_size=_ROWS_AT_ONCE), 1):
        try:
            yield read_subject(identity), _ruling(*fields)
        except Exception as error:  # a newer version of this app may write what this one has never heard of
            wrong.append(f"block or exemption {pk} is left out: {error}")
        if not number % _ROWS_AT_ONCE:
            time.sleep(_REST_S)


@lru_cache(maxsize=1024)
def _ruling(action: str, rule: str, rate: str, starts_at: datetime | None, expires_at: datetime | None) -> Ruling:
    if action not in ACTIONS:
        raise ValueError(f"action {action!r} is unknown, choose from {', '.join(ACTIONS)}")
    return Ruling(
        action,
        rule,
        _windows(rate) if action == RATE else (),
        starts_at.timestamp() if starts_at else 0.0,
        expires_at.timestamp() if expires_at else float("inf"),
    )


def _windows(rate: str) -> tuple[Window, ...]:
    windows = parse_rates(rate)
    if not windows:
        raise ValueError("another rate is empty: write for example 100/m")
    return windows


def _members(groups: Collection[str], wrong: list[str]) -> dict[str, tuple[str, ...]]:
    """Who is in which of the groups, by the identity of the user."""
    users = get_user_model()
    if not groups or not hasattr(users, "groups"):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    rows = users._base_manager.filter(groups__name__in=groups).order_by("pk", "groups__name").values_list("pk", "groups__name")
    for number, (pk, group) in enumerate(rows[: MOST_MEMBERS + 1].iterator(chunk_size=_ROWS_AT_ONCE)):
        if number == MOST_MEMBERS:
            wrong.append(
                f"the groups {', '.join(sorted(groups))} have more than {MOST_MEMBERS:,} members: those beyond are not known"
            )
            break
        found[f"user:{pk}"] = (*found.get(f"user:{pk}", ()), group)
        if not number % _ROWS_AT_ONCE:
            time.sleep(_REST_S)
    return found
