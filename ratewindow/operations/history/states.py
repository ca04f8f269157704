"""The state of rules, overrides and the switch at any moment, from the edits before and after it."""

from collections.abc import Iterable
from datetime import datetime

from django.db import router
from django.db.models import Exists, OuterRef
from django.utils.dateparse import parse_datetime

from ratewindow.conf import time_zone
from ratewindow.models import Edit, Override, RateRule
from ratewindow.models.override_manager import KEPT
from ratewindow.operations.documents import values
from ratewindow.operations.documents.values import Values
from ratewindow.operations.history.recording import SWITCH, Subject, read

State = dict[Subject, Values | None]
"""The values of each subject; None if it was not there."""

_BATCH = 500


def at(moment: datetime) -> State:
    """Every subject that the history knows as it was then, after the edits of that very moment.

    That is what the latest edit until then left, or what the earliest one after it found.
    """
    edits = Edit.objects.using(_database()).exclude(kind__in=Edit.EVENTS).order_by()
    others = edits.filter(kind=OuterRef("kind"), subject=OuterRef("subject"))
    latest = edits.filter(~Exists(others.filter(at__gt=OuterRef("at"), at__lte=moment)), at__lte=moment)
    first = edits.filter(~Exists(others.filter(at__lt=OuterRef("at"))), at__gt=moment)
    state = {Subject(kind, name): values for kind, name, values in first.values_list("kind", "subject", "before")}
    return state | {Subject(kind, name): values for kind, name, values in latest.values_list("kind", "subject", "after")}


def now(subjects: Iterable[Subject]) -> State:
    """These subjects as they are."""
    wanted, using = set(subjects), _database()
    state: State = dict.fromkeys(wanted)
    if any(subject.kind == Edit.Kind.RULE for subject in wanted):
        for rule in RateRule.objects.using(using).prefetch_related("windows"):
            if (subject := Subject(Edit.Kind.RULE, rule.name)) in wanted:
                state[subject] = values.of_rule(rule)
    pks = sorted(int(subject.name) for subject in wanted if subject.kind == Edit.Kind.OVERRIDE)
    for begin in range(0, len(pks), _BATCH):
        for override in Override.objects.get_queryset().using(using).filter(pk__in=pks[begin : begin + _BATCH]):
            state[Subject(Edit.Kind.OVERRIDE, str(override.pk))] = values.of_override(override)
    if SWITCH in wanted:
        state[SWITCH] = read(SWITCH, using)
    return state


def is_gone_for_good(override: Values) -> bool:
    """Whether an override ended so long ago that it is cleaned away: nothing is left to restore."""
    end = parse_datetime(override.get("expires_at", ""))
    return end is not None and end <= time_zone.now() - KEPT


def _database() -> str:
    """Where rows are written: a replica might not have the last ones yet."""
    return router.db_for_write(RateRule)
