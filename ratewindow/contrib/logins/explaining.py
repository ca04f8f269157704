"""The login that a request would be, for explaining it: which name it tries shows in its form, its JSON or HTTP Basic."""

import base64
from collections.abc import Iterator
from contextlib import suppress

from django.http import HttpRequest

from ratewindow.contrib.logins.door import decide_login
from ratewindow.contrib.logins.gate import name_fields, site_gate
from ratewindow.identity.sent_fields import field
from ratewindow.request.decide import run
from ratewindow.request.doors import Door
from ratewindow.rulebook import current

OF_TWO_FACTOR = "auth-username"  # whose form is a step of a wizard


def doors(request: HttpRequest) -> Iterator[Door]:
    """The door that would decide for whoever tries, for each account that the name may mean."""
    names = (field(request, each) for each in (*name_fields(), OF_TWO_FACTOR))
    gate, name = site_gate(), _basic(request) or next(filter(None, names), None)
    if gate is not None and name is not None:
        for attempt in gate.make_attempts(request, [name.strip()]):
            yield run(decide_login(attempt, current.rulebook(), request, "peek")).passage.door


def _basic(request: HttpRequest) -> str | None:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "basic":
        with suppress(ValueError):
            return base64.b64decode(given).decode().partition(":")[0]
    return None
