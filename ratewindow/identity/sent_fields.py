"""Keys from a header, a cookie or a field of the query string."""

from collections.abc import Callable

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest

from ratewindow.identity.normalise import Normaliser, as_sent
from ratewindow.identity.typed_values import beginning, typed

Extractor = Callable[[HttpRequest], str | None]


def header(name: str, normaliser: Normaliser) -> Extractor:
    """A header. If it is sent twice, the values are joined by a comma, as servers do."""
    meta = "HTTP_" + name.upper().replace("-", "_")
    meta = {"HTTP_CONTENT_TYPE": "CONTENT_TYPE", "HTTP_CONTENT_LENGTH": "CONTENT_LENGTH"}.get(meta, meta)
    prefix = beginning("header", name)
    if normaliser is as_sent:
        return lambda request: typed(prefix, request.META.get(meta), as_sent)
    return lambda request: typed(prefix, _in_unicode(request.META.get(meta)), normaliser)


def _in_unicode(sent: str | None) -> str | None:
    """A header decoded as UTF-8 where it can be: servers decode it as Latin-1, which cannot be normalised."""
    try:
        return sent.encode("latin-1").decode() if sent and not sent.isascii() else sent
    except UnicodeError:
        return sent


def cookie(name: str, normaliser: Normaliser) -> Extractor:
    """A cookie. If it is sent twice, the last one counts, as in ``request.COOKIES[name]``."""
    prefix = beginning("cookie", name)
    return lambda request: typed(prefix, request.COOKIES.get(name), normaliser)


def query(name: str, normaliser: Normaliser) -> Extractor:
    """A field of the query string. If it is sent twice, the last one counts, as in ``request.GET[name]``."""
    prefix = beginning("query", name)

    def value(request: HttpRequest) -> str | None:
        try:
            sent = request.GET.get(name)
        except SuspiciousOperation:  # more fields than Django allows: the response will be a 400
            return None
        return typed(prefix, sent, normaliser)

    return value
