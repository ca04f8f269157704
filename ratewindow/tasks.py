"""The regular work as Celery tasks; all of it also runs as a command."""

from typing import Any

from celery import shared_task
from celery.signals import worker_process_shutdown

from ratewindow import process, rooms
from ratewindow.counting import collecting
from ratewindow.operations.cleaning import KEYS_PER_SECOND, clean


@shared_task(ignore_result=True)
def collect_stats() -> str:
    return collecting.collect_stats()


@shared_task(ignore_result=True)
def raise_alerts() -> str:
    return rooms.run_task("raise_alerts")


@shared_task(ignore_result=True)
def send_report() -> str:
    return rooms.run_task("send_report")


@shared_task(ignore_result=True)
def clean_orphans(keys_per_second: int = KEYS_PER_SECOND) -> str:
    return "; ".join(clean(keys_per_second=keys_per_second))


@worker_process_shutdown.connect(dispatch_uid="ratewindow.process")
def _end(**_: Any) -> None:
    """A process of a pool ends without running what is registered for exit."""
    process.end()
