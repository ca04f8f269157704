"""``make demo``: the demo site with all its parts, in the foreground; at its end nothing of it is left.

Redis, two web workers, a Celery worker and its scheduler; a temporary directory holds the database and logs.
"""

import argparse
import contextlib
import errno
import http.client
import os
import socket
import sys
import tempfile
import time
from pathlib import Path

from testproject import running_demo
from testproject.programs import Programs
from testproject.redis_server import redis_server
from testproject.stop_signals import Stopped, StopSignals
from testproject.traffic import visit

ANSWER_TIMEOUT_S = 60.0
CHECKOUT = Path(__file__).resolve().parent.parent

READY = """
The demo is ready, after {seconds:.1f} s.

  Site     {site}/
  Admin    {site}/admin/   user admin, password admin
  Rules    {site}/admin/ratewindow/raterule/
  Report   {site}/admin/ratewindow/throttlestat/

Try

  1. A page limited to 5 a minute: five answers 200, then 429 with Retry-After.
       for i in 1 2 3 4 5 6; do curl -s -o /dev/null -w '%{{http_code}} ' {site}/limited/; done; echo
       curl -i {site}/limited/
  2. Raise the limit of the rule demo.limited to 8 in the admin: a second later three more pass.
  3. What 10 a second would have refused of any site's access log:
       {python} manage.py ratewindow backtest access.log --rates 10/s
  4. The report, which counts all of that as it happens.
  5. Commands: while the demo runs, manage.py here uses its database and its Redis.
       {python} manage.py ratewindow rules
  6. An emergency, while you look at the report: everybody, proxy, customer or guesser.
       {python} -m testproject.scenes everybody --port {port}

Logs are in {logs}. Ctrl-C ends everything.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m testproject.demo")
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    stop_signals = StopSignals()
    try:
        _claim(port)
        _run(port, stop_signals)
    except Stopped:
        print("The demo has ended.", flush=True)
        return 0
    except (RuntimeError, OSError) as error:
        print(f"The demo ended: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def _claim(port: int) -> None:
    """Raise RuntimeError if the port cannot be used, before the web server fails."""
    if not 1 <= port <= 65535:
        raise RuntimeError(f"{port} is not a port: choose one from 1 to 65535, such as make demo PORT=8001.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            problem = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise RuntimeError(f"port {port} {problem}: choose another, such as make demo PORT={port % 65535 + 1}.") from None


def _run(port: int, stop_signals: StopSignals) -> None:
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ratewindow-demo-", ignore_cleanup_errors=True)))
        redis_url = stack.enter_context(redis_server())
        environment = _environment(redis_url, folder)
        programs = stack.enter_context(Programs(environment, folder, stop_signals.check))
        print(f"Redis at {redis_url}. Making the database ...", flush=True)
        programs.run("example-data", sys.executable, "-m", "testproject.example_data")
        stack.enter_context(running_demo.announced(environment))
        _start(programs, port, folder)
        _wait_for_answer(port, programs)
        print("The site answers. Sending a little traffic ...", flush=True)
        visit(port, programs.watch)
        site, seconds = f"http://127.0.0.1:{port}", time.monotonic() - started
        print(READY.format(site=site, port=port, logs=folder, python=_python(), seconds=seconds), flush=True)
        while True:
            programs.watch()
            time.sleep(0.1)


def _python() -> str:
    """This interpreter as a person would type it here."""
    here, python = Path.cwd(), Path(sys.executable)
    return str(python.relative_to(here) if python.is_relative_to(here) else python)


def _environment(redis_url: str, folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "testproject.settings",
        "PYTHONPATH": str(CHECKOUT),
        "RATEWINDOW_REDIS_URL": redis_url,
        "RATEWINDOW_TRUSTED_PROXIES": "127.0.0.1/32",  # so that clients can be named by X-Forwarded-For
        "TESTPROJECT_DATABASE": str(folder / "db.sqlite3"),
    }


def _start(programs: Programs, port: int, folder: Path) -> None:
    python, celery = sys.executable, ("-m", "celery", "-A", "testproject.celery")
    programs.start("web", python, "-m", "gunicorn", "testproject.wsgi", "--bind", f"127.0.0.1:{port}", "--workers", "2",
                   "--no-control-socket", "--worker-tmp-dir", str(folder), "--graceful-timeout", "2")  # fmt: skip
    programs.start("worker", python, *celery, "worker", "--concurrency", "1", "--loglevel", "INFO", "--without-gossip",
                   "--without-mingle", "--without-heartbeat")  # fmt: skip
    programs.start("beat", python, *celery, "beat", "--loglevel", "INFO", "--schedule", str(folder / "beat"), "--pidfile", "")


def _wait_for_answer(port: int, programs: Programs) -> None:
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while time.monotonic() < deadline:
        programs.watch()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/admin/login/")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the site did not answer within {ANSWER_TIMEOUT_S:.0f} s.")


if __name__ == "__main__":
    sys.exit(main())
