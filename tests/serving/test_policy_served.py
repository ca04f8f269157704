"""What real servers answer while Redis is unavailable, as the rules say: refused with 503, or counted by each worker's share."""

import json

import pytest

from tests.serving.fixtures import elsewhere, kinds
from tests.serving.servers import Place, new_address, until

pytestmark = pytest.mark.slow

LIMIT, SHARE = 25, 12  # of the rule "crowd", and of one of two workers


@pytest.mark.parametrize("kind", ["gthread", elsewhere("gevent"), elsewhere("asgi"), "uvicorn"])
def test_workers_admit_the_limit_and_a_share_each_and_count_on_redis_again(served_place: Place, kind: str) -> None:
    served = served_place.serve(kind, TIMEOUT="5s", ON_ERROR="local", LOCAL_PROCESSES=2)  # which no busy machine reaches
    client = new_address()
    assert served.statuses("/crowd/", 10, client) == [200] * 10
    served_place.stop_redis()
    told: dict[int, list[int]] = {}
    for _ in range(80):
        answer = served.get("/crowd/", client)
        assert answer.status in (200, 429)
        told.setdefault(answer.worker, []).append(answer.status)
    assert len(told) <= 2
    for statuses in told.values():
        assert statuses.count(200) == min(SHARE, len(statuses))
        assert statuses == sorted(statuses)  # once the share is used up, every request is refused
    served_place.start_redis()
    fresh = new_address()
    until(lambda: served.get("/crowd/", new_address())["X-RateLimit-Limit"] == str(LIMIT), "Redis is back, and is not asked")
    until(lambda: _told(served_place) == dict.fromkeys(served.workers(), "closed"), "not every worker has come back")
    assert served.statuses("/crowd/", LIMIT + 3, fresh).count(200) == LIMIT


def _told(place: Place) -> dict[int, str]:
    """What each worker tells of its breaker."""
    texts = [place.redis.get(key) for key in place.redis.keys("rw:{processes}:*")]
    return {told["pid"]: told["breaker"] for told in map(json.loads, filter(None, texts))}


@pytest.mark.parametrize("kind", kinds("sync", "preload", "uvicorn"))
def test_a_refusal_for_the_store_is_503_and_says_when_to_come_back(served_place: Place, kind: str) -> None:
    served = served_place.serve(kind, ON_ERROR="refuse")
    served_place.stop_redis()
    for _ in range(12):
        answer = served.get("/path/", new_address(), Accept="application/json")
        assert (answer.status, answer["Retry-After"], answer["Cache-Control"]) == (503, "2", "no-store")
        assert answer.json()["type"].endswith("#temporary-reduced-capacity")
        assert served.get("/state/").status == 200  # no rule meets it
    assert served.said().count("requests are refused with 503") == served.said().count("Redis does not answer")
    served_place.start_redis()
    until(lambda: served.get("/path/", new_address()).status == 200, "Redis is back, and is not asked")
