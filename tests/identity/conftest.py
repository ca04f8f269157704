"""Keys of a site that a test adds go with it, and so does what was told of their errors."""

import pytest

from ratewindow import site_functions
from ratewindow.identity import custom


@pytest.fixture(autouse=True)
def _no_keys_of_earlier_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom, "_own", dict(custom._own))
    monkeypatch.setattr(site_functions, "failing", set())
