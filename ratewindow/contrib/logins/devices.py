"""Known devices: a signed cookie, which says with which accounts somebody has logged in there. The server stores nothing of it.

For each account it has a digest of the name, a random number, which is the device for that account, and a digest of the
account's password: who changes the password makes strangers of all other devices.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import salted_hmac
from django.utils.http import urlsafe_base64_encode

from ratewindow.identity.typed_values import normalised

COOKIE = "ratewindow_devices"
SALT = "ratewindow.contrib.logins"
AGE_S = 180 * 86_400
MOST_ACCOUNTS = 8  # on one browser; the one that logged in longest ago is forgotten
MOST_CHARACTERS = 2000  # of a cookie: ours have at most 700

Known = Mapping[str, tuple[str, str]]  # by the digest of a name: the device, and the digest of the password


def known(request: HttpRequest) -> Known:
    """What the cookie of this request says; nothing if it is forged, too old, or not there."""
    sent = request.COOKIES.get(COOKIE, "")
    if not sent or len(sent) > MOST_CHARACTERS:
        return {}
    try:
        found = signing.loads(sent, salt=SALT, max_age=AGE_S)
        return {str(name): (str(device), str(password)) for name, (device, password) in found.items()}
    except (signing.BadSignature, AttributeError, TypeError, ValueError):
        return {}


def device_of(known: Known, name: str, user: Any) -> str:
    """The device, if it is known to that account and the password is still the same; else empty."""
    for key in _keys() if user is not None else ():
        device, password = known.get(_tag(name, key), ("", ""))
        if device and secrets.compare_digest(password, _password_tag(user, key)):
            return device
    return ""


def is_outdated(request: HttpRequest, user: Any) -> bool:
    """Whether the cookie has an older password of this account."""
    name, accounts = normalised(user.get_username()), known(request)
    entries = ((accounts.get(_tag(name, key)), _password_tag(user, key)) for key in _keys())
    return any(entry is not None and entry[1] != password for entry, password in entries)


def remember(response: HttpResponseBase, request: HttpRequest, name: str, user: Any) -> None:
    """Make the browser a known device of this account: a new one, of which a cookie that was copied before uses nothing up."""
    if not getattr(user, "password", ""):
        return
    newest, *_ = keys = _keys()
    others = [(tag, entry) for tag, entry in known(request).items() if tag not in {_tag(name, key) for key in keys}]
    accounts = {**dict(others[1 - MOST_ACCOUNTS :]), _tag(name, newest): (secrets.token_urlsafe(12), _password_tag(user, newest))}
    response.set_cookie(
        COOKIE,
        signing.dumps(accounts, salt=SALT),
        max_age=AGE_S,
        path=settings.SESSION_COOKIE_PATH,
        domain=settings.SESSION_COOKIE_DOMAIN,
        secure=settings.SESSION_COOKIE_SECURE or request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def _keys() -> Sequence[str | bytes]:
    """The newest first: what was signed by a fallback holds."""
    return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]


def _tag(name: str, key: str | bytes) -> str:
    return _digest(f"name {name}", key)[:12]


def _password_tag(user: Any, key: str | bytes) -> str:
    return _digest(f"password {user.pk} {getattr(user, 'password', '')}", key)[:16]


def _digest(text: str, key: str | bytes) -> str:
    """Keyed, so that whoever reads a cookie cannot try names."""
    return urlsafe_base64_encode(salted_hmac(SALT, text, key, algorithm="sha256").digest())
