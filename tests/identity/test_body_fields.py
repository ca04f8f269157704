"""Keys from the body: read when it is small, missing when it is not, and always left for the view."""

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import BadRequest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.test import AsyncRequestFactory, RequestFactory, override_settings
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from rest_framework.exceptions import APIException
from rest_framework.parsers import BaseParser, FormParser, JSONParser
from rest_framework.request import Request

from ratewindow.identity import recipe
from ratewindow.identity.sent_fields import MOST_BYTES
from tests.support.doors import answer, decorated

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def sent(body: bytes | str, kind: str = FORM, **extra: Any) -> HttpRequest:
    return RequestFactory().generic("POST", "/", body, content_type=kind, **extra)


def who(key: str, request: HttpRequest) -> str | None:
    return recipe(key).identity(request)


def form(body: str, key: str = "post:username") -> str | None:
    return who(key, sent(body))


def in_json(value: Any, key: str = "json:username") -> str | None:
    return who(key, sent(value if isinstance(value, bytes) else json.dumps(value), JSON))


def test_a_field_of_a_form_is_a_client() -> None:
    assert form("username=ann&password=x") == "post:username:ann"
    assert form("username=ann%20b%3Ac") == "post:username:ann b:c"
    assert who("post:username", sent("username=ann", FORM + "; charset=utf-8")) == "post:username:ann"
    assert form("user%5Bname%5D=ann", "post:user[name]") == "post:user[name]:ann"


@pytest.mark.parametrize(
    "body, kind",
    [
        ("username=ann&password=x", FORM),
        (encode_multipart(BOUNDARY, {"username": "ann"}), MULTIPART_CONTENT),
        ('{"username": "ann"}', JSON),
        ('{"username": "ann"}', "text/plain"),
        ('{"username": "ann"}', FORM),
        ('{"username": "ann"}', "application/octet-stream"),
        ('{"username": "ann"}', ""),
    ],
)
def test_one_key_reads_a_login_that_a_view_takes_as_a_form_and_as_json(body: bytes | str, kind: str) -> None:
    request = sent(body, kind)
    assert who("body:username", request) == "body:username:ann"
    assert request.body == (body.encode() if isinstance(body, str) else body)


@pytest.mark.parametrize(
    "body, kind",
    [("username=&password=x", FORM), ('{"username": {}}', JSON), ("[1]", JSON), ("junk", "text/plain"), ("", JSON), ("", FORM)],
)
def test_that_key_is_missing_where_neither_has_it(body: str, kind: str) -> None:
    assert who("body:username", sent(body, kind)) is None


def test_that_key_reads_members_of_members_and_stands_beside_others() -> None:
    assert who("body:user.email", sent('{"user": {"email": 7}}', "text/plain")) == "body:user.email:7"
    assert who("json:username", sent('{"username": "ann"}', "text/plain")) is None
    request = sent('{"username": "ann"}', "text/plain")
    assert (who("body:username", request), who("json:username", request)) == ("body:username:ann", None)


IN_PARTS = '{"a": "--xContent-Disposition: form-data; name=username; b=",\r\n\r\n"c": "x7--x", "username": "ann"}'


@pytest.mark.parametrize(
    ("body", "kind"),
    [('{"a": "&username=x7&", "username": "ann"}', FORM), (IN_PARTS, "multipart/form-data; boundary=x")],
    ids=["form", "many parts"],
)
def test_that_key_is_missing_where_a_form_and_json_in_one_body_name_two(body: str, kind: str) -> None:
    assert sent(body, kind).POST["username"] != json.loads(sent(body, kind).body)["username"] == "ann"
    assert who("body:username", sent(body, kind)) is None


def test_a_field_of_a_form_with_files_is_a_client_too() -> None:
    body = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("a", b"x" * 5000), "username": "ann"})
    assert who("post:username", sent(body, MULTIPART_CONTENT)) == "post:username:ann"


@pytest.mark.parametrize("body", ["", "username=", "username", "username=+%20%09", "password=x", "&&&", "=ann", "Username=ann"])
def test_a_field_that_is_absent_or_empty_is_missing(body: str) -> None:
    assert form(body) is None


