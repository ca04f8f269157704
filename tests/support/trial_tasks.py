"""Tasks for the tests of Celery: one counts, as any task does that asks a limiter; one collects, and comes to no end."""

import os
import time

from celery import shared_task

import ratewindow
from ratewindow.limiter.types import Decision
from ratewindow.reporting import collecting, counters, minutes
from ratewindow.store import process_clients

STEPS = {
    "the minutes of clients are stored": (collecting, "set_rows"),
    "all minutes are stored": (collecting, "_fold"),
    "hours and days are stored": (minutes, "settle"),
    "minutes have left Redis": (collecting, "_prune"),
}
"""After what a collection can be killed, and what it would do next."""


@shared_task(ignore_result=True)
def count(rule: str) -> None:
    counters.record([Decision(rule=rule)])
    process_clients.patient_client().set("counted", rule, ex=60)


@shared_task(ignore_result=True)
def tell_limit(rule: str) -> None:
    """The limit that this process obeys, told in a list for the test to read."""
    decision = ratewindow.hit(rule, "ip:203.0.113.9")
    process_clients.patient_client().rpush("limits", f"{os.getpid()} {decision.limit}")


@shared_task(ignore_result=True)
def collect_and_hang(step: str) -> None:
    """The collection up to the end of one step, at which its process can be killed."""

    def hang(*_: object, **__: object) -> None:
        process_clients.patient_client().set("hanging", os.getpid(), ex=60)
        time.sleep(60)  # it is killed here

    module, name = STEPS[step]
    usual = getattr(module, name)
    setattr(module, name, hang)
    try:
        collecting.collect_stats()
    finally:
        setattr(module, name, usual)
