"""The scope of a request, such as its tenant, by the setting ``SCOPE``: clients of different scopes are different clients.

It is the first part of every identity: ``scope:acme+user:1`` is user 1 of the tenant acme.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.identity import custom_keys
from ratewindow.identity.normalise import as_sent
from ratewindow.identity.request_attributes import report_failure
from ratewindow.identity.sent_fields import Extractor
from ratewindow.identity.typed_values import split
from ratewindow.limiter.keys import joined

SCOPE = "scope"
_BEGINNING = f"{SCOPE}:"


def scope(request: HttpRequest) -> str | None:
    """``scope:acme``; None without the setting, if the request has no scope, or if the site's function fails."""
    setting = conf.current().scope
    return None if setting is None else _extractor(setting)(request)


def scoped(identity: str, scope: str) -> str:
    """The identity in that scope; unchanged if it has the scope already."""
    parts = split(identity)
    return identity if parts[0] == scope else joined((scope, *parts))


def holds_in(key: str, scope: str | None) -> bool:
    """Whether an override for an identity of this key applies in a scope: addresses are shared by all, other keys are not."""
    return scope is None or key == "ip" or key.partition("+")[0] == SCOPE


def scope_of(values: tuple[str, ...]) -> str | None:
    """The scope among the typed values of an identity."""
    return values[0] if values[0].startswith(_BEGINNING) else None


def resolve(setting: str | Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """The function that the setting names. Raises ValueError."""
    function = custom_keys.imported(setting) if isinstance(setting, str) else setting
    custom_keys.check(setting if isinstance(setting, str) else custom_keys.place_of(setting), function)
    return function


@lru_cache(maxsize=8)
def _extractor(setting: str | Callable[[HttpRequest], Any]) -> Extractor:
    try:
        return custom_keys.extractor(custom_keys.CustomKey(SCOPE, resolve(setting), needs_user=False), as_sent)
    except ValueError as error:
        problem = error  # a system check reports it, too; a server that runs no checks must still serve

    def failing(request: HttpRequest) -> None:
        report_failure(request, f"RATEWINDOW['SCOPE'] ({setting})", problem)

    return failing
