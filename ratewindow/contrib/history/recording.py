"""Records each edit of a rule with its limits, a block or exemption, or the switch, in the transaction of the edit itself. Edits
that are about a client are deleted again: once they are old, and with its data.

A form saves a rule in many statements. What one transaction does to one subject is one edit: its values before the first
statement, and those after the last. What sends no signal (``QuerySet.update()``, raw SQL, migrations) is not recorded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connections, models, transaction
from django.db.models.signals import post_delete, post_save, pre_delete, pre_save

from ratewindow import conf
from ratewindow.conf import time_zone
from ratewindow.contrib.history import values
from ratewindow.contrib.history.models import Edit
from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow, origin
from ratewindow.rooms import Client, Found

_HELD = "_ratewindow_touched"  # what the signals before a statement leave on the instance for those after it

Subject = tuple[str, str]  # kind and name, as an edit has them


@dataclass
class _Transaction:
    """The values of each subject before its first statement. It waits for the commit with what Django calls then, and so ends
    with it."""

    at: datetime = field(default_factory=time_zone.now)
    before: dict[Subject, values.Values | None] = field(default_factory=dict)

    def __call__(self) -> None:
        """Nothing is left to do after the commit."""


def connect() -> None:
    """Connect the signals of every edit."""
    for model in (RateRule, RuleWindow, Override, LimitSwitch):
        for signal, receiver in ((pre_save, _before), (pre_delete, _before), (post_save, _after), (post_delete, _after)):
            signal.connect(receiver, sender=model, dispatch_uid="ratewindow.contrib.history")


def _before(sender: type[models.Model], instance: models.Model, using: str, **_: Any) -> None:
    if not origin.current().recorded:
        return
    current, subjects = _current(using), set(_subjects(instance, using))
    for kind, name in subjects - current.before.keys():
        current.before[kind, name] = values.read(kind, name, using, lock=connections[using].in_atomic_block)
    vars(instance)[_HELD] = current, subjects


def _after(sender: type[models.Model], instance: models.Model, using: str, **_: Any) -> None:
    held = vars(instance).pop(_HELD, None)
    if held is None:
        return
    current, subjects = held
    if isinstance(instance, Override) and not subjects:  # a new one, which has its primary key only now
        subjects = {(Edit.Kind.OVERRIDE, str(instance.pk))}
    for subject in subjects:
        _record(subject, current, using, instance)


def _subjects(instance: models.Model, using: str) -> Iterator[Subject]:
    """What a row is about: as it is in the database, and as it is to be saved."""
    match instance:
        case RateRule():
            yield Edit.Kind.RULE, instance.name
        case RuleWindow():
            owners = RateRule.objects.using(using).filter(models.Q(pk=instance.rule_id) | models.Q(windows__pk=instance.pk or -1))
            yield from ((Edit.Kind.RULE, name) for name in owners.values_list("name", flat=True))
        case Override() if instance.pk is not None:
            yield Edit.Kind.OVERRIDE, str(instance.pk)
        case LimitSwitch():
            yield Edit.Kind.SWITCH, ""


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


def _record(subject: Subject, current: _Transaction, using: str, instance: models.Model) -> None:
    """Record the subject as it is now. A transaction that has changed nothing so far leaves no edit."""
    edit = Edit.of(*subject, current.before.get(subject), values.read(*subject, using))
    # By its moment, not by its primary key, which another edit may have if a savepoint was rolled back.
    recorded = Edit.objects.using(using).filter(kind=edit.kind, subject=edit.subject, at=current.at)
    if edit.after == edit.before:
        recorded.delete()
    elif not recorded.update(action=edit.action, after=edit.after):
        edit.at = current.at
        _sign(edit, instance)
        edit.save(using=using)


def _sign(edit: Edit, instance: models.Model | None = None) -> None:
    """Set who makes the edit, by which way, and why, as the code around it says, or else the row itself."""
    now = origin.current()
    edit.way, edit.by, edit.user_id, edit.reason = now.way, now.by, now.user_pk, now.reason
    if not edit.by and isinstance(instance, LimitSwitch):
        edit.by = instance.changed_by
    elif not edit.by and isinstance(instance, Override) and edit.action == Edit.Action.ADDED and instance.created_by is not None:
        edit.user, edit.by = instance.created_by, instance.created_by.get_username()


def record_release(identity: str, done: values.Values) -> None:
    """Record that the counts of a client were deleted and its blocks ended. `identity` is as it is stored."""
    edit = Edit(at=time_zone.now(), kind=Edit.Kind.RELEASE, subject=identity, action=Edit.Action.RELEASED, after=done)
    _sign(edit)
    edit.save()


_OF_CLIENTS = (Edit.Kind.OVERRIDE, Edit.Kind.RELEASE)


def clean(dry_run: bool) -> str:
    """Delete edits of clients that are older than any statistics, ``RETENTION["day"]``; those of rules stay."""
    old = Edit.objects.filter(kind__in=_OF_CLIENTS, at__lt=time_zone.now() - conf.current().retention["day"])
    number = old.count() if dry_run else old.delete()[0]
    edits = "edit of a block, exemption or release" if number == 1 else "edits of blocks, exemptions and releases"
    return f"{number} old {edits} {'would be deleted' if dry_run else 'deleted'}"


def find(client: Client) -> Iterator[Found]:
    """For `Room.find`: the edits about a client."""
    yield Found.at("history", [edit.at for edit in _about(client)])


def erase(client: Client) -> None:
    """For `Room.erase`: delete these edits, with those that the erasure itself makes."""
    transaction.on_commit(lambda: Edit.objects.filter(pk__in=[edit.pk for edit in _about(client)]).delete())


def _about(client: Client) -> list[Edit]:
    edits = Edit.objects.filter(kind__in=_OF_CLIENTS).iterator(chunk_size=500)
    before_and_after = ((edit, edit.before or {}, edit.after or {}) for edit in edits)
    return [
        edit
        for edit, before, after in before_and_after
        if any(map(client.is_in, (edit.subject, before.get("identity", ""), after.get("identity", ""))))
    ]
