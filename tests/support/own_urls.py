"""A URLconf with a refusal page of its own, for requests that are given another one."""

from django.http import HttpRequest, HttpResponse

urlpatterns: list[object] = []


def handler429(request: HttpRequest) -> HttpResponse:
    return HttpResponse("a page of another URLconf")
