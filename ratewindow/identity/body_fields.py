"""Keys from the body of a request, a form or JSON: read only when it is small, and left for the view to read.

At most `MOST_BYTES` are read, and nothing that some other code has begun to read as a stream. Files of a form are
never kept. The view finds the body, the form, its files and the stream as if nobody had looked.
"""

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
    """Of a field that is sent twice the last, which is what a view sees."""
    prefix = beginning("post", name)

    def value(request: HttpRequest) -> str | None:
        sent = _form(original(request)).get(name)
        return typed(prefix, sent, normaliser) if isinstance(sent, str) else None

    return value


def in_json(name: str, normaliser: Normaliser) -> Extractor:
    """``json:user.email`` is ``{"user": {"email": ...}}``. Text and numbers are values, lists and objects are none."""
    prefix, steps = beginning("json", name), name.split(".")

    def value(request: HttpRequest) -> str | None:
        return typed(prefix, _member(_json(original(request)), steps), normaliser)

    return value


def either(name: str, normaliser: Normaliser) -> Extractor:
    """For views that take a form and JSON: the field, or else the member, whatever the body is said to be."""
    prefix, steps = beginning("body", name), name.split(".")

    def value(request: HttpRequest) -> str | None:
        request = original(request)
        sent = _form(request).get(name)
        return typed(prefix, sent if isinstance(sent, str) and sent.strip() else _member(_any_json(request), steps), normaliser)

    return value


def _member(found: Any, steps: list[str]) -> str | None:
    for step in steps:
        found = found.get(step) if isinstance(found, dict) else None
    return scalar(found)


def scalar(value: Any) -> str | None:
    """A value of JSON as text: 42, 42.0 and "42" are one client, since a view that wants a number takes all of them."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value) if isinstance(value, int) and abs(value) < 10**100 else None


def _form(request: HttpRequest) -> QueryDict:
    """The fields of the form in the body; none where there is no form, or it must not be read."""
    if hasattr(request, "_post"):  # somebody has parsed it already, such as Django's CSRF protection
        return request.POST
    if (held := getattr(request, "_ratewindow_form", None)) is None:
        held = request._ratewindow_form = _parsed_form(request)  # type: ignore[attr-defined]
    return held


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
        return _NO_FORM  # what is no form for Django either


class _NoFiles(FileUploadHandler):
    """Every file is skipped: `SkipFile` reads on behind it."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None


def _json(request: HttpRequest) -> Any:
    """The JSON in a body that says that it is some; None where there is none, or it must not be read."""
    kind = request.content_type or ""
    return _any_json(request) if kind == "application/json" or kind.endswith("+json") else None


def _any_json(request: HttpRequest) -> Any:
    """The JSON in the body, whatever the body says that it is, as views find it that ask nobody."""
    if not hasattr(request, "_ratewindow_json"):
        request._ratewindow_json = _parsed_json(request)  # type: ignore[attr-defined]
    return request._ratewindow_json  # type: ignore[attr-defined]


def _parsed_json(request: HttpRequest) -> Any:
    if (request.content_type or "") == "multipart/form-data" or (body := _body(request)) is None:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, a number of thousands of digits, lists in lists in lists
        return None


def _body(request: HttpRequest) -> bytes | None:
    """The body, where it is small and still there; Django keeps what has been read for the view."""
    if not 0 < _size(request) <= MOST_BYTES:
        return None
    try:
        body = request.body
    except (RawPostDataException, SuspiciousOperation, OSError):  # read by somebody else, too big for Django, cut off
        return None
    return body if len(body) <= MOST_BYTES else None


def _size(request: HttpRequest) -> int:
    """How long the body says it is. Only under ASGI is there one that does not say: Django has it in a file by then."""
    if hasattr(request, "_body"):
        return len(request._body)
    if told := str(request.META.get("CONTENT_LENGTH") or ""):
        return int(told) if told.isascii() and told.isdigit() and len(told) < 16 else 0
    stream: Any = getattr(request, "_stream", None)
    if getattr(request, "_read_started", True) or not (hasattr(stream, "seekable") and stream.seekable()):
        return 0
    size: int = stream.seek(0, 2)
    stream.seek(0)
    return size
