"""The regular work as tasks of Django's own framework, where Django has one."""

import time

import pytest
from django.test import override_settings

from ratewindow.limiter.types import Window
from ratewindow.models import AlertChannel, CleaningRun, ThrottleStat
from ratewindow.reporting import minutes
from ratewindow.reporting.sums import Sums
from ratewindow.store import state_keys

django_tasks = pytest.importorskip("django.tasks", reason="Django 5.2 has no tasks: cron or Celery do the work there")

from ratewindow import schedule  # noqa: E402
from ratewindow.operations.django_tasks import clean_orphans, collect_stats, send_report  # noqa: E402

pytestmark = pytest.mark.django_db


@pytest.fixture
def orphan(redis_client):
    name = state_keys.state_prefix() + state_keys.state_name("gone", Window(5, 60_000), False).removeprefix(":s:") + "{x}"
    redis_client.set(name, 1, ex=60)
    return name


def test_an_enqueued_task_collects_and_collecting_twice_counts_once():
    now_s = time.time()
    minutes.send({int(now_s) // 60: {"p1|login": Sums(passed=7)}}, now_s)
    for _ in range(2):
        result = collect_stats.enqueue()
        assert result.status == django_tasks.TaskResultStatus.SUCCESSFUL, result.errors
        assert "1 minute read" in result.return_value
    assert set(ThrottleStat.objects.values_list("resolution", "passed")) == {("minute", 7), ("hour", 7), ("day", 7)}


def test_an_enqueued_task_cleans(redis_client, orphan):
    assert "1 of no rule deleted" in clean_orphans.enqueue(seconds=30, keys_per_second=1000).return_value
    assert not redis_client.exists(orphan)
    assert CleaningRun.objects.get().ended == CleaningRun.Ended.COMPLETE


def test_an_enqueued_task_sends_the_digests_that_are_due(mailoutbox):
    AlertChannel.objects.create(name="ops", addresses="ann@example.com", digest="day", digest_hour=0)
    AlertChannel.objects.update(digest_until=None)
    assert send_report.enqueue().return_value.endswith(": sent")
    assert len(mailoutbox) == 1


def test_a_worker_of_another_process_finds_each_by_its_path_and_its_arguments_are_json():
    with override_settings(TASKS={"default": {"BACKEND": "django.tasks.backends.dummy.DummyBackend"}}):
        backend = django_tasks.default_task_backend
        collect_stats.enqueue()
        clean_orphans.enqueue(seconds=30)
        assert [(each.task.module_path, each.kwargs) for each in backend.results] == [
            ("ratewindow.operations.django_tasks.collect_stats", {}),
            ("ratewindow.operations.django_tasks.clean_orphans", {"seconds": 30}),
        ]


def test_what_beat_schedules_is_here_under_the_same_name():
    from ratewindow.operations import django_tasks as here

    names = {entry["task"].rpartition(".")[2] for entry in schedule.BEAT_SCHEDULE.values()}
    assert {name for name in names if isinstance(getattr(here, name, None), django_tasks.Task)} == names
