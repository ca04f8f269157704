"""One time limit for all that a decision does on sockets, whoever opens them: threads' share of the deadline.

A socket's own timeout starts again with every part of a reply, and a connection is opened, logged in and asked
for in several steps, with Sentinels in several places. So the limit is the thread's: while one is running,
every connection of a `timed` class waits no longer than is left of it. A call over a connection that rests
needs none of this: its socket's timeout is its limit.

What a TLS handshake begins with is read from files once for all connections with the same options: redis-py reads the
authorities again for each connection, which may take as long as a whole decision.
"""

import os
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from time import monotonic
from typing import Any, cast

from ratewindow.limiter.redis import insides

_FILES = ("keyfile", "certfile", "ca_certs", "ca_path")
_OTHERS = (
    "certificate_password ca_data cert_reqs check_hostname ssl_min_version ssl_ciphers"
    " ssl_include_verify_flags ssl_exclude_verify_flags"
).split()
LATE_S = 0.001  # a reply that came while this thread was not let run is taken, though the time is over


class _Running(threading.local):
    until_s = 0.0  # by the monotonic clock; 0 when there is no limit
    share_s = 0.0  # of each of several servers that are asked in turn; 0 when one may have all of it


running = _Running()


@contextmanager
def limited(timeout_s: float | None, since_s: float | None = None) -> Iterator[None]:
    """All that happens on timed connections of this thread within takes so long together, or less; None is no limit. One that is
    running already holds."""
    if running.until_s:
        yield
        return
    running.until_s = (since_s or monotonic()) + timeout_s if timeout_s else 0.0
    try:
        yield
    finally:
        running.until_s = 0.0


@contextmanager
def shared(servers: int) -> Iterator[None]:
    """So many servers are asked in turn meanwhile: one that is silent must leave time for the next, and for what follows."""
    running.share_s = (running.until_s - monotonic()) / (servers + 1) if running.until_s else 0.0
    try:
        yield
    finally:
        running.share_s = 0.0


@contextmanager
def shortened(connection: Any) -> Iterator[None]:
    """What is left of the running limit is the timeout of this connection's socket meanwhile."""
    sock = getattr(connection, insides.SOCKET, None)
    if not running.until_s or sock is None:
        yield
        return
    own_s = sock.gettimeout()
    sock.settimeout(_left_s(own_s))
    try:
        yield
    finally:
        if getattr(connection, insides.SOCKET) is sock:  # else it has been closed
            sock.settimeout(own_s)


def _left_s(own_s: float | None) -> float | None:
    until_s = running.until_s
    if not until_s:
        return own_s
    left_s = until_s - monotonic()
    left_s = max(LATE_S, min(left_s, running.share_s) if running.share_s else left_s)
    return left_s if own_s is None else min(own_s, left_s)


class _TimedSocket:
    """A socket, plain or with TLS: no reading waits beyond the running limit, and without one no longer than `own_s`."""

    def __init__(self, sock: Any, own_s: float | None) -> None:
        self.untimed = sock
        self._own_s = own_s
        self._late = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.untimed, name)

    def recv(self, *arguments: Any) -> bytes:
        self._shorten()
        return self.untimed.recv(*arguments)  # type: ignore[no-any-return]

    def recv_into(self, *arguments: Any) -> int:
        self._shorten()
        return self.untimed.recv_into(*arguments)  # type: ignore[no-any-return]

    def _shorten(self) -> None:
        if self.untimed.gettimeout() == 0:  # somebody only looks whether there is something to read
            return
        is_late = 0.0 < running.until_s <= monotonic()
        if is_late and self._late:
            raise TimeoutError("the time for this decision is over")
        self._late = is_late
        self.untimed.settimeout(_left_s(self._own_s))


def untimed(connection: Any) -> None:
    """A connection that is set up: its socket has its own timeout from now on, in as few steps as any."""
    timed_socket: Any = getattr(connection, insides.SOCKET, None)
    if isinstance(connection, _Timed) and timed_socket is not None:
        sock = getattr(timed_socket, "untimed", timed_socket)
        sock.settimeout(connection.own_timeout_s)
        setattr(connection, insides.SOCKET, sock)


class _Timed:
    """What makes a connection class a timed one: it is set up within the running limit."""

    def __init__(
        self, *, socket_timeout: float | None = None, socket_connect_timeout: float | None = None, **options: Any
    ) -> None:
        self.own_timeout_s = socket_timeout
        self._own_connect_timeout_s = socket_connect_timeout or socket_timeout
        options |= {"socket_timeout": socket_timeout, "socket_connect_timeout": socket_connect_timeout}
        super().__init__(**options)

    # Properties, since that is where the connection classes read them, at each step of connecting. Some of redis-py's
    # also set them, to what they were made with.

    @property
    def socket_timeout(self) -> float | None:
        return _left_s(self.own_timeout_s)

    @socket_timeout.setter
    def socket_timeout(self, value: float | None) -> None:
        pass

    @property
    def socket_connect_timeout(self) -> float | None:
        return _left_s(self._own_connect_timeout_s)

    @socket_connect_timeout.setter
    def socket_connect_timeout(self, value: float | None) -> None:
        pass

    def _connect(self) -> _TimedSocket:
        return _TimedSocket(super()._connect(), self.own_timeout_s)  # type: ignore[misc]

    def _wrap_socket_with_ssl(self, sock: Any) -> Any:
        """Of a connection with TLS: the handshake has what is left by now, and not what was left before."""
        context = context_for(self)
        if context is None:
            return super()._wrap_socket_with_ssl(sock)  # type: ignore[misc]
        sock.settimeout(self.socket_timeout)
        return context.wrap_socket(sock, server_hostname=self.host)  # type: ignore[attr-defined]


@cache
def timed(connection_class: type) -> type:
    """The same class of connections, held to the running limit."""
    if issubclass(connection_class, _Timed):
        return connection_class
    return type(connection_class.__name__, (_Timed, connection_class), {})


def limit_of(pool: Any) -> float | None:
    """How long an exchange on this pool's connections may take as a whole: their timeout, if they are timed."""
    is_timed = issubclass(getattr(pool, "connection_class", object), _Timed)
    return cast("float | None", pool.connection_kwargs.get("socket_timeout")) if is_timed else None


def context_for(connection: Any) -> ssl.SSLContext | None:
    """For a connection of redis-py; None where it must do the handshake itself, since it asks about certificates."""
    if connection.ssl_validate_ocsp or connection.ssl_validate_ocsp_stapled:
        return None
    options = {name: getattr(connection, name, None) for name in (*_FILES, *_OTHERS)}
    as_keys = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return _made(tuple(_changed_at(options[name]) for name in _FILES), **as_keys)


def _changed_at(path: str | None) -> int | None:
    """A certificate that is renewed is a new file under the old name."""
    try:
        return os.stat(path).st_mtime_ns if path else None
    except OSError:
        return None  # reading it says what is wrong


@lru_cache(maxsize=20)
def _made(changed_at: tuple[int | None, ...], **options: Any) -> ssl.SSLContext:
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
