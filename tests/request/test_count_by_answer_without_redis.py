"""Rules that count by the answer, while Redis is unavailable."""

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import override_settings

from ratewindow.counting.counters import counters
from tests.support.count_by_answer import answering, define, used
from tests.support.doors import behind_middleware, get, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@is_async
def test_while_redis_is_away_the_charge_is_no_error_and_counted_as_decided_without_it(is_async: bool) -> None:
    define("login", "5/h", "401", prefix="/")
    view = answering(401, is_async)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert statuses(behind_middleware(view), 3) == [401] * 3
    (sums,) = counters.held().values()
    assert (sums["login"].passed, sums["login"].fallback) == (3, 3)


def test_a_redis_that_goes_away_during_the_request_is_no_error_either() -> None:
    define("login", "5/h", "401", prefix="/")

    def view(request: HttpRequest) -> HttpResponse:
        override.enable()
        return HttpResponse(status=401)

    override = override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"})
    try:
        response = get(behind_middleware(view))
    finally:
        override.disable()
    assert (response.status_code, response["X-RateLimit-Remaining"]) == (401, "5")
    sums = next(iter(counters.held().values()))["login"]
    assert (sums.passed, sums.fallback, sums.reasons) == (1, 1, {"store:connection": 1})


@is_async
@pytest.mark.parametrize("on_error", ["local", "refuse"])
def test_what_a_rule_says_of_errors_holds_for_its_look_and_its_charge(is_async: bool, on_error: str) -> None:
    define("login", "2/h", "401", prefix="/", on_error=on_error)
    site = behind_middleware(answering(401, is_async))
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert statuses(site, 3) == ([401, 401, 429] if on_error == "local" else [503] * 3)


def test_what_was_looked_at_without_redis_is_charged_if_it_is_back_with_the_answer() -> None:
    define("login", "2/h", "401", prefix="/")
    away = override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"})

    def view(request: HttpRequest) -> HttpResponse:
        away.disable()
        return HttpResponse(status=401)

    away.enable()
    assert get(behind_middleware(view)).status_code == 401
    assert used(2) == 1


@is_async
def test_what_was_counted_in_this_process_while_redis_is_away_stays_counted_once(is_async: bool) -> None:
    define("login", "2/h", "401", prefix="/", hold=True, on_error="local")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert statuses(behind_middleware(answering(401, is_async)), 3) == [401, 401, 429]
