"""Who may see which edits."""

from django.http import HttpRequest

from ratewindow.models import Edit
from ratewindow.operations.staff import may_view_overrides


def viewable(request: HttpRequest) -> list[str]:
    """The kinds of edits that a user may see: those of what the user may see."""
    has_perm = request.user.has_perm
    rules = any(has_perm(f"ratewindow.{each}_raterule") for each in ("view", "change"))
    switch = any(has_perm(f"ratewindow.{each}") for each in ("switch_limits", "view_throttlestat"))
    return [
        *([Edit.Kind.RULE, Edit.Kind.RECORDING] if rules else []),
        *([Edit.Kind.OVERRIDE, Edit.Kind.RELEASE] if may_view_overrides(request) else []),
        *([Edit.Kind.SWITCH] if switch else []),
    ]
