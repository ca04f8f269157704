"""Keys by claims: only of tokens that somebody has verified."""

import base64
import json
import sys
import time
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test import RequestFactory, override_settings
from django.utils.functional import SimpleLazyObject

from ratewindow import conf
from ratewindow.checks.settings import check_settings
from ratewindow.conf.readers import Jwt
from ratewindow.identity import recipe
from ratewindow.identity.jwt_claims import MOST_CHARACTERS

SECRET = "a secret of at least thirty-two bytes, as HS256 wants it"
OTHER = "another secret of at least thirty-two bytes, of somebody"
HS = {"KEY": SECRET, "ALGORITHMS": ["HS256"]}
_private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PRIVATE = _private.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
PUBLIC = _private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def signed(claims: dict[str, Any], key: str = SECRET, algorithm: str = "HS256") -> str:
    return jwt.encode(claims, key, algorithm)


def request(authorization: str | None = None, **attributes: Any) -> HttpRequest:
    made = RequestFactory().get("/")
    if authorization is not None:
        made.META["HTTP_AUTHORIZATION"] = authorization
    vars(made).update(attributes)
    return made


def who(authorization: str | None, setting: Any = HS, key: str = "jwt:tenant", **attributes: Any) -> str | None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "JWT": setting}):
        return recipe(key).identity(request(authorization, **attributes))


def bearer(**claims: Any) -> str:
    return f"Bearer {signed(claims)}"


class TestWithAKeyOfOurs:
    def test_a_claim_of_a_token_signed_with_it_is_a_client(self) -> None:
        assert who(bearer(tenant="acme")) == "jwt:tenant:acme"
        assert who(f"bearer   {signed({'tenant': 'acme'})} ") == "jwt:tenant:acme"
        assert who(bearer(tenant=42)) == "jwt:tenant:42"
        assert who(f"Bearer {signed({'tenant': 'acme'}, PRIVATE, 'RS256')}", {"KEY": PUBLIC, "ALGORITHMS": ["RS256"]}) == (
            "jwt:tenant:acme"
        )

    def test_a_claim_may_have_any_name(self) -> None:
        name = "https://example.com/tenant"
        assert who(bearer(**{name: "acme"}), key=f"jwt:{name}") == "jwt:https%3A//example.com/tenant:acme"
        assert who(bearer(**{"cognito:username": "ann"}), key="jwt:cognito:username") == "jwt:cognito%3Ausername:ann"

    @pytest.mark.parametrize("claims", [{}, {"Tenant": "a"}, *({"tenant": each} for each in ("", None, ["a"], {"a": 1}))])
    def test_a_claim_that_is_absent_or_empty_or_no_text_is_missing(self, claims: dict[str, Any]) -> None:
        assert who(bearer(**claims)) is None

    def test_a_token_that_nobody_verified_is_never_trusted(self) -> None:
        assert who(bearer(tenant="acme"), None) is None
        assert who(f"Bearer {signed({'tenant': 'acme'}, OTHER)}") is None

    def test_a_token_without_a_signature_is_never_trusted(self) -> None:
        for algorithm in ("none", "None", "NONE", "nOnE", ""):
            header, claims = (
                base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=")
                for each in ({"alg": algorithm, "typ": "JWT"}, {"tenant": "acme"})
            )
            for signature in ("", "x", signed({"tenant": "acme"}).rpartition(".")[2]):
                assert who(f"Bearer {header}.{claims}.{signature}") is None

    def test_a_token_signed_with_the_public_key_as_its_secret_is_never_trusted(self) -> None:
        import hashlib
        import hmac

        parts = [
            base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=")
            for each in ({"alg": "HS256", "typ": "JWT"}, {"tenant": "acme"})
        ]
        signature = hmac.new(PUBLIC.encode(), b".".join(parts), hashlib.sha256).digest()
        token = b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()
        assert who(f"Bearer {token}", {"KEY": PUBLIC, "ALGORITHMS": ["RS256"]}) is None

    def test_a_token_that_is_over_or_not_yet_good_is_missing(self) -> None:
        now = int(time.time())
        assert who(bearer(tenant="acme", exp=now - 10)) is None
        assert who(bearer(tenant="acme", nbf=now + 1000)) is None
        assert who(bearer(tenant="acme", exp=now + 1000, nbf=now - 1000)) == "jwt:tenant:acme"

    def test_a_token_for_or_from_somebody_else_is_missing(self) -> None:
        strict = {**HS, "AUDIENCE": "api", "ISSUER": ["https://us.example", "https://eu.example"]}
        good = {"tenant": "acme", "aud": "api", "iss": "https://eu.example"}
        assert who(bearer(**good), strict) == "jwt:tenant:acme"
        assert who(bearer(**{**good, "aud": ["x", "api"]}), strict) == "jwt:tenant:acme"
        for wrong in ({"aud": "shop"}, {"iss": "https://evil.example"}, {"aud": None}, {"iss": None}):
            assert who(bearer(**{name: value for name, value in {**good, **wrong}.items() if value}), strict) is None
        assert who(bearer(**good)) == "jwt:tenant:acme"

    @pytest.mark.parametrize("sub", [42, "42"])
    def test_a_subject_may_be_a_number(self, sub: Any) -> None:
        assert who(bearer(sub=sub), key="jwt:sub") == "jwt:sub:42"

    @pytest.mark.parametrize(
        "sent", ["", "Bearer", "Bearer ", "Basic abc", "Bearer a.b.c", "Bearer ...", "Bearer \udcff", "Bearer \x00", "a.b.c"]
    )
    def test_junk_is_missing_and_no_error(self, sent: str) -> None:
        assert who(sent) is None

    def test_a_token_of_many_kilobytes_is_not_looked_at(self) -> None:
        assert who(bearer(tenant="acme", x="y" * MOST_CHARACTERS)) is None

    def test_a_token_is_verified_once_for_all_rules(self, monkeypatch: pytest.MonkeyPatch) -> None:
        decoded: list[str] = []
        decode = jwt.decode
        monkeypatch.setattr(jwt, "decode", lambda token, *a, **k: decoded.append(token) or decode(token, *a, **k))
        assert who(bearer(tenant="acme", sub="1"), key="jwt:tenant+jwt:sub") == "15:jwt:tenant:acme+9:jwt:sub:1"
        assert len(decoded) == 1


