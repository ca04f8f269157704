"""A client in the database: blocks and exemptions, their history, the statistics, and the log of the admin."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.apps import apps
from django.db import models, transaction

from ratewindow.models import Edit, OffenderStat, Override
from ratewindow.operations.subject import recordings
from ratewindow.operations.subject.found import Found
from ratewindow.operations.subject.named import Named

AT_ONCE = 500


def identities(named: Named) -> Iterator[str]:
    """Those that name the client."""
    yield from (each.identity for each in _overrides(named))
    yield from (each.value for each in _offenders(named))
    yield from (identity for edit in _edits(named) for identity in _identities(edit) if named.is_in(identity))


def find(named: Named) -> Iterator[Found]:
    overrides = _overrides(named)
    in_words = ", ".join(sorted({f"{each.action} {each.rule or 'all rules'}" for each in overrides}))
    yield _found("blocks and exemptions", [each.created_at for each in overrides], in_words)
    yield _found("history", [each.at for each in _edits(named)])
    rows = _offenders(named)
    sums = f"{sum(each.met for each in rows)} requests, {sum(each.refused for each in rows)} refused" if rows else ""
    yield _found("statistics", [each.start for each in rows], sums)
    yield _found("recordings", [row.start for row, _ in recordings.rows(named)])
    mentions = [each.changed_at for each in _reasons(named)] + [each.at for each in _edits_that_mention(named)]
    yield _found("mentioned in reasons", mentions)
    yield _found("log of the admin", [each.action_time for each in _log(named)])


@transaction.atomic
def erase(named: Named) -> None:
    """Delete the client's blocks and exemptions with their history, and put a stand-in for it into the statistics."""
    for override in _overrides(named):
        override.delete()  # one by one: the signals let the other processes know
    for override in _reasons(named):
        override.reason = named.without(override.reason)
        override.save(update_fields=["reason"])
    for edit in (edits := _edits_that_mention(named)):
        edit.reason = named.without(edit.reason)
        edit.before, edit.after = _without(edit.before, named), _without(edit.after, named)
    Edit.objects.bulk_update(edits, ["reason", "before", "after"], batch_size=AT_ONCE)
    transaction.on_commit(lambda: _delete(Edit, _edits(named)))  # also those of the deletion, which are written with the commit
    recordings.erase_rows(named)
    stand_in, rows = named.stand_in(), _offenders(named)
    for row in rows:
        row.value = stand_in.of(row.value)
    OffenderStat.objects.bulk_update(rows, ["value"], batch_size=AT_ONCE)
    for entry in (entries := _log(named)):
        entry.object_repr, entry.change_message = named.without(entry.object_repr), named.without(entry.change_message)
    if entries:
        type(entries[0])._default_manager.bulk_update(entries, ["object_repr", "change_message"], batch_size=AT_ONCE)


def _overrides(named: Named) -> list[Override]:
    may_be = _has(named, "identity") | models.Q(identity__contains="/")  # a network, which may be a part of the client
    return [each for each in Override.objects.filter(may_be).iterator() if named.is_in(each.identity)]


def _reasons(named: Named) -> list[Override]:
    """Those of other clients."""
    rows = Override.objects.exclude(reason="").only("identity", "reason", "changed_at").iterator()
    return [each for each in rows if named.is_mentioned(each.reason) and not named.is_in(each.identity)]


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
        each for each in rows if any(map(named.is_mentioned, _sentences(each))) and not any(map(named.is_in, _identities(each)))
    ]


def _sentences(edit: Edit) -> Iterator[str]:
    yield edit.reason
    for values in (edit.before, edit.after):
        yield from (value for name, value in (values or {}).items() if _is_sentence(name, value))


def _without(values: Any, named: Named) -> Any:
    """The values of an edit, without mentions in their texts."""
    if not values:
        return values
    return {name: named.without(value) if _is_sentence(name, value) else value for name, value in values.items()}


def _is_sentence(name: str, value: Any) -> bool:
    """Whether a value of an edit is text; an identity is one client, or another."""
    return isinstance(value, str) and name != "identity"


def _offenders(named: Named) -> list[OffenderStat]:
    rows = OffenderStat.objects.filter(_has(named, "value"), kind=OffenderStat.Kind.CLIENT)
    return [each for each in rows if named.is_in(each.value)]


def _log(named: Named) -> list[Any]:
    """Entries about our models in the log of Django's admin, where that is installed."""
    if not apps.is_installed("django.contrib.admin"):
        return []
    from django.contrib.admin.models import LogEntry

    rows = LogEntry.objects.filter(content_type__app_label="ratewindow")
    return [each for each in rows if named.is_mentioned(each.object_repr) or named.is_mentioned(each.change_message)]


def _has(named: Named, field: str) -> models.Q:
    return reduce(or_, (models.Q(**{f"{field}__contains": text}) for text in named.texts))


def _delete(model: type[models.Model], rows: Iterable[models.Model]) -> None:
    model._default_manager.filter(pk__in=[each.pk for each in rows]).delete()


def _found(where: str, moments: list[datetime], says: str = "") -> Found:
    return Found(where, len(moments), min(moments, default=None), max(moments, default=None), says)
