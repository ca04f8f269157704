"""Logins while Redis is unavailable: each process counts its share, and a right login uses nothing up."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings

from ratewindow.request import late_charges, without_redis
from ratewindow.store import process_clients
from tests.contrib.logins.support.trying import PASSWORD, device, login, stranger
from tests.faults.proxy import Proxy, proxied
from tests.support.doors import answer, behind_middleware

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def proxy(checked: list[str], redis_url: str) -> Iterator[Proxy]:
    at = urlsplit(redis_url)
    without_redis.forget_counts()
    with proxied(at.port or 6379) as made:
        url = f"redis://127.0.0.1:{made.port}{at.path}"
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url, "TIMEOUT": "5s"}):
            yield made
            process_clients.close()


def test_guesses_are_counted_in_the_process(proxy: Proxy, checked: list[str], ann: Any) -> None:
    browser = device()
    with proxy.turned_away():
        checked.clear()
        told = [login("ann", "x", stranger(number)).status_code for number in range(20)]
        assert (len(checked), told.count(429)) == (5, 15)
        assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302


def test_whom_redis_has_refused_has_no_share_until_there_would_be_room(proxy: Proxy, checked: list[str], ann: Any) -> None:
    """However often Redis is too slow for a process, it allows no five guesses each time."""
    browser = device()
    checked.clear()
    told = [login("ann", "x", stranger(number)).status_code for number in range(6)]
    with proxy.turned_away():
        away = [login("ann", "x", stranger(50 + number)) for number in range(9)]
        assert (len(checked), told[-1], {each.status_code for each in away}) == (5, 429, {429})
        assert 0 < int(away[-1]["Retry-After"]) <= 60
        assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302
        assert login("bob", "x", stranger(99)).status_code == 200


def test_right_logins_use_up_nothing(proxy: Proxy, checked: list[str], ann: Any) -> None:
    with proxy.turned_away():
        assert {login("ann", PASSWORD).status_code for _ in range(30)} == {302}
        assert [login("ann", "x", stranger(0)).status_code for _ in range(6)] == [200] * 5 + [429]


def test_what_could_not_be_refunded_is_refunded_once_redis_is_back(proxy: Proxy, checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        user = authenticate(request, username="ann", password=PASSWORD)
        away.__enter__()  # after the charge
        return HttpResponse(status=200 if user else 401)

    for number in range(5):
        away = proxy.turned_away()
        assert answer(behind_middleware(view), RequestFactory().post("/", REMOTE_ADDR=stranger(number))).status_code == 200
        away.__exit__(None, None, None)
    assert late_charges.has_missed()
    late_charges.refund_missed()
    assert not late_charges.has_missed()
    assert [login("ann", "x", stranger(9)).status_code for _ in range(6)] == [200] * 5 + [429]
