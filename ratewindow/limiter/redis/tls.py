"""What a TLS handshake begins with: read from files once for all connections with the same options.

redis-py reads the authorities again for each connection, which may take as long as a whole decision.
"""

import asyncio
import os
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any

MOST_KEPT = 20

_FILES = ("keyfile", "certfile", "ca_certs", "ca_path")
_OTHERS = (
    "certificate_password ca_data cert_reqs check_hostname ssl_min_version ssl_ciphers"
    " ssl_include_verify_flags ssl_exclude_verify_flags"
).split()
_kept: dict[tuple[Any, ...], ssl.SSLContext] = {}


def context_for(connection: Any) -> ssl.SSLContext | None:
    """For a connection of redis-py; None where it must do the handshake itself, since it asks about certificates."""
    if connection.ssl_validate_ocsp or connection.ssl_validate_ocsp_stapled:
        return None
    options = {name: getattr(connection, name, None) for name in (*_FILES, *_OTHERS)}
    return _known(options) or _read(options)


@cache
def prepared(connection_class: type) -> type:
    """The same class of connections of redis.asyncio: what a handshake needs is not read on the event loop."""
    return type(connection_class.__name__, (_Prepared, connection_class), {})


class _Prepared:
    ssl_context: Any

    async def _connect(self) -> None:
        # Under other names than in connections for threads, and one by one, since older versions know fewer.
        names = {name: _OF_ASYNCIO.get(name, name) for name in (*_FILES, *_OTHERS)}
        options = {name: getattr(self.ssl_context, theirs, None) for name, theirs in names.items()}
        self.ssl_context.context = _known(options) or await asyncio.to_thread(_read, options)
        await super()._connect()  # type: ignore[misc]


_OF_ASYNCIO = {
    "certificate_password": "password",
    "ssl_min_version": "min_version",
    "ssl_ciphers": "ciphers",
    "ssl_include_verify_flags": "include_verify_flags",
    "ssl_exclude_verify_flags": "exclude_verify_flags",
}


def _known(options: Mapping[str, Any]) -> ssl.SSLContext | None:
    return _kept.get(_key(options))


def _read(options: Mapping[str, Any]) -> ssl.SSLContext:
    key = _key(options)
    context = _made(**options)
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    _kept[key] = context
    return context


def _key(options: Mapping[str, Any]) -> tuple[Any, ...]:
    # A certificate that is renewed is a new file under the old name.
    return (*(repr(value) for value in options.values()), *(_changed_at(options[name]) for name in _FILES))


def _changed_at(path: str | None) -> int | None:
    try:
        return os.stat(path).st_mtime_ns if path else None
    except OSError:
        return None  # reading it says what is wrong


def _made(**options: Any) -> ssl.SSLContext:
    """As redis-py makes one."""
    context = ssl.create_default_context()
    context.check_hostname = options["check_hostname"]
    context.verify_mode = options["cert_reqs"]
    for flag in options["ssl_include_verify_flags"] or ():
        context.verify_flags |= flag
    for flag in options["ssl_exclude_verify_flags"] or ():
        context.verify_flags &= ~flag
    if options["certfile"] or options["keyfile"]:
        context.load_cert_chain(options["certfile"], options["keyfile"], options["certificate_password"])
    if options["ca_certs"] or options["ca_path"] or options["ca_data"]:
        context.load_verify_locations(options["ca_certs"], options["ca_path"], options["ca_data"])
    if options["ssl_min_version"] is not None:
        context.minimum_version = options["ssl_min_version"]
    if options["ssl_ciphers"]:
        context.set_ciphers(options["ssl_ciphers"])
    return context
