"""Two pages with limits, one of them from code, and the admin."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.generic import RedirectView

from ratewindow import ratelimit


@ratelimit("demo.limited", "5/m")
def limited(request: HttpRequest) -> HttpResponse:
    """Limited in code; a rule of the same name in the admin replaces that limit."""
    return HttpResponse("Five times a minute, and then no more.\n", content_type="text/plain")


def orders(request: HttpRequest) -> JsonResponse:
    """Not limited in code; a rule in the admin limits its path."""
    return JsonResponse({"orders": [1, 2, 3]})


urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:ratewindow_report")),
    path("limited/", limited),
    path("api/orders/", orders),
    path("admin/", admin.site.urls),
]
