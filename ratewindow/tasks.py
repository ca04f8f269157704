"""The regular work as Celery tasks; all of it also runs as a command."""

from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any

from celery import shared_task
from celery.signals import task_postrun, task_prerun, worker_process_shutdown

from ratewindow import process
from ratewindow.models import origin
from ratewindow.operations.alerts import raising
from ratewindow.operations.cleaning.everything import clean
from ratewindow.operations.cleaning.orphans import BUDGET
from ratewindow.operations.cleaning.pace import Budget
from ratewindow.operations.digests import sending as digests
from ratewindow.reporting import collecting


@shared_task(ignore_result=True)
def collect_stats() -> str:
    return str(collecting.collect_stats())


@shared_task(ignore_result=True)
def raise_alerts() -> str:
    return "; ".join(raising.raise_alerts())


@shared_task(ignore_result=True)
def send_report() -> str:
    return "; ".join(digests.send_report())


@shared_task(ignore_result=True)
def clean_orphans(seconds: float = BUDGET.seconds, keys_per_second: int = BUDGET.keys_per_second) -> str:
    return "; ".join(clean(budget=Budget(seconds, keys_per_second)))


_running: ContextVar[tuple[ExitStack, ...]] = ContextVar("ratewindow.tasks", default=())  # a task may run another one at once


@task_prerun.connect(dispatch_uid="ratewindow.history")
def _begin_task(task: Any, **_: Any) -> None:
    """What a task of the site edits is known in the history by the name of the task."""
    with ExitStack() as stack:
        stack.enter_context(origin.edits("task", by=task.name))
        _running.set((*_running.get(), stack.pop_all()))


@task_postrun.connect(dispatch_uid="ratewindow.history")
def _end_task(**_: Any) -> None:
    *outer, last = _running.get()
    _running.set(tuple(outer))
    last.close()


@worker_process_shutdown.connect(dispatch_uid="ratewindow.process")
def _end(**_: Any) -> None:
    """A process of a pool ends without running what is registered for exit."""
    process.end()
