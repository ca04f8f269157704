"""Clients as people use them, with their retries: after a 429 they wait as told, and the first retry is admitted.

They ask a real server on loopback. A request after the first is usually refused; where a busy machine has let the period
pass, it is sent again.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import requests
import urllib3
from django.http import HttpRequest, HttpResponse
from django.urls import path
from httpx_retries import Retry as HttpxRetry, RetryTransport
from requests.adapters import HTTPAdapter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ratewindow import ratelimit
from ratewindow.models import RateRule
from ratewindow.rest_framework import SimpleRateThrottle

MOST_TRIES = 50
KEY = "header:x-client"  # all of them come from one address


class EachClient(SimpleRateThrottle):
    rate, scope = "1/s", "clients.throttled"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        return request.headers.get("x-client")


class Throttled(APIView):
    authentication_classes = []
    throttle_classes = [EachClient]

    def get(self, request: Request) -> Response:
        return Response("ok")


def plain(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


urlpatterns = [
    path("decorated/", ratelimit("clients.decorated", "1/s", key=KEY)(plain)),
    path("several/", ratelimit("clients.several", "1/s; 3/2s", key=KEY)(plain)),
    path("ruled/", plain),
    path("throttled/", Throttled.as_view()),
]


class Recording(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Sends, and writes down the statuses that come back."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self._sync, self._async = httpx.HTTPTransport(), httpx.AsyncHTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._sync.handle_request(request)
        self.statuses.append(response.status_code)
        return response

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._async.handle_async_request(request)
        self.statuses.append(response.status_code)
        return response

    def close(self) -> None:
        self._sync.close()

    async def aclose(self) -> None:
        await self._async.aclose()


def by_urllib3(url: str, headers: dict[str, str]) -> Iterator[list[int]]:
    with urllib3.PoolManager(retries=urllib3.Retry(total=1, status_forcelist=[429])) as pool:
        while True:
            response = pool.request("GET", url, headers=headers)
            assert response.retries is not None
            yield [*(each.status or 0 for each in response.retries.history), response.status]


def by_requests(url: str, headers: dict[str, str]) -> Iterator[list[int]]:
    with requests.Session() as session:
        session.mount("http://", HTTPAdapter(max_retries=urllib3.Retry(total=1, status_forcelist=[429])))
        while True:
            response = session.get(url, headers=headers)
            yield [*(each.status for each in response.raw.retries.history), response.status_code]


def by_httpx(url: str, headers: dict[str, str]) -> Iterator[list[int]]:
    recording = Recording()
    with httpx.Client(transport=RetryTransport(recording, retry=HttpxRetry(total=1))) as client:
        while True:
            recording.statuses.clear()
            client.get(url, headers=headers)
            yield list(recording.statuses)


def by_async_httpx(url: str, headers: dict[str, str]) -> Iterator[list[int]]:
    with asyncio.Runner() as runner:
        recording = Recording()
        client = httpx.AsyncClient(transport=RetryTransport(recording, retry=HttpxRetry(total=1)))
        try:
            while True:
                recording.statuses.clear()
                runner.run(client.get(url, headers=headers))
                yield list(recording.statuses)
        finally:
            runner.run(client.aclose())


@pytest.mark.slow
@pytest.mark.urls(__name__)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("door", "client"),
    [
        ("decorated", by_urllib3),
        ("several", by_urllib3),
        ("ruled", by_urllib3),
        ("throttled", by_urllib3),
        ("several", by_requests),
        ("several", by_httpx),
        ("several", by_async_httpx),
    ],
)
def test_the_first_retry_after_a_refusal_is_admitted(
    live_server: Any, door: str, client: Callable[[str, dict[str, str]], Iterator[list[int]]]
) -> None:
    RateRule.objects.define("clients.ruled", "1/s", path="/ruled/", key=KEY, mode="enforce")
    asking = client(f"{live_server.url}/{door}/", {"x-client": client.__name__})
    try:
        told = [next(asking)]
        while told[-1] == [200] and len(told) < MOST_TRIES:
            told.append(next(asking))
        assert told[0] == [200]
        assert told[-1] == [429, 200]
    finally:
        asking.close()  # type: ignore[attr-defined]
