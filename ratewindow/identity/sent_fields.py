"""Keys from what clients send: a header, a cookie, a field of the query string, or of the body, a form or JSON; and claims.

A body is read only when it is small. At most `MOST_BYTES` are read, and never after other code has begun to read the body as
a stream. Uploaded files are not kept. The view finds the body, the form, its files and the stream unread.

Claims are those of a token that the site's own authentication has verified. One of an unverified token is whatever the client
chose, and counts as missing.
"""

import codecs
import json
import math
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.db.models import Model
from django.http import HttpRequest, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.http.request import RawPostDataException
from django.utils.functional import LazyObject

from ratewindow.identity.request_attributes import original
from ratewindow.identity.typed_values import Extractor, Normaliser, beginning, typed

Maker = Callable[[str, Normaliser], Extractor]
MOST_BYTES = 64 * 1024
_PLAIN, _IN_PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
_NO_FORM = QueryDict()


def header(name: str, normaliser: Normaliser) -> Extractor:
    """A header. If it is sent twice, the values are joined by a comma, as servers do."""
    meta = "HTTP_" + name.upper().replace("-", "_")
    meta = {"HTTP_CONTENT_TYPE": "CONTENT_TYPE", "HTTP_CONTENT_LENGTH": "CONTENT_LENGTH"}.get(meta, meta)
    prefix = beginning("header", name)
    return lambda request: typed(prefix, request.META.get(meta), normaliser)


def _maker(kind: str, sent: Callable[[HttpRequest, str], str | None]) -> Maker:
    """What makes keys of this kind, by a function that finds what a request has under a name."""

    def make(name: str, normaliser: Normaliser) -> Extractor:
        prefix = beginning(kind, name)
        return lambda request: typed(prefix, sent(original(request), name), normaliser)

    return make


def _query(request: HttpRequest, name: str) -> str | None:
    """If it is sent twice, the last one counts, as in ``request.GET[name]``."""
    try:
        return request.GET.get(name)
    except SuspiciousOperation:  # more fields than Django allows: the response will be a 400
        return None


def _post(request: HttpRequest, name: str) -> str | None:
    """If it is sent twice, the last one counts, as in ``request.POST[name]``."""
    sent = _form(request).get(name)
    return sent if isinstance(sent, str) else None


def _in_json(request: HttpRequest, name: str) -> str | None:
    """A member of the JSON body: ``json:user.email`` is ``{"user": {"email": ...}}``. Lists and objects count as missing."""
    kind = request.content_type or ""
    return _member(request, name) if kind == "application/json" or kind.endswith("+json") else None


def field(request: HttpRequest, name: str) -> str | None:
    """The form field, or the member of the JSON, whatever the content type: for views that accept both.

    Missing if one body is both and names two: which of them the view reads, only the view knows.
    """
    sent, member = _post(request, name), _member(request, name)
    if not sent or sent.isspace():
        return member
    return sent if member is None else None


def _member(request: HttpRequest, name: str) -> str | None:
    """A member of the body as JSON, whatever its content type: some views do not check that."""
    if not hasattr(request, "_ratewindow_json"):
        request._ratewindow_json = _parsed_json(request)  # type: ignore[attr-defined]
    found: Any = request._ratewindow_json  # type: ignore[attr-defined]
    for step in name.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return scalar(found)


