"""The kill switch and the state of real servers: every worker follows, whatever is away, and every worker is told of."""

import os
import signal

import pytest

from tests.serving.fixtures import kinds
from tests.serving.servers import KINDS, Place, Served, manage, new_address, until

pytestmark = pytest.mark.slow


def all_follow(served: Served, off: bool) -> None:
    """Until every worker holds no rule at all, or its rules again."""

    def follow() -> bool:
        return all((answer.json()["limits"] == {}) is off for answer in served.workers().values())

    until(follow, f"not every worker followed:\n{served.said()}")


@pytest.mark.parametrize("kind", kinds(*KINDS))
def test_the_switch_acts_in_every_worker_whatever_is_away(served_place: Place, kind: str) -> None:
    served = served_place.serve(kind, ON_ERROR="refuse")
    client = new_address()
    assert served.statuses("/path/", 3, client) == [200, 200, 429]

    told = manage(served_place, "off", "--for", "1h", "--reason", "a trial")
    assert told.returncode == 0 and "Limits are off until" in told.stdout and "a trial" in told.stdout
    all_follow(served, off=True)
    assert served.statuses("/path/", 5, client) == [200] * 5
    assert manage(served_place, "on").returncode == 0
    all_follow(served, off=False)
    assert served.get("/path/", client).status == 429  # what was counted is still counted, and nothing besides

    served_place.stop_redis()
    until(lambda: served.get("/path/", client).status == 503, "the rule did not refuse without Redis")
    told = manage(served_place, "off")
    assert told.returncode == 0 and "Redis was not reached" in told.stdout
    all_follow(served, off=True)
    assert served.statuses("/path/", 5, client) == [200] * 5
    manage(served_place, "on")
    all_follow(served, off=False)
    assert served.get("/path/", client).status == 503
    served_place.start_redis()
    until(lambda: served.get("/path/", client).status == 200, "Redis is back, and is not asked")

    served_place.stop_database()
    told = manage(served_place, "off")
    assert told.returncode == 0 and "The database was not reached" in told.stdout
    all_follow(served, off=True)
    manage(served_place, "on")
    all_follow(served, off=False)
    served_place.start_database()


@pytest.mark.parametrize("kind", kinds("preload", "gevent", "uvicorn"))
def test_every_worker_tells_of_itself_and_is_listed_as_long_as_it_runs(served_place: Place, kind: str) -> None:
    served = served_place.serve(kind)
    workers = set(served.workers())

    def told() -> set[int]:
        return {int(name.split("|")[1]) for name in served_place.redis.keys("rw:{processes}:*")}

    until(lambda: told() >= workers, "not every worker has told of itself")
    assert "All processes count on Redis." in manage(served_place, "check").stdout
    os.kill(killed := min(workers), signal.SIGKILL)
    until(lambda: killed not in told(), "the worker is listed for longer than its record is kept")
    assert manage(served_place, "check").returncode == 0
    served.end()
    until(lambda: not told(), f"workers that have ended are listed: {told()}")


def test_a_check_fails_while_workers_decide_without_redis_and_passes_once_they_do_again(served_place: Place) -> None:
    served = served_place.serve("sync")
    served_place.redis.execute_command("ACL", "SETUSER", "default", "-evalsha", "-eval")  # they may tell, and not decide
    until(
        lambda: served.statuses("/path/", 10) == [200] * 10 and "in 2 of 3 processes" in manage(served_place, "check").stdout,
        f"no worker told that it decides without Redis:\n{served.said()}",
    )
    told = manage(served_place, "check")
    assert told.returncode == 1
    assert "Redis unavailable (noperm) since" in told.stdout and "requests pass uncounted" in told.stdout
    assert "Our Redis user needs more permissions." in told.stderr
    served_place.redis.execute_command("ACL", "SETUSER", "default", "+@all")
    until(lambda: manage(served_place, "check").returncode == 0, "no worker told that it counts again")
    assert served.said().count("Redis does not answer, ") == 2  # once for each worker
