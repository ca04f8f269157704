"""Each customer of four sites gets exactly its own rate, from two processes at once, and a new plan acts within its time."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

HOUR, DAY = 3600, 86_400
OWN = {HOUR: 2}  # of the rules, for customers whose plan says nothing
# Of each site: what may stand in its column, with the limits by period that it means.
PLANS: dict[str, list[tuple[Any, dict[int, int]]]] = {
    "archive": [("free", OWN), ("tier 1", {HOUR: 3}), ("tier 2", {HOUR: 5, DAY: 8}), ("tier 3", {HOUR: 9})],
    "messaging": [({}, OWN), ({"v2": "99/h"}, OWN), ({"v2.contacts": "4/hour"}, {HOUR: 4}), ({"v2.contacts": "7/d"}, {DAY: 7})],
    "projects": [("", OWN), ("6/hour", {HOUR: 6}), ("0/h", {HOUR: 0}), ("1/h; 9/d", {HOUR: 1, DAY: 9})],
    "chat": [("", OWN), ("3600:5", {HOUR: 5}), ("3600:8,86400:6", {HOUR: 8, DAY: 6}), ("86400:3", {DAY: 3})],
}
CACHED_S = {"archive": 60, "projects": 300}
HISTORIES = 1000


class Processes:
    """Two processes of the sites, which are asked at the same time."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._both = []
        for argument in ("first", "second"):
            command = [sys.executable, "-m", "tests.sites.by_plan.worker", argument]
            started = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._both.append(started)
            assert started.stdout is not None and started.stdout.readline() == "ready\n"

    def do(self, *acts: list[list[Any]]) -> list[list[Any]]:
        """What came of the acts of each process; both begin before either is waited for."""
        for process, those in zip(self._both, acts, strict=True):
            assert process.stdin is not None
            process.stdin.write(f"{json.dumps(those)}\n")
            process.stdin.flush()
        return [json.loads(process.stdout.readline()) for process in self._both if process.stdout is not None]

    def end(self) -> None:
        for process in self._both:
            process.communicate(timeout=30)


@pytest.fixture
def processes(program_environment: dict[str, str], tmp_path: Path) -> Iterator[Processes]:
    site = {"DJANGO_SETTINGS_MODULE": "tests.sites.by_plan.settings", "TESTPROJECT_DATABASE": str(tmp_path / "db.sqlite3")}
    both = Processes({**os.environ, **program_environment, **site})
    yield both
    both.end()


class Customer:
    """What a customer should get: a request passes if each limit of its plan has room, and is counted by each."""

    def __init__(self, name: str) -> None:
        self.name, self.limits, self._counted = name, OWN, Counter[int]()

    def passes(self, requests: int) -> int:
        passed = min(requests, *(max(0, limit - self._counted[period]) for period, limit in self.limits.items()))
        for period in self.limits:
            self._counted[period] += passed
        return passed


def test_each_customer_gets_exactly_its_rate_in_a_thousand_histories(processes: Processes) -> None:
    chance, numbers = random.Random(22), count(1)
    for _ in range(HISTORIES):
        site = chance.choice([*PLANS])
        customers = [Customer(str(next(numbers))) for _ in range(chance.randint(1, 3))]
        for _ in range(chance.randint(1, 3)):
            changes = []
            for customer in customers:
                if chance.random() < 0.7:
                    plan, customer.limits = chance.choice(PLANS[site])
                    changes.append(["plan", site, customer.name, plan])
            later = [["later", CACHED_S[site]]] if site in CACHED_S else []
            processes.do([*changes, *later], later)
            asks = [[["ask", site, chance.choice(customers).name] for _ in range(chance.randint(0, 8))] for _ in range(2)]
            answers = processes.do(*asks)
            for customer in customers:
                got = [
                    status
                    for those, told in zip(asks, answers, strict=True)
                    for ask, status in zip(those, told, strict=True)
                    if ask[2] == customer.name
                ]
                assert got.count(200) == customer.passes(len(got)), (site, customer.name, got)
                assert got.count(200) + got.count(429) == len(got)


def test_a_plan_that_is_remembered_acts_only_once_its_time_is_over(processes: Processes) -> None:
    ask = ["ask", "archive", "7"]
    assert processes.do([ask] * 3, []) == [[200, 200, 429], []]
    processes.do([["plan", "archive", "7", "tier 1"], ["later", 20]], [])
    assert processes.do([ask], [ask]) == [[429], [200]]  # the other process asks for the first time
    assert processes.do([["plan", "archive", "7", "tier 3"], ["later", 60], *[ask] * 7], []) == [[200] * 6 + [429], []]
