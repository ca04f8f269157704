"""The worst strings as header, field, claim, user name, rule name, message and reason: no 500, nothing injected, nobody
mistaken for another.
"""

import json
import logging
import re
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.utils import timezone

from ratewindow import ratelimit
from ratewindow.identity import forms, joined, ratekey, recipe, shown, split
from ratewindow.models import Override, RateRule
from ratewindow.rules.rule import NAME_PATTERN
from tests.support.doors import answer, behind_middleware, decorated, plain
from tests.support.worst_strings import WORST

pytestmark = pytest.mark.django_db(transaction=True)

FORM, JSON = "application/x-www-form-urlencoded", "application/json"


def as_bytes(text: str) -> bytes:
    """UTF-8, and for what has none the bytes that a client would have to send to come near it."""
    return text.encode("utf-8", "surrogatepass")


def in_header(text: str) -> HttpRequest:
    return RequestFactory().get("/", HTTP_X_API_KEY=text)


def in_latin_header(text: str) -> HttpRequest:
    """As a WSGI server hands on the bytes."""
    return RequestFactory().get("/", HTTP_X_API_KEY=as_bytes(text).decode("latin-1"))


def in_cookie(text: str) -> HttpRequest:
    made = RequestFactory().get("/")
    made.COOKIES["basket"] = text
    return made


def in_query(text: str) -> HttpRequest:
    return RequestFactory().get("/", QUERY_STRING=f"token={quote(as_bytes(text))}")


def in_form(text: str) -> HttpRequest:
    return RequestFactory().post("/", f"username={quote(as_bytes(text))}", content_type=FORM)


def in_json(text: str) -> HttpRequest:
    return RequestFactory().post("/", json.dumps({"user": {"email": text}}), content_type=JSON)


def in_claim(text: str) -> HttpRequest:
    made = RequestFactory().get("/")
    made.auth = {"tenant": text}  # type: ignore[attr-defined]
    return made


def as_user(text: str) -> HttpRequest:
    made = RequestFactory().get("/")
    made.user = SimpleNamespace(is_authenticated=True, pk=text)  # type: ignore[assignment]
    return made


def as_path(text: str) -> HttpRequest:
    made = RequestFactory().get("/")
    made.path_info = f"/{text}"
    return made


WAYS: dict[str, tuple[Callable[[str], HttpRequest], Callable[[HttpRequest], str | None]]] = {
    "header:x-api-key": (in_header, lambda request: request.META["HTTP_X_API_KEY"]),
    "header:X-API-Key": (in_latin_header, lambda request: request.META["HTTP_X_API_KEY"]),
    "cookie:basket": (in_cookie, lambda request: request.COOKIES["basket"]),
    "query:token": (in_query, lambda request: request.GET.get("token")),
    "post:username": (in_form, lambda request: request.POST.get("username")),
    "json:user.email": (in_json, lambda request: json.loads(request.body)["user"]["email"]),
    "jwt:tenant": (in_claim, lambda request: request.auth["tenant"]),  # type: ignore[attr-defined]
    "user": (as_user, lambda request: str(request.user.pk)),
    "path": (as_path, lambda request: request.path_info),
}
"""How a text gets into a request, and what a view sees of it."""


def test_there_are_five_hundred_of_them() -> None:
    assert len(WORST) == len(set(WORST)) >= 500


