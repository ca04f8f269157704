"""Why rules do not meet a request: by the matching of requests, asked again without what may keep a rule from it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from django.http import HttpRequest

from ratewindow.request.doors import Door, PathDoor
from ratewindow.request.view_door import ViewDoor
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.matching import Index, without_room
from ratewindow.rules.rule import Rule


class Reason(StrEnum):
    """What keeps a rule from a request."""

    OFF = "off"
    LIMITLESS = "no limits"
    NAMED = "named"  # it holds only where code names it
    PATH = "path"
    METHOD = "method"
    TOO_LARGE = "too large"  # its regular expression is left out
    NO_MIDDLEWARE = "no middleware"


def reasons(book: Rulebook, met: Collection[str], request: HttpRequest, doors: Sequence[Door]) -> Iterator[tuple[Rule, Reason]]:
    """The rules of the database that are not met, each with the reason."""
    others = [rule for rule in book.by_name.values() if rule.name not in met]
    any_method = Index([replace(rule, methods=frozenset()) for rule in others if rule.methods])
    by_path = {rule.name for rule in any_method.match(request)}
    too_large = {rule.name for rule in without_room(book.by_name.values())}
    has_path_door = any(isinstance(door, PathDoor) for door in doors)
    by_path |= {door.name for door in doors if isinstance(door, ViewDoor)}
    for rule in others:
        yield rule, _reason(rule, by_path, too_large, has_path_door)


def _reason(rule: Rule, by_path: Collection[str], too_large: Collection[str], has_path_door: bool) -> Reason:
    if rule.mode == "off":
        return Reason.OFF
    if not rule.windows:
        return Reason.LIMITLESS
    if rule.name in by_path:
        return Reason.METHOD
    if rule.applies_to == "named":
        return Reason.NAMED
    if not has_path_door:
        return Reason.NO_MIDDLEWARE
    return Reason.TOO_LARGE if rule.name in too_large else Reason.PATH
