"""The regular work as Celery tasks; all of it also runs as a command."""

from typing import Any

from celery import shared_task
from celery.signals import worker_process_shutdown

from ratewindow import process
from ratewindow.operations import clean_overrides, clean_state
from ratewindow.reporting import collecting


@shared_task(ignore_result=True)
def collect_stats() -> str:
    return str(collecting.collect_stats())


@shared_task(ignore_result=True)
def clean_orphans() -> str:
    return f"{clean_overrides.clean_ended()}; {clean_state.clean_orphans()}"


@worker_process_shutdown.connect(dispatch_uid="ratewindow.process")
def _end(**_: Any) -> None:
    """A process of a pool ends without running what is registered for exit."""
    process.end()
