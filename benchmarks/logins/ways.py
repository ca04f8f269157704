"""Each way in: what a client sends to try a name and a password."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

_FORM, _JSON = "application/x-www-form-urlencoded", "application/json"
_MUTATION = "mutation ($name: String!, $password: String!) { tokenAuth(username: $name, password: $password) { token } }"


@dataclass(frozen=True)
class Message:
    """A request that no client has sent yet."""

    method: str
    path: str
    body: str = ""
    content_type: str = _FORM
    headers: Mapping[str, str] = field(default_factory=dict)


Way = Callable[[str, str], Message]


def form(path: str, **fields: str) -> Message:
    return Message("POST", path, urlencode(fields))


def _form(path: str, name_field: str = "username", password_field: str = "password", **more: str) -> Way:
    return lambda name, password: form(path, **{name_field: name, password_field: password, **more})


def _json(path: str) -> Way:
    return lambda name, password: Message("POST", path, json.dumps({"username": name, "password": password}), _JSON)


def _basic(method: str, path: str) -> Way:
    def way(name: str, password: str) -> Message:
        credentials = base64.b64encode(f"{name}:{password}".encode()).decode()
        return Message(method, path, headers={"Authorization": f"Basic {credentials}"})

    return way


def _graphql(name: str, password: str) -> Message:
    body = json.dumps({"query": _MUTATION, "variables": {"name": name, "password": password}})
    return Message("POST", "/graphql/", body, _JSON)


LOGIN_VIEW, BASIC, NINJA, GRAPHQL = "Django, login view", "REST framework, Basic on a view", "ninja-jwt", "graphql-jwt"
WAYS: dict[str, Way] = {
    LOGIN_VIEW: _form("/login/"),
    "Django, admin": _form("/admin/login/"),
    "two-factor": _form("/account/login/", "auth-username", "auth-password", **{"login_view-current_step": "auth"}),
    "Wagtail": _form("/cms/login/"),
    "allauth": _form("/accounts/login/", "login"),
    "allauth, headless, app": _json("/_allauth/app/v1/auth/login"),
    "allauth, headless, browser": _json("/_allauth/browser/v1/auth/login"),
    "dj-rest-auth": _json("/rest/login/"),
    "djoser": _json("/djoser/token/login/"),
    "simplejwt": _json("/jwt/"),
    "simplejwt, sliding": _json("/sliding/"),
    "knox": _basic("POST", "/knox/"),
    "REST framework, authtoken": _json("/token/"),
    BASIC: _basic("GET", "/basic/"),
    NINJA: _json("/ninja/token/pair"),
    "oauth-toolkit": _form("/o/token/", grant_type="password", client_id="client", client_secret="secret"),
    GRAPHQL: _graphql,
}


def stranger(number: int) -> str:
    """An address of those that are for documentation, in a network of its own: the same one again after 65,536 others."""
    return f"2001:db8:{number % 0x10000:x}::7"
