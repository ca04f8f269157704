"""The connections of this process's threads to one server, and a call over one of them: a packed command goes out, whole
numbers come back."""

import os
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, TypeVar

from redis import cluster
from redis.connection import DefaultParser
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError as RedisTimeoutError,
)
from redis.utils import HIREDIS_AVAILABLE

from ratewindow.limiter.redis import insides
from ratewindow.limiter.redis.commands import Call, ServerClock, Words, packed
from ratewindow.limiter.redis.faults import BadReply, numbers, without_scripts
from ratewindow.limiter.redis.thread_deadline import limit_of, limited, running, shortened, untimed

if HIREDIS_AVAILABLE:
    import hiredis

Answer = TypeVar("Answer")

IDLE_S = 0.1  # a connection that rested longer is looked at before it is used: the server may have closed it

_ASKING = packed(["ASKING"])
_MOST_BYTES = 65_536  # of one reading
_SHORT_BYTES = 80  # as that of one window: it is split sooner than hiredis has made a reader
_PARSER: Any = getattr(cluster, "ClusterParser", DefaultParser)  # before redis-py 6 a cluster's errors were known to its own
_ERRORS = _PARSER(socket_read_size=1)
_HEADS = {b"*%d" % count: count for count in range(1, 257)}


class Server:
    """A server as the threads of this process call it, each on a connection of its own, without the client around it: what
    that does takes as long as the call. Nothing is repeated: a call whose answer was lost may have counted. Where the
    connections are `timed`, their timeout is that of an exchange as a whole, connecting included.

    They are made as those of `like`, a client's pool, and kept here instead: a pool gives out a certain number, and these would
    be missing there.
    """

    def __init__(self, like: Any, clock: ServerClock | None = None) -> None:
        self._like = like
        self.clock = clock or ServerClock()
        self._idle: list[tuple[Any, float]] = []  # pop and append are atomic: no lock
        self._pid = os.getpid()
        self.limit_s = limit_of(like)

    def exchange(self, command: bytes, parts: int, now_s: float) -> list[int]:
        """The numbers that are answered to a packed command, so many `parts`; what usually happens in few steps."""
        try:
            connection, used_s = self._idle.pop()
        except IndexError:
            return self._carefully(lambda connection: exchange(connection, command, parts))
        if now_s - used_s > IDLE_S or self._pid != os.getpid() or running.until_s:  # the last: some of the time is gone
            self._idle.append((connection, used_s))
            return self._carefully(lambda connection: exchange(connection, command, parts))
        try:
            reply = exchange(connection, command, parts)
        except BaseException as error:
            self._failed(connection, now_s, error)
            raise
        self._idle.append((connection, now_s))
        return reply

    def call(self, call: Call, asking: bool = False, since_s: float | None = None) -> list[int]:
        """The numbers that a script answers. A slot on its way to this server must be `asking` for."""

        def ask(words: Words) -> list[int]:
            return self._carefully(lambda connection: exchange(connection, packed(words), call.parts), asking)

        def ask_twice(call: Call) -> list[int]:
            try:
                return ask(call.by_sha())
            except NoScriptError:  # a server that was restarted, or whose scripts were flushed
                return ask(call.in_full())

        with limited(self.limit_s, since_s):
            timed = self.clock.timed(call)
            try:
                return ask_twice(timed)
            except ResponseError as error:
                if self.clock.may_be_refused(error) and timed.at:
                    self._ask_for_time()
                    if self.clock.is_hosts:
                        return ask_twice(self.clock.timed(call))
                if named := without_scripts(error):
                    raise named from error
                raise

    def _ask_for_time(self) -> None:
        if self.clock.is_known:  # by another thread's call
            return
        try:
            self.clock.learn(self.command(*self.clock.PROBE))
        except ResponseError as error:
            self.clock.learn(error)

    def begin(self, call: Call) -> Callable[[], list[int]]:
        """Send a call now; the function that is returned, which must be called, reads its answer."""
        now_s = monotonic()
        connection = self._connection(now_s)
        try:
            connection.send_packed_command([packed(self.clock.timed(call).by_sha())], check_health=False)
        except BaseException as error:
            self._failed(connection, now_s, error)
            raise

        def end() -> list[int]:
            return self._over(connection, now_s, lambda connection: numbers(_read(connection), call.parts), asking=False)

        return end

    def command(self, *words: str | int, asking: bool = False) -> Any:
        """What the server answers to any other command."""

        def ask(connection: Any) -> Any:
            connection.send_packed_command([packed(list(words))], check_health=False)
            return _read(connection)

        return self._carefully(ask, asking)

    def close(self) -> None:
        """Close the connections; the next call opens a new one."""
        while self._idle:
            self._idle.pop()[0].disconnect()

    def _carefully(self, ask: Callable[[Any], Answer], asking: bool = False) -> Answer:
        """What `ask` finds on a connection that may first have to be opened, all within what is left of the limit."""
        now_s = monotonic()
        with limited(self.limit_s):
            return self._over(self._connection(now_s), now_s, ask, asking)

    def _over(self, connection: Any, now_s: float, ask: Callable[[Any], Answer], asking: bool) -> Answer:
        try:
            with shortened(connection):
                if asking:
                    connection.send_packed_command([_ASKING], check_health=False)
                    connection.read_response()
                reply = ask(connection)
        except BaseException as error:
            self._failed(connection, now_s, error)
            raise
        self._idle.append((connection, now_s))
        return reply

    def _failed(self, connection: Any, now_s: float, error: BaseException) -> None:
        """An error that the server answered leaves nothing on the line. After any other an answer may still come, and
        must not be taken for that of the next call."""
        if isinstance(error, ResponseError) and not isinstance(error, ReadOnlyError):
            self._idle.append((connection, now_s))
            return
        connection.disconnect()
        # What has cut this line, or made it silent, has most likely done so to the others; and behind the address of
        # a former master there may be another server by now.
        self.close()

    def _connection(self, now_s: float) -> Any:
        if self._pid != os.getpid():
            self._idle, self._pid = [], os.getpid()  # those of the parent are the parent's
        try:
            connection, used_s = self._idle.pop()
        except IndexError:
            connection = self._like.connection_class(**_options(self._like.connection_kwargs))
            connection.connect()
        else:
            if now_s - used_s <= IDLE_S:
                return connection
            if _is_closed(connection):
                connection.disconnect()
                try:
                    connection.connect()  # sending would, too, but without asking the Sentinels where to
                except BaseException:
                    connection.disconnect()
                    raise
        untimed(connection)
        return connection


