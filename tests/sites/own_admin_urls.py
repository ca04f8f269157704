"""The viewsets of the documentation, below /api/, and a page that a rule limits."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from tests.support.documented import module


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("a page")


urlpatterns = [path("login/", page), path("api/", include(module("developers/without_admin.md", "limits/api.py").router.urls))]
