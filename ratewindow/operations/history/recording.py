"""Records each edit of a rule with its limits, a block or exemption, or the switch, in the transaction of the edit itself.

A form saves a rule in many statements. What one transaction does to one subject is one edit: its values before the first
statement, and those after the last. An edit without a signal (``QuerySet.update()``, raw SQL) is found at the next edit of the
same subject, and recorded before it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connections, models, transaction
from django.db.models import Q
from django.db.models.signals import post_delete, post_save, pre_delete, pre_save

from ratewindow.conf import time_zone
from ratewindow.models import Edit, LimitSwitch, Override, RateRule, RuleWindow, origin, row_signals
from ratewindow.operations.documents import values
from ratewindow.operations.documents.values import Values

FOUND = "found"  # the way of an edit that sent no signal
MIGRATION = "migration"
_MODELS = (RateRule, RuleWindow, Override, LimitSwitch)
_TICK = timedelta(microseconds=1)
_HELD = "_ratewindow_touched"  # what the signals before a statement leave on the instance for those after it


class Subject(NamedTuple):
    """What is edited: a rule by name, an override by primary key, the switch, or a released client by its stored identity."""

    kind: str
    name: str


SWITCH = Subject(Edit.Kind.SWITCH, "")


@dataclass
class _Touched:
    """One subject as it was before the transaction. `at` tells its edit from those of other transactions."""

    before: Values | None
    at: datetime
    recorded: bool = False


@dataclass
class _Transaction:
    """The subjects that a transaction has touched. It waits for the commit with what Django calls then, and so ends with it."""

    at: datetime = field(default_factory=time_zone.now)
    touched: dict[Subject, _Touched] = field(default_factory=dict)

    def __call__(self) -> None:
        """Nothing is left to do after the commit."""


def connect() -> None:
    """Connect the signals of every edit."""
    labels = frozenset(model._meta.label_lower for model in _MODELS)
    for signal, receiver in ((pre_save, _before), (pre_delete, _before), (post_save, _after), (post_delete, _after)):
        row_signals.connect(signal, receiver, labels, "ratewindow.operations.history")


def read(subject: Subject, using: str, lock: bool = False) -> Values | None:
    """The values of a subject in the database; None if it is not there. `lock` makes concurrent edits of it wait."""
    rows: models.QuerySet[Any]
    of_row: Callable[[Any], Values]
    match subject.kind:
        case Edit.Kind.RULE:
            rows = RateRule.objects.using(using).filter(name=subject.name).prefetch_related("windows")
            of_row = values.of_rule
        case Edit.Kind.OVERRIDE:
            rows = Override.objects.get_queryset().using(using).filter(pk=subject.name)
            of_row = values.of_override
        case _:
            rows = LimitSwitch.objects.using(using).order_by("-changed_at")
            of_row = values.of_switch
    row: Any = (rows.select_for_update() if lock else rows).first()
    if row is None:
        return values.of_switch(LimitSwitch()) if subject == SWITCH else None  # limits are on until somebody switches them off
    return of_row(row)


def _before(sender: type[models.Model], instance: models.Model, using: str, **_: Any) -> None:
    if not origin.current().recorded or (row_signals.of_migration(sender) and not _is_migrated(using)):
        return
    current, subjects = _current(using), set(_subjects(instance, using))
    for subject in subjects:
        if subject not in current.touched:
            current.touched[subject] = _touch(subject, current, using)
    vars(instance)[_HELD] = current, subjects


def _after(sender: type[models.Model], instance: models.Model, using: str, **_: Any) -> None:
    held = vars(instance).pop(_HELD, None)
    if held is None:
        return
    current, subjects = held
    if instance._meta.model_name == Override._meta.model_name and not subjects:  # a new one, which has its primary key only now
        subjects = {Subject(Edit.Kind.OVERRIDE, str(instance.pk))}
        for subject in subjects:
            current.touched[subject] = _Touched(None, current.at)
    for subject in subjects:
        _settle(subject, current.touched[subject], using, instance)


def _subjects(instance: models.Model, using: str) -> Iterator[Subject]:
    """What a row is about: as it is in the database, and as it is to be saved."""
    rules = RateRule.objects.using(using)
    match instance._meta.model_name:
        case "raterule":
            yield Subject(Edit.Kind.RULE, instance.name)  # type: ignore[attr-defined]
            if instance.pk is not None:
                yield from (Subject(Edit.Kind.RULE, name) for name in rules.filter(pk=instance.pk).values_list("name", flat=True))
        case "rulewindow":
            rule = Q(pk=instance.rule_id)  # type: ignore[attr-defined]
            owners = rules.filter(rule if instance.pk is None else rule | Q(windows__pk=instance.pk))
            yield from (Subject(Edit.Kind.RULE, name) for name in owners.values_list("name", flat=True))
        case "override" if instance.pk is not None:
            yield Subject(Edit.Kind.OVERRIDE, str(instance.pk))
        case "limitswitch":
            yield SWITCH


def _current(using: str) -> _Transaction:
    """What is known of this transaction. Outside of one each statement is an edit of its own."""
    connection = connections[using]
    for entry in connection.run_on_commit:
        if isinstance(entry[1], _Transaction):
            return entry[1]
    begun = _Transaction()
    if connection.in_atomic_block:
        transaction.on_commit(begun, using=using)
    return begun


def _touch(subject: Subject, current: _Transaction, using: str) -> _Touched:
    """The subject before its first statement; records what has happened to it without a signal."""
    before = read(subject, using, lock=connections[using].in_atomic_block)
    last = Edit.objects.using(using).filter(kind=subject.kind, subject=subject.name).values("at", "after").first()
    if last is None:
        return _Touched(before, current.at)
    at = max(current.at, last["at"] + 2 * _TICK)  # after the last one, also if that was dated by a clock ahead of ours
    if last["after"] != before:
        found = Edit(at=at - _TICK, kind=subject.kind, subject=subject.name, way=FOUND, before=last["after"], after=before)
        found.action = _action(found)
        found.save(using=using)
    return _Touched(before, at)


def _settle(subject: Subject, touched: _Touched, using: str, instance: models.Model) -> None:
    """Record the subject as it is now. A transaction that has changed nothing so far leaves no edit."""
    edit = Edit(at=touched.at, kind=subject.kind, subject=subject.name, before=touched.before, after=read(subject, using))
    edit.action = _action(edit)
    # By its moment, not by its primary key, which another edit may have if a savepoint was rolled back.
    rows = Edit.objects.using(using).filter(kind=subject.kind, subject=subject.name, at=touched.at)
    if edit.after == edit.before:
        if touched.recorded:
            rows.delete()
        return
    if touched.recorded and rows.update(action=edit.action, after=edit.after):
        return
    _sign(edit)
    if row_signals.of_migration(type(instance)):
        edit.way = MIGRATION
    elif not edit.by:
        _sign_as_the_row(edit, instance)
    edit.save(using=using)
    touched.recorded = True


def _action(edit: Edit) -> str:
    if edit.before is None:
        return Edit.Action.ADDED
    return Edit.Action.DELETED if edit.after is None else Edit.Action.CHANGED


def _sign(edit: Edit) -> None:
    """Set who makes the edit, by which way, and why, as the code around it says; a new reason of the row is one, too."""
    now = origin.current()
    after = edit.after or {}
    is_new_reason = after.get("reason") != (edit.before or {}).get("reason")
    edit.way, edit.by, edit.user_id = now.way, now.by, now.user_pk
    edit.reason = now.reason or (after.get("reason", "") if is_new_reason else "")


def _sign_as_the_row(edit: Edit, instance: models.Model) -> None:
    """Set who makes the edit as the row says: the author of a new override, or who turned the switch."""
    if isinstance(instance, LimitSwitch):
        edit.by = instance.changed_by
    elif isinstance(instance, Override) and edit.action == Edit.Action.ADDED and instance.created_by is not None:
        edit.user, edit.by = instance.created_by, instance.created_by.get_username()


def record_release(identity: str, done: Values) -> None:
    """Record that the counts of a client were deleted and its blocks ended. `identity` is as it is stored."""
    edit = Edit(at=time_zone.now(), kind=Edit.Kind.RELEASE, subject=identity, action=Edit.Action.RELEASED, after=done)
    _sign(edit)
    edit.save()


def record_recording(rule: str, before: Values | None, after: Values) -> None:
    """Record that the clients of a rule are recorded, and until when."""
    edit = Edit(at=time_zone.now(), kind=Edit.Kind.RECORDING, subject=rule, before=before, after=after)
    edit.action = _action(edit)
    _sign(edit)
    edit.save()


def _is_migrated(using: str) -> bool:
    """Whether the tables are as the models expect: a migration may save rows before the history has its table."""
    connection = connections[using]
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        return all(
            model._meta.db_table in tables
            and {column.column for column in model._meta.concrete_fields}
            <= {column.name for column in connection.introspection.get_table_description(cursor, model._meta.db_table)}
            for model in (*_MODELS, Edit)
        )