def test_of_a_field_that_is_sent_twice_the_last_counts_which_is_what_a_view_sees() -> None:
    request = sent("username=random&username=ann")
    assert who("post:username", request) == "post:username:ann"
    assert request.POST["username"] == "ann"
    assert in_json(b'{"username": "random", "username": "ann"}') == "json:username:ann"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"username": "ann"}, "ann"),
        ({"username": 42}, "42"),
        ({"username": 42.0}, "42"),
        ({"username": 0.5}, "0.5"),
        ({"username": 0}, "0"),
        ({"username": True}, "true"),
        ({"username": "\ud800"}, "\ud800"),
        ({"username": 10**99}, str(10**99)),
    ],
)
def test_text_and_numbers_in_json_are_clients(value: Any, expected: str) -> None:
    assert in_json(value) == f"json:username:{expected}"


def test_a_dotted_name_leads_into_objects_and_nowhere_else() -> None:
    nested = {"user": {"email": "ann@example.com"}, "user.email": "random", "list": [{"email": "x"}]}
    assert in_json(nested, "json:user.email") == "json:user.email:ann@example.com"
    assert in_json({"user.email": "random"}, "json:user.email") is None
    assert in_json(nested, "json:list.0.email") is None
    assert in_json(nested, "json:user.email.x") is None
    assert in_json(nested, "json:user") is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'["username"]',
        b'"username"',
        b"42",
        b'{"username": null}',
        b'{"username": ""}',
        b'{"username": [1]}',
        b'{"username": {}}',
        b'{"username": NaN}',
        b'{"username": Infinity}',
        b'{"username": 1e999}',
        b'{"username": ' + b"9" * 5000 + b"}",
        b'{"username": ' + b"9" * 200 + b"}",
        b'{"username": "\xff\xfe"}',
        b"\xff\xfe\x00",
        b"[" * 60_000,
        b'{"username": ' + b'{"a":' * 10_000,
        b"\x00" * 100,
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_no_such_value_in_json_is_missing_and_no_error(body: bytes) -> None:
    assert in_json(body) is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (JSON, "json:username:ann"),
        ("application/json; charset=utf-8", "json:username:ann"),
        ("application/vnd.api+json", "json:username:ann"),
        ("APPLICATION/JSON", "json:username:ann"),
        ("text/plain", None),
        ("", None),
        (FORM, None),
    ],
)
def test_json_is_what_says_that_it_is(kind: str, expected: str | None) -> None:
    assert who("json:username", sent('{"username": "ann"}', kind)) == expected


@pytest.mark.parametrize("kind", [JSON, "text/plain", "application/octet-stream", ""])
def test_a_form_is_what_says_that_it_is(kind: str) -> None:
    assert who("post:username", sent("username=ann", kind)) is None


@pytest.mark.parametrize("charset", ["nonsense", "latin-1", "utf-16"])
def test_a_form_in_another_charset_makes_no_error(charset: str) -> None:
    who("post:username", sent("username=ann", f"{FORM}; charset={charset}"))


OTHER_CODECS = (
    "utf-7",
    "hz",
    "iso-2022-jp",
    "latin-1",
    "cp037",
    "unicode_escape",
    "raw_unicode_escape",
    "idna",
    "punycode",
    "rot13",
)
SPELLED = {"utf-7": b"+AGE-nn", "hz": b"~{~}ann", "iso-2022-jp": b"\x1b(Bann", "unicode_escape": b"\\x61nn", "punycode": b"ann-"}


def read_by_view(request: HttpRequest, parser: type[BaseParser]) -> str | None:
    try:
        return str(Request(request, parsers=[parser()]).data["username"])
    except (APIException, LookupError, UnicodeError):
        return None


@pytest.mark.parametrize("charset", OTHER_CODECS)
@pytest.mark.parametrize("spelled", [None, b"ann"], ids=["its spelling", "plain"])
@pytest.mark.parametrize("key", ["json:username", "body:username"])
def test_json_in_a_charset_that_readers_may_pass_over_is_missing(charset: str, spelled: bytes | None, key: str) -> None:
    """REST framework follows the charset, ``json.loads`` does not: one name would be many."""
    body = b'{"username": "' + (spelled or SPELLED.get(charset, b"ann")) + b'"}'
    assert who(key, sent(body, f"{JSON}; charset={charset}")) is None


