"""The page of a refused visitor: the site's own by ``handler429`` or template, else ours."""

import inspect
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponseBase
from django.template import TemplateDoesNotExist
from django.template.loader import get_template
from django.templatetags.static import static
from django.urls import get_resolver
from django.urls.utils import get_callable

from ratewindow.exceptions import RateLimited
from ratewindow.limiter.types import Decision

Handler = Callable[..., Any]

_PACKAGED = str(Path(__file__).parents[1] / "templates")


def handler429(request: HttpRequest) -> Any:
    """The root URLconf's `handler429`, a function or the path of one; None without it."""
    try:
        return getattr(get_resolver(getattr(request, "urlconf", None)).urlconf_module, "handler429", None)
    except Exception:  # a URLconf that cannot be imported, which Django reports for requests that pass
        return None


def by_handler(handler: Any, request: HttpRequest, decision: Decision, status: int) -> HttpResponseBase:
    """The response of the site's handler, which finds the decision at `request.ratewindow`.

    A response with the status 200 or 429 gets the rule's.
    """
    response = _called(get_callable(handler), request, decision)
    if not isinstance(response, HttpResponseBase):
        raise TypeError(f"handler429 must return an HttpResponse, not {type(response).__name__}")
    if not getattr(response, "is_rendered", True):
        response.render()  # type: ignore[attr-defined]  # a middleware's answer is rendered by nobody else
    if response.status_code in (200, 429):
        response.status_code = status
    return response


def page(request: HttpRequest, context: dict[str, Any], is_busy: bool) -> str:
    """The page as text."""
    name = "503.html" if is_busy else "429.html"
    return str(_template(name).render({**context, "stylesheet": _stylesheet()}, request))


def _called(handler: Handler, request: HttpRequest, decision: Decision) -> Any:
    before = getattr(request, "ratewindow", None)
    request.ratewindow = decision  # type: ignore[attr-defined]  # of an exception, another than the request's
    try:
        call = async_to_sync(handler) if iscoroutinefunction(handler) else handler
        return call(request, exception=RateLimited(decision)) if _takes_exception(handler) else call(request)
    finally:
        if before is not None:
            request.ratewindow = before  # type: ignore[attr-defined]


@lru_cache(maxsize=32)
def _takes_exception(handler: Handler) -> bool:
    """Whether it requires an exception, as Django's own handlers and those of django-ratelimit do."""
    parameters = [*inspect.signature(handler).parameters.values()][1:]
    return any(each.name == "exception" and each.default is each.empty for each in parameters)


def _template(name: str) -> Any:
    """The site's ``ratewindow/429.html``, else its ``429.html``, else ours."""
    try:
        found = get_template(f"ratewindow/{name}")
    except TemplateDoesNotExist:
        return get_template(name)
    if str(getattr(getattr(found, "origin", None), "name", "")).startswith(_PACKAGED):
        try:
            return get_template(name)
        except TemplateDoesNotExist:
            pass
    return found


def _stylesheet() -> str:
    """The URL of our page's stylesheet, or nothing for a site without static files, or that has not collected ours."""
    try:
        return static("ratewindow/429.css")
    except (ImproperlyConfigured, ValueError):
        return ""
