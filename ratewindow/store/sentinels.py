"""redis-py's Sentinels, with an error that says in a few words what each Sentinel answered.

redis-py's own error takes a Sentinel that refuses us for a silent one and names its Python objects, and an answer that cannot
be read raises any exception.
"""

from typing import Any

import redis
from redis.asyncio.sentinel import MasterNotFoundError as AsyncMasterNotFoundError
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.exceptions import RedisError
from redis.sentinel import MasterNotFoundError, Sentinel

from ratewindow.limiter.redis import faults, insides
from ratewindow.limiter.redis.faults import BadReply

Address = tuple[str, int]


class Sentinels(Sentinel):
    """For threads."""

    def discover_master(self, service_name: str) -> Address:
        """The address of the master by the first Sentinel that knows it."""
        answers = _Answers(self, service_name)
        for sentinel in list(self.sentinels):
            try:
                address = answers.address_in(sentinel.sentinel_masters())
            except Exception as error:  # the next may know
                answers.failed(sentinel, error)
            else:
                answers.prefer(sentinel)
                return address
        raise answers.error(MasterNotFoundError)


class AsyncSentinels(AsyncSentinel):
    """For an event loop."""

    async def discover_master(self, service_name: str) -> Address:
        answers = _Answers(self, service_name)
        for sentinel in list(self.sentinels):
            try:
                address = answers.address_in(await sentinel.sentinel_masters())
            except Exception as error:
                answers.failed(sentinel, error)
            else:
                answers.prefer(sentinel)
                return address
        raise answers.error(AsyncMasterNotFoundError)


class _NoMaster(RedisError):
    """A Sentinel answers, but knows no master of that name that is up."""


class _Answers:
    """What the Sentinels answer about one master."""

    def __init__(self, manager: Any, service: str) -> None:
        self._manager, self._service = manager, service
        self._failures: list[tuple[str, Exception]] = []

    def address_in(self, masters: Any) -> Address:
        state = masters.get(self._service)
        if not state or not self._manager.check_master_state(state, self._service):
            raise _NoMaster("knows none that is up")
        host, port = insides.forced_master_ip(self._manager) or state["ip"], state["port"]
        if not isinstance(host, str) or not isinstance(port, int):
            raise BadReply("an answer that is not an address")
        return host, port

    def prefer(self, sentinel: Any) -> None:
        """Try this one first from now on."""
        known = self._manager.sentinels
        place = known.index(sentinel)
        known[0], known[place] = known[place], known[0]

    def failed(self, sentinel: Any, error: Exception) -> None:
        if not isinstance(error, RedisError | OSError):
            error = BadReply(f"an answer that cannot be read: {type(error).__name__}: {error}"[:200])
        options = sentinel.connection_pool.connection_kwargs
        self._failures.append((f"{options.get('host')}:{options.get('port')}", error))

    def error(self, not_found: type[redis.ConnectionError]) -> RedisError:
        """The error to raise: of the class of a refusal or of a bad reply, unless a Sentinel knows that there is no master."""
        described = "; ".join(f"{place} {_in_words(error)}" for place, error in self._failures)
        message = f"no Sentinel names a master {self._service!r}: {described}"
        if not any(isinstance(error, _NoMaster) for _, error in self._failures):
            for _, error in self._failures:
                if isinstance(error, RedisError) and faults.of(error).name not in _SILENCE:
                    return type(error)(message)
        return not_found(message)


_SILENCE = ("timeout", "connection")


def _in_words(error: Exception) -> str:
    name = faults.of(error).name
    return name if name in _SILENCE and not isinstance(error, _NoMaster) else str(error)
