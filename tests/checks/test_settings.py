"""Settings that limit less, or other clients, than was meant."""

from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.test import override_settings

from tests.support.check_messages import found

OURS = "ratewindow.middleware.RateWindowMiddleware"
USERS = "django.contrib.auth.middleware.AuthenticationMiddleware"


def test_counting_in_memory_is_a_warning_where_it_may_be_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(REDIS="memory://") == {}  # while tests run, each process counts for itself
    monkeypatch.delattr(mail, "outbox")
    assert "each process counts for itself" in found(REDIS="memory://")["ratewindow.W003"]
    with override_settings(DEBUG=True):
        assert found(REDIS="memory://") == {}


@pytest.mark.parametrize("name", ["SECURE_PROXY_SSL_HEADER", "USE_X_FORWARDED_HOST", "USE_X_FORWARDED_PORT"])
def test_a_proxy_in_the_settings_that_is_not_trusted_is_a_warning(name: str) -> None:
    value: Any = ("HTTP_X_FORWARDED_PROTO", "https") if name.startswith("SECURE") else True
    with override_settings(**{name: value}):
        assert found()["ratewindow.W004"].startswith(f"By {name} this site is behind a proxy")
        assert "ratewindow.W004" in found(TRUSTED_PROXIES=0)
        assert found(TRUSTED_PROXIES=["10.0.0.0/8"]) == found(TRUSTED_PROXIES=1) == {}


@pytest.mark.parametrize("network", ["0.0.0.0/0", "::/0"])
def test_trusting_everybody_is_a_warning(network: str) -> None:
    assert f"contains {network}, which is everybody" in found(TRUSTED_PROXIES=["10.0.0.0/8", network])["ratewindow.W005"]


def test_the_middleware_before_users_are_known_is_a_warning() -> None:
    with override_settings(MIDDLEWARE=[OURS, USERS]):
        assert "rules by user count everybody by address" in found()["ratewindow.W006"]
    for listed in ([USERS, OURS], [OURS], [USERS]):
        with override_settings(MIDDLEWARE=listed):
            assert found() == {}


def test_a_backend_of_a_room_without_its_app_is_an_error() -> None:
    """Else each login is one."""
    gate = "ratewindow.contrib.absent.gate.Gate"
    with override_settings(AUTHENTICATION_BACKENDS=[gate, "django.contrib.auth.backends.ModelBackend", "site.gates.Mine"]):
        told = f"AUTHENTICATION_BACKENDS has '{gate}' without its app. Add 'ratewindow.contrib.absent' to INSTALLED_APPS."
        assert found() == {"ratewindow.E015": told}


def test_the_settings_of_the_demo_are_in_order() -> None:
    assert settings.RATEWINDOW
    assert found() == {}
