"""Two addresses of one page from a template."""

from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(engines["django"].from_string("{{ words }}").render({"words": "from a template"}))


urlpatterns = [path("page/", page), path("login/", page)]
