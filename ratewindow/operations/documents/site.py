"""The whole site as one document: its rules, its blocks and exemptions, and the kill switch."""

import json
from collections.abc import Collection
from typing import Any

from django.utils.translation import gettext

from ratewindow.models import LimitSwitch, Override, RateRule
from ratewindow.operations.documents.parsing import DocumentError, check_keys
from ratewindow.operations.documents.values import Values, of_override, of_rule, of_switch

Document = dict[str, Any]
"""``{"ratewindow": 1, "rules": [...], "overrides": [...], "switch": {...}}``; a section that is absent is not concerned."""

VERSION = 1
SECTIONS = ("rules", "overrides", "switch")


def site(sections: Collection[str] = SECTIONS, only: Collection[str] | None = None) -> Document:
    """These sections of the site as it is; of the rules all, or `only` those of these names."""
    document: Document = {"ratewindow": VERSION}
    if "rules" in sections:
        rules = RateRule.objects.prefetch_related("windows")
        document["rules"] = [of_rule(rule) for rule in (rules if only is None else rules.filter(name__in=only))]
    if "overrides" in sections:
        document["overrides"] = [of_override(override) for override in Override.objects.all()]
    if "switch" in sections:
        document["switch"] = of_switch(switch_row() or LimitSwitch())
    return in_order(document)


def switch_row() -> LimitSwitch | None:
    """The row of the kill switch that holds; None if nobody has ever switched the limits off."""
    return LimitSwitch.objects.order_by("-changed_at").first()


def in_order(document: Document) -> Document:
    """The document with its sections and rows in the order in which they are written, whatever order they had."""
    keys = {"rules": lambda rule: rule["name"], "overrides": in_one_line, "switch": None}
    found: Document = {"ratewindow": VERSION}
    for section, key in keys.items():
        if section in document:
            found[section] = sorted(document[section], key=key) if key else document[section]
    return found


def in_one_line(values: Values) -> str:
    """All the values of an override, which identify it: it has no name."""
    return json.dumps(values, sort_keys=True, default=str)


def check(document: Any) -> None:
    """Check everything of a document but its rows. Raises DocumentError."""
    problems: list[str] = []
    if not isinstance(document, dict) or "ratewindow" not in document:
        problem = gettext("This is no document of ratewindow: it begins with ratewindow: %d, then rules: follow.") % VERSION
        raise DocumentError([problem])
    if document["ratewindow"] != VERSION or isinstance(document["ratewindow"], bool):
        problem = gettext("ratewindow: %(found)r is another version of this format: this program reads %(known)d.")
        raise DocumentError([problem % {"found": document["ratewindow"], "known": VERSION}])
    check_keys(document, ("ratewindow", *SECTIONS), "", problems)
    no_lists = (each for each in ("rules", "overrides") if each in document and not isinstance(document[each], list))
    text = gettext("%(section)s: this is not a list: write for example %(section)s: [].")
    problems += (text % {"section": section} for section in no_lists)
    if problems:
        raise DocumentError(problems)
