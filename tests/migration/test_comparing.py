"""The code by which docs/migration compares two limiters, and copies rules, as it stands there. The other packages are played."""

import logging
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import ValidationError
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import path
from django.utils import timezone

from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from tests.migration.examples import example
from tests.support.doors import behind_middleware, get
from tests.support.urlconfs import site

ROOM = "ratewindow.contrib.logins"

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
about_logins = pytest.mark.skipif(not apps.is_installed(ROOM), reason="rules about logins need their room")


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    """What has been logged since it was asked last."""

    def take() -> list[str]:
        told = [record.getMessage() for record in caplog.records if record.name == "shop.limits"]
        caplog.clear()
        return told

    with caplog.at_level(logging.WARNING, "shop.limits"):
        yield take


def play(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> None:
    """While the test lasts, there is a module of this name, and its packages."""
    parts = name.split(".")
    for number in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:number]), ModuleType(parts[number - 1]))
    vars(sys.modules[name]).update(names)


def shadow(name: str, rate: str, **fields: Any) -> None:
    RateRule.objects.define(name, rate, **fields)
    reading.reload()


def enforce() -> None:
    RateRule.objects.update(mode="enforce")
    reading.reload()


# Any package that refuses by a status


def test_each_request_that_one_limiter_alone_would_refuse_is_logged(logged: Callable[[], list[str]]) -> None:
    shadow("all", "2/m", prefix="/", key="ip")
    theirs = iter([200, 200, 429, 200, 429])
    compare = example("README.md", "See whether both refuse the same", 0)["compare"]
    handler = behind_middleware(compare(lambda request: HttpResponse(status=next(theirs))))
    lines = []
    for _ in range(5):
        get(handler, "/here/")
        lines.append(logged())
    assert lines == [[], [], [], ["only ours would refuse GET /here/"], []]


def test_what_theirs_alone_refuse_is_logged_too(logged: Callable[[], list[str]]) -> None:
    shadow("all", "2/m", prefix="/", key="ip")
    compare = example("README.md", "See whether both refuse the same", 0)["compare"]
    get(behind_middleware(compare(lambda request: HttpResponse(status=429))), "/here/")
    assert logged() == ["only theirs would refuse GET /here/"]


# django-axes