def scalar(value: Any) -> str | None:
    """A JSON value as text. 42, 42.0 and "42" are one client, since a view that expects a number accepts all of them."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value) if isinstance(value, int) and abs(value) < 10**100 else None


def _form(request: HttpRequest) -> QueryDict:
    """The fields of the form in the body; empty if there is no form, or it must not be read."""
    if hasattr(request, "_post"):  # other code, such as Django's CSRF protection, has parsed it
        return request.POST
    if not hasattr(request, "_ratewindow_form"):
        request._ratewindow_form = _parsed_form(request)  # type: ignore[attr-defined]
    return request._ratewindow_form  # type: ignore[attr-defined,no-any-return]


def _parsed_form(request: HttpRequest) -> QueryDict:
    if request.content_type not in (_PLAIN, _IN_PARTS) or (body := _body(request)) is None:
        return _NO_FORM
    encoding = request.encoding or settings.DEFAULT_CHARSET
    try:
        if request.content_type == _PLAIN:  # of any charset: Django rejects some that REST framework reads
            return QueryDict(body, encoding=encoding)
        return MultiPartParser(request.META, BytesIO(body), [_NoFiles()], encoding).parse()[0]
    except (SuspiciousOperation, BadRequest, MultiPartParserError, LookupError, ValueError):
        return _NO_FORM  # Django rejects it, too


class _NoFiles(FileUploadHandler):
    """Upload handler that skips every file: after `SkipFile` the parser goes on with the next field."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile  # after which none of its other methods is called


def _parsed_json(request: HttpRequest) -> Any:
    if (body := _body(request)) is None:
        return None
    try:
        return json.loads(body) if _is_unicode(request.encoding) else None
    except (ValueError, RecursionError):  # not JSON, not UTF-8, a number of thousands of digits, nested too deeply
        return None


def _is_unicode(charset: str | None) -> bool:
    """Whether all readers of JSON agree, or take none. By any other charset some views decode it, and others do not."""
    try:
        return not charset or codecs.lookup(charset).name.startswith(("utf-8", "utf-16", "utf-32"))
    except LookupError:  # set by other code: Django takes none that is unknown
        return False


def _body(request: HttpRequest) -> bytes | None:
    """The body, if it is small and can still be read; Django keeps it for the view."""
    if not 0 < _size(request) <= MOST_BYTES:
        return None
    try:
        body = request.body
    except (RawPostDataException, SuspiciousOperation, OSError):  # read by other code, too large for Django, disconnected
        return None
    return body if len(body) <= MOST_BYTES else None


def _size(request: HttpRequest) -> int:
    """The length of the body by its Content-Length. Only under ASGI may that be missing; then Django has the body in a file."""
    if hasattr(request, "_body"):
        return len(request._body)
    if length := str(request.META.get("CONTENT_LENGTH") or ""):
        return int(length) if length.isascii() and length.isdigit() and len(length) < 16 else 0
    stream: Any = getattr(request, "_stream", None)
    if getattr(request, "_read_started", True) or not (hasattr(stream, "seekable") and stream.seekable()):
        return 0
    size: int = stream.seek(0, 2)
    stream.seek(0)
    return size


def _claims(request: HttpRequest) -> Mapping[str, Any]:
    """The claims that authentication has verified: Django REST framework, simplejwt and django-ninja leave them at
    ``request.auth``, Authlib at ``request.oauth_token``, simplejwt's stateless users at their ``token``.
    """
    user = getattr(request, "user", None) if "user" in vars(request) else None
    for source in (getattr(request, "auth", None), getattr(request, "oauth_token", None), user):
        # By type(), since isinstance() makes a lazy user load itself from the database.
        if source is None or issubclass(type(source), str | LazyObject):
            continue
        for candidate in (source, getattr(source, "payload", None), _token_of(source)):
            if isinstance(candidate, Mapping):
                return candidate
    return {}


def _token_of(source: Any) -> Any:
    if isinstance(source, Model):  # an attribute may be a relation, and so a query
        return None
    token = getattr(source, "token", None)
    return getattr(token, "payload", token)


# The makers of keys with a name, by kind.
MAKERS: dict[str, Maker] = {
    "header": header,
    # If it is sent twice, the last one counts, as in ``request.COOKIES[name]``.
    "cookie": _maker("cookie", lambda request, name: request.COOKIES.get(name)),
    "query": _maker("query", _query),
    "post": _maker("post", _post),
    "json": _maker("json", _in_json),
    "body": _maker("body", field),
    "jwt": _maker("jwt", lambda request, name: scalar(_claims(request).get(name))),
}
