"""A site with the gate and its ready rules, and a note of the names whose passwords were checked."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import override_settings

from ratewindow.contrib.logins import trust
from tests.contrib.logins.support.trying import BACKENDS, PASSWORD, checked_names
from tests.support.commands import run


@pytest.fixture
def backends() -> Iterator[None]:
    trust.forget()
    with override_settings(AUTHENTICATION_BACKENDS=BACKENDS):
        yield


@pytest.fixture
def checked(transactional_db: None, backends: None) -> list[str]:
    """The names whose passwords were checked, while all ready rules are enforced."""
    run("protect", "--enforce")
    checked_names.clear()
    return checked_names


@pytest.fixture
def ann(transactional_db: None) -> Any:
    return get_user_model().objects.create_user("ann", "ann@example.com", PASSWORD)
