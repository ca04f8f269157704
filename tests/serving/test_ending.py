"""The end of a server: nothing that was counted in its last second is lost."""

import signal

import pytest

from tests.serving.fixtures import elsewhere, kinds
from tests.serving.servers import KINDS, MORE_KINDS, Place, new_address

pytestmark = pytest.mark.slow


DIES = {"waitress", "granian-wsgi"}  # by SIGTERM, without running what Python does at its end


@pytest.mark.parametrize("kind", kinds(*(kind for kind in (*KINDS, *MORE_KINDS) if kind not in DIES)))
def test_a_server_that_is_asked_to_end_has_sent_every_count(served_place: Place, kind: str) -> None:
    served = served_place.serve(kind)
    told = served.statuses("/pipelined/", 30)
    assert (told.count(200), told.count(429)) == (5, 25)
    served.end()
    assert served_place.counted()["pipelined"][:2] == (5, 25)
    assert "could not be sent" not in served.said()


@pytest.mark.parametrize("kind", ["sync", elsewhere("gevent"), elsewhere("asgi")])
def test_workers_that_are_replaced_have_sent_every_count(served_place: Place, kind: str) -> None:
    served = served_place.serve(kind)
    before = set(served.workers())
    client = new_address()
    served.statuses("/pipelined/", 30, client)
    served.signal(signal.SIGHUP)
    served.wait_for_workers_beside(before)
    served.statuses("/pipelined/", 10, client)
    served.end()
    assert served_place.counted()["pipelined"][:2] == (5, 35)
