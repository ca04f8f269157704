"""The history as plain functions, like those of `ratewindow.staff`: who changed what, and back. The admin's pages use them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.utils.translation import gettext

from ratewindow.contrib.history import values
from ratewindow.contrib.history.models import Edit
from ratewindow.contrib.history.words import Entry, Line
from ratewindow.models import Mode, origin
from ratewindow.operations.rights import (
    check_code,
    may,
    may_enforce,
    may_see,
    may_switch,
    may_view_overrides,
    may_view_report,
    require,
)
from ratewindow.overrides.subjects import parse_subject

VERBS = {Edit.Action.ADDED: "add", Edit.Action.CHANGED: "change", Edit.Action.DELETED: "delete"}


@dataclass(frozen=True)
class SeenEdit:
    """An edit as a user may see it: clients in `title` and `lines` are masked without `view_identity`."""

    pk: int
    at: datetime
    by: str
    way: str
    reason: str
    kind: str
    action: str
    title: str
    lines: Sequence[Line]

    @classmethod
    def of(cls, edit: Edit, by: Any) -> "SeenEdit":
        entry = Entry.of(edit, by)
        same = {name: getattr(edit, name) for name in ("pk", "at", "by", "way", "reason", "kind", "action")}
        return cls(title=entry.title, lines=entry.lines, **same)


def history(*, by: Any, rule: str = "", limit: int = 20) -> list[SeenEdit]:
    """The newest edits of what the user may see, of one rule or all."""
    return [SeenEdit.of(edit, by) for edit in _edits(by, rule)[:limit]]


def restore(edit: Any, *, by: Any, reason: str = "") -> SeenEdit | None:
    """Bring back what was before an edit, which is given itself or by its `pk`; returns the new edit, None if nothing differs."""
    chosen = _edits(by).filter(pk=getattr(edit, "pk", edit)).first()
    require(chosen)  # also one that is not there: which there are is not told
    return _undo(chosen, by, reason)


def undo(*, by: Any, rule: str = "", reason: str = "") -> SeenEdit | None:
    """Restore what was before the newest edit of what the user may see, of one rule or all; None also if there is none."""
    newest = _edits(by, rule).exclude(kind=Edit.Kind.RELEASE).first()
    return _undo(newest, by, reason) if newest else None


def _edits(by: Any, rule: str = "") -> Any:
    kinds = viewable(by)
    require(kinds)
    edits = Edit.objects.filter(kind__in=kinds)
    return edits.filter(kind=Edit.Kind.RULE, subject=rule) if rule else edits


def _undo(edit: Any, by: Any, reason: str) -> SeenEdit | None:
    if not edit.is_restorable:
        raise ValidationError(gettext("A release cannot be taken back: its counts are deleted."))
    change = values.undoing(edit)
    if change is None:
        return None
    apply(change, by=by, reason=reason)
    return SeenEdit.of(Edit.objects.filter(kind=change.kind, subject=change.subject)[0], by)


def apply(change: Edit, *, by: Any, reason: str) -> None:
    """Make a change that leads back. ValidationError says what can no longer be saved."""
    if sentences := [*forbidden(by, change)]:
        raise PermissionDenied(" ".join(sentences))
    try:
        with origin.edits("restore", user=by, reason=reason):
            values.apply([change])
    except values.ChangedMeanwhile:
        raise ValidationError(
            gettext("Somebody has made another edit at this moment. Look at the changes again."), code="conflict"
        ) from None
    except values.InvalidValues as error:
        told = error.problems if may_see(by) or change.kind != Edit.Kind.OVERRIDE else []
        raise ValidationError([*told, gettext("So these values can no longer be saved. Nothing was restored.")]) from None


def viewable(by: Any) -> list[str]:
    """The kinds of edits that a user may see: those of what the user may see."""
    may_view = {
        Edit.Kind.RULE: may(by, "view"),
        Edit.Kind.OVERRIDE: may_view_overrides(by),
        Edit.Kind.RELEASE: may_view_overrides(by),
        Edit.Kind.SWITCH: may_switch(by) or may_view_report(by),
    }
    return [kind for kind, may_it in may_view.items() if may_it]


def forbidden(by: Any, change: Edit) -> Iterator[str]:
    """Why a user may not make a change, in sentences."""
    before, after = change.before or {}, change.after or {}
    if change.kind == Edit.Kind.SWITCH:
        if not may_switch(by):
            yield gettext("You may not switch the limits.")
        return
    verb, is_rule = VERBS[Edit.Action(change.action)], change.kind == Edit.Kind.RULE
    if not may(by, verb, "raterule" if is_rule else "override"):
        yield gettext("You may not make this change.")
    try:
        for name in ("key", "identity"):
            check_code(by, after.get(name, ""), before.get(name, ""))
    except ValidationError as error:
        yield from error.messages
    if is_rule and _enforced_percent(after) > _enforced_percent(before) and not may_enforce(by):
        yield gettext("You may not enforce rules.")
    with suppress(ValueError):  # an invalid identity, which applies to nobody
        if not is_rule and after and not may_switch(by) and parse_subject(after["identity"]).takes_switch:
            yield gettext("You need the permission to switch all limits off to save what applies to all visitors.")


def _enforced_percent(rule: values.Values) -> int:
    """Of how many of a hundred clients requests are refused."""
    return int(rule.get("enforce_percent", 100)) if rule.get("mode") == Mode.ENFORCE else 0