@about_logins
@pytest.mark.parametrize(("limit", "alone"), [("5/30m", 0), ("6/30m", 1)])
def test_a_lock_of_axes_is_logged_unless_the_rule_is_used_up(
    monkeypatch: pytest.MonkeyPatch, logged: Callable[[], list[str]], limit: str, alone: int
) -> None:
    get_user_model().objects.create_user("ann", password="right")
    locked = Signal()
    play(monkeypatch, "axes.signals", user_locked_out=locked)
    compare = example("logins.md", "Switch axes off when", 0)  # held here: receivers are weak
    shadow("axes.login", limit, applies_to="logins", key="login", count_when="login_failed", count_refused=True)
    failures = []

    def fail(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
        failures.append(request)
        if len(failures) >= 5:  # as axes does, from the failure on that reaches its limit
            locked.send("axes", request=request, username="ann", ip_address="127.0.0.1")

    user_login_failed.connect(fail)
    try:
        with override_settings(AUTHENTICATION_BACKENDS=[f"{ROOM}.LoginGate", "django.contrib.auth.backends.ModelBackend"]):
            for _ in range(7):
                Client().post("/login/", {"username": "ann", "password": "wrong"})
    finally:
        user_login_failed.disconnect(fail)
    assert compare and len(failures) == 7
    assert logged() == ["only axes refused a login of 127.0.0.1"] * alone


# allauth


def test_a_page_of_refusals_logs_what_allauth_refuses_alone(logged: Callable[[], list[str]]) -> None:
    shadow("allauth.signup.ip", "1/m", prefix="/", key="ip")
    handler429 = example("logins.md", "Switch allauth's off when", 0)["handler429"]
    with site(path("signup/", lambda request: handler429(request))):  # as allauth calls it
        assert Client().get("/signup/").status_code == 429
        assert logged() == ["only allauth refused /signup/"]
        Client().get("/signup/")
        assert logged() == []


@about_logins
@pytest.mark.parametrize("typed", [{"username": "Ann"}, {"email": "ann@example.com"}])
def test_an_adapter_logs_a_login_that_allauth_refuses_alone(
    monkeypatch: pytest.MonkeyPatch, logged: Callable[[], list[str]], typed: dict[str, str]
) -> None:
    get_user_model().objects.create_user("Ann", "ann@example.com", "right")

    class Refusing:
        def pre_authenticate(self, request: Any, **credentials: Any) -> None:
            raise ValidationError("Too many failed login attempts.")

    play(monkeypatch, "allauth.account.adapter", DefaultAccountAdapter=Refusing)
    adapter = example("logins.md", "Switch allauth's off when", 1)["ComparingAdapter"]()
    rule = {"applies_to": "logins", "count_when": "login_failed"}
    shadow("allauth.login_failed.ip", "10/m", key="ip", **rule)
    shadow("allauth.login_failed.key", "5/5m", key="login", **rule)

    def refused() -> list[str]:
        with pytest.raises(ValidationError):
            adapter.pre_authenticate(RequestFactory().post("/login/"), **typed)
        return logged()

    with override_settings(AUTHENTICATION_BACKENDS=[f"{ROOM}.LoginGate", "django.contrib.auth.backends.ModelBackend"]):
        assert refused() == ["only allauth refused a login"]
        for _ in range(5):
            Client().post("/login/", {"username": "ANN", "password": "wrong"})
        assert refused() == []


def test_what_the_rules_count_is_switched_off_and_the_rest_stays() -> None:
    allauth = pytest.importorskip("ratewindow.contrib.moving.importers.allauth")
    switched = example("logins.md", "Switch allauth's off when", 2)
    assert set(allauth._ACTIONS) == set(switched["ACCOUNT_RATE_LIMITS"])
    assert set(switched["ACCOUNT_RATE_LIMITS"].values()) == {None}


# django-smart-ratelimit


class Rows(list[Any]):
    """A manager of a played model."""

    def filter(self, **kwargs: Any) -> "Rows":
        return self


def test_rules_of_django_smart_ratelimit_are_copied_in_shadow(monkeypatch: pytest.MonkeyPatch) -> None:
    user = get_user_model().objects.create_user("ann")
    end = timezone.now() + timedelta(days=3)
    theirs = [
        SimpleNamespace(name="API writes", path_pattern="^/api/", rate="4/30s", key="user", methods=lambda: ["GET", "POST"]),
        SimpleNamespace(name="all", path_pattern="^/", rate="100/minute", key="header:x-api-key", methods=lambda: ["ALL"]),
    ]
    others = [
        SimpleNamespace(user_id=user.pk, rule_name="API writes", rate="100/m", reason="partner", expires_at=end),
        SimpleNamespace(user_id=user.pk, rule_name="", rate="9/s", reason="", expires_at=end),
    ]
    models = {"RateLimitRule": Rows(theirs), "UserRateLimitOverride": Rows(others)}
    played = {name: SimpleNamespace(objects=rows) for name, rows in models.items()}
    play(monkeypatch, "django_smart_ratelimit.models", **played)
    example("smart_ratelimit.md", "From django-smart-ratelimit", 0)
    fields = "name", "mode", "pattern", "methods", "key"
    assert list(RateRule.objects.order_by("name").values_list(*fields)) == [
        ("all", "shadow", "^/", "", "header:x-api-key"),
        ("api-writes", "shadow", "^/api/", "GET,POST", "user_or_ip"),
    ]
    assert sorted(Override.objects.values_list("identity", "rule", "rate", "expires_at")) == [
        (f"user:{user.pk}", "", "9/s", end),
        (f"user:{user.pk}", "api-writes", "100/m", end),
    ]
