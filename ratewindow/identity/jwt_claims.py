"""Keys from the claims of a verified token: by the site's own authentication, or by the key in the setting ``JWT``.

A claim of an unverified token is whatever the client chose, and counts as missing.
"""

from collections.abc import Mapping
from typing import Any

from django.db.models import Model
from django.http import HttpRequest
from django.utils.functional import LazyObject

from ratewindow import conf
from ratewindow.conf.readers import Jwt
from ratewindow.identity.body_fields import scalar
from ratewindow.identity.normalise import Normaliser
from ratewindow.identity.request_attributes import original
from ratewindow.identity.sent_fields import Extractor
from ratewindow.identity.typed_values import beginning, typed

MOST_CHARACTERS = 16 * 1024  # of a token


def claim(name: str, normaliser: Normaliser) -> Extractor:
    prefix = beginning("jwt", name)

    def value(request: HttpRequest) -> str | None:
        request = original(request)
        claims = _from_authentication(request)
        if claims is None:
            claims = _from_header(request)
        return typed(prefix, scalar(claims.get(name)), normaliser) if claims else None

    return value


def _from_authentication(request: HttpRequest) -> Mapping[str, Any] | None:
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
    return None


def _token_of(source: Any) -> Any:
    if isinstance(source, Model):  # an attribute may be a relation, and so a query
        return None
    token = getattr(source, "token", None)
    return getattr(token, "payload", token)


def _from_header(request: HttpRequest) -> Mapping[str, Any] | None:
    """The claims of the bearer token, if the setting ``JWT`` has a key and the token is signed with it."""
    settings = conf.current().jwt
    if settings is None:
        return None
    if not hasattr(request, "_ratewindow_claims"):
        request._ratewindow_claims = _verified(request.META.get("HTTP_AUTHORIZATION", ""), settings)  # type: ignore[attr-defined]
    return request._ratewindow_claims  # type: ignore[attr-defined, no-any-return]


def _verified(sent: str, settings: Jwt) -> Mapping[str, Any] | None:
    import jwt

    scheme, _, token = sent.partition(" ")
    if scheme.lower() != "bearer" or len(token) > MOST_CHARACTERS:
        return None
    try:
        return jwt.decode(
            token.strip(),
            settings.key,
            algorithms=list(settings.algorithms),
            audience=list(settings.audience) or None,
            issuer=list(settings.issuer) or None,
            # What matters here is that the token is valid for this site now, not the format of its other claims.
            options={"verify_aud": bool(settings.audience), "verify_iat": False, "verify_sub": False, "verify_jti": False},
        )
    except Exception:  # forged, expired or malformed: PyJWT's own errors, and others that a malformed token causes
        return None
