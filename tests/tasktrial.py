"""A task for the tests of Celery: it counts, as any task does that asks a limiter, and says when it is done."""

import os

from celery import shared_task

import ratewindow
from ratewindow import connection
from ratewindow.limiter.types import Decision
from ratewindow.reporting import counters


@shared_task(ignore_result=True)
def count(rule: str) -> None:
    counters.record([Decision(rule=rule)])
    connection.patient_client().set("counted", rule, ex=60)


@shared_task(ignore_result=True)
def tell_limit(rule: str) -> None:
    """The limit that this process obeys, told in a list for the test to read."""
    decision = ratewindow.hit(rule, "ip:203.0.113.9")
    connection.patient_client().rpush("limits", f"{os.getpid()} {decision.limit}")