class TestWithTheSitesAuthentication:
    """What it has verified is believed, wherever it leaves it."""

    CLAIMS = {"tenant": "acme"}

    @pytest.mark.parametrize(
        "attributes",
        [
            {"auth": CLAIMS},  # a mapping, as many sites and django-ninja's bearers have it
            {"auth": SimpleNamespace(payload=CLAIMS)},  # simplejwt's token
            {"auth": SimpleNamespace(token=SimpleNamespace(payload=CLAIMS))},  # its stateless user, as django-ninja-jwt leaves it
            {"oauth_token": CLAIMS},  # Authlib
            {"user": SimpleNamespace(token=SimpleNamespace(payload=CLAIMS))},  # simplejwt's stateless user
        ],
    )
    def test_its_claims_are_clients_and_no_key_of_ours_is_needed(self, attributes: dict[str, Any]) -> None:
        assert who(None, None, **attributes) == "jwt:tenant:acme"
        assert who(bearer(tenant="another"), **attributes) == "jwt:tenant:acme"
        assert who(None, None, "jwt:other", **attributes) is None

    @pytest.mark.parametrize("auth", [None, "a.b.c", signed(CLAIMS), b"x", 5, object(), User(username="ann")])
    def test_what_has_no_claims_has_none(self, auth: Any) -> None:
        assert who(None, None, auth=auth) is None

    def test_a_user_that_nobody_has_asked_for_is_not_asked_for(self) -> None:
        def untouchable() -> Any:
            raise AssertionError("the user was asked for")

        assert who(None, None, user=SimpleLazyObject(untouchable)) is None

    def test_simplejwt_leaves_its_token_where_rest_framework_has_it(self) -> None:
        from rest_framework.request import Request
        from rest_framework_simplejwt.authentication import JWTStatelessUserAuthentication
        from rest_framework_simplejwt.tokens import AccessToken

        token = AccessToken()
        token["user_id"], token["tenant"] = "7", "acme"
        under = request(f"Bearer {token}")
        over: Any = Request(under, authenticators=[JWTStatelessUserAuthentication()])
        assert who(None, None) is None
        assert over.user.pk == "7"
        for each in (under, over):
            assert recipe("jwt:tenant").identity(each) == "jwt:tenant:acme"
            assert recipe("user").identity(each) == "user:7"


