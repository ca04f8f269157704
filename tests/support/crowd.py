"""Eight processes that ask at the same moment."""

import subprocess
import sys

PROGRAM = """
import django, sys
from django.conf import settings
settings.RATEWINDOW["TIMEOUT"] = "5s"
django.setup()
from django.test import RequestFactory
from ratewindow import ratelimit
from ratewindow.models import RateRule
from tests.support.doors import behind_middleware, plain
from tests.support.histories import ALGORITHMS
seen = []
view = ratelimit("processes", "50/h", key="global")(plain(False, seen))
print("ready", flush=True)
sys.stdin.readline()
statuses = [view(RequestFactory().get("/")).status_code for _ in range(50)]
print(statuses.count(200), sum(request.ratewindow.reason == 'store' for request in seen))
"""


def admitted_by_eight_processes(environment: dict[str, str], program: str = PROGRAM) -> tuple[int, int]:
    """Of all requests of a program, or of 400 at a limit of fifty: how many were admitted, and how many decided without
    the store."""
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(8)
    ]
    try:
        for started in programs:
            assert started.stdout is not None
            assert started.stdout.readline() == "ready\n"
        for started in programs:
            assert started.stdin is not None
            started.stdin.write("go\n")
            started.stdin.flush()
        told = [tuple(map(int, started.communicate()[0].split())) for started in programs]
    finally:
        for started in programs:
            started.kill()
            started.wait()
    return sum(admitted for admitted, _ in told), sum(alone for _, alone in told)
