"""Keys without a name: the address, the user, the session, the route, the path, the method, everybody."""

from typing import Any

from django.http import HttpRequest

from ratewindow import site_functions
from ratewindow.identity.address import client_address
from ratewindow.identity.routes import match_of, route_of

METHODS = frozenset("GET POST PUT PATCH DELETE OPTIONS TRACE CONNECT".split())
_USER, _SESSION = "user (the site's authentication)", "session (the site's sessions)"


def original(request: HttpRequest) -> HttpRequest:
    """Django's request: what is set on the one that Django REST framework wraps around it, nobody outside sees."""
    return getattr(request, "_request", request)


def report_failure(request: HttpRequest, where: str, error: Exception) -> None:
    """Tell that code of the site's could not say who is asking, and mark the request, so that its rules are counted."""
    request._ratewindow_key_failed = True  # type: ignore[attr-defined]
    site_functions.failed("key", where, error, "requests count as if they had none")


def had_failure(request: HttpRequest) -> bool:
    """Whether a key is missing because code of the site's could not tell it; asked once."""
    return bool(vars(request).pop("_ratewindow_key_failed", False))


def ip(request: HttpRequest) -> str:
    return f"ip:{client_address(request)}"


def user(request: HttpRequest) -> str | None:
    """The user's primary key; None for a stranger, and for a user that is stored nowhere."""
    try:
        who: Any = getattr(request, "user", None)
        key = getattr(who, "pk", None) if who is not None and who.is_authenticated else None
    except Exception as error:  # the site's sessions, database and backends
        report_failure(request, _USER, error)
        return None
    if site_functions.failing:
        site_functions.worked("key", _USER)
    return f"user:{key}" if key is not None else None


def user_or_ip(request: HttpRequest) -> str:
    return user(request) or ip(request)


def session(request: HttpRequest) -> str | None:
    """The key of a session that exists: one that the client made up, or that is over, is none. Never begins one.

    Where sessions are kept in signed cookies they have no key: each change makes another, and all of them stay good.
    """
    held: Any = getattr(request, "session", None)
    try:
        if held is None or held.session_key is None or _is_kept_by_the_client(held):
            return None
        if hasattr(held, "get"):
            held.get("_")  # loads it, for us and for the view; a key that the store does not know becomes None
        key = held.session_key
    except Exception as error:  # the site's sessions
        report_failure(request, _SESSION, error)
        return None
    if site_functions.failing:
        site_functions.worked("key", _SESSION)
    return f"session:{key}" if key is not None else None


def _is_kept_by_the_client(held: Any) -> bool:
    from django.contrib.sessions.backends.signed_cookies import SessionStore

    return isinstance(held, SessionStore)


async def load_user(request: HttpRequest) -> None:
    """Who is logged in, asked for in the way that does not block the loop. REST framework has authenticated its own."""
    if original(request) is not request:
        return
    auser = getattr(request, "auser", None)
    if auser is not None:
        try:
            request.user = await auser()
        except Exception as error:
            report_failure(request, _USER, error)


async def load_session(request: HttpRequest) -> None:
    """The session, loaded in the way that does not block the loop."""
    held: Any = getattr(request, "session", None)
    if held is not None and held.session_key is not None and hasattr(held, "aget"):
        try:
            await held.aget("_")
        except Exception as error:
            report_failure(request, _SESSION, error)


def everybody(request: HttpRequest) -> str:
    return "global"


def route(request: HttpRequest) -> str | None:
    """The view's name. None for a 404."""
    name = route_of(request)
    return f"route:{name}" if name is not None else None


def path(request: HttpRequest) -> str | None:
    """The path, where it leads to a view: a client that makes up paths must not get a count of its own for each."""
    return f"path:{request.path_info}" if match_of(request) is not None else None


def method(request: HttpRequest) -> str:
    """HEAD is a GET whose body is not sent; methods that a client has made up are one."""
    sent = "GET" if request.method == "HEAD" else request.method
    return f"method:{sent}" if sent in METHODS else "method:OTHER"
