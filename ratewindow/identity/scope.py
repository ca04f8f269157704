"""The scope of a request, such as its tenant: by the setting ``SCOPE`` what one tenant's clients do counts for them alone.

It is one part more of every identity, and the first: ``scope:acme+user:1`` is the user 1 of the tenant acme.
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
    """``scope:acme``; None for a request that is in none, where the function of the site fails, and without the setting."""
    given = conf.current().scope
    return None if given is None else _extractor(given)(request)


def scoped(identity: str, scope: str) -> str:
    """The identity in that scope; one that names it already stays."""
    parts = split(identity)
    return identity if parts[0] == scope else joined((scope, *parts))


def holds_in(key: str, scope: str | None) -> bool:
    """Whether an identity of that key can be meant in a scope: addresses are the same for all tenants, all else is theirs."""
    return scope is None or key == "ip" or key.partition("+")[0] == SCOPE


def scope_of(values: tuple[str, ...]) -> str | None:
    """The scope among the typed values of an identity."""
    return values[0] if values[0].startswith(_BEGINNING) else None


def resolve(given: str | Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """The function that the setting means; ValueError says why it is none."""
    function = custom_keys.imported(given) if isinstance(given, str) else given
    custom_keys.check(given if isinstance(given, str) else custom_keys.place_of(given), function)
    return function


@lru_cache(maxsize=8)
def _extractor(given: str | Callable[[HttpRequest], Any]) -> Extractor:
    try:
        return custom_keys.extractor(custom_keys.CustomKey(SCOPE, resolve(given), needs_user=False), as_sent)
    except ValueError as error:
        problem = error  # `check` says so, too; a server that runs no checks serves on

    def failing(request: HttpRequest) -> None:
        report_failure(request, f"RATEWINDOW['SCOPE'] ({given})", problem)

    return failing