@pytest.mark.parametrize("charset", ["", "utf-8", "UTF8", "utf-8-sig", "nonsense", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_json_is_read_as_rest_framework_reads_it_or_it_takes_none(charset: str, codec: str) -> None:
    kind = f"{JSON}; charset={charset}" if charset else JSON
    request = sent('{"username": "änn"}'.encode(codec), kind)
    assert who("json:username", request) == "json:username:änn"
    assert read_by_view(request, JSONParser) in ("änn", None)


@pytest.mark.parametrize("charset", [*OTHER_CODECS, "", "utf-8", "utf-8-sig", "utf-16", "nonsense"])
def test_a_form_in_any_charset_is_read_as_the_view_reads_it_or_the_view_takes_none(charset: str) -> None:
    kind = f"{FORM}; charset={charset}" if charset else FORM
    body = b"username=" + SPELLED.get(charset, b"ann")
    found = read_by_view(sent(body, kind), FormParser)
    assert who("post:username", sent(body, kind)) == (f"post:username:{found}" if found else None)
    if charset not in ("", "utf-8", "nonsense"):
        with pytest.raises(BadRequest):
            _ = sent(body, kind).POST


@pytest.mark.parametrize(
    "body", ["username=%ff%fe", "username=%00", "username=%0d%0aX: 1", "username=%", "%ff=1&username=a", "username=" + "a" * 9000]
)
def test_bytes_that_are_no_text_make_no_error(body: str) -> None:
    assert (form(body) or "").startswith("post:username:")


@pytest.mark.parametrize(
    "body", [b"", b"--", b"--x\r\n\r\n", b"--BoUnDaRyStRiNg\r\nContent-Disposition: form-data; name=username", b"\xff" * 999]
)
@pytest.mark.parametrize("kind", [MULTIPART_CONTENT, "multipart/form-data", "multipart/form-data; boundary=" + "x" * 300])
def test_a_form_of_many_parts_that_is_broken_is_missing(body: bytes, kind: str) -> None:
    assert who("post:username", sent(body, kind)) is None


def test_more_fields_than_django_takes_are_missing() -> None:
    assert form("&".join(f"a{n}=1" for n in range(2000)) + "&username=ann") is None
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=10):
        assert form("username=annannannann") is None


class Untouchable(io.BytesIO):
    """A body that nobody may read."""

    def read(self, size: int | None = -1) -> bytes:
        raise AssertionError("the body was read")

    readline = read  # type: ignore[assignment]


@pytest.mark.parametrize("key", ["post:username", "json:username"])
@pytest.mark.parametrize(
    "extra",
    [
        {"CONTENT_LENGTH": str(MOST_BYTES + 1)},
        {"CONTENT_LENGTH": "999999999999999999999"},
        {"CONTENT_LENGTH": "-1"},
        {"CONTENT_LENGTH": "1e3"},
        {"CONTENT_LENGTH": "٣"},
        {"CONTENT_LENGTH": ""},
        {"CONTENT_LENGTH": "0"},
        {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True},
    ],
)
def test_a_body_that_is_large_or_does_not_say_how_large_is_not_touched(key: str, extra: dict[str, Any]) -> None:
    for kind in (FORM, JSON, MULTIPART_CONTENT):
        request = sent("", kind, **{"wsgi.input": Untouchable(), **extra})
        assert who(key, request) is None
        assert not request._read_started  # type: ignore[attr-defined]


@pytest.mark.parametrize("length", [12, "12"])
def test_a_length_may_be_a_number(length: int | str) -> None:
    assert who("post:username", sent("username=ann", CONTENT_LENGTH=length)) == "post:username:ann"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("size", [1_000, 1_000_000])
def test_a_field_of_a_megabyte_is_answered_and_its_key_is_short(size: int, redis_client: Any) -> None:
    view = decorated(False, rate="1/m", key="post:username")
    for expected in (200, 429):  # the larger one by address
        assert answer(view, sent("username=" + "x" * size)).status_code == expected
    (key,) = redis_client.keys("rw:s:*")
    assert len(key) <= 70


@pytest.mark.parametrize("size", [MOST_BYTES, MOST_BYTES + 1])
def test_the_bound_is_64_kib(size: int) -> None:
    body = "username=ann&x="
    expected = "post:username:ann" if size == MOST_BYTES else None
    assert form(body + "y" * (size - len(body))) == expected


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "image/png", ""])
def test_a_body_of_another_kind_is_not_touched(kind: str) -> None:
    request = sent("", kind, **{"wsgi.input": Untouchable(), "CONTENT_LENGTH": "10"})
    assert who("post:username", request) is None
    assert who("json:username", request) is None