@pytest.mark.parametrize("key", list(WAYS))
def test_each_client_has_a_count_of_its_own_and_no_client_two(key: str, caplog: pytest.LogCaptureFixture) -> None:
    send, see = WAYS[key]
    view = decorated(False, rate="1/m", key=key)
    seen: set[str] = set()
    names = {"Content-Type", "RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
    with caplog.at_level(logging.DEBUG, "ratewindow"):
        for text in WORST:
            request = send(text)
            value = see(request) or ""
            value = "" if value.isspace() and key not in ("user", "path") else value  # missing: by address, which all share
            told = answer(view, request)
            assert told.status_code == (429 if value in seen else 200), repr(text)
            seen.add(value)
            assert answer(view, send(text)).status_code == 429, repr(text)
            assert set(told.headers) - {"Retry-After", "Cache-Control"} <= names, repr(text)
            assert all(each.isascii() and each.isprintable() for each in told.headers.values()), repr(text)
    assert len(seen) > 400
    for record in caplog.records:
        line = record.getMessage()
        assert line.startswith("refused ") and line.isascii() and line.isprintable(), line


def test_nobody_is_mistaken_for_another_where_two_are_joined() -> None:
    pairs = [(first, second) for first, second in zip(WORST, WORST[1:] + WORST[:1], strict=True)]
    told = {joined([f"header:a:{first}", f"header:b:{second}"]) for first, second in pairs}
    assert len(told) == len(WORST)
    for first, second in pairs:
        assert split(joined([f"header:a:{first}", f"header:b:{second}"])) == (f"header:a:{first}", f"header:b:{second}")


def test_normalising_makes_no_error_and_stays_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    normal = recipe("header:x-api-key", normalise=True)
    clients = {normal.identity(in_header(text)) for text in WORST}
    assert all(each is None or normal.identity(in_header(each.partition("x-api-key:")[2])) == each for each in clients)
    assert 300 < len(clients) < len(WORST)


def test_what_is_shown_and_stored_is_printable_short_and_one_for_each() -> None:
    for mode in ("none", "secrets", "all"):
        with override_settings(RATEWINDOW={"REDIS": "memory://", "ANONYMIZE": mode}):
            told = [shown(f"post:username:{text}") for text in WORST]
        assert all(each.isprintable() and len(each.encode()) <= 900 for each in told)
        assert len(set(told)) == len(WORST)
    assert all(forms(f"post:username:{text}") for text in WORST)


def test_an_own_function_may_return_any_of_them(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    from ratewindow.identity import custom_keys

    monkeypatch.setattr(custom_keys, "_registered", {})
    ratekey("worst")(lambda request: request.META["HTTP_X_API_KEY"])
    told = [recipe("worst").identity(in_header(text)) for text in WORST]
    assert [each for each in told if each] == [f"worst:{text}" for text in WORST if not text.isspace()]
    assert caplog.records == []


def test_as_a_user_name_at_the_login_page() -> None:
    RateRule.objects.define("login", "1/m", path="/login/", methods="POST", key="post:username", mode="enforce")
    client, seen = Client(raise_request_exception=True), set()
    for text in WORST:
        form = f"username={quote(as_bytes(text))}&password=x"
        value = as_bytes(text).decode("utf-8", "replace")
        value = "" if value.isspace() else value
        expected = 429 if value in seen else 200
        assert client.post("/login/", form, content_type=FORM).status_code == expected, repr(text)
        seen.add(value)


def test_as_the_name_of_a_user_that_exists() -> None:
    names = {as_bytes(text).decode("utf-8", "ignore")[:150] for text in WORST}
    users = User.objects.bulk_create([User(username=name) for name in sorted(names)])
    view = decorated(False, "users", "1/m", key="user")
    for user in users:
        for expected in (200, 429):
            request = RequestFactory().get("/")
            request.user = user
            assert answer(view, request).status_code == expected, repr(user.username)


def test_as_the_name_of_a_rule() -> None:
    for text in WORST:
        good = bool(re.match(NAME_PATTERN, text))
        try:
            RateRule(name=text).clean_fields()
            accepted = True
        except ValidationError:
            accepted = False
        assert accepted == good, repr(text)
        for told in (_told(ratelimit, text), _told(RateRule.objects.define, text)):
            assert (told == "") == good, repr(text)
            assert told.isprintable()


def _told(use: Callable[..., Any], name: str) -> str:
    """What is said against a name; nothing when it is taken."""
    try:
        use(name, "5/m")
    except ValueError as error:
        return str(error)
    return ""


def test_as_the_name_of_a_rule_typed_into_the_admin(admin_client: Client) -> None:
    # The form is asked once for each kind of character, since it takes its time.
    for text in [each for each in WORST if len(each) < 300][::12]:
        typed = as_bytes(text).decode("utf-8", "replace")
        response = admin_client.post("/admin/ratewindow/raterule/add/", {"name": typed, "key": typed[:9]})
        assert response.status_code == 200, repr(text)
        assert b"<script>alert(1)</script>" not in response.content
        assert b"<img src=x onerror" not in response.content


def test_as_a_key_a_pattern_and_methods_of_a_rule() -> None:
    for text in WORST:
        for field in ("key", "pattern", "methods"):
            given = {"applies_to": "path"} if field == "pattern" else {}
            try:
                RateRule(name="x", **given, **{field: text}).clean_fields()
                RateRule(name="x", **given, **{field: text}).clean()
            except ValidationError:
                pass  # told at the field; anything else would be a 500


def test_as_the_message_of_a_refusal() -> None:
    site = behind_middleware(plain(False))
    for text in [each for each in WORST if "\x00" not in each][::5]:
        try:
            text.encode()
        except UnicodeEncodeError:
            continue  # no database takes it, and no form can send it
        RateRule.objects.define("told", "0/m", path="/", mode="enforce", message=text[:200], overwrite=True)
        for accept in ("text/html", "text/plain", "application/problem+json"):
            told = answer(site, RequestFactory().get("/", HTTP_ACCEPT=accept))
            assert told.status_code == 429, repr(text)
            assert "X-Evil" not in told.headers and "Set-Cookie" not in told.headers
            if accept == "text/html":
                assert b"<script>alert(1)" not in told.content and b"<img src=x" not in told.content, repr(text)
            elif accept == "application/problem+json":
                json.loads(told.content)


def test_as_the_reason_of_an_exception() -> None:
    reasons = [as_bytes(text).decode("utf-8", "replace")[:200] for text in WORST]
    Override.objects.bulk_create([Override(action="block", identity="user:42", reason=reason) for reason in reasons])
    kept = Override.objects.order_by("pk")
    assert [each.reason for each in kept] == reasons
    assert all(str(each).isprintable() for each in kept)


def test_as_the_reason_and_the_client_of_a_block_typed_into_the_admin(admin_client: Client) -> None:
    empty = dict.fromkeys(("rule", "rate", "expires_at_0", "expires_at_1", "starts_at_0", "starts_at_1"), "")
    for text in [each for each in WORST if len(each) < 150][::8]:
        typed = as_bytes(text).decode("utf-8", "replace")
        form = {**empty, "action": "block", "lasts": "1h", "identity": f"header:x-tenant:{typed}", "reason": typed}
        response = admin_client.post("/admin/ratewindow/override/add/", form)
        assert response.status_code in (200, 302), repr(text)
        assert not any(evil in response.content for evil in EVIL), repr(text)
    assert Override.objects.count() > 40  # the others are told at their field
    page = admin_client.get("/admin/ratewindow/override/")
    assert page.status_code == 200
    assert not any(evil in page.content for evil in EVIL)


def test_as_the_client_and_the_reason_of_the_form_above_the_list(admin_client: Client) -> None:
    for text in [each for each in WORST if len(each) < 150][::12]:
        typed = as_bytes(text).decode("utf-8", "replace")
        form = {"action": "block", "lasts": "1h", "identity": typed, "reason": typed, "rule": typed}
        for sent in (form, {**form, "identity": f"header:x-tenant:{typed}", "rule": ""}):
            response = admin_client.post("/admin/ratewindow/override/add/", sent)
            assert response.status_code in (200, 302), repr(text)
            assert not any(evil in response.content for evil in EVIL), repr(text)
        for page in ("add/", "release/"):
            opened = admin_client.get(f"/admin/ratewindow/override/{page}", {"identity": typed, "rule": typed, "duration": typed})
            assert opened.status_code == 200, repr(text)
            assert not any(evil in opened.content for evil in EVIL), repr(text)
    assert Override.objects.count() > 20


EVIL = (b"<script>alert(1)</script>", b"<img src=x onerror", b"<svg/onload", b"<iframe src=//evil", b'<a href="//evil')


def test_who_is_blocked_is_refused_and_nobody_else() -> None:
    RateRule.objects.define("all", "9999/m", path="/", key="header:x-tenant", mode="enforce")
    good = [each for each in WORST if 0 < len(each) < 200 and each == each.strip() and each.isprintable()]  # as servers send them
    blocked = good[::5]
    assert len(blocked) > 50
    for text in blocked:
        Override.objects.create(
            action="block", identity=f"header:x-tenant:{text}", expires_at=timezone.now() + timedelta(hours=1)
        )
    site = behind_middleware(plain(False))
    for text in good:
        refused = answer(site, RequestFactory().get("/", HTTP_X_TENANT=text)).status_code != 200
        assert refused == (text in blocked), repr(text)


def test_a_view_that_passes_them_on_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(as_bytes(request.META["HTTP_X_API_KEY"]))

    site: Any = ratelimit("passed.on", "9999/m", key="header:x-api-key")(view)
    assert {answer(site, in_header(text)).status_code for text in WORST} == {200}
    assert caplog.records == []
