"""A server that forgets."""

from collections.abc import Iterator
from typing import Any

import pytest

from ratewindow import conf
from ratewindow.store import state_keys
from ratewindow.store.shared_prefix import announce_site
from tests.support.check_messages import found

pytestmark = pytest.mark.django_db


@pytest.fixture
def full_server(redis_client: Any) -> Iterator[Any]:
    before = {name: redis_client.config_get(name)[name] for name in ("maxmemory", "maxmemory-policy")}
    yield redis_client
    for name, value in before.items():
        redis_client.config_set(name, value)


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "allkeys-random"])
def test_a_server_that_evicts_is_a_warning(full_server: Any, policy: str) -> None:
    full_server.config_set("maxmemory-policy", policy)
    assert found(databases=["default"]) == {}  # without a limit of memory it never does
    full_server.config_set("maxmemory", "100mb")
    assert f"({policy}): a client whose counts are evicted may" in found(databases=["default"])["ratewindow.W013"]
    full_server.config_set("maxmemory-policy", "noeviction")
    assert found(databases=["default"]) == {}


def test_a_server_that_is_away_is_left_to_the_command_that_asks_for_it() -> None:
    assert found(databases=["default"], REDIS="redis://127.0.0.1:1/0") == {}
    assert found(REDIS="redis://127.0.0.1:1/0") == {}


def test_another_site_on_the_same_prefix_is_a_warning(settings: Any, redis_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    announce_site()
    assert found(databases=["default"]) == {}
    ours, settings.SECRET_KEY = settings.SECRET_KEY, "of another site"
    announce_site()
    settings.SECRET_KEY = ours
    assert found(databases=["default"]) == {}  # in tests, whose database is another one than that of the running site
    monkeypatch.setattr(conf, "tests_run", lambda: False)
    told = found(databases=["default"])["ratewindow.W022"]
    assert told.startswith("Another site uses the key prefix 'rw' on this Redis (seen 0 minutes ago): its edits and its counts")
    assert "KEY_PREFIX']. If it is this site" in told and f"redis-cli DEL {state_keys.sites()}." in told
    assert found(databases=["default"], REDIS="redis://127.0.0.1:1/0") == {}
