"""The history as plain functions, like those of `ratewindow.staff`: who changed what, and back. The admin's pages use them."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q
from django.utils.translation import gettext

from ratewindow.contrib.history import values
from ratewindow.contrib.history.models import Edit
from ratewindow.contrib.history.words import Entry
from ratewindow.models import Mode, origin
from ratewindow.operations.rights import check_code, may, may_see, may_view_overrides, require
from ratewindow.overrides.subjects import parse_subject

VERBS = {Edit.Action.ADDED: "add", Edit.Action.CHANGED: "change", Edit.Action.DELETED: "delete"}


def history(*, by: Any, rule: str = "", limit: int = 20) -> list[dict[str, Any]]:
    """The newest edits of what the user may see, of one rule or all."""
    return [_seen(edit, by) for edit in _edits(by, rule)[:limit]]


def restore(pk: int, *, by: Any, reason: str = "") -> dict[str, Any] | None:
    """Bring back what was before an edit; returns the new edit, None if nothing differs."""
    edit: Any = _edits(by).filter(pk=pk).first()
    require(edit)  # also one that is not there: which there are is not told
    if not edit.is_restorable:
        raise ValidationError(gettext("A release cannot be taken back: its counts are deleted."))
    change = values.undoing(edit)
    if change is None:
        return None
    return _seen(apply(change, by=by, reason=reason), by)


def undo(*, by: Any, rule: str = "", reason: str = "") -> dict[str, Any] | None:
    """`restore` what was before the newest edit of what the user may see, of one rule or all; None also if there is none."""
    newest = _edits(by, rule).exclude(kind=Edit.Kind.RELEASE).first()
    return restore(newest.pk, by=by, reason=reason) if newest else None


def _edits(by: Any, rule: str = "") -> Any:
    require(kinds := viewable(by))
    return Edit.objects.filter(Q(kind=Edit.Kind.RULE, subject=rule) if rule else Q(), kind__in=kinds)


def _seen(edit: Edit, by: Any) -> dict[str, Any]:
    """As a user may see it: clients in `title` and `lines` are masked without `view_identity`."""
    entry = Entry.of(edit, by)
    shown = {name: getattr(edit, name) for name in ("pk", "at", "by", "way", "reason", "kind", "action")}
    return {**shown, "title": entry.title, "lines": [line._asdict() for line in entry.lines]}


def apply(change: Edit, *, by: Any, reason: str) -> Edit:
    """Make a change that leads back; returns the newest edit of its subject. ValidationError says what can no longer be saved."""
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
    return Edit.objects.filter(kind=change.kind, subject=change.subject)[0]


def viewable(by: Any) -> list[str]:
    """The kinds of edits that a user may see: those of what the user may see."""
    may_view = {
        Edit.Kind.RULE: may(by, "view_raterule"),
        Edit.Kind.OVERRIDE: may_view_overrides(by),
        Edit.Kind.RELEASE: may_view_overrides(by),
        Edit.Kind.SWITCH: may(by, "switch_limits") or by.has_perm("ratewindow.view_throttlestat"),
    }
    return [kind for kind, may_it in may_view.items() if may_it]


def forbidden(by: Any, change: Edit) -> Iterator[str]:
    """Why a user may not make a change, in sentences."""
    before, after = change.before or {}, change.after or {}
    if change.kind == Edit.Kind.SWITCH:
        if not may(by, "switch_limits"):
            yield gettext("You may not switch the limits.")
        return
    verb, is_rule = VERBS[Edit.Action(change.action)], change.kind == Edit.Kind.RULE
    if not may(by, f"{verb}_raterule" if is_rule else f"{verb}_override"):
        yield gettext("You may not make this change.")
    try:
        for name in ("key", "identity"):
            check_code(by, after.get(name, ""), before.get(name, ""))
    except ValidationError as error:
        yield from error.messages
    if is_rule and _enforced_percent(after) > _enforced_percent(before) and not may(by, "enforce_raterule"):
        yield gettext("You may not enforce rules.")
    with suppress(ValueError):  # an invalid identity, which applies to nobody
        if not is_rule and after and not may(by, "switch_limits") and parse_subject(after["identity"]).takes_switch:
            yield gettext("You need the permission to switch all limits off to save what applies to all visitors.")


def _enforced_percent(rule: values.Values) -> int:
    """Of how many of a hundred clients requests are refused."""
    return int(rule.get("enforce_percent", 100)) if rule.get("mode") == Mode.ENFORCE else 0
