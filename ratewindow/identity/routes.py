"""Which route a request takes, asked before Django has resolved it: the view's name, not the path that was typed."""

from contextlib import nullcontext
from typing import Any

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.http import HttpRequest
from django.urls import Resolver404, ResolverMatch, get_resolver
from django.utils import translation


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
    """In the language that stands in the path, as Django's LocaleMiddleware speaks it, which may come after ours."""
    resolver, spoken = get_resolver(urlconf), translation.get_language()
    for language in dict.fromkeys((_language_of(path, urlconf) or spoken, spoken)):
        with nullcontext() if language in (None, spoken) else translation.override(language):
            try:
                return resolver.resolve(path)
            except Resolver404:
                continue
    return None


def _language_of(path: str, urlconf: Any) -> str | None:
    in_paths, also_the_usual_one = is_language_prefix_patterns_used(urlconf)
    if not in_paths:
        return None
    return translation.get_language_from_path(path) or (None if also_the_usual_one else settings.LANGUAGE_CODE)
