"""``python -m testproject.scenes NAME``: one of four emergencies in the running demo, for somebody who looks at the report.

everybody: an edit makes a rule refuse all visitors; proxy: visitors come through a proxy that is not trusted; customer: the
program of a paying customer exceeds the limit of the API; guesser: one address tries passwords. It goes on until Ctrl-C.
"""

import argparse
import contextlib
import http.client
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from testproject import running_demo
from testproject.traffic import FORM

RULE, CUSTOMER, GUESSER, PROXY = "oops", "customer", "203.0.113.66", "127.0.0.2"
VISITORS = [f"198.18.{number}.7" for number in range(60)]
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Firefox/146.0"
PAUSE_S = 0.05  # between two requests
SENDERS = 2  # at once: the server takes its time for a password


class Sent(NamedTuple):
    """One request: its client, as a trusted proxy would name it, what it asks for, and the address that it comes from."""

    client: str
    path: str
    method: str = "GET"
    body: str | None = None
    headers: Mapping[str, str] = MappingProxyType({})
    source: str = "127.0.0.1"


def _visits() -> Iterator[Sent]:
    paths = itertools.cycle(("/", "/api/orders/"))
    return map(Sent, itertools.cycle(VISITORS), paths)


def everybody() -> Iterator[Sent]:
    return _visits()


def proxy() -> Iterator[Sent]:
    numbers = itertools.cycle(range(1, 21))
    return (Sent(visit.client, f"/api/orders/{number}/", source=PROXY) for visit, number in zip(_visits(), numbers, strict=False))


def customer() -> Iterator[Sent]:
    """Three of its requests for one of somebody else."""
    headers = {"User-Agent": "orders-sync/2.4", "Cookie": os.environ.get("TESTPROJECT_SESSION", "")}
    for number, visit in enumerate(_visits()):
        yield Sent("203.0.113.9", f"/api/orders/{number % 20 + 1}/", headers=headers) if number % 4 else visit


def guesser() -> Iterator[Sent]:
    headers = {**FORM, "User-Agent": "curl/8.5"}
    for number, visit in enumerate(_visits()):
        body = f"username=user{number % 30}&password=letmein"
        yield Sent(GUESSER, "/login/", "POST", body, headers) if number % 4 else visit


SCENES: Mapping[str, Callable[[], Iterator[Sent]]] = {each.__name__: each for each in (everybody, proxy, customer, guesser)}


def prepare(name: str) -> None:
    """What people have done before: an edit of a rule, or the login of a customer."""
    from django.contrib.auth import get_user_model

    from ratewindow.models import RateRule, origin

    users: Any = get_user_model().objects
    if name == "everybody":
        root, _ = users.get_or_create(username="root", defaults={"is_staff": True})
        with origin.edits("admin", user=root, reason="less load"):
            RateRule.objects.define(RULE, "5/m", applies_to="all", key="global", mode="enforce", overwrite=True)
    elif name == "customer":
        os.environ["TESTPROJECT_SESSION"] = _session_of(users.get_or_create(username=CUSTOMER)[0])


def _session_of(user: Any) -> str:
    """The cookie of a browser in which the user is logged in."""
    from django.test import Client

    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return f"sessionid={client.cookies['sessionid'].value}"


def send(sent: Sent, host: str, port: int) -> int:
    """Send one request; returns the status of its answer."""
    connection = http.client.HTTPConnection(host, port, timeout=30, source_address=(sent.source, 0))
    with contextlib.closing(connection):
        headers = {"User-Agent": BROWSER, **sent.headers, "X-Forwarded-For": sent.client}
        connection.request(sent.method, sent.path, sent.body, headers)
        with connection.getresponse() as response:
            response.read()
            return response.status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m testproject.scenes")
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    os.environ.update(running_demo.environment())
    os.environ["DJANGO_SETTINGS_MODULE"] = "testproject.settings"
    import django

    django.setup()
    prepare(options.scene)
    print(f"Look at http://127.0.0.1:{options.port}/admin/ratewindow/throttlestat/. Ctrl-C ends the scene.", flush=True)
    senders = [threading.Thread(target=_play, args=[options.scene, options.port], daemon=True) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    with contextlib.suppress(KeyboardInterrupt):
        for sender in senders:
            sender.join()


def _play(name: str, port: int) -> None:
    for sent in SCENES[name]():
        send(sent, "127.0.0.1", port)
        time.sleep(SENDERS * PAUSE_S)


if __name__ == "__main__":
    main()
