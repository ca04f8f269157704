"""Views of the demo site, each limited in another way."""

import asyncio

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt

from ratewindow import ratelimit

ORDERS = [{"number": number, "total": f"{7 * number % 90 + 10}.00"} for number in range(1, 21)]


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "demo/home.html")


@ratelimit("demo.limited", "5/m")
def limited(request: HttpRequest) -> HttpResponse:
    """Limited in code; a rule of the same name in the admin replaces that limit."""
    return render(request, "demo/limited.html", {"decision": request.ratewindow})


def search(request: HttpRequest) -> HttpResponse:
    """Not limited in code; the demo has a rule in shadow for it."""
    words = request.GET.get("q", "").lower().split()
    found = [order for order in ORDERS if words and all(word in f"order {order['number']}" for word in words)]
    return render(request, "demo/search.html", {"words": " ".join(words), "found": found})


@ratelimit("demo.export", "2/m", key="user_or_ip", block=False)
def export(request: HttpRequest) -> HttpResponse:
    """The view decides: all orders within the limit, the first three beyond it."""
    allowed = request.ratewindow.allowed
    return JsonResponse({"complete": allowed, "orders": ORDERS if allowed else ORDERS[:3]})


@ratelimit("demo.slow", "10/m")
async def slow(request: HttpRequest) -> HttpResponse:
    """An async view with the same decorator."""
    await asyncio.sleep(0.2)
    return HttpResponse("That took a while.\n", content_type="text/plain")


def orders(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"orders": ORDERS})


def order(request: HttpRequest, number: int) -> JsonResponse:
    found = [order for order in ORDERS if order["number"] == number]
    return JsonResponse(found[0] if found else {"error": "no such order"}, status=200 if found else 404)


@csrf_exempt
def anything(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")
