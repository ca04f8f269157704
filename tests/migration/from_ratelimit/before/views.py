"""A little shop, limited in the ways that django-ratelimit offers."""

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django_ratelimit.decorators import ratelimit


def by_plan(group: str, request: HttpRequest) -> str | None:
    return None if request.user.is_staff else "2/h"


def by_tenant(group: str, request: HttpRequest) -> str:
    return request.headers.get("x-tenant", "nobody")


@ratelimit(key="ip", rate="2/h", method="POST")
def login(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


@ratelimit(group="search", key="user_or_ip", rate="2/h", block=False)
def search(request: HttpRequest) -> HttpResponse:
    return HttpResponse("the first three" if request.limited else "everything")


@ratelimit(group="search", key="user_or_ip", rate="2/h", block=False)
def suggest(request: HttpRequest) -> HttpResponse:
    return HttpResponse("nothing" if request.limited else "a word")


@method_decorator(ratelimit(key="user", rate=by_plan, method=ratelimit.UNSAFE), name="dispatch")
class Order(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("a form")

    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ordered")


@ratelimit(key="post:email", rate="1/h")
@ratelimit(key="ip", rate="3/h")
def subscribe(request: HttpRequest) -> HttpResponse:
    return HttpResponse("subscribed")


@ratelimit(key="header:x-api-key", rate="1/10m")
def stock(request: HttpRequest) -> HttpResponse:
    return HttpResponse("7 left")


@ratelimit(key="get:code", rate="1/d")
def voucher(request: HttpRequest) -> HttpResponse:
    return HttpResponse("5 off")


@ratelimit(key=by_tenant, rate=by_plan)
def report(request: HttpRequest) -> HttpResponse:
    return HttpResponse("a report")


@ratelimit(key=by_tenant, rate="1/h")
def invoice(request: HttpRequest) -> HttpResponse:
    return HttpResponse("an invoice")


@ratelimit(key="ip", rate="0/s")
def closed(request: HttpRequest) -> HttpResponse:
    return HttpResponse("never")
