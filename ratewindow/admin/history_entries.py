"""Edits as the pages of the history show them: who, when, why, and each field before and after."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import models
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.text import capfirst

from ratewindow.admin.masking import display
from ratewindow.admin.wording import ago
from ratewindow.conf import time_zone
from ratewindow.models import Edit, LimitSwitch, Override, RateRule, RuleWindow
from ratewindow.models.fields import MomentField
from ratewindow.operations.documents.differences import Change, FieldChange
from ratewindow.operations.documents.values import Values

NOTHING = "–"
_MODELS: dict[str, type[models.Model]] = {Edit.Kind.RULE: RateRule, Edit.Kind.OVERRIDE: Override, Edit.Kind.SWITCH: LimitSwitch}
_USUAL_ALGORITHM = RuleWindow._meta.get_field("algorithm").get_default()


@dataclass(frozen=True)
class Line:
    """One field before and after, as text."""

    label: str
    before: str
    after: str


@dataclass(frozen=True)
class Entry:
    """One edit, as text. `clock` is its time in full, `ago` how long that is ago."""

    clock: str
    ago: str
    title: str
    action: str
    action_label: str
    who: str
    way: str
    why: str
    lines: tuple[Line, ...]
    url: str


def entry(edit: Edit, request: HttpRequest) -> Entry:
    return Entry(
        clock=clock(edit.at),
        ago=ago(edit.at),
        title=title(edit.kind, edit.after or edit.before or {}, request, edit.subject),
        action=edit.action,
        action_label=Edit.Action(edit.action).label,
        who=edit.by,
        way=way_in_words(edit.way),
        why=edit.reason,
        lines=tuple(_release_lines(edit) if edit.kind == Edit.Kind.RELEASE else lines(edit.kind, edit.before, edit.after)),
        url=reverse("admin:ratewindow_edit_change", args=[edit.pk]),
    )


def way_in_words(way: str) -> str:
    """``in the admin``, ``by the command block``."""
    kind, _, name = way.partition(" ")
    return _WAYS.get(kind, way).format(name=name)


_WAYS = {
    "admin": "in the admin",
    "code": "by code",
    "define": "by code that defines rules",
    "command": "by the command {name}",
    "task": "by a task",
    "migration": "by a migration",
    "import": "by an import",
    "restore": "restored from the history",
    "found": "without a trace, found at the next edit",
}


def title(kind: str, values: Values, request: HttpRequest, subject: str = "") -> str:
    """``Rule login``, ``Block 203.0.113.9``, ``All limits``; an identity as the user of this request may see it."""
    match kind:
        case Edit.Kind.RULE:
            return f"Rule {subject or values.get('name', '')}"
        case Edit.Kind.SWITCH:
            return "Switch of all limits"
        case Edit.Kind.RELEASE:
            return f"Client {display(request, subject)}"
    action = _ACTIONS.get(values.get("action", ""), "Override of {who}").format(who=display(request, values.get("identity", "")))
    return f"{action}, rule {values['rule']}" if values.get("rule") else action


_ACTIONS = {"block": "Block of {who}", "allow": "Exemption of {who}", "rate": "Another rate for {who}"}


def lines(kind: str, before: Values | None, after: Values | None) -> Iterator[Line]:
    """Each field that differs; all that were decided, of what was added or deleted."""
    for change in Change(kind, before, after).fields:
        yield _limit_line(change) if change.limit else _line(_MODELS[kind], change)


def _line(model: type[models.Model], change: FieldChange) -> Line:
    field: Any = model._meta.get_field(change.field)
    return Line(capfirst(str(field.verbose_name)), _in_words(field, change.before), _in_words(field, change.after))


def _limit_line(change: FieldChange) -> Line:
    """``Limit in 1m`` for the number of requests; ``Limit in 1m by token bucket: burst`` for what else a limit has."""
    period, name = change.limit.split(" ")
    field: Any = RuleWindow._meta.get_field(change.field)
    algorithm = "" if name == _USUAL_ALGORITHM else f" by {name.replace('_', ' ')}"
    more = "" if change.field == "limit" else f": {field.verbose_name}"
    return Line(f"Limit in {period}{algorithm}{more}", _in_words(field, change.before), _in_words(field, change.after))


def _release_lines(edit: Edit) -> Iterator[Line]:
    done = edit.after or {}
    yield Line("Rule", NOTHING, done.get("rule") or "all rules")
    yield Line("Counts deleted", NOTHING, ", ".join(done.get("counts", ())) or "none")
    yield Line("Blocks ended", NOTHING, str(done.get("blocks", 0)))
    if done.get("failure"):
        yield Line("Not done, since", NOTHING, done["failure"])


def _in_words(field: Any, value: Any) -> str:
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(field, MomentField) and isinstance(value, str):
        return clock(datetime.fromisoformat(value))
    return str(dict(field.flatchoices or ()).get(value, value))


def clock(moment: datetime) -> str:
    """In the time zone of the user."""
    return f"{date_format(time_zone.local(moment), 'Y-m-d H:i:s')} {time_zone.local(moment):%Z}"


def entries(edits: Iterable[Edit], request: HttpRequest) -> list[Entry]:
    return [entry(edit, request) for edit in edits]
