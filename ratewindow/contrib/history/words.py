"""Edits in the words of the admin's forms: whose, what, and each field before and after. The commands use the same words."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow.admin.base import reverse
from ratewindow.admin.wording import DEFAULT_ALGORITHM, ago, clients
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import listed
from ratewindow.contrib.history.models import Edit
from ratewindow.contrib.history.values import MODELS, Values, fields, plain
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.models import RuleWindow
from ratewindow.models.fields import MomentField, SubjectField
from ratewindow.operations.rights import whom
from ratewindow.overrides.subjects import in_words

Whom = Callable[[str], str]  # an identity, as the reader may see it

_NOTHING = "–"
_SIGNS = {Edit.Action.ADDED: "+", Edit.Action.CHANGED: "~", Edit.Action.DELETED: "-"}

_WAYS = {
    "admin": _("in the admin"),
    "api": _("by the API"),
    "code": _("by code"),
    "command": _("by the command {name}"),
    "restore": _("restored from the history"),
}
_OF_OVERRIDES = {"block": _("Block: %s"), "allow": _("Exempt: %s"), "rate": _("Another rate: %s")}
_IN_TITLE = ("name", "period", "algorithm")  # fields by which a rule or a limit is known


class Line(NamedTuple):
    """A field before and after."""

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.field}: {self.before} → {self.after}"


@dataclass(frozen=True)
class Entry:
    """An edit for a user, who may not be allowed to see identities, or without one for that of a terminal."""

    edit: Edit
    title: str
    lines: list[Line]

    @classmethod
    def of(cls, edit: Edit, user: Any = None) -> "Entry":
        named = in_words if user is None else partial(whom, user)
        return cls(edit, title(edit, named), [*lines(edit, named)])

    @property
    def clock(self) -> str:
        return time_zone.to_second(self.edit.at)

    @property
    def ago(self) -> str:
        return ago(self.edit.at)

    @property
    def way(self) -> str:
        """``in the admin``, ``by the command block``."""
        kind, _, name = self.edit.way.partition(" ")
        return str(_WAYS[kind]).format(name=name) if kind in _WAYS else self.edit.way

    @property
    def url(self) -> str:
        return reverse("admin:ratewindow_history_edit_change", args=[self.edit.pk])

    def in_text(self) -> str:
        """``~ Rule login`` and a line for each field, for a terminal."""
        return "\n".join([f"{_SIGNS[Edit.Action(self.edit.action)]} {self.title}", *self.text_lines])

    @property
    def text_lines(self) -> list[str]:
        """Those of a terminal, where no text by others begins a line."""
        return ["    " + " ".join(str(line).splitlines()) for line in self.lines]


def title(edit: Edit, named: Whom) -> str:
    """``Rule login``, ``Block: ip:203.0.113.9``."""
    values = edit.after or edit.before or {}
    match edit.kind:
        case Edit.Kind.RULE:
            return gettext("Rule %s") % edit.subject
        case Edit.Kind.SWITCH:
            return gettext("Switch of all limits")
        case Edit.Kind.RELEASE:
            return gettext("Client %s") % named(edit.subject)
    who = named(values["identity"])
    who = f"{who} ({values['rule']})" if values.get("rule") else who
    return str(_OF_OVERRIDES[values["action"]]) % who


def lines(edit: Edit, named: Whom) -> Iterator[Line]:
    """Each field that differs; of what is added or deleted, each that has a value."""
    if edit.kind == Edit.Kind.RELEASE:
        yield from _of_release(edit.after or {})
        return
    yield from _of_row(MODELS[edit.kind], edit.before, edit.after, named)
    before, after = _limits(edit.before), _limits(edit.after)
    for period, algorithm in dict.fromkeys([*before, *after]):
        of_usual = algorithm == DEFAULT_ALGORITHM
        limit = period if of_usual else f"{period} ({gettext(dict(algorithm_choices()).get(algorithm, algorithm))})"
        for line in _of_row(RuleWindow, before.get((period, algorithm)), after.get((period, algorithm)), named):
            yield line._replace(field=gettext("%(field)s in %(period)s") % {"field": line.field, "period": limit})


def _limits(rule: Values | None) -> dict[tuple[str, str], Values]:
    return {(limit["period"], limit["algorithm"]): limit for limit in (rule or {}).get("limits", ())}


def _of_row(model: type[models.Model], before: Values | None, after: Values | None, named: Whom) -> Iterator[Line]:
    for field in fields(model):
        was, becomes = (values and values.get(field.name, plain(field.get_default())) for values in (before, after))
        # A field of an added or deleted row that is not written had its default: it is left out.
        is_written = field.name in (before or after or {})
        if field.name not in _IN_TITLE and was != becomes and (is_written or (before is not None and after is not None)):
            yield Line(capfirst(str(field.verbose_name)), *(_value(named, field, value) for value in (was, becomes)))


def _of_release(done: dict[str, Any]) -> list[Line]:
    failure = [Line(gettext("Not done, since"), _NOTHING, done["failure"])] if done.get("failure") else []
    return [
        Line(gettext("Rule"), _NOTHING, done.get("rule") or gettext("all rules")),
        Line(gettext("Counts deleted"), _NOTHING, listed(done.get("counts", ())) or gettext("none")),
        Line(gettext("Blocks ended"), _NOTHING, str(done.get("blocks", 0))),
        *failure,
    ]


def _value(named: Whom, field: Any, value: Any) -> str:
    if value is None or value == "":
        return str(dict(field.flatchoices).get(value, _NOTHING))
    if isinstance(field, SubjectField):
        return named(value)
    if field.name == "key":
        return clients(value)
    if isinstance(value, bool):
        return gettext("Yes") if value else gettext("No")
    if isinstance(field, MomentField):
        return time_zone.to_second(datetime.fromisoformat(value))
    return str(dict(field.flatchoices).get(value, value))
