"""Who may see identities, and what all others see of them."""

from django.http import HttpRequest

from ratewindow.overrides.subjects import in_words, masked


def may_see(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("ratewindow.view_identity"))


def seen(request: HttpRequest, identity: str) -> str:
    """An identity of a row, for whoever sent this request."""
    return in_words(identity) if may_see(request) else masked(identity)
