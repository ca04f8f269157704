"""Exactly the limit is admitted, however many ask at the same moment."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings

from ratewindow import ratelimit
from ratewindow.models import RateRule
from tests.support.crowd import admitted_by_eight_processes
from tests.support.doors import behind_middleware, plain
from tests.support.histories import ALGORITHMS


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


@pytest.mark.django_db(transaction=True)
def test_a_rule_whose_algorithm_is_edited_under_load_admits_one_limit_more_each_time_and_never_fails() -> None:
    """From its row, through the rulebook and the gate, in eight threads that do not pause while it is edited."""
    used_up, done = {name: Event() for name in ALGORITHMS}, Event()
    told: list[tuple[str, str, str, int]] = []
    view = behind_middleware(plain(False))

    def hammer() -> None:
        while not done.is_set():
            request: Any = RequestFactory().get("/")
            status, decision = view(request).status_code, request.ratewindow
            answers = decision.deciding.windows if decision.deciding is not None else ()
            algorithm = answers[0].window.algorithm if answers else "none"
            told.append((algorithm, decision.rule, decision.reason, status))
            if status == 429:
                used_up[algorithm].set()

    rule, _ = RateRule.objects.define("changing", "20/d", path="/", key="global", mode="enforce")
    with ThreadPoolExecutor(8) as pool:
        hammering = [pool.submit(hammer) for _ in range(8)]
        try:
            for algorithm in ALGORITHMS:
                window = rule.windows.get()
                window.algorithm, window.burst = algorithm, 20 if algorithm.endswith("bucket") else None
                window.save()
                assert used_up[algorithm].wait(30), f"{algorithm} refuses nobody"
        finally:
            done.set()
        for each in hammering:
            each.result()
    assert {each[1:] for each in told} == {("changing", "", 200), ("changing", "limit", 429)}
    assert Counter(algorithm for algorithm, *_, status in told if status == 200) == dict.fromkeys(ALGORITHMS, 20)


async def test_two_hundred_asyncio_tasks_at_a_limit_of_fifty_admit_fifty() -> None:
    seen: list[object] = []
    view = ratelimit("tasks", "50/h", key="global")(plain(True, seen))
    answers = await asyncio.gather(*(view(RequestFactory().get("/")) for _ in range(200)))
    assert sum(each.status_code == 200 for each in answers) == 50
    assert not [request for request in seen if request.ratewindow.reason]  # type: ignore[attr-defined]


@pytest.mark.long
def test_eight_processes_at_a_limit_of_fifty_admit_fifty(program_environment: dict[str, str]) -> None:
    assert admitted_by_eight_processes(program_environment) == (50, 0)