def _options(of_client: Mapping[str, Any]) -> dict[str, Any]:
    """A client's options of connections, in version 2 of the protocol, which `exchange` reads without redis-py's parser.

    In version 3, redis-py's default from its version 8 on, a server may send messages in between: of these only its
    announcements of maintenance are used, for which a pool that moves its connections is needed.
    """
    kept = {name: value for name, value in of_client.items() if "maint_notifications" not in name}
    return {**kept, "protocol": 2}


def exchange(connection: Any, command: bytes, parts: int) -> list[int]:
    """The numbers, so many `parts`, that are answered to a packed command, or an exception as redis-py has them. After any
    but a ResponseError more may come that belongs to this command: the connection must not be used again.

    What a client and its parser do around that takes longer than the server's decision. Here the command is handed to the
    socket, and the reply, an array of whole numbers or an error, is usually one reading, and read at once.
    """
    socket: Any = getattr(connection, insides.SOCKET, None)
    receive = getattr(socket, "recv", None)  # fakeredis has none
    if receive is None:
        connection.send_packed_command([command], check_health=False)
        return numbers(_read(connection), parts)
    try:
        asked_s = monotonic()
        socket.sendall(command)
        answer = receive(_MOST_BYTES)
        if len(answer) > _SHORT_BYTES and (reply := _parsed(answer, parts)) is not None:
            return reply
        head, *lines = answer.split(b"\r\n:")
        if _HEADS.get(head) == len(lines) == parts and answer.endswith(b"\r\n"):
            return list(map(int, lines))
        return numbers(_unusual(socket, answer, asked_s), parts)
    except TimeoutError:
        raise RedisTimeoutError("Timeout on the way to Redis and back") from None
    except OSError as error:
        raise RedisConnectionError(f"Error on the way to Redis and back: {error}") from error
    except ValueError:
        raise BadReply(f"no answer to our question: {answer[:40]!r}") from None


def _parsed(answer: bytes, parts: int) -> list[int] | None:
    """The numbers of an answer that is one whole array of so many, and nothing else, in half the time of a split."""
    if not HIREDIS_AVAILABLE:
        return None
    reader = hiredis.Reader()  # a new one: it holds nothing of another answer
    reader.feed(answer)
    try:
        reply = reader.gets()
    except hiredis.ProtocolError:
        return None
    # Every line but the first has a number of the array, and nothing comes behind.
    is_ours = answer.count(b"\r\n") - 1 == answer.count(b"\r\n:") == parts and answer.endswith(b"\r\n")
    return reply if is_ours and type(reply) is list and len(reply) == parts else None


def _unusual(socket: Any, answer: bytes, asked_s: float) -> Any:
    """An error, or a reply in pieces: all of them within the time that one may take, however small they are."""
    timeout_s = socket.gettimeout()
    try:
        while (reply := _whole(answer)) is None:
            if timeout_s is not None:
                socket.settimeout(max(0.001, asked_s + timeout_s - monotonic()))
            more = socket.recv(_MOST_BYTES)
            if not more:
                raise RedisConnectionError("Connection closed by server.")
            answer += more
        return reply
    finally:
        socket.settimeout(timeout_s)


def _whole(answer: bytes) -> list[Any] | None:
    """The reply, once all of it has come; ValueError when it cannot be one of ours."""
    head, *lines = answer.split(b"\r\n")
    if head[:1] == b"-":
        if lines:
            raise _ERRORS.parse_error(head[1:].decode(errors="replace"))
        return None
    if head[:1] not in (b"*", b"") or len(lines) > int(head[1:] or 0) + 1:
        raise ValueError
    if len(lines) <= int(head[1:] or 0) or lines[-1]:
        return None
    return [int(line[1:]) if line[:1] == b":" else line for line in lines[:-1]]


def _read(connection: Any) -> Any:
    try:
        return connection.read_response()
    except Exception as error:
        if isinstance(error, RedisError | OSError):
            raise
        raise BadReply(f"no answer that can be read: {type(error).__name__}: {error}") from error


def _is_closed(connection: Any) -> bool:
    """Whether there is something to read before any command: the end of the connection."""
    try:
        return bool(connection.can_read(timeout=0))
    except (RedisError, OSError):
        return True
