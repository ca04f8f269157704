"""Identities as they are shown: in full with the permission ``view_identity``, masked without it."""

from django.http import HttpRequest

from ratewindow.overrides.subjects import in_words, masked


def may_see(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("ratewindow.view_identity"))


def display(request: HttpRequest, identity: str) -> str:
    """An identity as the user of this request may see it."""
    return in_words(identity) if may_see(request) else masked(identity)
