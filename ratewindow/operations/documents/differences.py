"""What differs between two documents: rules, overrides and the switch that are added, changed and removed, field by field."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

from django.db import models

from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow
from ratewindow.operations.documents.site import Document, in_one_line
from ratewindow.operations.documents.values import Values, defaults
from ratewindow.overrides.subjects import in_words

ADDED, CHANGED, REMOVED = "added", "changed", "removed"
RULE, OVERRIDE, SWITCH = "rule", "override", "switch"


@dataclass(frozen=True)
class FieldChange:
    """One field before and after, None where it did not exist; of a limit, if `limit` says which: ``1m sliding_window``."""

    field: str
    before: Any
    after: Any
    limit: str = ""

    @property
    def label(self) -> str:
        return f"limit {self.limit}, {self.field}" if self.limit else self.field

    @property
    def before_in_text(self) -> str:
        return _in_text(self.before)

    @property
    def after_in_text(self) -> str:
        return _in_text(self.after)


@dataclass(frozen=True)
class Change:
    """A rule, an override or the switch before and after, None being absent."""

    what: str  # rule, override, switch
    before: Values | None
    after: Values | None

    @property
    def kind(self) -> str:
        """``added``, ``changed`` or ``removed``."""
        return ADDED if self.before is None else REMOVED if self.after is None else CHANGED

    @property
    def name(self) -> str:
        """Of a rule; of an override its action, identity and rule; the switch has none."""
        values = self.after or self.before or {}
        if self.what != OVERRIDE:
            return str(values.get("name", ""))
        rule = f" ({values['rule']})" if values.get("rule") else ""
        return f"{values['action']} {in_words(values['identity'])}{rule}"

    @property
    def title(self) -> str:
        """``rule login``."""
        return f"{self.what} {self.name}".rstrip()

    @cached_property
    def fields(self) -> tuple[FieldChange, ...]:
        """Each field that differs; of what is added or removed, each that is written in the document."""
        return tuple(_fields(self))

    def __str__(self) -> str:
        sign = {ADDED: "+", CHANGED: "~", REMOVED: "-"}[self.kind]
        return "\n".join([f"{sign} {self.title}", *(f"    {each.label}: {self._values(each)}" for each in self.fields)])

    def _values(self, field: FieldChange) -> str:
        match self.kind:
            case "added":
                return field.after_in_text
            case "removed":
                return field.before_in_text
        return f"{field.before_in_text} -> {field.after_in_text}"


def in_text(changes: Iterable[Change]) -> str:
    """All changes, for a terminal."""
    return "\n".join(map(str, changes))


def differences(before: Document, after: Document) -> tuple[Change, ...]:
    """What leads from one document to the other, in the sections that both have."""
    pairs: list[tuple[str, Values | None, Values | None]] = []
    if "rules" in before and "rules" in after:
        old, new = ({rule["name"]: rule for rule in document["rules"]} for document in (before, after))
        pairs += ((RULE, old.get(name), new.get(name)) for name in sorted({*old, *new}))
    if "overrides" in before and "overrides" in after:
        pairs += ((OVERRIDE, *pair) for pair in paired(before["overrides"], after["overrides"]))
    if "switch" in before and "switch" in after:
        pairs.append((SWITCH, before["switch"], after["switch"]))
    return tuple(change for pair in pairs if (change := difference(*pair)))


def difference(what: str, before: Values | None, after: Values | None) -> Change | None:
    """What leads from one to the other; None if they are the same."""
    change = Change(what, before, after)
    return None if before == after or (change.kind == CHANGED and not change.fields) else change


def paired(before: Iterable[Values], after: Iterable[Values]) -> Iterator[tuple[Values | None, Values | None]]:
    """Overrides that are the same one before and after: those with the same values, then those for the same client and rule."""
    old, new = _by_subject(before), _by_subject(after)
    for subject in sorted({*old, *new}):
        yield from _pairs(old[subject], new[subject])


def subject_of(override: Values) -> tuple[str, str, str]:
    """What an override is about: others for the same are the same one with other values."""
    return override["action"], override["identity"], override.get("rule", "")


def _by_subject(overrides: Iterable[Values]) -> dict[tuple[str, str, str], list[Values]]:
    found = defaultdict(list)
    for override in overrides:
        found[subject_of(override)].append(override)
    return found


def _pairs(old: list[Values], new: list[Values]) -> Iterator[tuple[Values | None, Values | None]]:
    same, others = defaultdict(list), []
    for values in sorted(old, key=in_one_line):
        same[in_one_line(values)].append(values)
    for values in sorted(new, key=in_one_line):
        if found := same[in_one_line(values)]:
            yield found.pop(), values
        else:
            others.append(values)
    yield from zip_longest((values for found in same.values() for values in found), others)


_MODELS: dict[str, type[models.Model]] = {RULE: RateRule, OVERRIDE: Override, SWITCH: LimitSwitch}
_IN_NAME = {RULE: {"name"}, OVERRIDE: {"action", "identity", "rule"}, SWITCH: set[str]()}


def _fields(change: Change) -> Iterator[FieldChange]:
    before, after = change.before or {}, change.after or {}
    for name, was, becomes in _of_row(_MODELS[change.what], change.before, change.after):
        if change.kind == CHANGED or name not in _IN_NAME[change.what]:
            yield FieldChange(name, was, becomes)
    old, new = _limits(before), _limits(after)
    for key in [*old, *(key for key in new if key not in old)]:
        for name, was, becomes in _of_row(RuleWindow, old.get(key), new.get(key)):
            if name not in ("period", "algorithm"):
                yield FieldChange(name, was, becomes, " ".join(key))


def _of_row(model: type[models.Model], before: Values | None, after: Values | None) -> Iterator[tuple[str, Any, Any]]:
    """Name, value before and value after of each field that differs."""
    usual = defaults(model)
    for name, default in usual.items():
        if before is None or after is None:
            written = before or after or {}
            differs = name in written
        else:
            differs = before.get(name, default) != after.get(name, default)
        if differs:
            yield name, before and before.get(name, default), after and after.get(name, default)


def _limits(rule: Values) -> dict[tuple[str, str], Values]:
    return {(limit["period"], limit["algorithm"]): limit for limit in rule.get("limits", ())}


def _in_text(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) and value.isprintable() and value else json.dumps(value)