def test_a_body_that_somebody_else_reads_as_a_stream_is_left_to_him() -> None:
    request = sent("username=ann&password=x")
    assert request.read(4) == b"user"
    assert who("post:username", request) is None
    assert request.read() == b"name=ann&password=x"


def test_a_form_that_has_been_parsed_already_is_used_whatever_its_size() -> None:
    body = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("a", b"x" * MOST_BYTES), "username": "ann"})
    request = sent(body, MULTIPART_CONTENT)
    assert who("post:username", request) is None
    assert request.POST["username"] == "ann"  # as Django's CSRF protection reads it, before the view
    assert who("post:username", request) == "post:username:ann"


def test_a_client_that_hangs_up_makes_no_error() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise ConnectionResetError

    for kind in (FORM, JSON, MULTIPART_CONTENT):
        request = sent("", kind, **{"wsgi.input": Broken(), "CONTENT_LENGTH": "10"})
        assert who("post:username+json:username", request) is None


def read_body(request: HttpRequest) -> Any:
    return request.body


def read_form(request: HttpRequest) -> Any:
    return dict(request.POST), sorted(request.FILES)


def read_stream(request: HttpRequest) -> Any:
    return [request.read(3), request.readline(), request.read()]


def choose_handlers(request: HttpRequest) -> Any:
    request.upload_handlers = [MemoryFileUploadHandler(request)]
    return sorted(request.FILES), request.FILES["file"].read() if request.FILES else None


def change_encoding(request: HttpRequest) -> Any:
    request.encoding = "latin-1"
    return request.encoding, "multipart" not in request.content_type or dict(request.POST)


BODIES = [
    ("username=ann&password=x\nmore", FORM),
    ('{"username": "ann"}', JSON),
    (encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("a", b"\x00\xff" * 99), "username": "ann"}), MULTIPART_CONTENT),
    (encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("a", b"z" * MOST_BYTES), "username": "ann"}), MULTIPART_CONTENT),
    ("anything\nat all", "text/plain"),
]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("read", [read_body, read_form, read_stream, choose_handlers, change_encoding])
@pytest.mark.parametrize(("body", "kind"), BODIES, ids=["form", "json", "small upload", "large upload", "text"])
def test_the_view_finds_the_body_as_if_nobody_had_looked(
    body: bytes | str, kind: str, read: Callable[[HttpRequest], Any], is_async: bool
) -> None:
    factory: Any = AsyncRequestFactory() if is_async else RequestFactory()
    untouched = factory.generic("POST", "/", body, content_type=kind)
    looked_at = factory.generic("POST", "/", body, content_type=kind)
    who("post:username", looked_at)
    who("json:username", looked_at)
    assert read(looked_at) == read(untouched)


def test_a_form_that_django_rejects_is_rejected_for_the_view_too() -> None:
    request = sent("--x\r\nno form", "multipart/form-data; boundary=" + "x" * 300)
    assert who("post:username", request) is None
    with pytest.raises(MultiPartParserError):
        _ = request.POST


def test_under_asgi_a_small_body_counts_though_it_does_not_say_how_large_it_is() -> None:
    # Django has put it into a file by then, and a client could otherwise go round the rule by sending it in chunks.
    async def chunked(body: bytes) -> HttpRequest:
        from django.core.handlers.asgi import ASGIRequest

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/",
            "headers": [(b"content-type", FORM.encode())],
            "query_string": b"",
        }
        return ASGIRequest(scope, io.BytesIO(body))

    request = asyncio.run(chunked(b"username=ann"))
    assert who("post:username", request) == "post:username:ann"
    assert request.POST["username"] == "ann"
    large = asyncio.run(chunked(b"username=ann&x=" + b"y" * MOST_BYTES))
    assert who("post:username", large) is None
    assert large.POST["username"] == "ann"


def test_rest_framework_finds_the_body_as_if_nobody_had_looked() -> None:
    from rest_framework.parsers import FormParser, JSONParser, MultiPartParser
    from rest_framework.request import Request

    for body, kind in BODIES[:4]:
        under = sent(body, kind)
        over: Any = Request(under, parsers=[JSONParser(), FormParser(), MultiPartParser()])
        key = "json:username" if kind == JSON else "post:username"
        small = body is not BODIES[3][0]
        assert who(key, over) == (f"{key}:ann" if small else None)
        assert over.data["username"] == "ann"
