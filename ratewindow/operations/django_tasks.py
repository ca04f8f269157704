"""The regular work as tasks of Django 6.0 and newer, ``django.tasks``: a site enqueues them, and its own workers run them."""

from django.tasks import task

from ratewindow.operations.alerts import raising
from ratewindow.operations.cleaning.everything import clean
from ratewindow.operations.cleaning.orphans import BUDGET
from ratewindow.operations.cleaning.pace import Budget
from ratewindow.operations.digests import sending as digests
from ratewindow.reporting import collecting


@task()
def collect_stats() -> str:
    return str(collecting.collect_stats())


@task()
def raise_alerts() -> str:
    return "; ".join(raising.raise_alerts())


@task()
def send_report() -> str:
    return "; ".join(digests.send_report())


@task()
def clean_orphans(seconds: float = BUDGET.seconds, keys_per_second: int = BUDGET.keys_per_second) -> str:
    return "; ".join(clean(budget=Budget(seconds, keys_per_second)))
