"""The regular work as a real Celery worker does it, and the schedule that asks for it."""

import os
import subprocess
import sys
import time

import pytest

from ratewindow import tasks
from ratewindow.counting import minutes
from ratewindow.counting.sums import Sums
from ratewindow.limiter.types import Window
from ratewindow.schedule import BEAT_SCHEDULE
from ratewindow.store import state_keys
from tests.support.demo import CHECKOUT
from tests.support.worker import Site


@pytest.fixture
def site(program_environment, tmp_path):
    site = Site(program_environment, tmp_path)
    site.start()
    yield site
    site.end()


@pytest.mark.slow
def test_a_worker_collects_cleans_and_sends_its_last_counts(site, redis_client):
    now_s = time.time()
    minutes.send({int(now_s) // 60: {"p1|login": Sums(passed=7)}}, now_s)
    site.send("ratewindow.tasks.collect_stats")
    site.send("ratewindow.tasks.collect_stats")
    site.wait_for(lambda: len(site.rows()) == 3)
    assert site.rows() == [(resolution, "login", 7) for resolution in ("day", "hour", "minute")]

    orphan = state_keys.state_prefix() + state_keys.state_name("gone", Window(5, 60_000).tag, False).removeprefix(":s:") + "{x}"
    redis_client.set(orphan, 1, ex=60)
    site.send("ratewindow.tasks.clean_orphans")
    site.wait_for(lambda: not redis_client.exists(orphan))

    site.send("tests.support.trial_tasks.count", "from-the-worker")
    site.wait_for(lambda: redis_client.exists("counted"))
    # Asked to end before it has taken note of a result, a worker waits half a minute for it.
    site.wait_for(lambda: (site.app.control.inspect().active() or {"": [1]}).popitem()[1] == [])
    site.end()  # nothing sends the counts of this task but the end of its process
    counted = minutes.read(minutes.waiting(time.time()))
    assert any(by_rule.get("from-the-worker") == Sums(passed=1) for by_rule in counted.values())


def test_the_schedule_names_tasks_that_exist():
    for entry in BEAT_SCHEDULE.values():
        module, name = entry["task"].rsplit(".", 1)
        assert module == tasks.__name__
        assert getattr(tasks, name).name == entry["task"]


def test_the_schedule_needs_neither_django_nor_celery():
    code = "import sys, ratewindow.schedule; print([name for name in ('django', 'celery') if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, env=dict(os.environ))
    assert told.stdout.strip() == "[]", told.stderr


def test_only_the_tasks_import_celery():
    code = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'testproject.settings'; django.setup();"
        "from django.urls import get_resolver; get_resolver().url_patterns; print('celery' in sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, env=environment)
    assert told.stdout.strip() == "False", told.stderr
