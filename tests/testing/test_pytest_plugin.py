"""Fresh counts for the tests of a site, by one line of its settings: under pytest, and under Django's own runner."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]

SETTINGS = """
SECRET_KEY = "of tests"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "ratewindow"]
MIDDLEWARE = ["ratewindow.middleware.RateWindowMiddleware"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://localhost:1/0"}}
ROOT_URLCONF = "site_urls"
"""
URLS = """
from django.http import HttpResponse
from django.urls import path
from ratewindow import ratelimit

@ratelimit(rate="2/h")
def limited(request):
    return HttpResponse("ok")

urlpatterns = [path("limited/", limited)]
"""
PYTEST = """
import pytest

@pytest.mark.parametrize("again", [1, 2])
def test_the_limit(client, again):
    assert [client.get("/limited/").status_code for _ in range(3)] == [200, 200, 429]

def test_the_clock(client, fresh_counts):
    assert [client.get("/limited/").status_code for _ in range(3)] == [200, 200, 429]
    fresh_counts.travel("2h")
    assert client.get("/limited/").status_code == 200
"""
CASES = """
from django.test import SimpleTestCase

class Cases(SimpleTestCase):
    def setUp(self):
        assert self.client.get("/limited/").status_code == 200

    def test_the_limit(self):
        assert [self.client.get("/limited/").status_code for _ in range(2)] == [200, 429]

    def test_the_limit_again(self):
        self.test_the_limit()
"""
MEMORY = 'RATEWINDOW = {"REDIS": "memory://"}\n'
SWAPPED = 'CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}\n'
RUNNER = 'TEST_RUNNER = "ratewindow.testing.FreshCountsRunner"\n'


def run(site: Path, line: str, tests: str, *command: str) -> "subprocess.CompletedProcess[str]":
    for name, text in (("site_settings", SETTINGS + line), ("site_urls", URLS), ("test_site", tests)):
        (site / f"{name}.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=site,
        env={"DJANGO_SETTINGS_MODULE": "site_settings", "PYTHONPATH": f"{CHECKOUT}:{site}"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def pytest_told(site: Path, line: str) -> str:
    """What a run says in which pytest finds the plugin by itself, as it does for a site."""
    done = run(site, line, PYTEST, "pytest", "-p", "no:cacheprovider", "-q")
    return done.stdout + done.stderr


@pytest.mark.parametrize("line", [MEMORY, SWAPPED], ids=["memory", "cache-swapped"])
def test_each_test_under_pytest_begins_with_fresh_counts(tmp_path: Path, line: str) -> None:
    assert "3 passed" in pytest_told(tmp_path, line)


def test_without_the_line_a_test_may_ask_for_them(tmp_path: Path) -> None:
    told = pytest_told(tmp_path, "")
    assert "2 failed, 1 passed" in told  # there is no Redis here, and requests pass


@pytest.mark.parametrize("line", [RUNNER, RUNNER + SWAPPED, RUNNER + MEMORY], ids=["redis", "cache-swapped", "memory"])
def test_each_test_under_djangos_runner_begins_with_fresh_counts(tmp_path: Path, line: str) -> None:
    done = run(tmp_path, line, CASES, "django", "test")
    assert "Ran 2 tests" in done.stderr and done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", [RUNNER, RUNNER + MEMORY, MEMORY], ids=["redis", "memory", "memory-djangos-own"])
def test_no_check_warns_of_counting_in_memory_while_tests_run(tmp_path: Path, line: str) -> None:
    done = run(tmp_path, line, CASES.replace("test_the_limit_again", "not_run"), "django", "test")
    assert "System check identified no issues" in done.stdout + done.stderr, done.stderr


def test_a_suite_that_swaps_its_cache_is_not_stopped_by_a_check(tmp_path: Path) -> None:
    done = run(tmp_path, SWAPPED, CASES.replace("test_the_limit_again", "not_run"), "django", "test")
    assert "System check identified no issues" in done.stdout + done.stderr, done.stderr
    assert done.returncode == 0, done.stderr


def test_outside_of_tests_such_a_cache_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, SWAPPED, CASES, "django", "check")
    assert done.returncode == 1
    assert "(ratewindow.E002)" in done.stderr
