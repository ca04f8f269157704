"""Changes of rules, blocks and the switch in the words of the admin's forms: the names of fields and choices, yes and no."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import models

from ratewindow.admin.masking import display
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow
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
    title: str
    lines: list[Line]


def shown(request: Any, changes: Iterable[Change]) -> list[Shown]:
    """The changes for the user of this request, who may not be allowed to see identities."""
    return [Shown(each.kind, _title(request, each), [_line(each.what, field) for field in each.fields]) for each in changes]


def _title(request: Any, change: Change) -> str:
    values = change.after or change.before or {}
    if change.what == RULE:
        return f"Rule {change.name}"
    if change.what == SWITCH:
        return "Switch of all limits"
    action = str(Override.Action(values["action"]).label).partition(":")[0]
    rule = f" ({values['rule']})" if values.get("rule") else ""
    return f"{action}: {display(request, values['identity'])}{rule}"


def _line(what: str, change: FieldChange) -> Line:
    field: Any = (RuleWindow if change.limit else _MODELS[what])._meta.get_field(change.field)
    name = str(field.verbose_name).capitalize()
    if change.limit:
        period, _, algorithm = change.limit.partition(" ")
        name = f"{name}, in {period} by {dict(algorithm_choices()).get(algorithm, algorithm)}"
    return Line(name, _value(field, change.before), _value(field, change.after))


def _value(field: Any, value: Any) -> str:
    if value is None or value == "":
        return dict(field.flatchoices).get(value, "–")
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return str(dict(field.flatchoices).get(value, value))
