"""What is told where no Sentinel names a master: who said what, in the class of what is wrong."""

import asyncio
import contextlib
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import override_settings
from redis.exceptions import RedisError

from ratewindow.limiter.redis import faults
from ratewindow.store import process_clients
from tests.faults.proxy import proxied
from tests.support.servers import SERVICE, Watched

NOAUTH = b"-NOAUTH Authentication required.\r\n"
NOPERM = b"-NOPERM this user has no permissions to run the 'sentinel|masters' command\r\n"
NONE = b"*0\r\n"
NUMBER = b":5\r\n"
GARBAGE = b"*1\r\n*3\r\n$4\r\nname\r\n:5\r\n$-1\r\n"
HALF = b"*1\r\n*4\r\n$4\r\nname\r\n$6\r\nlimits\r\n$5\r\nflags\r\n$6\r\nmaster\r\n"

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@contextlib.contextmanager
def sentinels(redis_url: str, *answers: bytes | None) -> Iterator[str]:
    """So many, of which each answers so, or not at all; their address for a site."""
    with contextlib.ExitStack() as stack:
        ports = []
        for answer in answers:
            proxy = stack.enter_context(proxied(urlsplit(redis_url).port or 6379))
            stack.enter_context(proxy.turned_away() if answer is None else proxy.answers(answer))
            ports.append(proxy.port)
        yield f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in ports)}/{SERVICE}/0"


def told_at(url: str, is_async: bool) -> RedisError:
    async def ask() -> None:
        client = process_clients.async_client()
        try:
            await client.get("rw:token")
        finally:
            await process_clients.aclose(client)

    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url}), pytest.raises(RedisError) as told:
        _ = asyncio.run(ask()) if is_async else process_clients.client().get("rw:token")
    process_clients.close()
    return told.value


@is_async
@pytest.mark.parametrize(
    ("answers", "fault", "words"),
    [
        ([None, None], "sentinel", ["connection", "connection"]),
        ([NONE, NONE], "sentinel", ["knows none that is up", "knows none that is up"]),
        ([NOAUTH, NOAUTH], "auth", ["Authentication required.", "Authentication required."]),
        ([None, NOAUTH], "auth", ["connection", "Authentication required."]),
        ([NOPERM], "noperm", ["no permissions"]),
        ([NOAUTH, NONE], "sentinel", ["Authentication required.", "knows none that is up"]),
        ([NUMBER], "protocol", ["an answer that cannot be read: "]),
        ([GARBAGE], "protocol", ["an answer that cannot be read: "]),
        ([HALF], "protocol", ["an answer that cannot be read: "]),
    ],
)
def test_who_said_what_is_told_by_host_and_port_in_the_class_of_what_is_wrong(
    is_async: bool, answers: list[bytes | None], fault: str, words: list[str], redis_url: str
) -> None:
    with sentinels(redis_url, *answers) as url:
        error = told_at(url, is_async)
    assert faults.of(error) == (fault, faults.Concerns.SERVER)
    said = str(error).removeprefix(f"no Sentinel names a master '{SERVICE}': ").split("; ")
    ports = url.removeprefix("redis+sentinel://").partition("/")[0].split(",")
    assert sorted(part.partition(" ")[0] for part in said) == sorted(ports)
    assert all(any(word in part for part in said) for word in words)
    assert "<" not in str(error)


@is_async
def test_one_that_answers_nonsense_or_refuses_us_does_not_keep_the_next_from_being_asked(
    is_async: bool, redis_url: str, watched: Watched
) -> None:
    async def aget(times: int) -> None:
        client = process_clients.async_client()
        try:
            for _ in range(times):
                assert await client.get("rw:token") is None
        finally:
            await process_clients.aclose(client)

    with sentinels(redis_url, GARBAGE, NOAUTH) as broken:
        nodes = f"{broken.rpartition('://')[2].partition('/')[0]},127.0.0.1:{watched.sentinels[0]}"
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": f"redis+sentinel://{nodes}/{SERVICE}/0"}):
            if is_async:
                asyncio.run(aget(2))
            else:
                assert process_clients.client().get("rw:token") is None
                first = process_clients.client().connection_pool.sentinel_manager.sentinels[0]  # type: ignore[attr-defined]
                assert first.connection_pool.connection_kwargs["port"] == watched.sentinels[0]
        process_clients.close()