class TestSetting:
    def told(self, setting: Any) -> list[str]:
        with override_settings(RATEWINDOW={"REDIS": "memory://", "JWT": setting}):
            return [f"{each.id} {each.msg}" for each in check_settings(None)]

    @pytest.mark.parametrize(
        "setting", [None, HS, {**HS, "ALGORITHMS": ("HS256", "HS512"), "AUDIENCE": "api", "ISSUER": ["a", "b"]}]
    )
    def test_what_is_right_is_not_told(self, setting: Any) -> None:
        assert self.told(setting) == []

    @pytest.mark.parametrize(
        ("setting", "words"),
        [
            ("secret", "it is not a dict with KEY and ALGORITHMS: write for example {"),
            ({}, "it is not a dict with KEY and ALGORITHMS"),
            ({"KEY": "secret"}, "it is not a dict with KEY and ALGORITHMS"),
            ({**HS, "KEY": ""}, "KEY is not text"),
            ({**HS, "KEY": b"secret"}, "KEY is not text"),
            ({**HS, "AUDIENCES": "x"}, "'AUDIENCES' is unknown: choose from KEY, ALGORITHMS, AUDIENCE, ISSUER"),
            ({**HS, "AUDIENCE": 5}, "AUDIENCE is neither text nor a list of texts"),
            ({**HS, "ALGORITHMS": []}, "ALGORITHMS is empty"),
            ({**HS, "ALGORITHMS": "none"}, "ALGORITHMS has 'none', which PyJWT does not know here: choose from "),
            ({**HS, "ALGORITHMS": ["HS256", "none"]}, "ALGORITHMS has 'none'"),
            ({**HS, "ALGORITHMS": ["NONE"]}, "ALGORITHMS has 'NONE'"),
            ({**HS, "ALGORITHMS": ["HS256", "RS256"]}, "ALGORITHMS mixes secrets and public keys"),
        ],
    )
    def test_what_is_wrong_is_an_error_that_does_not_tell_the_secret(self, setting: Any, words: str) -> None:
        (told,) = self.told(setting)
        assert told.startswith(f"ratewindow.E001 RATEWINDOW['JWT']: {words}")
        assert "secret'" not in told
        assert SECRET not in told

    def test_without_pyjwt_the_error_names_the_line_that_installs_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in [name for name in sys.modules if name == "jwt" or name.startswith("jwt.")]:
            monkeypatch.setitem(sys.modules, module, None)
        (told,) = self.told(HS)
        assert told.startswith("ratewindow.E001 RATEWINDOW['JWT']: verifying tokens needs PyJWT, which is not installed: ")
        assert told.endswith("pip install 'ratewindow[jwt]'.")
        assert who(bearer_before, HS) is None  # and a server that runs no checks trusts nobody

    def test_a_key_with_a_line_break_at_its_end_is_read_as_it_is(self) -> None:
        assert conf.read({"JWT": {**HS, "KEY": PUBLIC, "ALGORITHMS": "RS256"}})[0].jwt == Jwt(PUBLIC, ("RS256",))


bearer_before = bearer(tenant="acme")
