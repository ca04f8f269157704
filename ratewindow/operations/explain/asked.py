"""A request as a person describes it, and as Django has it: made as a server would make it, and sent to nobody."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes, urlencode

from django.apps import apps
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.urls import get_script_prefix

from ratewindow.identity.address import parse_address
from ratewindow.identity.proxy_warning import SUPPOSED
from ratewindow.limiter.problem import Problem
from ratewindow.overrides import users
from ratewindow.overrides.as_typed import MOST_LISTED
from ratewindow.rules.rule import parse_methods

FORM, JSON = "application/x-www-form-urlencoded", "application/json"


@dataclass(frozen=True)
class Asked:
    """A request in words: `path` may have a query string, or be a whole URL. `fields` are those of a form, or of JSON if the
    header Content-Type says so."""

    method: str = "GET"
    path: str = "/"
    address: str = ""
    user: str = ""  # a primary key, a login name or an e-mail address; empty: nobody is signed in
    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


def request_of(asked: Asked, find_users: bool = True) -> HttpRequest:
    """The request. Raises ValueError. Without `find_users` it is for people who may not see users: only keys name one."""
    method = asked.method.strip().upper() or "GET"
    parse_methods(method)
    body, kind = _body(asked)
    request = WSGIRequest(
        {
            **_headers(asked.headers),
            **_target(asked.path.strip()),
            "REQUEST_METHOD": method,
            "REMOTE_ADDR": _address(asked.address.strip()),
            "CONTENT_TYPE": kind,
            "CONTENT_LENGTH": str(len(body)),
            "SERVER_NAME": "supposed",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(body),
            SUPPOSED: True,
        }
    )
    request.user = _user(asked.user.strip(), find_users)
    _add_session(request)
    return request


def _target(text: str) -> dict[str, str]:
    """The path and the query string, as a server finds them in the line of a request."""
    head, separator, rest = text.partition("://")
    if separator and head.isalpha():
        text = "/" + rest.partition("/")[2]
    if not text.startswith("/"):
        raise Problem("{text!r} is not a path: begin with /, as in /login/", text=text[:100])
    path, _, query = text.partition("#")[0].partition("?")
    mounted = get_script_prefix().rstrip("/")
    if mounted and path.startswith(f"{mounted}/"):
        path = path.removeprefix(mounted)
    else:
        mounted = ""
    return {"PATH_INFO": unquote_to_bytes(path).decode("latin-1"), "SCRIPT_NAME": mounted, "QUERY_STRING": query}


def _address(text: str) -> str:
    if text and parse_address(text) is None:
        raise Problem("{text!r} is not an address: write for example 203.0.113.9 or 2001:db8::1", text=text[:100])
    return text


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers by their names in META, with values as a server decodes them."""
    named = {}
    for name, value in headers.items():
        meta = name.strip().upper().replace("-", "_")
        if not meta.replace("_", "").isalnum() or not name.isascii():
            raise Problem("{name!r} is not the name of a header: write for example X-Api-Key: VALUE", name=name[:100])
        named[f"HTTP_{meta}"] = value.strip().encode().decode("latin-1")
    named.pop("HTTP_CONTENT_LENGTH", None)
    named.pop("HTTP_CONTENT_TYPE", None)
    return named


def _body(asked: Asked) -> tuple[bytes, str]:
    """The body and its content type."""
    sent = {name.strip().lower(): value.strip() for name, value in asked.headers.items()}.get("content-type", "")
    if not asked.fields:
        return b"", sent
    if sent.partition(";")[0].endswith("json"):
        return json.dumps(dict(asked.fields)).encode(), sent
    return urlencode(asked.fields).encode(), FORM


def _user(text: str, find_users: bool) -> Any:
    if not text:
        return users.anonymous()
    model = users.model()
    if not find_users:
        return model(pk=_number(text))
    found = {} if text.startswith("user:") else users.called(text, MOST_LISTED)
    if len(found) > 1:
        raise Problem(
            "{text!r} is the login name or e-mail address of several users: write one of {listed}",
            text=text,
            listed=", ".join(f"{identity} ({name})" for identity, name in found.items()),
        )
    key = next(iter(found), text).removeprefix("user:")
    if model is None or not users.exists(key):
        raise Problem(
            "there is no user {text!r}: write a login name, an e-mail address, or a number as in user:42", text=text[:100]
        )
    return model._base_manager.get(pk=users.canonical(key))


def _number(text: str) -> str:
    """The primary key in a text; whether a user has it is not said to those who may not see users."""
    key = text.removeprefix("user:")
    try:
        users.check_user(key)
    except ValueError:
        raise Problem(
            "{text!r} is not the number of a user, and to find users by name you need the permission to view them",
            text=text[:100],
        ) from None
    return users.canonical(key)


def _add_session(request: HttpRequest) -> None:
    """The session of the cookie that was typed, where the site has sessions; none is made."""
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if apps.is_installed("django.contrib.sessions"):
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
