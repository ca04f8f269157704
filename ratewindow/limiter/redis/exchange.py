"""One exchange over a connection that redis-py has opened: a packed command goes out, whole numbers come back.

What a client and its parser do around that takes longer than the server's decision. Here the command is handed to the
socket, and the reply, an array of whole numbers or an error, is usually one reading, and read at once.
"""

from time import monotonic
from typing import Any

from redis import cluster
from redis.connection import DefaultParser
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.utils import HIREDIS_AVAILABLE

from ratewindow.limiter.redis import insides

if HIREDIS_AVAILABLE:
    import hiredis

_PLAIN = (2, "2")  # version 3 of the protocol lets a server send messages in between, which redis-py's parser sorts out
_MOST_BYTES = 65_536  # of one reading
_SHORT_BYTES = 80  # as that of one window: it is split sooner than hiredis has made a reader
_PARSER: Any = getattr(cluster, "ClusterParser", DefaultParser)  # before redis-py 6 a cluster's errors were known to its own
_ERRORS = _PARSER(socket_read_size=1)
_HEADS = {b"*%d" % count: count for count in range(1, 257)}


def exchange(connection: Any, command: bytes) -> list[int]:
    """The reply to a packed command, or an exception as redis-py has them. After any but a ResponseError more may come
    that belongs to this command: the connection must not be used again."""
    socket: Any = getattr(connection, insides.SOCKET, None)
    receive = getattr(socket, "recv", None)  # fakeredis has none
    if receive is None or connection.protocol not in _PLAIN:
        connection.send_packed_command([command], check_health=False)
        return _numbers(connection.read_response())
    try:
        asked_s = monotonic()
        socket.sendall(command)
        answer = receive(_MOST_BYTES)
        if len(answer) > _SHORT_BYTES and (reply := _parsed(answer)) is not None:
            return reply
        head, *numbers = answer.split(b"\r\n:")
        if _HEADS.get(head) == len(numbers) and answer.endswith(b"\r\n"):
            return list(map(int, numbers))
        return _unusual(connection, socket, answer, asked_s)
    except TimeoutError:
        raise RedisTimeoutError("Timeout on the way to Redis and back") from None
    except OSError as error:
        raise RedisConnectionError(f"Error on the way to Redis and back: {error}") from error
    except ValueError:
        raise InvalidResponse(f"no answer to our question: {answer[:40]!r}") from None


def _parsed(answer: bytes) -> list[int] | None:
    """The numbers of an answer that is one whole array of them, and nothing else, in half the time of a split."""
    if not HIREDIS_AVAILABLE:
        return None
    reader = hiredis.Reader()  # a new one: it holds nothing of another answer
    reader.feed(answer)
    try:
        reply = reader.gets()
    except hiredis.ProtocolError:
        return None
    lines = answer.count(b"\r\n")  # every one but the first has a number of the array, and nothing comes behind
    is_ours = answer.count(b"\r\n:") == lines - 1 and answer.endswith(b"\r\n")
    return reply if is_ours and type(reply) is list and len(reply) == lines - 1 else None


def _unusual(connection: Any, socket: Any, answer: bytes, asked_s: float) -> list[int]:
    """An error, or a reply in pieces: all of them within the time that one may take, however small they are."""
    timeout_s = socket.gettimeout()
    try:
        while (numbers := _read(connection, answer)) is None:
            if timeout_s is not None:
                socket.settimeout(max(0.001, asked_s + timeout_s - monotonic()))
            more = socket.recv(_MOST_BYTES)
            if not more:
                raise RedisConnectionError("Connection closed by server.")
            answer += more
        return numbers
    finally:
        socket.settimeout(timeout_s)


def _read(connection: Any, answer: bytes) -> list[int] | None:
    """The numbers, once all have come; ValueError when it cannot be a reply of ours."""
    head, *lines = answer.split(b"\r\n")
    if head[:1] == b"-":
        if lines:
            raise _ERRORS.parse_error(head[1:].decode(errors="replace"))
        return None
    if head[:1] not in (b"*", b"") or len(lines) > int(head[1:] or 0) + 1:
        raise ValueError
    if len(lines) <= int(head[1:] or 0) or lines[-1]:
        return None
    return _numbers([int(line[1:]) if line[:1] == b":" else line for line in lines[:-1]])


def _numbers(reply: Any) -> list[int]:
    if isinstance(reply, list) and all(type(each) is int for each in reply):
        return reply
    raise InvalidResponse(f"no answer to our question: {str(reply)[:40]}")
