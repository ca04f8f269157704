"""Exactly the limit is admitted, however many ask at the same moment."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings

from ratewindow import ratelimit
from tests.doors import plain


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    """A busy machine's hiccup must not admit one more, as failing open rightly would."""
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "TIMEOUT": "5s"}):
        yield


def test_sixteen_threads_at_a_limit_of_fifty_admit_fifty() -> None:
    seen: list[object] = []
    view = ratelimit("threads", "50/h", key="global")(plain(False, seen))

    def ask(_: int) -> list[int]:
        return [view(RequestFactory().get("/")).status_code for _ in range(25)]

    with ThreadPoolExecutor(16) as pool:
        answers = [status for statuses in pool.map(ask, range(16)) for status in statuses]
    assert (answers.count(200), answers.count(429)) == (50, 350)
    assert not [request for request in seen if request.ratewindow.reason]  # type: ignore[attr-defined]


async def test_two_hundred_asyncio_tasks_at_a_limit_of_fifty_admit_fifty() -> None:
    seen: list[object] = []
    view = ratelimit("tasks", "50/h", key="global")(plain(True, seen))
    answers = await asyncio.gather(*(view(RequestFactory().get("/")) for _ in range(200)))
    assert sum(each.status_code == 200 for each in answers) == 50
    assert not [request for request in seen if request.ratewindow.reason]  # type: ignore[attr-defined]


PROGRAM = """
import django, sys
from django.conf import settings
settings.RATEWINDOW["TIMEOUT"] = "5s"
django.setup()
from django.test import RequestFactory
from ratewindow import ratelimit
from tests.doors import plain
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


def test_eight_processes_at_a_limit_of_fifty_admit_fifty(program_environment: dict[str, str]) -> None:
    assert admitted_by_eight_processes(program_environment) == (50, 0)
