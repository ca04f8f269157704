"""Which of the changes that a document makes would lock the people who edit rules out of the admin."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from ratewindow.models import Mode
from ratewindow.operations.documents.differences import RULE, Change
from ratewindow.operations.documents.parsing import parse_rule
from ratewindow.operations.documents.values import Values
from ratewindow.operations.lockout import Lockout, lockouts
from ratewindow.rulebook.rule_rows import freeze
from ratewindow.rules.rule import Rule


def new_lockouts(changes: Iterable[Change]) -> list[Lockout]:
    """Those of rules that are enforced after the changes; not those that the same rule has caused before."""
    changes = [change for change in changes if change.what == RULE]
    before = {each.rule.name: each for each in lockouts(_enforced(change.before for change in changes))}
    after = lockouts(_enforced(change.after for change in changes))
    return [each for each in after if not each.same_as(before.get(each.rule.name))]


def _enforced(rules: Iterable[Values | None]) -> Iterator[Rule]:
    for values in rules:
        if values is not None and values["mode"] == Mode.ENFORCE:
            with suppress(ValueError):  # an earlier row may be invalid
                rule, windows = parse_rule(values)
                yield freeze(rule, tuple(window.freeze() for window in windows))
