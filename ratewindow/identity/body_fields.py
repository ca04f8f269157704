"""Keys from the body of a request, a form or JSON: read only when it is small, and still there for the view.

At most `MOST_BYTES` are read, and never after other code has begun to read the body as a stream. Uploaded files are
not kept. The view finds the body, the form, its files and the stream unread.
"""

import codecs
import json
import math
from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.http.request import RawPostDataException

from ratewindow.identity.normalise import Normaliser
from ratewindow.identity.request_attributes import original
from ratewindow.identity.sent_fields import Extractor
from ratewindow.identity.typed_values import beginning, typed

MOST_BYTES = 64 * 1024
_NO_FORM = QueryDict()


def post(name: str, normaliser: Normaliser) -> Extractor:
    """A form field. If it is sent twice, the last one counts, as in ``request.POST[name]``."""
    prefix = beginning("post", name)

    def value(request: HttpRequest) -> str | None:
        sent = _form(original(request)).get(name)
        return typed(prefix, sent, normaliser) if isinstance(sent, str) else None

    return value


def in_json(name: str, normaliser: Normaliser) -> Extractor:
    """A member of the JSON body: ``json:user.email`` is ``{"user": {"email": ...}}``. Lists and objects count as missing."""
    prefix, steps = beginning("json", name), name.split(".")

    def value(request: HttpRequest) -> str | None:
        return typed(prefix, _member(_json(original(request)), steps), normaliser)

    return value


def either(name: str, normaliser: Normaliser) -> Extractor:
    """The form field, or the member of the JSON, whatever the content type: for views that accept both.

    Missing if one body is both and names two: which of them the view reads, only the view knows.
    """
    prefix, steps = beginning("body", name), name.split(".")

    def value(request: HttpRequest) -> str | None:
        request = original(request)
        sent, member = _form(request).get(name), _member(_any_json(request), steps)
        if not (isinstance(sent, str) and sent.strip()):
            return typed(prefix, member, normaliser)
        return typed(prefix, sent, normaliser) if member is None else None

    return value


def _member(found: Any, steps: list[str]) -> str | None:
    for step in steps:
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
    if (form := getattr(request, "_ratewindow_form", None)) is None:
        form = request._ratewindow_form = _parsed_form(request)  # type: ignore[attr-defined]
    return form


def _parsed_form(request: HttpRequest) -> QueryDict:
    kind = request.content_type
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data") or (body := _body(request)) is None:
        return _NO_FORM
    encoding = request.encoding or settings.DEFAULT_CHARSET
    try:
        if kind == "multipart/form-data":
            return MultiPartParser(request.META, BytesIO(body), [_NoFiles()], encoding).parse()[0]
        return QueryDict(body, encoding=encoding)
    except (SuspiciousOperation, BadRequest, MultiPartParserError, LookupError, ValueError):
        return _NO_FORM  # Django rejects it, too


class _NoFiles(FileUploadHandler):
    """Upload handler that skips every file: after `SkipFile` the parser goes on with the next field."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None


def _json(request: HttpRequest) -> Any:
    """The body as JSON if its content type says so; None otherwise, or if it must not be read."""
    kind = request.content_type or ""
    return _any_json(request) if kind == "application/json" or kind.endswith("+json") else None


def _any_json(request: HttpRequest) -> Any:
    """The body as JSON, whatever its content type: some views do not check that."""
    if not hasattr(request, "_ratewindow_json"):
        request._ratewindow_json = _parsed_json(request)  # type: ignore[attr-defined]
    return request._ratewindow_json  # type: ignore[attr-defined]


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
