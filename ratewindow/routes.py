"""Which route a request takes, asked before Django has resolved it: the view's name, not the path that was typed."""

from typing import Any

from django.http import HttpRequest
from django.urls import Resolver404, ResolverMatch, get_resolver


def route_of(request: HttpRequest) -> str | None:
    """The name of the view that the URLconf has for this request: ``login``, ``shop:checkout``, or ``shop.views.cart``
    where the pattern has no name. None where no pattern matches: a 404, or the redirect of APPEND_SLASH.
    """
    match = match_of(request)
    return match.view_name if match is not None else None


def match_of(request: HttpRequest) -> ResolverMatch | None:
    """What Django resolves this request to, or will once the middleware is passed; None where no pattern matches."""
    if request.resolver_match is not None:
        return request.resolver_match
    asked = (request.path_info, getattr(request, "urlconf", None))
    told: tuple[Any, ResolverMatch | None] | None = getattr(request, "_ratewindow_match", None)
    if told is None or told[0] != asked:  # a middleware may have given the request another URLconf since
        told = (asked, _resolved(*asked))
        request._ratewindow_match = told  # type: ignore[attr-defined]
    return told[1]


def _resolved(path: str, urlconf: Any) -> ResolverMatch | None:
    try:
        return get_resolver(urlconf).resolve(path)
    except Resolver404:
        return None
