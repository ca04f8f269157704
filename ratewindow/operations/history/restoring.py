"""Restores earlier values of rules, overrides and the switch: all of them or none."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import router, transaction

from ratewindow.models import Edit, Override, RateRule
from ratewindow.operations.documents import applying
from ratewindow.operations.documents.applying import Author, SiteChanged
from ratewindow.operations.documents.differences import Change, difference
from ratewindow.operations.documents.parsing import DocumentError, parse_override
from ratewindow.operations.documents.site import VERSION
from ratewindow.operations.documents.values import Values
from ratewindow.operations.history import states
from ratewindow.operations.history.recording import SWITCH, Subject
from ratewindow.operations.history.states import State

WAY = "restore"


class OverrideError(DocumentError):
    """What is wrong with a block, exemption or other rate; it may quote whom that is for."""


@dataclass(frozen=True)
class Step:
    """What restoring does to one subject."""

    subject: Subject
    change: Change


def before(edit: Edit) -> State:
    """The subject of an edit as it was before it."""
    return {Subject(edit.kind, edit.subject): edit.before}


def after(edit: Edit) -> State:
    """The subject of an edit as it was after it."""
    return {Subject(edit.kind, edit.subject): edit.after}


def everything_at(moment: datetime) -> State:
    """Every subject as it was at that moment."""
    return states.at(moment)


def steps(wanted: State) -> tuple[Step, ...]:
    """What would change; rules first, each kind by name."""
    now, found = states.now(wanted), []
    for subject in sorted(wanted, key=_order):
        values = wanted[subject]
        if subject.kind == Edit.Kind.OVERRIDE and now[subject] is None and values is not None and states.is_gone_for_good(values):
            continue
        if change := difference(subject.kind, now[subject], values):
            found.append(Step(subject, change))
    return tuple(found)


def restore(wanted: State, expected: Sequence[Step], author: Author) -> None:
    """Make these steps. Raises SiteChanged if others are needed by now, DocumentError for values that are no longer valid."""
    with transaction.atomic(using=router.db_for_write(RateRule)):
        applying.wait_for_others({"overrides": []})
        if list(steps(wanted)) != list(expected):
            raise SiteChanged
        rules = {step.subject.name: step.change.after for step in expected if step.subject.kind == Edit.Kind.RULE}
        if rules:
            listed = [values for values in rules.values() if values is not None]
            applying.apply({"ratewindow": VERSION, "rules": listed}, exact=True, only=list(rules), author=author)
        for step in expected:
            if step.subject.kind == Edit.Kind.OVERRIDE:
                _restore_override(step.subject.name, step.change.after, author)
            elif step.subject == SWITCH:
                applying.apply({"ratewindow": VERSION, "switch": step.change.after}, author=author)


def _restore_override(pk: str, values: Values | None, author: Author) -> None:
    """One that was deleted gets its primary key again, so that its history continues."""
    row = Override.objects.get_queryset().using(router.db_for_write(Override)).filter(pk=pk).first()
    if values is None:
        if row is not None:
            row.delete()
        return
    try:
        wanted = parse_override(values)
    except DocumentError as error:
        raise OverrideError(error.problems) from None
    wanted.identity = values["identity"]  # as it was stored, whatever ANONYMIZE says now
    if row is not None:
        applying.change_row(row, wanted)
        return
    wanted.pk, wanted.source, wanted.created_by = int(pk), author.source, author.user
    wanted.save(force_insert=True)


def _order(subject: Subject) -> tuple[int, str, int]:
    kinds = [Edit.Kind.RULE, Edit.Kind.OVERRIDE, Edit.Kind.SWITCH]
    is_number = subject.kind == Edit.Kind.OVERRIDE
    return kinds.index(Edit.Kind(subject.kind)), "" if is_number else subject.name, int(subject.name) if is_number else 0
