"""What a login costs: calls of Redis, whatever the number of rules. Queries are counted in test_gate.py."""

from typing import Any

import pytest
import redis

from tests.contrib.logins.support.trying import PASSWORD, device, login, spend, stranger

pytestmark = pytest.mark.django_db(transaction=True)


def calls(client: redis.Redis) -> int:
    """Of scripts, since the counts were reset."""
    found: dict[str, Any] = client.info("commandstats")  # type: ignore[assignment]
    return sum(found.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("evalsha", "eval"))


@pytest.fixture(autouse=True)
def used(checked: list[str], ann: Any) -> None:
    """The server knows the scripts."""
    login("bob", "x", stranger(200))
    login("ann", PASSWORD, stranger(201))


def test_a_right_login_is_two_calls(redis_client: redis.Redis) -> None:
    redis_client.config_resetstat()
    assert login("ann", PASSWORD, stranger(1)).status_code == 302
    assert calls(redis_client) == 2  # a decision, and a refund that sets a mark


def test_a_wrong_one_is_one(redis_client: redis.Redis) -> None:
    redis_client.config_resetstat()
    assert login("ann", "x", stranger(1)).status_code == 200
    assert calls(redis_client) == 1


def test_one_from_a_known_device_is_one(redis_client: redis.Redis) -> None:
    browser = device()
    redis_client.config_resetstat()
    assert login("ann", PASSWORD, stranger(1), browser).status_code == 302
    assert calls(redis_client) == 1


def test_one_that_is_refused_is_one_and_a_look_whether_the_name_logged_in_there(redis_client: redis.Redis) -> None:
    """Whether somebody has that name or not: else time would tell."""
    found = []
    for name in ("ann", "nobody"):
        spend(name)
        redis_client.config_resetstat()
        assert login(name, "x", stranger(1)).status_code == 429
        commands: dict[str, Any] = redis_client.info("commandstats")  # type: ignore[assignment]
        found.append((calls(redis_client), commands["cmdstat_get"]["calls"]))
    assert found[0] == found[1] and found[0][0] == 1


def test_one_that_passes_since_it_logged_in_there_is_three(redis_client: redis.Redis) -> None:
    """Strangers are refused, the address is asked for, and then counted as a device."""
    login("ann", PASSWORD, stranger(1))
    spend()
    redis_client.config_resetstat()
    assert login("ann", PASSWORD, stranger(1)).status_code == 302
    assert calls(redis_client) == 2
