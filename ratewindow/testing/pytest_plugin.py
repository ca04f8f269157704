"""Plugin that pytest loads wherever ratewindow is installed: the fixture `fresh_counts`."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def fresh_counts() -> Iterator[Any]:
    """The site's rules with empty counts; ``fresh_counts.travel("61s")`` moves the clock."""
    from ratewindow.testing import fresh_counts as fresh

    with fresh() as counts:
        yield counts


@pytest.fixture(autouse=True)
def _fresh_counts_in_memory(request: pytest.FixtureRequest) -> None:
    """If the test settings count in memory, use `fresh_counts` in each test."""
    apps = getattr(sys.modules.get("django.apps"), "apps", None)
    if apps is None or not apps.ready or not apps.is_installed("ratewindow"):
        return
    from ratewindow.store import process_clients

    if process_clients.in_memory():
        request.getfixturevalue("fresh_counts")
