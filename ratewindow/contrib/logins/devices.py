"""Known devices: a signed cookie, which says with which accounts somebody has logged in there. The server stores nothing of it.

For each account it has a digest of its primary key, a random number, which is the device for that account, a digest of its
password, and the day of the last login. Whoever changes the password makes strangers of all other devices.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import salted_hmac
from django.utils.http import urlsafe_base64_encode

COOKIE = "ratewindow_devices"
SALT = "ratewindow.contrib.logins"
DAY_S = 86_400
AGE_DAYS = 180  # of an account on a browser, since it last logged in there
MOST_ACCOUNTS = 8  # on one browser
MOST_CHARACTERS = 2000  # of a cookie: ours have at most 700


class Entry(NamedTuple):
    """One account on a browser."""

    device: str
    password: str  # a digest of it
    day: int  # since the epoch, of the last login


Entries = Mapping[str, Entry]  # by the digest of an account


def entries_of(request: HttpRequest) -> Entries:
    """What the cookie of this request says; nothing if it is forged, or not there. What is too old is left out."""
    sent = request.COOKIES.get(COOKIE, "")
    if not sent or len(sent) > MOST_CHARACTERS:
        return {}
    try:
        entries = {
            str(name): Entry(str(device), str(password), int(day))
            for name, (device, password, day) in signing.loads(sent, salt=SALT).items()
        }
    except (signing.BadSignature, AttributeError, TypeError, ValueError):
        return {}
    return {name: entry for name, entry in entries.items() if entry.day >= _today() - AGE_DAYS}


def device_of(entries: Entries, accounts: Sequence[Any]) -> str:
    """The device, if it is known to all these accounts, and their passwords are still the same; else empty."""
    found = [_known(entries, user) for user in accounts if entries]
    return found[0] if found and all(found) else ""


def _known(entries: Entries, user: Any) -> str:
    for key in _keys():
        entry = entries.get(_tag(user, key))
        if entry is not None and secrets.compare_digest(entry.password, _password_tag(user, key)):
            return entry.device
    return ""


def remember(response: HttpResponseBase, request: HttpRequest, user: Any, forgets: bool = True) -> None:
    """Make the browser a known device of this account. Each time it gets a new number, so that a copied cookie cannot use up the
    owner's limit. If the cookie is full, the account whose last login is oldest is forgotten; without `forgets`, this one is not
    remembered."""
    if not getattr(user, "password", ""):
        return
    newest, *_ = keys = _keys()
    others = [(tag, entry) for tag, entry in entries_of(request).items() if tag not in {_tag(user, key) for key in keys}]
    if len(others) >= MOST_ACCOUNTS and not forgets:
        return
    ours = Entry(secrets.token_urlsafe(12), _password_tag(user, newest), _today())
    response.set_cookie(
        COOKIE,
        signing.dumps({**dict(others[1 - MOST_ACCOUNTS :]), _tag(user, newest): ours}, salt=SALT),
        max_age=AGE_DAYS * DAY_S,
        path=settings.SESSION_COOKIE_PATH,
        domain=settings.SESSION_COOKIE_DOMAIN,
        secure=settings.SESSION_COOKIE_SECURE or request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def _today() -> int:
    return int(time.time()) // DAY_S


def _keys() -> Sequence[str | bytes]:
    """The newest first: what was signed by a fallback holds."""
    return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]


def _tag(user: Any, key: str | bytes) -> str:
    return _digest(f"account {user.pk}", key)[:12]


def _password_tag(user: Any, key: str | bytes) -> str:
    return _digest(f"password {user.pk} {getattr(user, 'password', '')}", key)[:16]


def _digest(text: str, key: str | bytes) -> str:
    """Keyed, so that a cookie does not say whose it is."""
    return urlsafe_base64_encode(salted_hmac(SALT, text, key, algorithm="sha256").digest())
