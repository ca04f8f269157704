"""The address of the Redis that ``RATEWINDOW["REDIS"]`` names: a URL, or that of a cache in ``CACHES``."""

import re
from typing import Any

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string
from redis.exceptions import RedisError

from ratewindow import conf
from ratewindow.store import clients
from ratewindow.store import url as redis_url

MEMORY = conf.MEMORY
# Options that the limiter sets, whatever an address or a cache says: see `process_clients`.
OWN = frozenset(
    "max_connections socket_timeout socket_connect_timeout timeout retry protocol decode_responses"
    " driver_info lib_name lib_version".split()
)

# Options that concern a cache only.
_OF_CACHES = frozenset("serializer pool_class parser_class client_class connection_class queue_class".split())

_DJANGO_BACKEND = "django.core.cache.backends.redis.RedisCache"
_DJANGO_REDIS_BACKEND = "django_redis.cache.RedisCache"
_REMEDY = 'Write for example RATEWINDOW = {"REDIS": "redis://localhost:6379/0"}.'
_SENTINEL_REMEDY = 'Write for example RATEWINDOW = {"REDIS": "redis+sentinel://one:26379,two:26379/mymaster/0"}.'


def address() -> tuple[str, dict[str, Any]]:
    """The URL of the server and the other options of its connections, such as a password.

    Raises ImproperlyConfigured, with the line to write, when ``RATEWINDOW["REDIS"]`` names no Redis.
    """
    name = conf.current().redis
    if name == MEMORY:
        return name, {}
    if "://" in name:
        return _checked(name, {}, "RATEWINDOW['REDIS']"), {}
    if name not in django_settings.CACHES:
        raise ImproperlyConfigured(f"RATEWINDOW['REDIS'] is {name!r}, which is not an alias in CACHES. {_REMEDY}")
    cache = django_settings.CACHES[name]
    options = dict(cache.get("OPTIONS") or {})
    kind = _backend_kind(cache.get("BACKEND", ""))
    match kind:
        case "django":
            extra = options
        case "django-redis":
            extra = dict(options.get("CONNECTION_POOL_KWARGS", {}))
            extra |= {name.lower(): options[name] for name in ("USERNAME", "PASSWORD") if name in options}
        case _:
            raise ImproperlyConfigured(f"CACHES[{name!r}] is {cache.get('BACKEND')}, which is not Redis. {_REMEDY}")
    extra = {key: value for key, value in extra.items() if key not in OWN | _OF_CACHES}
    location = cache.get("LOCATION") or ""
    if isinstance(location, str):
        location = location.replace(";", ",").split(",")
    first = next(iter(location), "").strip()
    if kind == "django-redis" and _has_sentinels(options):
        first = _through_sentinels(first, options, name)
        extra["sentinel_kwargs"] = dict(options.get("SENTINEL_KWARGS") or {})
    return _checked(first, extra, f"the LOCATION of CACHES[{name!r}]"), extra


def _checked(url: str, extra: dict[str, Any], place: str) -> str:
    """The URL. ImproperlyConfigured, without the password in it, if it or an option is wrong."""
    remedy = _SENTINEL_REMEDY if "sentinel" in url.partition("://")[0] else _REMEDY
    try:
        server = redis_url.parse(url, OWN)
    except ValueError as error:
        raise ImproperlyConfigured(f"{place} is not an address of a Redis: {str(error).rstrip('.')}. {remedy}") from None
    where = f"{place} and its OPTIONS have" if extra else f"{place} has"
    try:
        clients.refuse_bad_options(server, extra)
    except (TypeError, ValueError, RedisError) as error:
        unknown = _UNKNOWN.search(str(error))
        what = (
            f"an option {unknown[1]!r}, which such a connection does not have: leave it out"
            if unknown
            else f"a wrong option: {error}"
        )
        raise ImproperlyConfigured(f"{where} {what.rstrip('.')}. {remedy}") from None
    return url


_UNKNOWN = re.compile(r"unexpected keyword argument '(\w+)'")


def _has_sentinels(options: dict[str, Any]) -> bool:
    factory = options.get("CONNECTION_FACTORY") or getattr(django_settings, "DJANGO_REDIS_CONNECTION_FACTORY", "")
    by_name = f"{options.get('CLIENT_CLASS', '')} {factory} {options.get('CONNECTION_POOL_CLASS', '')}"
    return "SENTINELS" in options or "Sentinel" in by_name


def _through_sentinels(location: str, options: dict[str, Any], name: str) -> str:
    """The address in django-redis's settings for Sentinels."""
    try:
        sentinels = [(str(host), int(port)) for host, port in options["SENTINELS"]]
        return redis_url.of_sentinels(location, sentinels)
    except (KeyError, TypeError, ValueError):
        raise ImproperlyConfigured(
            f"CACHES[{name!r}] goes through Sentinels, but SENTINELS in its OPTIONS is not a list of (host, port)."
            f" {_SENTINEL_REMEDY}"
        ) from None


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
