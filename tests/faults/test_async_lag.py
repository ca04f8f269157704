"""The loop's own lag is no fault of the store."""

import asyncio
import time

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from ratewindow import ratelimit
from ratewindow.store import stores
from tests.faults.site import site_on

LIMIT = "400ms"  # the proportion of 120 to 100 is what matters, and a busy machine needs some time itself
BLOCKED_S = 0.48


@ratelimit("lag", "1000/h", key="global")
async def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@ratelimit("lag.blocking", "1000/h", key="global")
async def blocking_view(request: HttpRequest) -> HttpResponse:
    time.sleep(BLOCKED_S)  # what a view must not do, and many do
    return HttpResponse()


@pytest.mark.parametrize("connected", [False, True])
def test_a_view_that_blocks_the_loop_for_longer_than_the_limit_ends_no_decision(redis_url: str, connected: bool) -> None:
    async def crowd() -> list[str]:
        if connected:
            await view(RequestFactory().get("/"))
        requests = [RequestFactory().get("/") for _ in range(200)]
        # Every fiftieth blocks, so that the others are blocked at each stage: before they ask, asking, and answered.
        views = [blocking_view if number % 50 == 5 else view for number in range(200)]
        await asyncio.gather(*(each(request) for each, request in zip(views, requests, strict=True)))
        return [request.ratewindow.deciding.cause for request in requests]  # type: ignore[attr-defined]

    with site_on(redis_url, LIMIT):
        assert asyncio.run(crowd()) == [""] * 200


def test_a_view_that_blocks_while_a_pipeline_is_on_its_way_ends_it_no_sooner(redis_url: str) -> None:
    async def wait_and_block() -> list[str]:
        causes = []
        for _ in range(3):
            request = RequestFactory().get("/")
            asked = asyncio.ensure_future(view(request))
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # it is on its way
            time.sleep(BLOCKED_S)
            await asked
            causes.append(request.ratewindow.deciding.cause)  # type: ignore[attr-defined]
        return causes

    with site_on(redis_url, LIMIT):
        assert asyncio.run(wait_and_block()) == [""] * 3


def test_a_loop_that_ends_leaves_no_store_behind(redis_url: str) -> None:
    with site_on(redis_url, LIMIT):
        before = len(stores.held.of_loop)
        for _ in range(3):
            asyncio.run(view(RequestFactory().get("/")))
        assert len(stores.held.of_loop) == before
