"""Keys from what a client sends beside the body: a header, a cookie, a field of the query string."""

from collections.abc import Callable

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest

from ratewindow.identity.normalise import Normaliser, as_sent
from ratewindow.identity.typed_values import beginning, typed

Extractor = Callable[[HttpRequest], str | None]


def header(name: str, normaliser: Normaliser) -> Extractor:
    """A header that is sent twice is one value, its parts joined by a comma, as servers do."""
    meta = "HTTP_" + name.upper().replace("-", "_")
    meta = {"HTTP_CONTENT_TYPE": "CONTENT_TYPE", "HTTP_CONTENT_LENGTH": "CONTENT_LENGTH"}.get(meta, meta)
    prefix = beginning("header", name)
    if normaliser is as_sent:
        return lambda request: typed(prefix, request.META.get(meta), as_sent)
    return lambda request: typed(prefix, _in_unicode(request.META.get(meta)), normaliser)


def _in_unicode(sent: str | None) -> str | None:
    """Servers hand on a header's bytes as Latin-1, of which no form of letters could be made the same."""
    try:
        return sent.encode("latin-1").decode() if sent and not sent.isascii() else sent
    except UnicodeError:
        return sent


def cookie(name: str, normaliser: Normaliser) -> Extractor:
    """Of two cookies of one name the last, which is what a view sees."""
    prefix = beginning("cookie", name)
    return lambda request: typed(prefix, request.COOKIES.get(name), normaliser)


def query(name: str, normaliser: Normaliser) -> Extractor:
    """Of a field that is sent twice the last, which is what a view sees."""
    prefix = beginning("query", name)

    def value(request: HttpRequest) -> str | None:
        try:
            sent = request.GET.get(name)
        except SuspiciousOperation:  # more fields than Django takes: the view's answer is a 400
            return None
        return typed(prefix, sent, normaliser)

    return value
