"""Pages of the served site."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model, login, user_login_failed
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.utils.decorators import method_decorator
from django.views import View

import ratewindow
from ratewindow import RateLimited, ratelimit
from ratewindow.rulebook import current
from ratewindow.store import outage, stores


def plain(request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


async def aplain(request: HttpRequest, *_: Any) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@ratelimit("code.sync", "2/h")
def sync_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("sync")


@ratelimit("code.async", "2/h")
async def async_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("async")


@ratelimit("code.class", "2/h")
class SyncClass(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("class")


@ratelimit("code.async-class", "2/h")
class AsyncClass(View):
    async def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("class")


class OneMethod(View):
    @method_decorator(ratelimit("code.method", "1/h"))
    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("posted")

    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("got")


@ratelimit(rate="3/h")
@ratelimit(rate="10/h")
def stacked(request: HttpRequest) -> HttpResponse:
    return HttpResponse("stacked")


@ratelimit("code.decides", "1/h", block=False)
def decides(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"allowed": request.ratewindow.allowed})  # type: ignore[attr-defined]


@ratelimit("code.adecides", "1/h", block=False)
async def adecides(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"allowed": request.ratewindow.allowed})  # type: ignore[attr-defined]


@ratelimit("code.headers", "5/h")
def own_headers(request: HttpRequest) -> HttpResponse:
    return HttpResponse("mine", headers={"X-RateLimit-Limit": "7", "RateLimit": '"mine";r=7'})


@ratelimit("both")
def both(request: HttpRequest) -> HttpResponse:
    return HttpResponse("both")


@ratelimit("code.broken", "1/h")
def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the view's own")


@ratelimit("code.abroken", "1/h")
async def abroken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the view's own")


def raises(request: HttpRequest) -> HttpResponse:
    ratewindow.hit("asks", request, raise_exception=True)
    return HttpResponse("hit")


async def araises(request: HttpRequest) -> HttpResponse:
    decision = await ratewindow.ahit("asks", request)
    if not decision:
        raise RateLimited(decision)
    return HttpResponse("hit")


def asks(request: HttpRequest) -> HttpResponse:
    seen = ratewindow.peek("asks", request)
    hit = ratewindow.hit("asks", request)
    return JsonResponse({"peeked": seen.remaining, "allowed": hit.allowed, "remaining": hit.remaining})


async def aasks(request: HttpRequest) -> HttpResponse:
    seen = await ratewindow.apeek("asks", request)
    hit = await ratewindow.ahit("asks", request)
    return JsonResponse({"peeked": seen.remaining, "allowed": hit.allowed, "remaining": hit.remaining})


@ratelimit("code.stream", "1/h")
def stream(request: HttpRequest) -> StreamingHttpResponse:
    def parts() -> Iterator[bytes]:
        yield from (b"%d\n" % number for number in range(100))

    return StreamingHttpResponse(parts(), content_type="text/plain")


@ratelimit("code.astream", "1/h")
async def astream(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        for number in range(100):
            yield b"%d\n" % number

    return StreamingHttpResponse(parts(), content_type="text/plain")


dripping = 0  # streams that somebody still reads, in this process


def drip(request: HttpRequest) -> StreamingHttpResponse:
    """A stream of two minutes, unless the client leaves."""

    def parts() -> Iterator[bytes]:
        global dripping
        dripping += 1
        try:
            for _ in range(12_000):
                yield b"drip\n" * 2_000
                time.sleep(0.01)
        finally:
            dripping -= 1

    return StreamingHttpResponse(parts(), content_type="text/plain")


async def adrip(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        global dripping
        dripping += 1
        try:
            for _ in range(12_000):
                yield b"drip\n" * 2_000
                await asyncio.sleep(0.01)
        finally:
            dripping -= 1

    return StreamingHttpResponse(parts(), content_type="text/plain")


def log_in(request: HttpRequest, name: str) -> HttpResponse:
    login(request, get_user_model().objects.get(username=name))
    return HttpResponse(name)


def named(request: HttpRequest) -> HttpResponse:
    """What a view finds in the body."""
    files = {name: len(file.read()) for name, file in request.FILES.items()}
    return JsonResponse({"form": request.POST.dict(), "files": files, "length": len(request.body) if not files else 0})


def upload(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"received": len(request.body)})


@ratelimit("code.slow", "100/h")
def slow(request: HttpRequest) -> HttpResponse:
    time.sleep(0.2)
    return HttpResponse("slow")


@ratelimit("code.aslow", "100/h")
async def aslow(request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0.2)
    return HttpResponse("slow")


async def blocking(request: HttpRequest, milliseconds: int) -> HttpResponse:
    """What a view should never do: everybody on this event loop waits."""
    time.sleep(milliseconds / 1000)
    return HttpResponse("blocked")


@ratelimit("code.quick", "100000/h")
async def quick(request: HttpRequest) -> HttpResponse:
    """How the request was decided: ``store`` stands for: without the store."""
    return HttpResponse(request.ratewindow.reason or "decided")  # type: ignore[attr-defined]


def resident_kb() -> int:
    """The memory that this process has in use."""
    told = Path("/proc/self/status").read_text()
    return int(told.partition("VmRSS:")[2].split()[0])


def state(request: HttpRequest) -> HttpResponse:
    """What this process holds open."""
    return JsonResponse(
        {
            "worker": os.getpid(),
            "threads": sorted(thread.name for thread in threading.enumerate()),
            "dripping": dripping,
            "stores_of_loops": len(stores.held.of_loop),
            "limits": {rule.name: [window.limit for window in rule.windows] for rule in current.rulebook().by_name.values()},
            "breaker": "open" if outage.breaker.open else "closed",
            "rss_kb": resident_kb(),
            "descriptors": len(os.listdir("/proc/self/fd")),
        }
    )


def guess(request: HttpRequest, word: str) -> HttpResponse:
    if word != "right":
        user_login_failed.send(sender="site", credentials={}, request=request)
    return HttpResponse("guessed")


async def aguess(request: HttpRequest, word: str) -> HttpResponse:
    if word != "right":
        await user_login_failed.asend(sender="site", credentials={})  # without the request: its context must do
    return HttpResponse("guessed")


def charged(request: HttpRequest) -> HttpResponse:
    request.ratewindow.charge(4)  # type: ignore[attr-defined]
    request.ratewindow.refund(1)  # type: ignore[attr-defined]
    return HttpResponse("charged")


async def acharged(request: HttpRequest) -> HttpResponse:
    await request.ratewindow.acharge(4)  # type: ignore[attr-defined]
    await request.ratewindow.arefund(1)  # type: ignore[attr-defined]
    return HttpResponse("charged")
