"""A task for the tests of Celery: it counts, as any task does that asks a limiter, and says when it is done."""

from celery import shared_task

from ratewindow import connection
from ratewindow.limiter.types import Decision
from ratewindow.reporting import counters


@shared_task(ignore_result=True)
def count(rule: str) -> None:
    counters.record([Decision(rule=rule)])
    connection.patient_client().set("counted", rule, ex=60)
