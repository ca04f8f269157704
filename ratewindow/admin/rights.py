"""What several pages ask of a user: the permission to enforce, and the sentence about one that is missing."""

from django.http import HttpRequest
from django.utils.translation import gettext


def may_enforce(request: HttpRequest) -> bool:
    return request.user.has_perm("ratewindow.enforce_raterule")


def may_not(verb: str, rules: bool) -> str:
    """``You may not delete rules.``; without `rules` it is about blocks and exemptions."""
    match verb:
        case "add":
            return gettext("You may not add rules.") if rules else gettext("You may not add blocks and exemptions.")
        case "change":
            return gettext("You may not change rules.") if rules else gettext("You may not change blocks and exemptions.")
        case _:
            return gettext("You may not delete rules.") if rules else gettext("You may not delete blocks and exemptions.")
