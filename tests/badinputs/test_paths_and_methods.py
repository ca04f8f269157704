"""Methods and paths that a client makes up: each counts, none overrides another, and none leaves anything behind."""

from typing import Any

import pytest

from ratewindow.counting.collecting import collect_stats
from ratewindow.counting.counters import counters
from ratewindow.models import RateRule, ThrottleStat
from tests.serving.rawhttp import answers, connected, request
from tests.serving.servers import Served, new_address
from tests.support.doors import behind_middleware, get, plain

OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method")


@pytest.mark.slow
def test_a_header_that_overrides_the_method_neither_hides_a_post_nor_makes_one(served: Served) -> None:
    client = new_address()  # one POST an hour
    told = [served.ask("POST", "/form/", client, **{name: "GET"}).status for name in OVERRIDES]
    assert told == [200, 429, 429, 429]
    client = new_address()
    told = [served.ask("GET", "/form/", client, **{name: "POST"}).status for name in OVERRIDES]
    assert told == [200, 200, 200, 200]


@pytest.mark.slow
def test_nor_does_a_field_of_the_form_or_of_the_query(served: Served) -> None:
    client = new_address()
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    told = [served.ask("POST", "/form/?_method=GET", client, "_method=GET", **form).status for _ in range(2)]
    assert told == [200, 429]


@pytest.mark.slow
def test_methods_that_nobody_knows_are_counted_with_all_others(served: Served) -> None:
    client = new_address()
    told = [served.ask(method, "/path/", client).status for method in ("BREW", "PROPFIND", "GET", "X" * 20)]
    assert told == [200, 200, 429, 429]


@pytest.mark.slow
def test_twenty_pipelined_requests_of_several_methods_each_count(served: Served) -> None:
    client, methods = new_address(), ["GET", "HEAD", "POST", "OPTIONS"] * 5
    with connected(served) as line:
        line.sendall(b"".join(request(method, "/pipelined/", client, **_length(method)) for method in methods))
        told = [answer.status for answer in answers(line, methods)]
    # A server may hang up after an answer, as gunicorn's sync worker does: then what it read counts, and no more.
    assert told[:5] == [200] * len(told[:5])
    assert set(told[5:]) <= {429}
    left = served.statuses("/pipelined/", 6, client)
    assert (told + left).count(200) == 5


def _length(method: str) -> dict[str, str]:
    return {"Content_Length": "0"} if method == "POST" else {}


@pytest.fixture
def site(settings: Any, transactional_db: None) -> None:
    for name, key in (("each.path", "path"), ("each.route", "ip+route"), ("each.client", "ip")):
        RateRule.objects.define(name, "1000/m", applies_to="all", key=key, mode="enforce")
    settings.ROOT_URLCONF = "tests.serving.site.urls"


def test_a_flood_of_paths_that_are_not_there_grows_neither_redis_nor_the_database(site: None, redis_client: Any) -> None:
    handler = behind_middleware(plain(False))

    def flood(first: int) -> tuple[int, int]:
        for number in range(first, first + 200):
            assert get(handler, f"/no/such/page/{number}/", "BREW" if number % 2 else "GET").status_code == 200
        counters.flush()
        collect_stats()
        return redis_client.dbsize(), ThrottleStat.objects.count()

    before, after = flood(0), flood(200)
    assert after[0] <= before[0] + 2  # the counts of another minute, and those of its clients
    # A minute, an hour and a day of three rules; what is added is a minute, which may begin an hour and a day.
    assert before[1] <= 2 * 3 * 3 and after[1] <= before[1] + 3 * 3
