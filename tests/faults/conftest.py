"""A site whose Redis can be harmed: a server of its own, and a proxy in front of it."""

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from tests.faults.injectors import OwnServer, own_server
from tests.faults.proxy import Proxy, proxied
from tests.faults.site import Visitor, settle


@pytest.fixture
def server() -> Iterator[OwnServer]:
    with own_server() as server:
        yield server


@pytest.fixture
def proxy(server: OwnServer) -> Iterator[Proxy]:
    with proxied(server.port) as proxy:
        yield proxy


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def visitor(request: pytest.FixtureRequest) -> Iterator[Visitor]:
    gc.freeze()
    with asyncio.Runner() as runner:
        yield Visitor(request.param, runner)
        gc.collect()  # stores of sites that are over; among what the test has made, not among eleven thousand tests
        gc.unfreeze()
        runner.run(settle())


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[list[str]]]:
    """What this process does on sockets of the network meanwhile, by name."""

    @contextmanager
    def watch() -> Iterator[list[str]]:
        seen: list[str] = []
        with monkeypatch.context() as patched:
            for name in ("connect", "connect_ex", "send", "sendall", "recv", "recv_into"):
                patched.setattr(socket.socket, name, _noting(name, getattr(socket.socket, name), seen))
            yield seen

    return watch


def _noting(name: str, do: Callable[..., Any], seen: list[str]) -> Callable[..., Any]:
    def noting(self: socket.socket, *arguments: Any) -> Any:
        if self.family == socket.AF_INET and threading.current_thread() is threading.main_thread():  # not the proxy's
            seen.append(name)
        return do(self, *arguments)

    return noting
