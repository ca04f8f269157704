"""The system checks of the gate, and where they are explained."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.core import checks
from django.test import override_settings

import ratewindow
from ratewindow.checks import TAG
from ratewindow.conf.in_words import page
from ratewindow.contrib.logins import LoginGate
from ratewindow.contrib.logins.checks import GATE, PAGE

DJANGOS = "django.contrib.auth.backends.ModelBackend"
MIDDLEWARE = "ratewindow.middleware.RateWindowMiddleware"


class Mine(LoginGate):
    pass


def found(tag: str = TAG, deploy: bool = False) -> dict[str, checks.CheckMessage]:
    messages = checks.run_checks(tags=[tag], include_deployment_checks=deploy)
    return {str(each.id).removeprefix("ratewindow."): each for each in messages if str(each.id).startswith("ratewindow.")}


@pytest.mark.parametrize(
    "backends, told",
    [
        ([GATE, DJANGOS], set()),
        ([f"{__name__}.Mine", DJANGOS], set()),
        ([DJANGOS], {"E011"}),
        ([DJANGOS, GATE], {"E012"}),
        ([GATE, DJANGOS, GATE], {"E012"}),
        ([GATE], {"E014"}),
    ],
)
def test_the_gate_must_be_first(backends: list[str], told: set[str]) -> None:
    with override_settings(AUTHENTICATION_BACKENDS=backends):
        assert {*found()} == told


def test_it_needs_the_middleware() -> None:
    with override_settings(MIDDLEWARE=[each for each in settings.MIDDLEWARE if each != MIDDLEWARE]):
        assert "E013" in found()


@pytest.mark.parametrize(
    "limits, told", [({}, {"W023"}), ({"login": "1/m/ip"}, {"W023"}), ({"login_failed": None}, set()), (False, set())]
)
def test_allauths_own_limit_beside_it_is_named(limits: Any, told: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "is_installed", lambda name: name in ("allauth.account", "ratewindow.contrib.logins"))
    with override_settings(ACCOUNT_RATE_LIMITS=limits):
        assert {*found()} == told


@pytest.mark.parametrize("secure", [True, False])
def test_a_cookie_that_may_be_sent_in_clear_is_named(secure: bool) -> None:
    with override_settings(SESSION_COOKIE_SECURE=secure):
        assert ("W024" in found("security", deploy=True)) is not secure


def test_each_is_explained_where_its_hint_says() -> None:
    package = Path(ratewindow.__file__).parent
    module = (package / "contrib" / "logins" / "checks.py").read_text(encoding="utf-8")
    numbers = {f"{kind[0]}{int(number):03}" for kind, number in re.findall(r"\b(error|warning)\(\s*(\d+),", module)}
    explained = (package.parent / "docs" / PAGE).read_text(encoding="utf-8")
    assert numbers == set(re.findall(r"^### (\w+)$", explained, re.MULTILINE))
    with override_settings(AUTHENTICATION_BACKENDS=[DJANGOS]):
        assert str(found()["E011"].hint).endswith(f"See {page(PAGE)}#e011.")
