"""Tasks for the tests of Celery: one counts, as any task that asks a limiter; others begin their work, and come to no end."""

import os
import time
from collections.abc import Callable
from typing import Any

from celery import shared_task

import ratewindow
from ratewindow.counting import collecting, minutes
from ratewindow.counting.counters import counters
from ratewindow.limiter.types import RuleDecision
from ratewindow.store import process_clients

STEPS = {
    "the minutes of clients are stored": (collecting, "store_sums"),
    "all rows are stored": (minutes, "settle"),
    "minutes have left Redis": (collecting, "_prune"),
}
"""After what a collection can be killed, and what it would do next."""


@shared_task(ignore_result=True)
def count(rule: str) -> None:
    counters.record([RuleDecision(rule=rule)])
    process_clients.patient_client().set("counted", rule, ex=60)


@shared_task(ignore_result=True)
def tell_limit(rule: str) -> None:
    """The limit that this process obeys, told in a list for the test to read."""
    decision = ratewindow.hit(rule, "ip:203.0.113.9")
    process_clients.patient_client().rpush("limits", f"{os.getpid()} {decision.limit}")


@shared_task(ignore_result=True)
def collect_and_hang(step: str) -> None:
    """The collection up to the end of one step, at which its process can be killed."""
    _up_to(*STEPS[step], collecting.collect_stats)


def _up_to(owner: Any, name: str, work: Callable[[], object]) -> None:
    def hang(*_: object, **__: object) -> None:
        process_clients.patient_client().set("hanging", os.getpid(), ex=60)
        time.sleep(60)  # it is killed here

    usual = getattr(owner, name)
    setattr(owner, name, hang)
    try:
        work()
    finally:
        setattr(owner, name, usual)
