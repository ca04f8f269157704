"""One limited view in each form that Django has: a function, a method of a class, or a class, each sync and async."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View

FORMS = [f"{how} {what}" for how in ("sync", "async") for what in ("function", "method", "class")]
Work = Callable[[HttpRequest], HttpResponse]


def ok(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


def limited(form: str, limit: Callable[[Any], Any], work: Work = ok) -> Callable[..., Any]:
    """A view of this form with this decorator, which answers by `work`."""
    how, what = form.split()
    if what == "function":
        return limit(_function(how, work))  # type: ignore[no-any-return]
    view: Any = (_sync_class if how == "sync" else _async_class)(method_decorator(limit) if what == "method" else _as_it_is, work)
    return (limit(view) if what == "class" else view).as_view()  # type: ignore[no-any-return]


def _as_it_is(method: Any) -> Any:
    return method


def _function(how: str, work: Work) -> Callable[..., Any]:
    async def aview(request: HttpRequest) -> HttpResponse:
        return work(request)

    def view(request: HttpRequest) -> HttpResponse:
        return work(request)

    return view if how == "sync" else aview


def _sync_class(limit: Callable[[Any], Any], work: Work) -> type[View]:
    class Page(View):
        @limit
        def get(self, request: HttpRequest) -> HttpResponse:
            return work(request)

    return Page


def _async_class(limit: Callable[[Any], Any], work: Work) -> type[View]:
    class Page(View):
        @limit
        async def get(self, request: HttpRequest) -> HttpResponse:
            return work(request)

    return Page
