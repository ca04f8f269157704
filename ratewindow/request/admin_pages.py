"""The pages of the admin: which there are, and which of them stay open to users who may switch limits."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.http import HttpRequest
from django.urls import URLResolver, get_resolver
from django.utils.regex_helper import normalize

from ratewindow.identity.routes import match_of

ADMIN = "admin"  # the namespace of every site of the admin, whatever its name
OURS = "ratewindow"
IN_PATHS = f"/{OURS}/"  # stands in the path of each of our pages
_SAMPLES = {"app_label": OURS}  # instead of what a path captures; 1 for anything else


@dataclass(frozen=True)
class Page:
    """One address of the admin, as requests have it."""

    path: str
    name: str  # of the URL, such as index or login


def pages() -> list[Page]:
    """Every page of the admin in the site's URLs, index and login first; none on a site without the admin."""
    found = {page.path: page for page in _pages(get_resolver(), "/", inside=False)}
    return sorted(found.values(), key=lambda page: (_FIRST.get(page.name, len(_FIRST)), page.path))


_FIRST = {"index": 0, "login": 1}


def _pages(resolver: URLResolver, before: str, inside: bool) -> Iterator[Page]:
    for child in resolver.url_patterns:
        for path in _samples(child.pattern):
            if isinstance(child, URLResolver):
                yield from _pages(child, before + path, inside or child.app_name == ADMIN)
            elif inside:
                yield Page(before + path, child.name or "")


def _samples(pattern: Any) -> list[str]:
    """Texts that pass a pattern, as `reverse` would write them."""
    return [text % {name: _SAMPLES.get(name, "1") for name in names} for text, names in normalize(pattern.regex.pattern)]


def stays_open(request: HttpRequest) -> bool:
    """Whether a refused request passes nevertheless, uncounted: users who may correct a rule or block that refuses too much
    must reach the pages for it. Called only for refusals, since it may load the user from the database."""
    return _is_ours(request) and _may_switch(request)


async def astays_open(request: HttpRequest) -> bool:
    """`stays_open`, awaited."""
    return _is_ours(request) and await sync_to_async(_may_switch)(request)


def _is_ours(request: HttpRequest) -> bool:
    """Whether a request is for a page of this app in the admin. Of most the path alone says that it is not."""
    match = match_of(request) if IN_PATHS in request.path_info else None
    if match is None or ADMIN not in match.app_names:
        return False
    captured = match.captured_kwargs or {}  # type: ignore[attr-defined]  # the stubs know less than Django has
    return (match.url_name or "").startswith(f"{OURS}_") or captured.get("app_label") == OURS


def _may_switch(request: HttpRequest) -> bool:
    user: Any = getattr(request, "user", None)
    try:
        return user is not None and user.is_staff and user.has_perm(f"{OURS}.switch_limits")
    except (AttributeError, DatabaseError):  # a user without such rights, or a database that is away
        return False
