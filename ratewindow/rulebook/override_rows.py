"""Reading rows of blocks and exemptions into the frozen values that requests use."""

import logging
import time
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import lru_cache

from django.db.models import QuerySet

from ratewindow.conf import time_zone
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import Override
from ratewindow.models.batches import in_batches
from ratewindow.overrides import users
from ratewindow.overrides.lookup import ACTIONS, RATE, Overrides, Ruling
from ratewindow.overrides.subjects import Subject, read_subject

logger = logging.getLogger("ratewindow")

MOST_MEMBERS = 100_000  # users that are read of the groups that overrides name
_NEVER_S = float("inf")
_MOST_LOGGED = 20  # wrong rows of one reading
_ROWS_AT_ONCE = 100
_REST_S = 0.0005  # after so many rows: requests would wait 5 ms for each turn of a thread that never sleeps


_logged: set[str] = set()


def read_overrides(rows: QuerySet[Override]) -> Overrides | None:
    """Of these overrides those that hold now or later; None if there are none. A wrong row is left out, and logged once."""
    wrong: list[str] = []
    overrides = Overrides(
        _entries(rows.exclude(expires_at__lte=time_zone.now()), wrong),
        lambda groups: members_of(groups, wrong),
    )
    _logged.intersection_update(wrong)
    for problem in wrong[:_MOST_LOGGED]:
        if problem not in _logged:
            _logged.add(problem)
            logger.error("ratewindow: %s", problem)
    return overrides if overrides.count else None


def _entries(rows: QuerySet[Override], wrong: list[str]) -> Iterator[tuple[Subject, Ruling]]:
    """Subject and ruling of each correct row, oldest first."""
    read = in_batches(rows, "identity", "action", "rule", "rate", "starts_at", "expires_at", size=500)
    for number, (pk, identity, *fields) in enumerate(read, 1):
        try:
            entry = read_subject(identity), _ruling(pk, *fields)
            if entry[0].everybody and not (entry[1].rule and entry[1].expires_s < _NEVER_S):
                raise ValueError("* means everybody, and needs the name of one rule and an end")  # else nobody could undo it
        except Exception as error:  # a newer version of this app may write what this one does not know
            wrong.append(f"block or exemption {pk} is left out: {error}")
        else:
            yield entry
        if not number % _ROWS_AT_ONCE:
            time.sleep(_REST_S)


def _ruling(pk: int, action: str, rule: str, rate: str, starts_at: datetime | None, expires_at: datetime | None) -> Ruling:
    if action not in ACTIONS:
        raise ValueError(f"action {action!r} is unknown, choose from {', '.join(ACTIONS)}")
    windows = _windows(rate) if action == RATE else ()
    if action == RATE and not windows:
        raise ValueError("another rate is empty: write for example 100/m")
    return Ruling(
        action,
        rule,
        windows,
        starts_at.timestamp() if starts_at else 0.0,
        expires_at.timestamp() if expires_at else _NEVER_S,
        pk,
    )


_windows = lru_cache(maxsize=1024)(parse_rates)


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
