"""The way to Redis: which server the setting means, and clients with the limiter's own time limits.

The limiter owns its clients even where the address comes from ``CACHES``: a cache may wait for seconds,
a decision may not, and pools shared by address alone would lose one of the two settings.
"""

import os
import threading
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import redis
import redis.asyncio
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

from ratewindow import conf

MEMORY = "memory://"
URL_SCHEMES = ("redis://", "rediss://", "unix://")
PATIENT_S = 2.0  # for background work, which may wait, but not for ever

_DJANGO_BACKEND = "django.core.cache.backends.redis.RedisCache"
_DJANGO_REDIS_BACKEND = "django_redis.cache.RedisCache"
_REMEDY = 'Write for example RATEWINDOW = {"REDIS": "redis://localhost:6379/0"}.'


def address() -> tuple[str, dict[str, Any]]:
    """The URL of the server and what else its connections need, such as a password.

    Raises ImproperlyConfigured, with the line to write, when ``RATEWINDOW["REDIS"]`` names no Redis.
    """
    name = conf.current().redis
    if name == MEMORY:
        return name, {}
    if "://" in name:
        return _checked(name, "RATEWINDOW['REDIS']"), {}
    if name not in django_settings.CACHES:
        raise ImproperlyConfigured(f"RATEWINDOW['REDIS'] is {name!r}, which is no alias in CACHES. {_REMEDY}")
    cache = django_settings.CACHES[name]
    options = dict(cache.get("OPTIONS") or {})
    match _backend_kind(cache.get("BACKEND", "")):
        case "django":
            extra = {key: value for key, value in options.items() if key not in ("serializer", "pool_class", "parser_class")}
        case "django-redis":
            extra = dict(options.get("CONNECTION_POOL_KWARGS", {}))
            extra |= {name.lower(): options[name] for name in ("USERNAME", "PASSWORD") if name in options}
        case _:
            raise ImproperlyConfigured(f"CACHES[{name!r}] is {cache.get('BACKEND')}, which is not Redis. {_REMEDY}")
    location = cache.get("LOCATION") or ""
    if isinstance(location, str):
        location = location.replace(";", ",").split(",")
    return _checked(next(iter(location), "").strip(), f"the LOCATION of CACHES[{name!r}]"), extra


def _checked(url: str, place: str) -> str:
    """The URL without options that are the limiter's own; ImproperlyConfigured, without the password, for a bad one."""
    try:
        if not url.startswith(URL_SCHEMES):
            raise ValueError(f"its scheme is none of {', '.join(URL_SCHEMES)}, {MEMORY}")
        own = _options(PATIENT_S).keys() | {"timeout"}
        base, _, query = url.partition("?")
        kept = urlencode([(key, value) for key, value in parse_qsl(query) if key not in own])
        checked = f"{base}?{kept}" if kept else base
        _check_port(checked)
        parse_url(checked)
    except ValueError as error:
        raise ImproperlyConfigured(f"{place} is no address of a Redis: {error}. {_REMEDY}") from None
    return checked


def _check_port(url: str) -> None:
    try:
        _ = urlsplit(url).port
    except ValueError:  # its text may hold a part of the password
        raise ValueError("its port is no number, or its password has a / that is not written as %2F") from None


def _backend_kind(path: str) -> str:
    if path in (_DJANGO_BACKEND, _DJANGO_REDIS_BACKEND):
        return "django" if path == _DJANGO_BACKEND else "django-redis"
    try:
        bases = import_string(path).__mro__
    except ImportError:
        return "other"
    for base in bases:
        if f"{base.__module__}.{base.__qualname__}" in (_DJANGO_BACKEND, _DJANGO_REDIS_BACKEND):
            return _backend_kind(f"{base.__module__}.{base.__qualname__}")
    return "other"


def in_memory() -> bool:
    """Whether this process counts for itself, without a server."""
    return conf.current().redis == MEMORY


def _options(timeout_s: float) -> dict[str, Any]:
    return {
        # A pool must not refuse: at most one connection for each thread is in use at a time.
        "max_connections": 2**31,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        # A call whose answer was lost may have been executed: repeating it would count it twice.
        "retry": Retry(NoBackoff(), 0),
        # One round trip less for each new connection than RESP3 with its HELLO, and nothing here needs RESP3.
        "protocol": 2,
        # A cache may ask for text; what is kept here is bytes.
        "decode_responses": False,
    }


_lock = threading.Lock()
_clients: dict[str, redis.Redis] = {}


def client() -> redis.Redis:
    """For decisions: it waits `TIMEOUT`, and never retries."""
    return _clients.get("decisions") or _make("decisions", conf.current().timeout_s)


def patient_client() -> redis.Redis:
    """For background work, pages and commands, which may wait a little."""
    return _clients.get("patient") or _make("patient", PATIENT_S)


def _make(purpose: str, timeout_s: float) -> redis.Redis:
    with _lock:
        if purpose not in _clients:
            url, extra = _address()
            _clients[purpose] = redis.Redis.from_url(url, **{**extra, **_options(timeout_s)})
        return _clients[purpose]


def _address() -> tuple[str, dict[str, Any]]:
    """`address` for a site that runs: a server that is not configured is one that does not answer."""
    try:
        return address()
    except ImproperlyConfigured as error:
        raise redis.ConnectionError(str(error)) from None


def async_client() -> redis.asyncio.Redis:
    """For decisions on the running event loop; the caller keeps one for each loop and closes it."""
    from redis.asyncio.retry import Retry as AsyncRetry

    url, extra = _address()
    options = _options(conf.current().timeout_s) | {"retry": AsyncRetry(NoBackoff(), 0)}
    return redis.asyncio.Redis.from_url(url, **{**extra, **options})


def close() -> None:
    """Close what this process holds open; the next use opens it anew."""
    with _lock:
        for each in _clients.values():
            each.close()
        _clients.clear()


def _forget(*, setting: str, **_: Any) -> None:
    if setting in (conf.SETTING, "CACHES"):
        close()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _clients.clear()


setting_changed.connect(_forget, dispatch_uid="ratewindow.connection")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
