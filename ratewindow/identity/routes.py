"""The URLconf's match of a request, resolved before Django does it."""

from contextlib import nullcontext
from typing import Any

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.http import HttpRequest
from django.urls import Resolver404, ResolverMatch, get_resolver
from django.utils import translation


def route_of(request: HttpRequest) -> str | None:
    """The view name of this request: ``login``, ``shop:checkout``, or ``shop.views.cart`` if the pattern has no name.
    None if no pattern matches: a 404, or a redirect by APPEND_SLASH.
    """
    match = match_of(request)
    return match.view_name if match is not None else None


def match_of(request: HttpRequest) -> ResolverMatch | None:
    """The match that Django has found for this request, or will find after the middlewares; None if no pattern matches."""
    if request.resolver_match is not None:
        return request.resolver_match
    target = (request.path_info, getattr(request, "urlconf", None))
    cached: tuple[Any, ResolverMatch | None] | None = getattr(request, "_ratewindow_match", None)
    if cached is None or cached[0] != target:  # a middleware may have given the request another URLconf since
        cached = (target, resolved(*target))
        request._ratewindow_match = cached  # type: ignore[attr-defined]
    return cached[1]


def resolved(path: str, urlconf: Any) -> ResolverMatch | None:
    """Resolved in the language of the path, which Django's LocaleMiddleware may activate only after our middleware."""
    resolver, active = get_resolver(urlconf), translation.get_language()
    for language in dict.fromkeys((_language_of(path, urlconf) or active, active)):
        with nullcontext() if language in (None, active) else translation.override(language):
            try:
                return resolver.resolve(path)
            except Resolver404:
                continue
    return None


def _language_of(path: str, urlconf: Any) -> str | None:
    used, default_has_prefix = is_language_prefix_patterns_used(urlconf)
    if not used:
        return None
    return translation.get_language_from_path(path) or (None if default_has_prefix else settings.LANGUAGE_CODE)
