"""The time limit of a thread's decision: connecting, logging in and every part of a reply share it."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.sentinel import SentinelManagedConnection

from ratewindow.limiter.redis import thread_deadline
from ratewindow.limiter.redis.thread_deadline import limit_of, limited, running, shared, shortened, timed, untimed


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(thread_deadline, "monotonic", clock)
    return clock


class Socket:
    """Gives a byte for each reading, which takes `pause_s` by the clock, and times out as sockets do."""

    def __init__(self, clock: Clock, pause_s: float) -> None:
        self.clock, self.pause_s, self.timeout_s = clock, pause_s, 5.0
        self.readings = 0

    def recv(self, size: int) -> bytes:
        self.clock.now_s += min(self.pause_s, self.timeout_s)
        if self.pause_s > self.timeout_s:
            raise TimeoutError
        self.readings += 1
        return b"+"

    def recv_into(self, buffer: bytearray) -> int:
        buffer[:1] = self.recv(1)
        return 1

    def gettimeout(self) -> float:
        return self.timeout_s

    def settimeout(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s


def dripping(timed_socket: thread_deadline._TimedSocket) -> None:
    while True:
        timed_socket.recv(1)


@pytest.mark.parametrize("into", [False, True])
def test_a_reply_that_drips_in_ends_with_the_limit(clock: Clock, into: bool) -> None:
    dripped = thread_deadline._TimedSocket(Socket(clock, pause_s=0.03), 5.0)
    began_s = clock.now_s
    with pytest.raises(TimeoutError), limited(0.1):
        while True:
            _ = dripped.recv_into(bytearray(1)) if into else dripped.recv(1)
    assert clock.now_s - began_s == pytest.approx(0.1)


def test_what_comes_at_once_ends_with_it_too(clock: Clock) -> None:
    """A flood of bytes never makes a reading wait: after the limit there is one more, and no other."""
    flood = Socket(clock, pause_s=0.0)
    dripped = thread_deadline._TimedSocket(flood, 5.0)
    with limited(0.1):
        dripped.recv(1)
        clock.now_s += 0.2
        dripped.recv(1)
        with pytest.raises(TimeoutError, match="the time for this decision is over"):
            dripped.recv(1)
    assert flood.readings == 2


def test_a_look_whether_there_is_something_stays_a_look(clock: Clock) -> None:
    looked = Socket(clock, pause_s=0.0)
    looked.timeout_s = 0.0
    with limited(0.1):
        thread_deadline._TimedSocket(looked, 5.0).recv(1)
    assert looked.timeout_s == 0.0


def test_after_a_limit_a_socket_of_a_pool_has_its_own_timeout_again(clock: Clock) -> None:
    """As a client leaves it that keeps its connections for itself: also where redis-py sets what was left meanwhile."""
    kept = Socket(clock, pause_s=0.0)
    pooled = thread_deadline._TimedSocket(kept, 5.0)
    with limited(0.1):
        clock.now_s += 0.2
        pooled.recv(1)
        pooled.settimeout(thread_deadline.LATE_S)
    pooled.recv(1)
    assert kept.timeout_s == 5.0
    with limited(0.1):
        clock.now_s += 0.2
        pooled.recv(1)  # once more is allowed to who comes late, each time anew


def test_of_servers_that_are_asked_in_turn_none_takes_more_than_its_share(clock: Clock) -> None:
    connection = timed(redis.Connection)(socket_timeout=2.0)
    with limited(0.1), shared(3):
        assert connection.socket_timeout == pytest.approx(0.025)
        clock.now_s += 0.09
        assert connection.socket_timeout == pytest.approx(0.01)
    with limited(0.1):
        assert connection.socket_timeout == pytest.approx(0.1)
    with shared(3):
        assert connection.socket_timeout == 2.0


def test_a_limit_within_a_limit_is_the_outer_one_and_none_is_left_behind(clock: Clock) -> None:
    with limited(0.1):
        clock.now_s += 0.04
        with limited(0.1):
            assert running.until_s == pytest.approx(1000.1)
    assert not running.until_s
    with limited(0.1, since_s=1000.0):
        assert running.until_s == pytest.approx(1000.1)
    with limited(None):
        assert not running.until_s


def test_threads_have_limits_of_their_own() -> None:
    seen: list[float] = []
    with limited(5.0):
        thread = threading.Thread(target=lambda: seen.append(running.until_s))
        thread.start()
        thread.join()
    assert seen == [0.0]


@pytest.mark.inside
def test_a_socket_has_what_is_left_for_its_timeout_and_its_own_afterwards(clock: Clock) -> None:
    connection = redis.Connection()
    connection._sock = sock = Socket(clock, 0.0)
    with limited(0.1):
        clock.now_s += 0.06
        with shortened(connection):
            assert sock.timeout_s == pytest.approx(0.04)
    assert sock.timeout_s == 5.0
    with shortened(connection):
        assert sock.timeout_s == 5.0
    connection._sock = None


@pytest.mark.parametrize("kind", [Connection, SSLConnection, UnixDomainSocketConnection, SentinelManagedConnection])
def test_every_class_of_connections_can_be_timed_once(kind: type) -> None:
    made = timed(kind)
    assert issubclass(made, kind) and made.__name__ == kind.__name__
    assert timed(made) is made and timed(kind) is made


def test_a_timed_connection_waits_for_each_step_as_long_as_is_left(clock: Clock) -> None:
    connection = timed(redis.Connection)(socket_timeout=0.1, socket_connect_timeout=0.1)
    with limited(0.1):
        clock.now_s += 0.07
        assert connection.socket_connect_timeout == pytest.approx(0.03)
        assert connection.socket_timeout == pytest.approx(0.03)
        clock.now_s += 0.07
        assert connection.socket_timeout == thread_deadline.LATE_S
    assert (connection.socket_timeout, connection.socket_connect_timeout) == (0.1, 0.1)


def test_only_timed_pools_have_a_limit() -> None:
    assert limit_of(redis.ConnectionPool(socket_timeout=0.1)) is None
    assert limit_of(redis.ConnectionPool(timed(redis.Connection), socket_timeout=0.1)) == 0.1
    assert limit_of(object()) is None


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of a server that does this with its one connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                answer(peer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@pytest.mark.inside
def test_logging_in_to_a_server_that_drips_ends_with_the_limit() -> None:
    """Each byte comes long before a socket's own timeout, which alone would never end it; nor does the public way."""
    gone = threading.Event()

    def drip(peer: socket.socket) -> None:
        while not gone.wait(0.01):
            try:
                peer.sendall(b"+")
            except OSError:
                return

    with answering(drip) as port:
        connection = timed(redis.Connection)(host="127.0.0.1", port=port, password="secret", socket_timeout=5.0, protocol=2)
        with pytest.raises(redis.TimeoutError), limited(0.1):
            connection.connect()
        gone.set()


@pytest.mark.inside
def test_once_set_up_a_connection_has_a_plain_socket_with_its_own_timeout(redis_url: str) -> None:
    pool = redis.ConnectionPool.from_url(redis_url, connection_class=timed(redis.Connection), socket_timeout=0.7)
    with limited(0.5):
        connection = pool.make_connection()
        connection.connect()
        assert isinstance(connection._sock, thread_deadline._TimedSocket)
        untimed(connection)
    assert isinstance(connection._sock, socket.socket)
    assert connection._sock.gettimeout() == 0.7
    connection.send_command("PING")
    assert connection.read_response() == b"PONG"
    connection.disconnect()
