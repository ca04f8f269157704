"""Keys from attributes of the request: its address, user, session, route, path and method, and the key ``global``."""

from contextlib import nullcontext
from copy import copy
from typing import Any

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.contrib.sessions.backends.signed_cookies import SessionStore as SignedCookie
from django.http import HttpRequest
from django.urls import Resolver404, ResolverMatch, get_resolver
from django.utils import translation

from ratewindow.conf import site_functions
from ratewindow.identity.address import ip

METHODS = frozenset("GET POST PUT PATCH DELETE OPTIONS TRACE CONNECT".split())
_USER, _SESSION = "user (the site's authentication)", "session (the site's sessions)"


def original(request: HttpRequest) -> HttpRequest:
    """Django's request, also of a Django REST framework request, whose attributes nothing outside the view sees."""
    return getattr(request, "_request", request)


def report_failure(request: HttpRequest, where: str, error: Exception) -> None:
    """Report that the site's code raised while an identity was read, and mark the request for `had_failure`."""
    request._ratewindow_key_failed = True  # type: ignore[attr-defined]
    site_functions.failed("key", where, error, "requests count as if they had none")


def had_failure(request: HttpRequest) -> bool:
    """Whether a key is missing because the site's code raised; resets the mark."""
    return bool(vars(request).pop("_ratewindow_key_failed", False))


def user(request: HttpRequest) -> str | None:
    """The user's primary key; None for an anonymous user, and for a user that has none."""
    try:
        found: Any = getattr(request, "user", None)
        key = getattr(found, "pk", None) if found is not None and found.is_authenticated else None
    except Exception as error:  # the site's sessions, database and backends
        report_failure(request, _USER, error)
        return None
    return f"user:{key}" if key is not None else None


def user_or_ip(request: HttpRequest) -> str:
    return user(request) or ip(request)


def session(request: HttpRequest) -> str | None:
    """The key of an existing session; None if the client made it up, or if it has expired. Never creates a session.

    Sessions in signed cookies have no key: each change makes another cookie, and the old ones stay valid.
    """
    found: Any = getattr(request, "session", None)
    try:
        if found is None or found.session_key is None or isinstance(found, SignedCookie):
            return None
        if hasattr(found, "get"):
            found.get("_")  # loads it, for the view, too; a key that the session store does not know becomes None
        key = found.session_key
    except Exception as error:  # the site's sessions
        report_failure(request, _SESSION, error)
        return None
    return f"session:{key}" if key is not None else None


async def load_user(request: HttpRequest) -> None:
    """Load the user without blocking the event loop. Django REST framework has authenticated its request already."""
    auser = getattr(request, "auser", None) if original(request) is request else None
    if auser is not None:
        try:
            request.user = await auser()
        except Exception as error:
            report_failure(request, _USER, error)


async def load_session(request: HttpRequest) -> None:
    """Load the session without blocking the event loop."""
    found: Any = getattr(request, "session", None)
    if found is not None and found.session_key is not None and hasattr(found, "aget"):
        try:
            await found.aget("_")
        except Exception as error:
            report_failure(request, _SESSION, error)


def everybody(request: HttpRequest) -> str:
    return "global"


def route(request: HttpRequest) -> str | None:
    """The view name: ``login``, ``shop:checkout``, or ``shop.views.cart`` if the pattern has no name. None if no pattern matches:
    a 404, or a redirect by APPEND_SLASH."""
    match = match_of(request)
    return f"route:{match.view_name}" if match is not None else None


def path(request: HttpRequest) -> str | None:
    """The path; None for a 404, so that a client cannot get another count by each path that it makes up."""
    return f"path:{request.path_info}" if match_of(request) is not None else None


def method(request: HttpRequest) -> str:
    """The method; HEAD counts as GET, and all unknown methods as one."""
    sent = "GET" if request.method == "HEAD" else request.method
    return f"method:{sent}" if sent in METHODS else "method:OTHER"


def match_of(request: HttpRequest) -> ResolverMatch | None:
    """The match that Django has found for this request, or will find after the middlewares; None if no pattern matches."""
    if request.resolver_match is not None:
        return request.resolver_match
    target = (request.path_info, getattr(request, "urlconf", None))
    cached: tuple[Any, ResolverMatch | None] | None = getattr(request, "_ratewindow_match", None)
    if cached is None or cached[0] != target:  # a middleware may have given the request another URLconf since
        cached = (target, resolved(*target))
        request._ratewindow_match = cached  # type: ignore[attr-defined]
    return cached[1]


def sent_to(path: str, request: HttpRequest, method: str | None) -> HttpRequest:
    """This request as its sender would send it to another path."""
    sent = copy(request)
    sent.method, sent.path, sent.path_info, sent.resolver_match = method, path, path, None
    return sent


def resolved(path: str, urlconf: Any) -> ResolverMatch | None:
    """Resolved in the language of the path, which Django's LocaleMiddleware may activate only after our middleware."""
    resolver, active = get_resolver(urlconf), translation.get_language()
    for language in dict.fromkeys((_language_of(path, urlconf) or active, active)):
        with nullcontext() if language in (None, active) else translation.override(language):
            try:
                return resolver.resolve(path)
            except Resolver404:
                continue
    return None


def _language_of(path: str, urlconf: Any) -> str | None:
    used, default_has_prefix = is_language_prefix_patterns_used(urlconf)
    if not used:
        return None
    return translation.get_language_from_path(path) or (None if default_has_prefix else settings.LANGUAGE_CODE)
