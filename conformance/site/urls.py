"""The site's URLs: what the adapter's limiter can do, and nothing for what it cannot."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path

from conformance.adapter import Adapter
from conformance.site import views
from conformance.site.limits import BY_HEADER, LIMITS, TWENTY


def has(adapter: Adapter, capability: str) -> bool:
    return capability not in adapter.without


def limited_views(adapter: Adapter) -> list[Any]:
    return [path(f"{name}/", adapter.limit(own(name), name, limits)) for name, limits in LIMITS.items()]


def own(name: str) -> Any:
    """A view of its own, with a name of its own, since limiters make keys of names."""

    def view(request: HttpRequest) -> HttpResponse:
        return views.view(request)

    view.__name__ = view.__qualname__ = name.replace("-", "_")
    return view


def async_views(adapter: Adapter) -> list[Any]:
    async def limited(request: HttpRequest) -> HttpResponse:
        return await views.async_view(request)

    return [path("async/twenty/", adapter.limit_async(limited, "async-twenty", LIMITS["twenty"]))]


def throttled_views(adapter: Adapter) -> list[Any]:
    from rest_framework.response import Response
    from rest_framework.views import APIView

    class Throttled(APIView):
        throttle_classes = adapter.throttles("drf-twenty", TWENTY)

        def get(self, request: Any) -> Response:
            return Response(views.view(request).content.decode())

    return [path("drf/twenty/", Throttled.as_view())]


def patterns(adapter: Adapter) -> list[Any]:
    found = [path("free/", views.view), path("async/free/", views.async_view), path("edit/", views.edit), *adapter.urls()]
    if has(adapter, "views"):
        found += limited_views(adapter)
    if has(adapter, "header"):
        found.append(path("by-header/", adapter.limit(own("by-header"), "by-header", (BY_HEADER,))))
    if has(adapter, "async"):
        found += async_views(adapter)
    if has(adapter, "drf"):
        found += throttled_views(adapter)
    if has(adapter, "rate"):
        found.append(path("rate/", views.rate))
    if has(adapter, "edits"):
        found.append(path("edited/", adapter.edited(own("edited"))))
    if has(adapter, "logins"):
        found += [path("login/", adapter.guard(views.log_in)), path("admin/login/", adapter.guard(admin.site.login))]
    return [*found, path("admin/", admin.site.urls)]


urlpatterns = patterns(settings.ADAPTER)
