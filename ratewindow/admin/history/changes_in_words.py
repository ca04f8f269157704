"""Changes of rules, blocks and the switch in the words of the admin's forms: the names of fields and choices, yes and no."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import models
from django.utils.formats import date_format
from django.utils.translation import gettext

from ratewindow.admin.masking import whom
from ratewindow.conf import time_zone
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow
from ratewindow.models.fields import MomentField, SubjectField
from ratewindow.operations.documents.differences import OVERRIDE, RULE, SWITCH, Change, FieldChange

_MODELS: dict[str, type[models.Model]] = {RULE: RateRule, OVERRIDE: Override, SWITCH: LimitSwitch}


@dataclass(frozen=True)
class Line:
    """A field before and after, for people."""

    field: str
    before: str
    after: str


@dataclass(frozen=True)
class Shown:
    """A change for a template. `kind` is added, changed or removed."""

    kind: str
    label: str
    title: str
    lines: list[Line]


def shown(request: Any, changes: Iterable[Change]) -> list[Shown]:
    """The changes for the user of this request, who may not be allowed to see identities."""
    return [Shown(each.kind, kind_in_words(each.kind), title(request, each), lines(request, each)) for each in changes]


def lines(request: Any, change: Change) -> list[Line]:
    """Each field that differs; all that are written, of what is added or removed."""
    return [_line(request, change.what, field) for field in change.fields]


def title(request: Any, change: Change) -> str:
    values = change.after or change.before or {}
    if change.what == RULE:
        return gettext("Rule %s") % change.name
    if change.what == SWITCH:
        return gettext("Switch of all limits")
    who = whom(request, values["identity"])
    who = f"{who} ({values['rule']})" if values.get("rule") else who
    match values["action"]:
        case "block":
            return gettext("Block: %s") % who
        case "allow":
            return gettext("Let pass: %s") % who
        case _:
            return gettext("Another rate: %s") % who


def kind_in_words(kind: str) -> str:
    return {"added": gettext("added"), "changed": gettext("changed"), "removed": gettext("removed")}[kind]


def _line(request: Any, what: str, change: FieldChange) -> Line:
    field: Any = (RuleWindow if change.limit else _MODELS[what])._meta.get_field(change.field)
    name = str(field.verbose_name).capitalize()
    if change.limit:
        period, __, algorithm = change.limit.partition(" ")
        values = {"field": name, "period": period, "algorithm": gettext(dict(algorithm_choices()).get(algorithm, algorithm))}
        if algorithm == _USUAL_ALGORITHM:
            name = gettext("Limit in %(period)s") if change.field == "limit" else gettext("%(field)s, in %(period)s")
        elif change.field == "limit":
            name = gettext("Limit in %(period)s by %(algorithm)s")
        else:
            name = gettext("%(field)s, in %(period)s by %(algorithm)s")
        name %= values
    return Line(name, *(_value(request, field, value) for value in (change.before, change.after)))


_USUAL_ALGORITHM = RuleWindow._meta.get_field("algorithm").get_default()


def _value(request: Any, field: Any, value: Any) -> str:
    if value is None or value == "":
        return str(dict(field.flatchoices).get(value, "–"))
    if isinstance(field, SubjectField):
        return whom(request, value)
    if isinstance(value, bool):
        return gettext("Yes") if value else gettext("No")
    if isinstance(field, MomentField):
        return clock(datetime.fromisoformat(value))
    text = str(dict(field.flatchoices).get(value, value))
    return gettext(text) if field.name == "algorithm" else text


def clock(moment: datetime) -> str:
    """A time to the second, in the time zone of the user."""
    return f"{date_format(time_zone.local(moment), 'Y-m-d H:i:s')} {time_zone.local(moment):%Z}"
