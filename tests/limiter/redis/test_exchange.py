"""What may come back from a server, whole, in pieces, too late, or never."""

from collections.abc import Sequence

import pytest
import redis
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
    NoScriptError,
    RedisError,
    ResponseError,
    TimeoutError as RedisTimeoutError,
)

from ratewindow.limiter import Limiter, RedisStore, Window
from ratewindow.limiter.redis import connections as module
from ratewindow.limiter.redis.connections import exchange
from ratewindow.limiter.redis.faults import BadReply

pytestmark = pytest.mark.inside

REPLY = b"*4\r\n:999\r\n:0\r\n:60000\r\n:1732094855123\r\n"
NUMBERS = [999, 0, 60_000, 1_732_094_855_123]
TIMEOUT_S = 0.1


class Socket:
    """Gives out `pieces`, one a reading, each after `pause_s` by a clock of its own; then it is closed."""

    def __init__(self, pieces: Sequence[bytes], pause_s: float = 0.0) -> None:
        self.pieces, self.pause_s = list(pieces), pause_s
        self.now_s, self.timeout_s, self.sent = 1000.0, TIMEOUT_S, b""

    def sendall(self, command: bytes) -> None:
        self.sent += command

    def recv(self, most: int) -> bytes:
        self.now_s += min(self.pause_s, self.timeout_s)
        if self.pause_s > self.timeout_s:
            raise TimeoutError
        return self.pieces.pop(0) if self.pieces else b""

    def gettimeout(self) -> float:
        return self.timeout_s

    def settimeout(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s


@pytest.fixture(autouse=True, params=["short", "long"])
def _short_or_long(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is read as if it were short, or there were no hiredis, and as if it were long."""
    if request.param == "long":
        pytest.importorskip("hiredis")
    monkeypatch.setattr(module, "_SHORT_BYTES", 0 if request.param == "long" else 1_000_000)


def over(socket: Socket) -> redis.Connection:
    connection = redis.Connection(protocol=2)  # never connected
    connection._sock = socket
    return connection


def answer(*pieces: bytes, parts: int = 4) -> list[int]:
    return exchange(over(Socket(pieces)), b"a command", parts)


def test_a_reply_is_its_numbers() -> None:
    socket = Socket([REPLY])
    assert exchange(over(socket), b"a command", 4) == NUMBERS
    assert socket.sent == b"a command"


@pytest.mark.parametrize("end", range(1, len(REPLY)))
def test_a_reply_in_two_pieces_is_the_same(end: int) -> None:
    assert answer(REPLY[:end], REPLY[end:]) == NUMBERS


def test_a_reply_in_pieces_of_a_byte_is_the_same() -> None:
    assert answer(*[bytes([byte]) for byte in REPLY]) == NUMBERS


def test_a_long_reply_is_read_like_a_short_one() -> None:
    numbers = list(range(-1, 999))
    assert answer(b"*1000\r\n%b" % b"".join(b":%d\r\n" % number for number in numbers), parts=1000) == numbers


@pytest.mark.parametrize("end", [1, 9, 20])
def test_an_error_is_raised_as_redis_py_raises_it_and_the_connection_keeps_its_timeout(end: int) -> None:
    socket = Socket([b"-NOSCRIPT No matching script.\r\n"[:end], b"-NOSCRIPT No matching script.\r\n"[end:]])
    with pytest.raises(NoScriptError, match=r"^No matching script\.$"):
        exchange(over(socket), b"a command", 4)
    assert socket.timeout_s == TIMEOUT_S


def test_an_error_without_a_kind_of_its_own_is_a_response_error() -> None:
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        answer(b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n")


@pytest.mark.parametrize(
    "junk",
    [
        b"$-1\r\n",
        b"*-1\r\n",
        b"+OK\r\n",
        b":5\r\n",
        b"*1\r\n$2\r\nhi\r\n",
        b"*1\r\n:five\r\n",
        b"*two\r\n:1\r\n:2\r\n",
        b"*1\r\n:1\r\n:2\r\n",
        b"*1\r\n:1\r\n+OK\r\n",
        b"*2\r\n:1\r\n*1\r\n:2\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\xff\r\n",
    ],
)
def test_what_is_no_reply_of_ours_is_an_error_at_once(junk: bytes) -> None:
    with pytest.raises(BadReply, match="no answer to our question"):
        answer(junk, REPLY)


@pytest.mark.parametrize("pieces", [[], [REPLY[:-1]], [b"-NOSCR"]])
def test_a_connection_that_is_closed_meanwhile_is_a_connection_error(pieces: list[bytes]) -> None:
    with pytest.raises(RedisConnectionError, match="closed"):
        answer(*pieces)


def test_a_reply_that_drips_in_may_not_take_longer_than_a_silent_server(monkeypatch: pytest.MonkeyPatch) -> None:
    socket = Socket([bytes([byte]) for byte in REPLY], pause_s=0.03)
    monkeypatch.setattr(module, "monotonic", lambda: socket.now_s)
    with pytest.raises(RedisTimeoutError):
        exchange(over(socket), b"a command", 4)
    assert socket.now_s == pytest.approx(1000.0 + TIMEOUT_S)


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), TimeoutError()])
def test_what_cannot_be_sent_is_an_error_of_redis_py(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Socket, command: bytes) -> None:
        raise error

    monkeypatch.setattr(Socket, "sendall", fail)
    with pytest.raises(RedisError):
        answer(REPLY)


@pytest.mark.parametrize("protocol", [2, 3, "2", "3"])
def test_whichever_protocol_a_client_speaks_the_answers_are_the_same(redis_url: str, protocol: int | str) -> None:
    windows = [Window(3, period_ms=3_600_000, algorithm="sliding_log"), Window(5, period_ms=60_000, algorithm="token_bucket")]
    with redis.Redis.from_url(redis_url, protocol=protocol) as client:
        limiter = Limiter(RedisStore(client), clock_ms=lambda: 1_000_000_000_000)
        told = [limiter.hit("user:42", windows) for _ in range(4)]
    assert [each.allowed for each in told] == [True, True, True, False]
    assert told[3].retry_after == 3600.0
