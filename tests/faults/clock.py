"""A real server on a clock that a test can step."""

import contextlib
import time
from collections.abc import Iterator

import pytest

from tests.faults.injectors import OwnServer, own_server
from tests.support.server_clock import ServerClock, server_clock
from tests.support.servers import until

_TIME = "return redis.call('TIME')[1]"


class SteppedServer:
    """A server, and its clock."""

    def __init__(self, server: OwnServer, clock: ServerClock) -> None:
        self.server, self._clock = server, clock

    def step(self, offset_s: int) -> None:
        """From now on its clock is wrong by so much, in its scripts, too, which see one that is looked at now and then."""
        self._clock.step(offset_s * 1_000_000)
        with self.server.client() as client:
            until(lambda: abs(int(client.eval(_TIME, 0)) - time.time() - offset_s) < 2, "the server's clock did not step")


@contextlib.contextmanager
def stepped_server() -> Iterator[SteppedServer]:
    with pytest.MonkeyPatch.context() as environment, server_clock(environment) as clock:
        made = contextlib.ExitStack()
        server = made.enter_context(own_server())
        environment.undo()  # only the server, which has inherited it
        with made:
            yield SteppedServer(server, clock)
