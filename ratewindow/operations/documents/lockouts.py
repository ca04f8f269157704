"""Which of the changes that a document makes would lock the people who edit rules out of the admin."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from django.http import HttpRequest

from ratewindow.models import Mode
from ratewindow.operations.documents.differences import RULE, Change
from ratewindow.operations.documents.parsing import parse_rule
from ratewindow.operations.documents.values import Values
from ratewindow.operations.lockout import Lockout, lockout
from ratewindow.rulebook.rule_rows import freeze


def new_lockouts(changes: Iterable[Change], request: HttpRequest | None = None) -> Iterator[Lockout]:
    """Those of rules that are enforced after the changes; not those that the same rule has caused before."""
    for change in changes:
        if change.what == RULE and change.after and change.after["mode"] == Mode.ENFORCE:
            found = _lockout(change.after, request)
            if found and str(found) != str(_lockout(change.before, request)):
                yield found


def _lockout(values: Values | None, request: HttpRequest | None) -> Lockout | None:
    with suppress(ValueError):  # of an earlier row, which may be invalid
        if values is not None:
            rule, windows = parse_rule(values)
            return lockout(freeze(rule, tuple(window.freeze() for window in windows)), request)
    return None
