"""Tenants: by ``SCOPE`` the clients of one are not those of another, for counts and for blocks."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow.models import Override, RateRule
from ratewindow.operations.clients import release
from ratewindow.overrides.subjects import parse_subject
from ratewindow.rulebook import reading
from tests.support.doors import answer, behind_middleware, plain

pytestmark = pytest.mark.django_db(transaction=True)

PATH = f"{__name__}.tenant"
ACME, BETA = "acme", "beta"


def tenant(request: Any) -> str | None:
    """As django-tenants has it; a host in the place of its middleware."""
    if request.headers.get("X-Broken"):
        raise LookupError("no tenant")
    return request.headers.get("X-Tenant")


async def coroutine(request: Any) -> str:
    return ACME


def two(group: Any, request: Any) -> str:
    return ACME


@pytest.fixture(autouse=True)
def _scoped() -> Iterator[None]:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "SCOPE": PATH}):
        yield


@pytest.fixture
def users() -> list[User]:
    return [User.objects.create_user(name) for name in ("ann", "bob")]


def define(key: str = "user", rate: str = "1/h", **fields: Any) -> RateRule:
    return RateRule.objects.define("api", rate, mode="enforce", applies_to="all", overwrite=True, key=key, **fields)[0]


def status(scope: str | None, user: User | None = None, ip: str = "203.0.113.9", **extra: str) -> int:
    request = RequestFactory().get("/", REMOTE_ADDR=ip, **({"HTTP_X_TENANT": scope} if scope else {}), **extra)
    if user is not None:
        request.user = user
    return int(answer(behind_middleware(plain(False)), request).status_code)


@pytest.mark.parametrize("key", ["user", "ip", "user_or_ip", "global", "ip+user", "method"])
def test_what_a_client_of_one_tenant_does_counts_there_alone(key: str, users: list[User]) -> None:
    define(key)
    assert [status(ACME, users[0]) for _ in range(2)] == [200, 429]
    assert [status(BETA, users[0]) for _ in range(2)] == [200, 429]
    assert [status(None, users[0]) for _ in range(2)] == [200, 429]


def test_the_tenant_itself_is_a_key(users: list[User]) -> None:
    define("scope")
    assert [status(ACME, user) for user in users] == [200, 429]
    assert status(BETA, users[0]) == 200


def test_without_a_user_the_address_counts_in_its_tenant() -> None:
    define("user")
    assert [status(ACME), status(ACME), status(BETA)] == [200, 429, 200]


def test_a_block_of_a_user_names_the_tenant(users: list[User]) -> None:
    define("user", "9/h")
    ann = f"user:{users[0].pk}"
    Override.objects.block(f"scope:acme+{ann}")
    reading.reload()
    assert [status(ACME, users[0]), status(BETA, users[0]), status(None, users[0]), status(ACME, users[1])] == [
        429,
        200,
        200,
        200,
    ]
    assert [bool(ratewindow.hit("api", who)) for who in (("scope:acme", ann), (ann, "scope:acme"), ("scope:beta", ann), ann)] == [
        False, False, True, True,
    ]  # fmt: skip


def test_one_without_a_tenant_holds_outside_of_all_tenants(users: list[User]) -> None:
    define("user", "9/h")
    ann = f"user:{users[0].pk}"
    Override.objects.block(ann)
    reading.reload()
    assert [status(None, users[0]), status(ACME, users[0])] == [429, 200]
    assert [bool(ratewindow.hit("api", who)) for who in (ann, ("scope:acme", ann))] == [False, True]


@pytest.mark.parametrize("anonymize", ["none", "all"])
@pytest.mark.parametrize("subject", ["ip:203.0.113.9", "ip:203.0.113.0/24"])
def test_addresses_are_blocked_in_every_tenant(subject: str, anonymize: str) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": anonymize}):
        define("ip", "9/h")
        Override.objects.block(subject)
        reading.reload()
        assert [status(ACME), status(None), status(ACME, ip="198.51.100.1")] == [429, 429, 200]


def test_a_whole_tenant_can_be_blocked_and_held_to_another_rate(users: list[User]) -> None:
    define("user", "1/h")
    Override.objects.block("scope:beta")
    Override.objects.rate("scope:acme", "3/h")
    reading.reload()
    assert status(BETA, users[0]) == 429
    assert [status(ACME, users[0]) for _ in range(4)] == [200, 200, 200, 429]


def test_hit_with_a_request_counts_in_its_tenant_and_an_identity_is_taken_as_it_is(users: list[User]) -> None:
    define("user")
    ann = f"user:{users[0].pk}"
    request = RequestFactory().get("/", HTTP_X_TENANT=ACME)
    request.user = users[0]
    assert ratewindow.hit("api", request) and not ratewindow.hit("api", ("scope:acme", ann))
    assert ratewindow.hit("api", ann)
    assert release(f"scope:acme+{ann}").in_words().startswith(f"Released scope:acme + {ann}: its counts under api deleted")
    assert ratewindow.hit("api", request)


def test_the_scope_comes_first_however_it_is_written() -> None:
    assert parse_subject("user:1+scope:acme") == parse_subject("scope:acme+user:1")


def test_a_function_that_fails_is_told_once_and_such_requests_count_outside_of_all_tenants(
    users: list[User], caplog: pytest.LogCaptureFixture
) -> None:
    define("user")
    assert [status(ACME, users[0], HTTP_X_BROKEN="1") for _ in range(2)] == [200, 429]
    assert status(ACME, users[0]) == 200
    assert caplog.text.count("no tenant") == 1


@pytest.mark.parametrize(
    "given, told",
    [
        (5, "neither a function of the request nor the dotted path of one"),
        ("tenant", "neither a function of the request nor the dotted path of one"),
        ("nowhere.tenant", "it cannot be imported, ModuleNotFoundError"),
        (f"{__name__}.nothing", "has no attribute 'nothing'"),
        (coroutine, "is async"),
        (two, "needs more than the request"),
    ],
)
def test_what_is_no_scope_is_a_check_error_and_no_error_of_requests(given: Any, told: str) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "SCOPE": given}):
        define("ip")
        errors = [message for message in run_checks(tags=["ratewindow"]) if message.id == "ratewindow.E001"]
        assert len(errors) == 1 and told in errors[0].msg
        assert [status(ACME), status(BETA)] == [200, 429]


def test_a_function_itself_may_be_given() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "SCOPE": tenant}):
        define("ip")
        assert [status(ACME), status(ACME), status(BETA)] == [200, 429, 200]
        assert [message for message in run_checks(tags=["ratewindow"]) if message.id == "ratewindow.E001"] == []


def test_without_the_setting_no_request_is_in_a_scope() -> None:
    with override_settings(RATEWINDOW={key: value for key, value in settings.RATEWINDOW.items() if key != "SCOPE"}):
        define("ip")
        assert [status(ACME), status(BETA)] == [200, 429]
