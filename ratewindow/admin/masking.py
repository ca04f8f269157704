"""Identities as they are shown: in full with the permission ``view_identity``, masked without it."""

import json
from typing import Any

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from ratewindow.operations.staff import may_view_overrides
from ratewindow.overrides.subjects import in_words, masked, veiled


def may_see(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("ratewindow.view_identity"))


def may_look_up(request: HttpRequest) -> bool:
    """Whether the user of this request may be told what holds for a client that they name.

    With masked identities they may not: they could name one client after the other until an answer unmasks a row.
    """
    return may_see(request) and may_view_overrides(request)


def fingerprint(values: Any) -> str:
    """A digest by which a form knows plain values again. It is keyed, since a reader could try identities until one fits."""
    return salted_hmac("ratewindow.admin.masking", json.dumps(values, sort_keys=True), algorithm="sha256").hexdigest()


def display(request: HttpRequest, identity: str) -> str:
    """A client that sends requests, as the user of this request may see it: with masks that tell it from others."""
    return in_words(identity) if may_see(request) else masked(identity)


def whom(request: HttpRequest, identity: str) -> str:
    """Whom an override is for, or a release, as the user of this request may see it: with masks that lead to no client."""
    return in_words(identity) if may_see(request) else veiled(identity)
