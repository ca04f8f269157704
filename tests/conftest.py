"""What all tests share: a real Redis, empty before each of them, and the settings that point at it."""

import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import override_settings
from django.urls import get_resolver
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

from ratewindow import background
from ratewindow.limiter.redis.connections import Server
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import code_rates
from testproject.redis_server import redis_server
from tests.serving.fixtures import served, served_place, servers, site_database
from tests.support.core_presets import core_presets
from tests.support.demo import start_demo
from tests.support.flushes import keep_rows_of_migrations
from tests.support.fresh_process import reset_process
from tests.support.servers import cluster, cluster_ports, cluster_url, watched, watched_session

__all__ = [
    "cluster",
    "cluster_ports",
    "cluster_url",
    "core_presets",
    "served",
    "served_place",
    "servers",
    "site_database",
    "start_demo",
    "watched",
    "watched_session",
]

TAKE_LONG = ("slow", "long", "conformance", "browser")  # marks
OWN_TARGETS = ("fakeredis", "pace", "serving")  # marks of tests that `make test` leaves to targets of their own
QUICK = "django.contrib.auth.hashers.MD5PasswordHasher"  # the usual one takes longer than most tests

# Every run tries the same examples, so that no change is refused for one of them by luck; CONTRIBUTING.md says how to try others.
hypothesis_settings.register_profile("same-examples", derandomize=True, deadline=None)
hypothesis_settings.load_profile("same-examples")

# pytest shows the log of a test that fails; without a handler, Python would print what comes after the last test.
logging.getLogger("ratewindow").addHandler(logging.NullHandler())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has a target of its own, unless its mark is asked for, as by ``-m serving``.

    Begin with the files that take long: processors that share the files are then busy until the end.
    """
    elsewhere = [mark for mark in OWN_TARGETS if mark not in config.option.markexpr]
    left_out = {item for item in items if any(map(item.get_closest_marker, elsewhere))}
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    last = {item.path for item in items} - {item.path for item in items if any(map(item.get_closest_marker, TAKE_LONG))}
    items.sort(key=lambda item: item.path in last)


@pytest.fixture(scope="session", autouse=True)
def redis_url() -> Iterator[str]:
    """A server for this run; it must be empty, since every test begins by emptying it."""
    with redis_server() as url, redis.Redis.from_url(url) as client:
        if client.dbsize():
            pytest.exit(f"{url} is not empty, and every test empties it: name another database in RATEWINDOW_REDIS_URL", 2)
        # A busy machine may pause a test for longer than a site would wait; what TIMEOUT does has tests of its own.
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url, "TIMEOUT": "5s"}, PASSWORD_HASHERS=[QUICK]):
            yield url
        client.flushdb()
        # What this process still does until its end needs no server.
        override_settings(RATEWINDOW={"REDIS": "memory://"}).enable()


@pytest.fixture(scope="session")
def _redis_session(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture(autouse=True)
def redis_client(_redis_session: redis.Redis) -> redis.Redis:
    """A client of the run's server, which is empty; answers come as text."""
    _redis_session.flushdb()
    return _redis_session


@pytest.fixture(autouse=True, scope="session")
def _no_housekeeping() -> Iterator[None]:
    """Tests do the chores they are about themselves. Nor may a live server's last request, after its test, start threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "ensure_running", lambda: None)
        yield


@pytest.fixture(autouse=True)
def _like_a_new_process(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rules, no names in code, no counts and no bad memories of Redis from earlier tests."""
    reset_process()
    current.hold(Rulebook(()), 0)
    current.stop_waiting()
    _ = get_resolver().url_patterns  # what the site's views give stays; what tests give goes with them
    monkeypatch.setattr(code_rates, "_uses", code_rates.uses())


@pytest.fixture(autouse=True)
def _closing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connections that a test's stores have made end with it: of what is left to the garbage collector, it may take the
    socket before the store that would close it."""
    begin, made = Server.__init__, list[Server]()

    def begun(server: Server, *arguments: Any) -> None:
        begin(server, *arguments)
        made.append(server)

    monkeypatch.setattr(Server, "__init__", begun)
    yield
    for server in made:
        server.close()


@pytest.fixture(autouse=True)
def _closing_databases(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connections to the database that a test's threads have opened end with it. Django closes none to a database in memory,
    and others only where a request ends."""
    connect, opened = BaseDatabaseWrapper.connect, list[BaseDatabaseWrapper]()

    def connecting(wrapper: BaseDatabaseWrapper) -> None:
        connect(wrapper)
        if threading.current_thread() is not threading.main_thread():
            opened.append(wrapper)

    monkeypatch.setattr(BaseDatabaseWrapper, "connect", connecting)
    yield
    for wrapper in opened:
        wrapper.inc_thread_sharing()
        BaseDatabaseWrapper.close(wrapper)
        wrapper.dec_thread_sharing()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Users that tests make have numbers beyond those that tests name: `user:42` is nobody but the test's own client."""
    with pytest.MonkeyPatch.context() as patch:
        with django_db_blocker.unblock():
            get_user_model().objects.create(pk=1_000_000, username="the first number").delete()
            keep_rows_of_migrations(patch)
        yield


@pytest.fixture(scope="session")
def program_environment(redis_url: str) -> dict[str, str]:
    """For programs that tests start: the run's server, and this site's settings."""
    return {**os.environ, "RATEWINDOW_REDIS_URL": redis_url, "DJANGO_SETTINGS_MODULE": "testproject.settings"}
