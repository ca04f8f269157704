"""A client in the database: blocks and exemptions, their history, the statistics, and the log of the admin."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from itertools import chain
from operator import or_
from typing import Any

from django.apps import apps
from django.db import models, transaction

from ratewindow.models import Edit, OffenderStat, Override, RateRule, origin
from ratewindow.operations import switch_off
from ratewindow.operations.subject import recordings
from ratewindow.operations.subject.found import Found
from ratewindow.operations.subject.named import PREFIXES, Named
from ratewindow.rules.kill_switch import Switch

AT_ONCE = 500
# The columns in which people write, and how many characters each has room for: what is put there may be longer than a client.
TEXTS = {"reason": 200, "message": 300, "description": None, "object_repr": 200, "change_message": None}


def identities(named: Named) -> Iterator[str]:
    """Those that name the client."""
    yield from (each.identity for each in _overrides(named))
    yield from (PREFIXES[each.kind] + each.value for each in _offenders(named))
    yield from (identity for edit in _edits(named) for identity in _identities(edit) if named.is_in(identity))


def find(named: Named) -> Iterator[Found]:
    overrides = _overrides(named)
    in_words = ", ".join(sorted({f"{each.action} {each.rule or 'all rules'}" for each in overrides}))
    yield _found("blocks and exemptions", [each.created_at for each in overrides], in_words)
    yield _found("history", [each.at for each in _edits(named)])
    rows = _offenders(named)
    counted = [each for each in rows if each.kind == OffenderStat.Kind.CLIENT]  # a user agent has the same requests
    sums = f"{sum(each.met for each in counted)} requests, {sum(each.refused for each in counted)} refused" if rows else ""
    yield _found("statistics", [each.start for each in rows], sums)
    yield _found("recordings", [row.start for row, _ in recordings.rows(named)])
    mentions = [each.at for each in _edits_that_mention(named)]
    mentions += [datetime.fromtimestamp(each.at_s, UTC) for each in _switches(named)]
    yield _found("mentioned in texts", [*(getattr(each, "changed_at", None) for each in _rows_that_mention(named)), *mentions])
    yield _found("log of the admin", [each.action_time for each in _log(named)])


@transaction.atomic
def erase(named: Named) -> None:
    """Delete the client's blocks and exemptions with their history, and put a stand-in for it into the statistics."""
    for override in _overrides(named):
        override.delete()  # one by one: the signals let the other processes know
    with origin.edits("subject", recorded=False):  # the history of an edit would have the text once more
        for row in _rows_that_mention(named):
            _clear(row, named)
            row.save(update_fields=[*_texts(vars(row))])
        for switch in _switches(named):
            switch_off.turn_on_commit(replace(switch, reason=_without(vars(switch), named)["reason"]))
    for edit in (edits := _edits_that_mention(named)):
        _clear(edit, named)
        edit.before, edit.after = (values and {**values, **_without(values, named)} for values in (edit.before, edit.after))
    Edit.objects.bulk_update(edits, ["reason", "before", "after"], batch_size=AT_ONCE)
    transaction.on_commit(lambda: _delete(Edit, _edits(named)))  # also those of the deletion, which are written with the commit
    recordings.erase_rows(named)
    stand_in, rows = named.stand_in(), _offenders(named)
    for row in rows:
        prefix = PREFIXES[row.kind]
        row.value = stand_in.of(prefix + row.value).removeprefix(prefix)
    OffenderStat.objects.bulk_update(rows, ["value"], batch_size=AT_ONCE)
    for entry in (entries := _log(named)):
        _clear(entry, named)
    if entries:
        type(entries[0])._default_manager.bulk_update(entries, ["object_repr", "change_message"], batch_size=AT_ONCE)


def _overrides(named: Named) -> list[Override]:
    may_be = _has(named, "identity") | models.Q(identity__contains="/")  # a network, which may be a part of the client
    return [each for each in Override.objects.filter(may_be).iterator() if named.is_in(each.identity)]


def _rows_that_mention(named: Named) -> list[Any]:
    """Rules, and blocks and exemptions of other clients."""
    overrides = Override.objects.exclude(reason="").only("identity", "reason", "changed_at").iterator()
    others = (each for each in overrides if not named.is_in(each.identity))
    return [each for each in chain(RateRule.objects.iterator(), others) if _is_mentioned(named, vars(each))]


def _switches(named: Named) -> list[Switch]:
    """The one of all limits, if its reason mentions the client."""
    return [each for each in (switch_off.current(),) if named.is_mentioned(each.reason)]


def _edits(named: Named) -> list[Edit]:
    """Those of its own blocks, exemptions and releases."""
    rows = Edit.objects.filter(kind__in=(Edit.Kind.OVERRIDE, Edit.Kind.RELEASE)).iterator(chunk_size=AT_ONCE)
    return [each for each in rows if any(map(named.is_in, _identities(each)))]


def _identities(edit: Edit) -> Iterator[str]:
    yield edit.subject
    for values in (edit.before, edit.after):
        if isinstance(identity := (values or {}).get("identity"), str):
            yield identity


def _edits_that_mention(named: Named) -> list[Edit]:
    """Those of others."""
    rows = Edit.objects.iterator(chunk_size=AT_ONCE)
    return [
        each
        for each in rows
        if _is_mentioned(named, vars(each), each.before, each.after) and not any(map(named.is_in, _identities(each)))
    ]


def _texts(values: Any) -> dict[str, str]:
    """What people have written, of the values of a row or of an edit; its other texts say what a rule or a block does."""
    return {name: value for name, value in (values or {}).items() if name in TEXTS and isinstance(value, str)}


def _is_mentioned(named: Named, *of_rows: Any) -> bool:
    return any(named.is_mentioned(text) for values in of_rows for text in _texts(values).values())


def _without(values: Any, named: Named) -> dict[str, str]:
    """The texts without mentions."""
    return {name: named.without(text)[: TEXTS[name]] for name, text in _texts(values).items()}


def _clear(row: models.Model, named: Named) -> None:
    for name, text in _without(vars(row), named).items():
        setattr(row, name, text)


def _offenders(named: Named) -> list[OffenderStat]:
    may_be = _has(named, "value")
    if PREFIXES[OffenderStat.Kind.AGENT] in named.texts:
        may_be |= models.Q(kind=OffenderStat.Kind.AGENT)
    rows = OffenderStat.objects.filter(may_be, kind__in=PREFIXES).iterator()
    return [each for each in rows if named.is_in(PREFIXES[each.kind] + each.value)]


def _log(named: Named) -> list[Any]:
    """Entries about our models in the log of Django's admin, where that is installed."""
    if not apps.is_installed("django.contrib.admin"):
        return []
    from django.contrib.admin.models import LogEntry

    rows = LogEntry.objects.filter(content_type__app_label="ratewindow")
    return [each for each in rows if _is_mentioned(named, vars(each))]


def _has(named: Named, field: str) -> models.Q:
    return reduce(or_, (models.Q(**{f"{field}__contains": text}) for text in named.texts))


def _delete(model: type[models.Model], rows: Iterable[models.Model]) -> None:
    model._default_manager.filter(pk__in=[each.pk for each in rows]).delete()


def _found(where: str, moments: list[datetime | None], says: str = "") -> Found:
    known = [*filter(None, moments)]  # a rule has none
    return Found(where, len(moments), min(known, default=None), max(known, default=None), says)
