"""Every fault of a server, and of the way to it, that a site under traffic can be put through: one name each."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.faults import injectors
from tests.faults.injectors import OwnServer
from tests.faults.proxy import GARBAGE, NIL, SHORT, Proxy

Fault = Callable[[OwnServer, Proxy], AbstractContextManager[None]]


def _of_server(fault: Callable[[OwnServer], AbstractContextManager[None]]) -> Fault:
    return lambda server, proxy: fault(server)


FAULTS: dict[str, Fault] = {
    "not running, back empty": _of_server(injectors.stopped),
    "hung (SIGSTOP)": _of_server(injectors.hung),
    "asleep (DEBUG SLEEP)": _of_server(injectors.asleep),
    "paused (CLIENT PAUSE)": _of_server(injectors.paused),
    "a busy script of somebody else": _of_server(injectors.busy),
    "out of memory": _of_server(injectors.full),
    "demoted master": _of_server(injectors.demoted),
    "replica without its master": _of_server(injectors.without_master),
    "loading": _of_server(injectors.loading),
    "unable to save": _of_server(injectors.unable_to_save),
    "too few replicas": _of_server(injectors.without_replicas),
    "too many clients": _of_server(injectors.crowded),
    "password set": _of_server(injectors.locked),
    "right taken away": _of_server(injectors.without_right),
    "black hole": lambda server, proxy: proxy.black_hole(),
    "connections reset": lambda server, proxy: proxy.reset(),
    "turned away": lambda server, proxy: proxy.turned_away(),
    "lost replies": lambda server, proxy: proxy.lost_replies(),
    "slow drip": lambda server, proxy: proxy.drip(0.1),
    "late answers": lambda server, proxy: proxy.latency(2.0),
    "garbage": lambda server, proxy: proxy.answers(GARBAGE),
    "nil answers": lambda server, proxy: proxy.answers(NIL),
    "short answers": lambda server, proxy: proxy.answers(SHORT),
}
