"""The login that a request would be, for explaining it: which name it tries shows in its form, its JSON or HTTP Basic."""

import base64
from collections.abc import Iterator
from contextlib import suppress

from django.http import HttpRequest

from ratewindow.contrib.logins.door import LoginDoor
from ratewindow.contrib.logins.gate import site_gate
from ratewindow.contrib.logins.targets import KNOWN, STRANGERS
from ratewindow.identity.sent_fields import field

NAMES = ("username", "login", "email", "auth-username")  # as the forms of packages have them


def doors(request: HttpRequest) -> Iterator[LoginDoor]:
    """The door for whoever tries: a known device, or an address from which the account has lately logged in; or a stranger."""
    gate, name = site_gate(), _basic(request) or next(filter(None, (field(request, each) for each in NAMES)), None)
    if gate is None or name is None:
        return
    attempt = gate.attempt(request, name.strip())
    if not attempt.device and attempt.is_trusted():
        attempt.device = attempt.address
    attempt.concern()
    yield LoginDoor(KNOWN if attempt.device else STRANGERS)


def _basic(request: HttpRequest) -> str | None:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "basic":
        with suppress(ValueError):
            return base64.b64decode(given).decode().partition(":")[0]
    return None
